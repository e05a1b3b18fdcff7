package scenario

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/internal/unit"
)

// A row is a field that a mapping may have. Reader and schema share it.
type row struct {
	name string
	value
	says string // what it is, for editors
}

// A value describes the valid input of a field, and sets it. set is nil for a field that has fields
// or elements of its own.
type value struct {
	shape shape
	set   func(text string) error
	usage string // of the flag that overrides the field; empty: no flag
	lasts bool
}

func (v value) flag(usage string) value {
	v.usage = usage
	return v
}

// A group is the fields that a mapping may have.
type group []row

func (g group) names() []string {
	return lists.Map(g, func(r row) string { return r.name })
}

// lists gives each field of g a list of its values.
func (g group) lists() group {
	out := slices.Clone(g)
	for i := range out {
		out[i].shape = atLeastOne(out[i].shape)
	}
	return out
}

// to is a value read by parse.
func to[T any](p *T, is shape, parse func(string) (T, error)) value {
	return value{shape: is, set: func(text string) error {
		v, err := parse(text)
		if err == nil {
			*p = v
		}
		return err
	}}
}

func nested(is shape) value { return value{shape: is} }

func choice[T ~string](p *T, what string, names ...T) value {
	all := lists.Map(names, func(n T) string { return string(n) })
	parse := oneOf(what, all, nil)
	return to(p, enum(all...), func(text string) (T, error) {
		name, err := parse(text)
		return T(name), err
	})
}

func word(p *string) value {
	return tested(p, anyWord, func(string) bool { return true }, "")
}

// command is the words of a command.
func command(p *string) value {
	return tested(p, anyWord, func(s string) bool { return strings.TrimSpace(s) != "" }, "a command")
}

// plain is a text that a remote shell takes for one word.
func plain(p *string) value {
	good := func(s string) bool {
		return s != "" && s[0] != '-' && !strings.ContainsAny(s, " \t\n'\"`$;&|<>()\\!*?{}")
	}
	return tested(p, anyWord, good, "one word, without quotes, blanks or signs that a shell knows")
}

func whole[T int | uint64](p *T, low, high int) value {
	return to(p, integer(uint64(low), uint64(high)), func(s string) (T, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < low || n > high {
			return 0, fmt.Errorf("%q: write a whole number %d..%d", s, low, high)
		}
		return T(n), nil
	})
}

func seed(p *uint64) value {
	return to(p, integer(0, math.MaxUint64), func(s string) (uint64, error) {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q: write a whole number 0..%d", s, uint64(math.MaxUint64))
		}
		return n, nil
	})
}

func upTo(p *float64, high float64) value {
	return to(p, shape{"type": "number", "minimum": 0, "maximum": high}, func(s string) (float64, error) {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || !(x >= 0 && x <= high) { // NaN fails too
			return 0, fmt.Errorf("%q: write a number 0..%g", s, high)
		}
		return x, nil
	})
}

func onOff(p *bool) value {
	return to(p, shape{"enum": []any{"on", "off", true, false, "true", "false"}}, func(s string) (bool, error) {
		on := s == "on" || s == "true"
		if !on && s != "off" && s != "false" {
			return false, fmt.Errorf("%q: write on or off", s)
		}
		return on, nil
	})
}

func lasts(p *time.Duration, low, high time.Duration) value {
	is := shape{"type": "string", "pattern": `^[-+]?0$|^[-+]?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`}
	if low == 0 {
		is["type"], is["minimum"], is["maximum"] = []string{"string", "integer"}, 0, 0
	}
	v := to(p, is, func(s string) (time.Duration, error) {
		v, err := time.ParseDuration(s)
		if _, bare := strconv.ParseFloat(s, 64); bare == nil && s != "0" {
			return 0, fmt.Errorf("duration %q: no unit; write a number and one of us, ms, s, m, h", s)
		}
		if err != nil {
			return 0, fmt.Errorf("duration %q: write a number and one of us, ms, s, m, h, such as 10s", s)
		}
		if v < low || v > high {
			return 0, fmt.Errorf("%s: must be %s to %s", s, short(low), short(high))
		}
		return v, nil
	})
	v.lasts = true
	return v
}

func size(p *unit.Bytes, low, high unit.Bytes) value {
	return to(p, withUnit("GiB", "MiB", "KiB", "GB", "MB", "kB", "B"), func(s string) (unit.Bytes, error) {
		b, err := unit.ParseBytes(s)
		if err == nil && (b < low || b > high) {
			err = fmt.Errorf("%s: must be %s to %s", s, low, high)
		}
		return b, err
	})
}

// withUnit is a number with one of the units.
func withUnit(units ...string) shape {
	return shape{"type": "string", "pattern": `^\s*[-+]?[0-9.][-+0-9.eE]*\s*(` + strings.Join(units, "|") + `)\s*$`}
}

// matching is a text that matches a pattern; hint describes the form.
func matching(p *string, pattern, hint string) value {
	is := maps.Clone(anyWord)
	is["pattern"] = pattern
	return tested(p, is, func(s string) bool { return regexp.MustCompile(pattern).MatchString(s) }, hint)
}

func tested(p *string, is shape, good func(string) bool, hint string) value {
	return to(p, is, func(s string) (string, error) {
		if !good(s) {
			return "", fmt.Errorf("%q: write %s", s, hint)
		}
		return s, nil
	})
}

// oneOf returns a parser of names. alias may give other spellings.
func oneOf(what string, choices []string, alias map[string]string) func(string) (string, error) {
	return func(s string) (string, error) {
		if full, ok := alias[s]; ok {
			s = full
		}
		if slices.Contains(choices, s) {
			return s, nil
		}
		return "", fmt.Errorf("no %s %q; %s", what, s, show.Choices(s, choices))
	}
}

// withRate returns the fabric with the rate in text, or with a rate to be found.
func (f *Fabric) withRate(s string) (Fabric, error) {
	out := *f
	if out.AutoRate = s == Auto; out.AutoRate {
		return out, nil
	}
	var err error
	if out.Rate, err = unit.ParseRate(s); err == nil {
		err = checkRate(out.Rate)
	}
	return out, err
}

// withPhase returns the event with the phase in text, or with a phase to be found.
func (e *Event) withPhase(s string) (Event, error) {
	out := *e
	if out.AutoPhase = s == Auto; out.AutoPhase {
		out.Phase = defaultPhase
		return out, nil
	}
	return out, lasts(&out.Phase, time.Microsecond, MaxPhase).set(s)
}

func parseRounds(text string) (int, error) {
	if text == Auto {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxRounds {
		return 0, fmt.Errorf("%q: write %s or a whole number 1..%d", text, Auto, maxRounds)
	}
	return n, nil
}

// short prints a duration without empty units: 1m0s is 1m.
func short(v time.Duration) string {
	return emptyUnits.ReplaceAllString(v.String(), "$1$2")
}

var emptyUnits = regexp.MustCompile(`(?:(h)0m0s|(m)0s)$`)
