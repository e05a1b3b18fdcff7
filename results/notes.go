package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evbench/internal/lists"
)

// Label distinguishes the repeats of a case, if any, by their numbers in the files.
func Label(c Case, all []Case) string {
	for _, other := range all {
		if other.Repeat > 0 && other.Name == c.Name {
			return fmt.Sprintf("%s #%d", c.Name, c.Repeat)
		}
	}
	return c.Name
}

// The subject of a Note.
const (
	Wrong    = "wrong"
	Rejected = "rejected"
)

// A Note says what a table of cases cannot show: what is wrong, what is not resolved and its
// remedy, which slices do not count.
type Note struct {
	Head string // Wrong, Unresolved or Rejected
	Text string
}

// Notes returns the notes of a run, each text once.
func (s Summary) Notes() []Note {
	out := lists.Map(Grouped(s.Cases, func(c Case) []string { return c.Reasons }), func(text string) Note { return Note{Wrong, text} })
	open := lists.Filter(s.Cases, func(c Case) bool { return c.Verdict == Unresolved && c.Complete && c.Valid }) // as tables show them
	names := strings.Join(lists.Map(open, func(c Case) string { return c.Name }), ", ")
	switch {
	case len(open) > 0 && !slices.ContainsFunc(open, func(c Case) bool { return c.Estimate == nil || c.Rounds != 1 }):
		out = append(out, Note{Unresolved, names + ": " + again.String() + "."})
	case len(open) > 0:
		out = append(out, Note{Unresolved, names + ": the interval is wider than " + ToleranceText() + " of the figure, and the order of the cases may be noise. " +
			"Measure longer (--limit, --duration), or with less other work on the machine."})
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
	return lists.Map(reasons, func(why string) Note {
		return Note{Rejected, fmt.Sprintf("%d of %d slices: %s", count[why], len(all), why)}
	})
}

// Grouped returns each text about cases once, after the names of its cases, in the order in which
// texts first appear.
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

// A RateUnit is a unit in which rates are printed.
type RateUnit struct {
	Name string
	Size float64 // bit/s
}

// RateUnitOf returns the unit in which the largest of some rates, in bit/s, has at least one digit
// before the point, when it is rounded to three.
func RateUnitOf(most float64) RateUnit {
	for _, u := range []RateUnit{{"Tbit/s", 1e12}, {"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}} {
		if most >= 0.9995*u.Size {
			return u
		}
	}
	return RateUnit{"bit/s", 1}
}

// GoodputUnit is the unit for the mean goodput of the servers of some cases, gigabit without any
// goodput.
func GoodputUnit(cases []Case) RateUnit {
	most := cmp.Or(lists.MaxOf(cases, func(c Case) float64 { return c.GoodputBitPerSec.Mean }), 1e9)
	return RateUnitOf(most)
}

func rateText(bit float64) string {
	u := RateUnitOf(bit)
	return fmt.Sprintf("%.3g %s", bit/u.Size, u.Name)
}
