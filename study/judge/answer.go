package judge

import (
	"fmt"
	"strings"

	"evbench/internal/show"
)

// Answer is the verdict in a sentence or two.
func (v *Verdict) Answer() string {
	var parts []string
	switch m, a, t := v.Measured, v.AtMost, v.Tables; {
	case m != nil && a != nil:
		parts = append(parts, fmt.Sprintf("%s of what the network can do at most was measured (%s of the link rate).", percent(m.OfAtMost), percent(m.Efficiency)))
	case m != nil && t != nil:
		parts = append(parts, fmt.Sprintf("%s of the link rate was measured, %s of what the tables allow in phases.", percent(m.Efficiency), percent(m.OfPhased)))
	case m != nil:
		parts = append(parts, percent(m.Efficiency)+" of the link rate was measured.")
	case a != nil && t != nil:
		parts = append(parts, fmt.Sprintf("The network can do %s of the link rate at most; its tables allow %s in phases.", percent(a.Efficiency), percent(t.Phased)))
	case a != nil:
		parts = append(parts, fmt.Sprintf("The network can do %s of the link rate at most.", percent(a.Efficiency)))
	case t != nil:
		parts = append(parts, fmt.Sprintf("The tables allow %s of the link rate in phases, %s without.", percent(t.Phased), percent(t.Unphased)))
	}
	if p := v.Pairs; p != nil && p.Slow > 0 {
		text := fmt.Sprintf("%d of %s slow", p.Slow, show.Plural(p.Count, "pair is", "pairs are"))
		if len(p.Common) > 0 {
			text += fmt.Sprintf("; look at %s to %s, over which %d of %d are slow", p.Common[0].From, p.Common[0].To, p.Common[0].Slow, p.Common[0].Pairs)
		}
		parts = append(parts, text+".")
	} else if p != nil {
		parts = append(parts, fmt.Sprintf("None of %s is slow: usually %s.", show.Plural(p.Count, "pair", "pairs"), show.Amount(p.Usual, "bit/s")))
	}
	if len(v.Repairs) > 0 {
		first, last := v.Repairs[0], v.Repairs[len(v.Repairs)-1]
		what := "Repair " + first.Link
		if first.Slow > 0 {
			what = "Bring " + first.Link + " to its full rate"
		}
		switch {
		case first.Efficiency > v.AtMost.Efficiency:
			parts = append(parts, fmt.Sprintf("%s first: at most %s then.", what, percent(first.Efficiency)))
		case last.Efficiency > v.AtMost.Efficiency:
			parts = append(parts, fmt.Sprintf("No repair of one link alone raises that; begin with %s.", first.Link))
		}
	}
	if v.Measured != nil && v.Measured.above() {
		parts = append(parts, aboveTables)
	} else if v.Tables != nil && v.Tables.Decides {
		var names []string
		for _, l := range v.Tables.Links {
			names = append(names, l.From+" to "+l.To)
		}
		text := names[0]
		if c := v.Tables.Links[0].Capacity; c > 0 {
			text += fmt.Sprintf(", at %s of the link rate", percent(c))
		}
		if n := v.Tables.LinksAt - 1; n > 0 {
			text += " and " + show.Plural(n, "link", "links") + " more"
		}
		parts = append(parts, fmt.Sprintf("Under its tables the fullest is %s.", text))
	}
	return strings.Join(parts, " ")
}
