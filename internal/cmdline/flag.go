package cmdline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/rules"
	"evbench/internal/unit"
)

// readers read values that have a range.
var readers = map[string]func(string) (int64, error){
	"int": whole, "uint": whole, "number": whole,
	"time": func(s string) (int64, error) { d, err := time.ParseDuration(s); return int64(d), err },
	"size": func(s string) (int64, error) { b, err := unit.ParseBytes(s); return int64(b), err },
	"rate": func(s string) (int64, error) { r, err := unit.ParseRate(s); return int64(r), err },
}

func whole(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

// readFlag reads "--NAME,-ALIAS TYPE[LIMITS] hidden   USAGE". Every start of the program reads all flags: no
// regular expression does.
func readFlag(line string) (cli.Flag, check) {
	line, usage, _ := strings.Cut(line, " ")
	names := strings.Split(line, ",")
	kind, usage, _ := strings.Cut(usage, " ")
	usage, hidden := strings.CutPrefix(usage, "hidden ")
	usage = strings.TrimLeft(usage, " ")
	kind, limits, _ := strings.Cut(strings.TrimSuffix(kind, "]"), "[")
	for i := range names {
		names[i] = strings.TrimLeft(names[i], "-")
	}
	name, also := names[0], names[1:]
	kind, value, _ := strings.Cut(kind, "=")
	n := int64(0)
	if read := readers[kind]; read != nil && value != "" {
		n = limit(read, value)
	}
	text := &cli.StringFlag{Name: name, Aliases: also, Usage: usage, Hidden: hidden, Value: value}
	switch kind {
	case "text":
		return text, nil
	case "size", "rate":
		return text, inRange(name, limits, readers[kind])
	case "names", "numbers", "command":
		return text, listed(name, kind)
	case "texts":
		return &cli.StringSliceFlag{Name: name, Aliases: also, Usage: usage}, nil
	case "int":
		return &cli.IntFlag{Name: name, Aliases: also, Usage: usage, Hidden: hidden, Value: int(n)}, inRange(name, limits, whole)
	case "uint":
		return &cli.Uint64Flag{Name: name, Aliases: also, Usage: usage, Value: uint64(n)}, nil
	case "number":
		return &cli.Float64Flag{Name: name, Aliases: also, Usage: usage, Value: float64(n)}, nil
	case "time":
		return &cli.DurationFlag{Name: name, Aliases: also, Usage: usage, Value: time.Duration(n)}, inRange(name, limits, readers[kind])
	case "on":
		return &cli.BoolFlag{Name: name, Aliases: also, Usage: usage}, sets(name, value)
	}
	choices := strings.Split(kind, "|")
	return &cli.StringFlag{Name: name, Aliases: also, Usage: usage, Hidden: hidden, Value: choices[0]}, oneOf(name, choices)
}

func limit(read func(string) (int64, error), text string) int64 {
	n, err := read(text)
	if err != nil {
		panic(err)
	}
	return n
}

// Size is the value of a flag of type size; 0 if it has none.
func Size(c *cli.Context, name string) unit.Bytes {
	b, _ := unit.ParseBytes(c.String(name)) // checked before the action
	return b
}

// Rate is the value of a flag of type rate; 0 if it has none.
func Rate(c *cli.Context, name string) unit.Rate {
	r, _ := unit.ParseRate(c.String(name))
	return r
}

// Known are the values of a flag of type names. A name may have commas itself: pieces that are known only
// together are one.
func Known(c *cli.Context, name string, known func(string) bool) (names []string) {
	pieces := strings.Split(c.String(name), ",")
	for len(pieces) > 0 {
		n := 1
		for i := range pieces {
			if known(strings.TrimSpace(strings.Join(pieces[:i+1], ","))) {
				n = i + 1
				break
			}
		}
		if text := strings.TrimSpace(strings.Join(pieces[:n], ",")); text != "" {
			names = append(names, text)
		}
		pieces = pieces[n:]
	}
	return names
}

// Names are the values of a flag of type names, separated by commas; none if it is empty.
func Names(c *cli.Context, name string) (names []string) {
	for text := range strings.SplitSeq(c.String(name), ",") {
		if text = strings.TrimSpace(text); text != "" {
			names = append(names, text)
		}
	}
	return names
}

// listed checks names, numbers, or the words of a command.
func listed(name, kind string) check {
	return func(c *cli.Context) error {
		text := c.String(name)
		if kind == "command" && strings.TrimSpace(text) == "" && (text != "" || c.IsSet(name)) {
			return fmt.Errorf("--%s: names no command", name)
		}
		if kind == "command" || text == "" {
			return nil
		}
		for i, one := range strings.Split(text, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(one))
			switch {
			case kind == "numbers" && (err != nil || n < 0 || n > 1<<20):
				return fmt.Errorf("--%s %q: write whole numbers with commas, such as 1,4", name, text)
			case strings.TrimSpace(one) == "":
				return fmt.Errorf("--%s %q: name %d is empty; write names with a comma between two", name, text, i+1)
			}
		}
		return nil
	}
}

// sets makes a given flag set another one: "format:json".
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

// inRange checks a non-empty value of a flag: "LOW..HIGH", "LOW..", ">0".
func inRange(name, limits string, read func(string) (int64, error)) check {
	low, high, must := int64(1), int64(math.MaxInt64), "more than 0"
	if a, b, ok := strings.Cut(limits, ".."); ok {
		low, must = limit(read, a), "at least "+a
		if b != "" {
			high, must = limit(read, b), limits
		} else if low == 0 {
			must = "0 or more"
		}
	}
	return func(c *cli.Context) error {
		if limits == "" || !c.IsSet(name) || c.String(name) == "" {
			return nil
		}
		switch v, err := read(c.String(name)); {
		case err != nil:
			return fmt.Errorf("--%s: %w", name, err)
		case v < low || v > high:
			return fmt.Errorf("--%s %s: must be %s", name, c.String(name), must)
		}
		return nil
	}
}

// rule parses a rule about combinations of flags.
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
