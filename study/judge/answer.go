package judge

import (
	"fmt"
	"slices"
	"strings"

	"evbench/internal/show"
)

// Answer is the verdict in a few sentences: what was measured of what is possible, then what is in
// its way, and what helps.
func (v *Verdict) Answer() string {
	parts := []string{v.share(), v.slowest(), v.byTables(), v.firstRepair()}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// share says how much of what is possible was measured, or else what is possible.
func (v *Verdict) share() string {
	begin, end := "", "."
	if m := v.Measured; m != nil && m.Limit != "" {
		begin, end = "No more than ", fmt.Sprintf(", perhaps less: %s.", m.Limit)
	}
	switch m, a, t := v.Measured, v.AtMost, v.Tables; {
	case m != nil && a != nil:
		return begin + fmt.Sprintf("%s of what the network can do at most was measured (%s of the link rate)", percent(m.OfAtMost), percent(m.Efficiency)) + end
	case m != nil && t != nil:
		return begin + fmt.Sprintf("%s of the link rate was measured, %s of what the tables allow in phases", percent(m.Efficiency), percent(m.OfPhased)) + end
	case m != nil:
		return begin + percent(m.Efficiency) + " of the link rate was measured" + end
	case a != nil:
		return fmt.Sprintf("The network can do %s of the link rate at most.", percent(a.Efficiency))
	}
	return ""
}

func (v *Verdict) slowest() string {
	p := v.Pairs
	switch {
	case p == nil:
		return ""
	case p.Slow == 0 && p.Below > 0:
		return fmt.Sprintf("%d of %s below the usual %s because their links are shared or slow; none is slower than that.",
			p.Below, show.Plural(p.Count, "pair is", "pairs are"), show.Amount(p.Usual, "bit/s"))
	case p.Slow == 0:
		return fmt.Sprintf("None of %s is slow: usually %s.", show.Plural(p.Count, "pair", "pairs"), show.Amount(p.Usual, "bit/s"))
	}
	text := fmt.Sprintf("%d of %s slow", p.Slow, show.Plural(p.Count, "pair is", "pairs are"))
	if len(p.Common) > 0 {
		c := p.Common[0]
		text += fmt.Sprintf("; look at %s to %s, over which %d of %d are slow", c.From, c.To, c.Slow, c.Pairs)
	}
	return text + "."
}

// byTables says what the tables allow where they allow less than the links of hosts, and what
// allows more.
func (v *Verdict) byTables() string {
	t := v.Tables
	switch {
	case t == nil:
		return ""
	case v.Measured != nil && v.Measured.above():
		return aboveTables
	case !t.Decides && v.Measured == nil:
		return fmt.Sprintf("Its tables allow %s in phases, %s without.", percent(t.Phased), percent(t.Unphased))
	case !t.Decides:
		return ""
	}
	l := t.Links[0]
	text := fmt.Sprintf("Its tables allow %s: the fullest link is %s to %s", percent(t.Unphased), l.From, l.To)
	if l.Capacity > 0 {
		text += fmt.Sprintf(", at %s of the link rate", percent(l.Capacity))
	}
	if n := t.LinksAt - 1; n > 0 {
		text += ", with " + show.Plural(n, "link", "links") + " more"
	}
	if p := v.Planned; p != nil && p.Efficiency > t.Unphased*tooGood {
		return text + fmt.Sprintf("; a plan gives %s.", percent(p.Efficiency))
	}
	best := *t
	for _, x := range v.Rerouted {
		if x.Unphased > best.Unphased*tooGood {
			best = x
		}
	}
	if best.Engine != t.Engine {
		text += fmt.Sprintf("; tables of %s allow %s", best.Engine, percent(best.Unphased))
	}
	return text + "."
}

func (v *Verdict) firstRepair() string {
	if len(v.Repairs) == 0 {
		return ""
	}
	first, last := v.Repairs[0], v.Repairs[len(v.Repairs)-1]
	what := "Repair " + first.Link
	if first.Slow > 0 {
		what = "Bring " + first.Link + " to its full rate"
	}
	switch now := v.AtMost.Efficiency; {
	case first.Efficiency > now:
		return fmt.Sprintf("%s first: the network can do %s then, %s now.", what, percent(first.Efficiency), percent(now))
	case last.Efficiency > now:
		return fmt.Sprintf("No repair of one link alone raises what it can do; begin with %s.", first.Link)
	}
	return ""
}
