package scenario

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"evbench/internal/lists"
	"evbench/topology"
)

// maxName is how long the name of a case may be, in characters.
const maxName = 80

// maxFileName is the most bytes of the escaped name of a case: the file of its plan has it.
const maxFileName = 200

// ControlName is the name of the control that bench adds.
const ControlName = "control"

// A naming is the input for the name of a case: the written name, if any, and its choices of the
// matrix.
type naming struct {
	written field
	labels  []string
}

// nameAll names the cases: as written, with the choices of the matrix behind it; else by their
// properties. Names written twice are an error. Other equal names get numbers.
func (d *document) nameAll(cases []Case, names []naming) {
	taken := map[string]bool{}
	writers := map[string]field{}
	for i := range cases {
		at, name := names[i].written, ""
		if !at.Given() || !d.scalar(at, to(&name, anyWord, parseCaseName)) {
			continue
		}
		if first, ok := writers[name]; ok && first != at {
			d.Fail(at, "another case is called %q too", name)
		}
		writers[name] = at
		cases[i].Name = unused(taken, strings.Join(append([]string{name}, names[i].labels...), " "))
		if n := len(url.PathEscape(cases[i].Name)); n > maxFileName {
			d.Fail(at, "%q: a file is named by it, and takes %d bytes for it, more than %d: a letter that is not of ASCII takes 6 to 12", cases[i].Name, n, maxFileName)
		}
	}
	for i := range cases {
		if !names[i].written.Given() {
			cases[i].Name = unused(taken, cases[i].defaultName())
		}
	}
}

// unused returns base, numbered if it is taken, and takes it.
func unused(taken map[string]bool, base string) string {
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s (%d)", base, n)
	}
	taken[name] = true
	return name
}

func parseCaseName(s string) (string, error) {
	switch {
	case strings.TrimSpace(s) != s || s == "" || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "", fmt.Errorf("%q: write a name of printable characters, without spaces at its ends", s)
	case utf8.RuneCountInString(s) > maxName:
		return "", fmt.Errorf("%q: longer than %d characters", s, maxName)
	case s == ControlName || strings.HasPrefix(s, ControlName+" ("):
		return "", fmt.Errorf("%q: is the name of the control that every round has", s)
	}
	return s, nil
}

// defaultName says what sets the case apart: "fors pinned leaf0-spine0".
func (c Case) defaultName() string {
	var parts []string
	for _, t := range c.traits() {
		if !t.usual {
			parts = append(parts, t.text)
		}
	}
	if c.Failover != nil {
		parts = append(parts, "failover "+c.Failover.Policy)
	}
	return strings.Join(parts, " ")
}

// dead names the dead links of a case: "leaf0-spine0+spine2"; of more than three the first two.
func (c Case) dead() string {
	parts := append([]string(nil), c.Down...)
	for _, t := range c.firsts() {
		parts = append(parts, t.String())
	}
	if n := len(parts); n > 3 {
		parts = append(parts[:2:2], fmt.Sprintf("%d more", n-2))
	}
	return strings.Join(parts, "+")
}

// firsts returns the timed failures as written: for a flapping link the first.
func (c Case) firsts() []Timed {
	return lists.Filter(c.Timed, func(t Timed) bool { return t.flap.nth == 0 })
}

// String is the form of a timed failure in the name of a case: "leaf0-spine3@3s", and for the first
// of five of a flapping link "5*leaf0-spine3@3s".
func (t Timed) String() string {
	name := t.Name + "@" + short(t.At)
	if t.flap.times > 0 {
		return fmt.Sprintf("%d*%s", t.flap.times, name)
	}
	return name
}

// FailureTexts lists in the words of results the links dead from the start of the case and the
// failures during it. It is never nil.
func (c Case) FailureTexts(t *topology.Live) []string {
	if len(c.Failures) == 0 && len(c.Down) > 0 { // no tree
		return slices.Clone(c.Down)
	}
	return append(t.LinkNames(c.Failures), c.timedTexts()...)
}

// timedTexts describes in the words of results the failures during the case: "leaf0-spine3 at 3s
// for 4s", "leaf0-spine3 at 1s for 300ms every 1s, 5 times".
func (c Case) timedTexts() []string {
	var out []string
	for _, t := range c.firsts() {
		text := fmt.Sprintf("%s at %v", t.Name, t.At)
		if t.For > 0 {
			text += fmt.Sprintf(" for %v", t.For)
		}
		if t.flap.times > 0 {
			text += fmt.Sprintf(" every %v, %d times", t.flap.every, t.flap.times)
		}
		out = append(out, text)
	}
	return out
}

// labels are the values of the fields that a matrix varies.
func (c Case) labels(varied []string) []string {
	var out []string
	for _, name := range varied {
		i := slices.IndexFunc(c.traits(), func(t trait) bool { return t.field == name })
		out = append(out, cmp.Or(c.traits()[i].text, "healthy"))
	}
	return out
}

// sizes describes the fragments of the case if the case sets their sizes.
func (c Case) sizes() string {
	switch {
	case c.Sizes == nil:
		return ""
	case c.Sizes.Equal():
		return "equal sizes"
	}
	return "sizes " + c.Sizes.String()
}
