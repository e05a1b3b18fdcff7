package cmdline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/rules"
)

var flagLine = regexp.MustCompile(`^--(\S+) (\S+?)(?:\[(\S*)\])?( hidden)? +(.*)$`)

// readFlag makes a flag, and the check of its value.
func readFlag(line string) (cli.Flag, check) {
	m := flagLine.FindStringSubmatch(line)
	hidden, usage := m[4] != "", m[5]
	names := strings.Split(m[1], ",")
	for i := range names {
		names[i] = strings.TrimLeft(names[i], "-")
	}
	name, also := names[0], names[1:]
	kind, value, _ := strings.Cut(m[2], "=")
	switch kind {
	case "text":
		return &cli.StringFlag{Name: name, Aliases: also, Usage: usage, Hidden: hidden, Value: value}, nil
	case "texts":
		return &cli.StringSliceFlag{Name: name, Aliases: also, Usage: usage}, nil
	case "int":
		return &cli.IntFlag{Name: name, Aliases: also, Usage: usage, Hidden: hidden, Value: int(whole(value))}, inRange(name, m[3], whole)
	case "uint":
		return &cli.Uint64Flag{Name: name, Aliases: also, Usage: usage, Value: uint64(whole(value))}, nil
	case "number":
		return &cli.Float64Flag{Name: name, Aliases: also, Usage: usage, Value: float64(whole(value))}, nil
	case "time":
		return &cli.DurationFlag{Name: name, Aliases: also, Usage: usage, Value: time.Duration(duration(value))}, inRange(name, m[3], duration)
	case "on":
		return &cli.BoolFlag{Name: name, Aliases: also, Usage: usage}, sets(name, value)
	}
	choices := strings.Split(kind, "|")
	return &cli.StringFlag{Name: name, Aliases: also, Usage: usage, Value: choices[0]}, oneOf(name, choices)
}

func whole(text string) int64 {
	n, err := strconv.ParseInt(cmp.Or(text, "0"), 10, 64)
	must(err)
	return n
}

func duration(text string) int64 {
	d, err := time.ParseDuration(cmp.Or(text, "0"))
	must(err)
	return int64(d)
}

// must is for what the description says wrong.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// sets has a flag, where it is given, set another one: "format:json".
func sets(name, other string) check {
	to, value, _ := strings.Cut(other, ":")
	return func(c *cli.Context) error {
		if to == "" || !c.Bool(name) {
			return nil
		}
		return c.Set(to, value)
	}
}

func oneOf(name string, choices []string) check {
	return func(c *cli.Context) error {
		if slices.Contains(choices, c.String(name)) {
			return nil
		}
		return fmt.Errorf("--%s %q: there are %s", name, c.String(name), strings.TrimPrefix(strings.Join(choices, ", "), ", "))
	}
}

// inRange checks the value of a flag that is given: "LOW..HIGH", "LOW..", ">0".
func inRange(name, limits string, read func(string) int64) check {
	low, high, must := int64(1), int64(math.MaxInt64), "more than 0"
	if a, b, ok := strings.Cut(limits, ".."); ok {
		low, must = read(a), "at least "+a
		if b != "" {
			high, must = read(b), limits
		} else if low == 0 {
			must = "0 or more"
		}
	}
	return func(c *cli.Context) error {
		if limits == "" || !c.IsSet(name) {
			return nil
		}
		if v := read(c.String(name)); v < low || v > high {
			return fmt.Errorf("--%s %s: must be %s", name, c.String(name), must)
		}
		return nil
	}
}

// rule reads which flags go together.
func rule(line string) check {
	r := rules.Parse(line)
	return func(c *cli.Context) error {
		switch b := r.Broken(c.IsSet, c.String); {
		case b == nil:
			return nil
		case b.Missing:
			return errors.New(b.Name + " " + b.Reason)
		default:
			return errors.New(b.Name + ": " + b.Reason)
		}
	}
}
