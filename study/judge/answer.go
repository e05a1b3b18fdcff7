package judge

import (
	"fmt"
	"slices"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/show"
)

// enough is what part of the most that is possible counts as good.
const enough = 0.95

// Answer is the verdict in a few sentences: what was measured of what is possible, then what is in
// its way, and what helps.
func (v *Verdict) Answer() answer.Answer {
	parts := []string{v.share(), v.slowest(), v.byTables(), v.firstRepair()}
	a := answer.Answer{
		Question: "Is this all-to-all exchange good for its network?",
		Verdict:  v.verdict(),
		Sentence: strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " "),
	}
	if v.AtMost != nil && v.AtMost.Why != "" {
		a.Why = []string{v.AtMost.Why}
	}
	return a
}

// verdict holds what was measured against the most that is possible; without a result what the
// tables allow, or else what dead links leave.
func (v *Verdict) verdict() answer.Verdict {
	m, most, t := v.Measured, v.AtMost, v.Tables
	switch {
	case m != nil && (m.Limit != "" || m.above()):
		return answer.Unknown
	case v.Pairs != nil && m == nil:
		return answer.Of(v.Pairs.Slow == 0)
	case most == nil:
		return answer.Unknown
	case m != nil:
		return answer.Of(m.OfAtMost >= enough)
	case t != nil:
		return answer.Of(t.Unphased >= enough*most.Efficiency)
	}
	return answer.Of(most.Efficiency >= enough*most.Healthy)
}

// share says how much of what is possible was measured, or else what is possible.
func (v *Verdict) share() string {
	begin, end := "", "."
	if m := v.Measured; m != nil && m.Limit != "" {
		begin, end = "No more than ", fmt.Sprintf(", perhaps less (%s).", m.Limit)
	}
	switch m, a := v.Measured, v.AtMost; {
	case m != nil && a != nil:
		return begin + percent(m.Efficiency) + " of the link rate was measured" + end + fmt.Sprintf(" The network can do %s.", percent(a.Efficiency))
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
