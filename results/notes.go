package results

import (
	"fmt"
	"slices"
	"strings"
)

// Label tells the repeats of a case apart, where there are any, by their numbers in the files.
func Label(c Case, all []Case) string {
	for _, other := range all {
		if other.Repeat > 0 && other.Name == c.Name {
			return fmt.Sprintf("%s #%d", c.Name, c.Repeat)
		}
	}
	return c.Name
}

// What a Note is about.
const (
	Wrong    = "wrong"
	Rejected = "rejected"
)

// A Note says in words what a table of cases cannot: what is wrong, what is not resolved
// and what to do about that, which slices do not count.
type Note struct {
	Head string // Wrong, Unresolved or Rejected
	Text string
}

// Notes are those of a run, each text once.
func (s Summary) Notes() []Note {
	var out []Note
	for _, text := range Grouped(s.Cases, func(c Case) []string { return c.Reasons }) {
		out = append(out, Note{Wrong, text})
	}
	var open []string // as tables show them
	for _, c := range s.Cases {
		if c.Verdict == Unresolved && c.Complete && c.Valid {
			open = append(open, c.Name)
		}
	}
	if len(open) > 0 {
		out = append(out, Note{Unresolved, strings.Join(open, ", ") +
			": the interval is wider than " + ToleranceText() + " of the figure, or the control below its prediction, and the order of the cases may be noise. " +
			"Measure longer (--limit, --duration), at a lower rate (--rate auto), or on a machine with less other work."})
	}
	return append(out, rejected(s.Slices)...)
}

func rejected(all []Slice) []Note {
	count := map[string]int{}
	var reasons []string
	for _, s := range all {
		if s.Rejected != "" && count[s.Rejected] == 0 {
			reasons = append(reasons, s.Rejected)
		}
		count[s.Rejected]++
	}
	var out []Note
	for _, why := range reasons {
		out = append(out, Note{Rejected, fmt.Sprintf("%d of %d slices: %s", count[why], len(all), why)})
	}
	return out
}

// Grouped returns each text about cases once, with the cases it is about before it, in the
// order in which texts first appear.
func Grouped(cases []Case, texts func(Case) []string) []string {
	about := map[string][]string{}
	var order []string
	for _, c := range cases {
		for _, text := range texts(c) {
			if !slices.Contains(order, text) {
				order = append(order, text)
			}
			about[text] = append(about[text], Label(c, cases))
		}
	}
	out := make([]string, len(order))
	for i, text := range order {
		who := strings.Join(about[text], ", ")
		if len(about[text]) == len(cases) && len(cases) > 1 {
			who = "every case"
		}
		out[i] = who + ": " + text
	}
	return out
}
