package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/show"
)

// Answer is word and first sentence, by answer.Decide, with commands that tell more.
func (v *Verdict) Answer() answer.Answer {
	a := answer.Decide(answer.Exchange, v.ofCase(v.evidence()))
	if a.Verdict == answer.Good || v.flags == nil {
		return a
	}
	if v.Tables == nil && !v.adaptive {
		a.Next = append(a.Next, answer.Typed(slices.Concat([]string{"evbench", "judge"}, v.flags, v.again, []string{"--engine", "opensm-minhop"})...))
	}
	if p := v.Planned; p != nil && v.better(p.Efficiency) {
		a.Next = append(a.Next, answer.Typed(slices.Concat([]string{"evbench", "plan"}, v.flags, []string{"-o", "plan.txt"})...))
	}
	return a
}

// evidence is what the verdict shows on its question: the result beside what is possible, pairs, or the limit of the
// network where there is no result, and behind a shortfall what lifts it.
func (v *Verdict) evidence() answer.Evidence {
	var e answer.Evidence
	switch {
	case v.Measured != nil:
		e.Findings = append(e.Findings, v.measured())
	case v.Pairs == nil:
		e.Findings = append(e.Findings, v.alone())
	}
	if v.Pairs != nil {
		e.Findings = append(e.Findings, v.ofPairs())
	}
	if v.doubt != "" {
		e.Doubts = []answer.Doubt{{Text: v.doubt}}
	}
	if guess, _, _ := strings.Cut(v.Guess, ","); guess != "" {
		for i := range e.Findings {
			e.Findings[i].Doubts = []answer.Doubt{{Text: "a guess: " + guess}}
		}
		e.Why = append(e.Why, v.Guess)
	}
	if slices.ContainsFunc(e.Findings, func(f answer.Finding) bool { return f.Place == answer.Below && len(f.Doubts) == 0 }) {
		for _, text := range []string{v.byTables(), v.remedy(), v.missing(), v.byOrder()} {
			e.Findings = append(e.Findings, answer.Finding{Text: text})
		}
		e.Findings = slices.DeleteFunc(e.Findings, func(f answer.Finding) bool { return f.Text == "" })
	}
	if v.AtMost != nil && v.AtMost.Why != "" {
		e.Why = append(e.Why, v.AtMost.Why)
	}
	if m := v.Measured; m != nil {
		if m.Limit != "" {
			e.Why = append(e.Why, m.Limit)
		}
		e.Why = append(e.Why, fmt.Sprintf("good from %.4g%% of what is possible", 100*v.good.Exchange))
	}
	return e
}

// measured is the share that was measured, beside the possible one.
func (v *Verdict) measured() answer.Finding {
	m := v.Measured
	f := answer.Finding{Text: percent(m.Efficiency) + " of the link rate was measured" + v.assumed, Place: answer.At}
	if m.Limit != "" {
		f.Text = "at most " + f.Text
	}
	share := m.OfAtMost
	switch {
	case v.AtMost != nil:
		f.Text += "; " + percent(v.AtMost.Efficiency) + " is possible"
	case v.Tables != nil:
		share = m.OfUnphased
		f.Text += "; its tables allow " + percent(v.Tables.Unphased)
	default:
		f.Doubts = []answer.Doubt{{Text: "what the network can do is not known", Remedy: "give its tables (--tables, --engine)"}}
		return f
	}
	switch {
	case share < v.good.Exchange:
		f.Place, f.Cause = answer.Below, v.slow // the slowest rank took longer still
	case m.Limit != "":
		reason, _, _ := strings.Cut(m.Limit, ",")
		f.Doubts = []answer.Doubt{{Text: reason}}
	}
	if m.above() {
		f.Doubts = append(f.Doubts, answer.Doubt{Text: aboveTables})
	}
	return f
}

// aboveTables is the text for a measurement above the limit of the tables.
const aboveTables = "more than its tables allow: usually adaptive routing (--adaptive), else other tables or rates"

// ofPairs says whether pairs are slow, and which.
func (v *Verdict) ofPairs() answer.Finding {
	p, usual := v.Pairs, show.Amount(v.Pairs.Usual, "bit/s")
	share := func() string { return percent(p.OfRate) + " of the link rate" }
	switch {
	case p.Slow > 0:
		x := p.Pairs[0]
		which := fmt.Sprintf("%s to %s is slow", x.Src, x.Dst)
		if p.Slow > 1 {
			which = fmt.Sprintf("%d pairs are slow, first %s to %s", p.Slow, x.Src, x.Dst)
		}
		f := answer.Finding{Text: fmt.Sprintf("%s, %s of the usual %s", which, show.Amount(x.Rate, "bit/s"), usual), Place: answer.Below}
		if v.Measured != nil { // which has the figures
			f.Text = which
		}
		switch {
		case len(p.Causes) > 0 && v.Measured != nil:
			f.Cause = "look at " + p.Causes[0].Name
		case len(p.Causes) > 0:
			f.Text, f.Cause = fmt.Sprintf("%s slow, usually %s", show.Plural(p.Slow, "pair is", "pairs are"), usual), p.Causes[0].Text(0)
		}
		return f
	case v.allSlow():
		return answer.Finding{Text: show.Plural(p.Count, "pair has", "pairs all have") + " " + share(), Place: answer.Below,
			Cause: "look at what they share, such as adapters, MTU, or one process a host"}
	}
	f := answer.Finding{Place: answer.At}
	switch {
	case len(p.Causes) > 0:
		f.Text = "no pair is slow; " + p.Causes[0].Text(0)
		return f
	case p.Below > 0:
		f.Text = fmt.Sprintf("no pair is slow; %d of %d share links and have less than the usual %s", p.Below, p.Count, usual)
	case p.Count == 1:
		f.Text = "the one pair is not slow, " + usual
	default:
		f.Text = fmt.Sprintf("none of %d pairs is slow, usually %s", p.Count, usual)
	}
	switch {
	case p.relative:
		f.Doubts = []answer.Doubt{{Text: "whether all are slow is open", Remedy: "give a table of pairs (src,dst,Gbit/s)"}}
	case v.Rate == 0:
		f.Doubts = []answer.Doubt{{Text: "whether all are slow is not known", Remedy: "give the link rate (--rate)"}}
	case p.Below == 0:
		f.Text += ", " + share()
	}
	return f
}

// allSlow reports whether pairs usually have far less than the stated rate of the links.
func (v *Verdict) allSlow() bool { return v.Pairs.OfRate > 0 && v.Pairs.OfRate < v.good.Pairs }

// alone is the limit of the network, or of its tables, without a result: a shortfall is known, that all is good is not.
func (v *Verdict) alone() answer.Finding {
	a, t, enough := v.AtMost, v.Tables, v.good.Exchange
	noResult := []answer.Doubt{{Text: "no result was given", Remedy: "give one (--result)"}}
	switch {
	case a != nil && t != nil && t.Unphased < enough*a.Efficiency:
		return answer.Finding{Text: fmt.Sprintf("its tables allow %s of the link rate, %s is possible", percent(t.Unphased), percent(a.Efficiency)), Place: answer.Below}
	case a != nil && a.Efficiency < enough*a.Healthy:
		return answer.Finding{Text: fmt.Sprintf("the network can do %s of the link rate at most, %s without %s links", percent(a.Efficiency), percent(a.Healthy), v.broken()), Place: answer.Below}
	case t != nil:
		return answer.Finding{Text: fmt.Sprintf("its tables allow %s of the link rate", percent(t.Unphased)), Doubts: noResult}
	case a != nil:
		return answer.Finding{Text: fmt.Sprintf("the network can do %s of the link rate at most", percent(a.Efficiency)), Doubts: noResult}
	}
	return answer.Finding{Doubts: []answer.Doubt{{Text: "what the network can do is not known", Remedy: "give its tables (--tables, --engine), or a result"}}}
}

// broken says what is wrong with links.
func (v *Verdict) broken() string {
	switch {
	case len(v.Slow) == 0:
		return "dead"
	case len(v.Dead) == 0:
		return "slow"
	}
	return "dead and slow"
}

// byTables is the limit of the tables, where they decide and nothing has said it.
func (v *Verdict) byTables() string {
	t := v.Tables
	if t == nil || !t.Decides {
		return ""
	}
	l := t.Links[0]
	text := fmt.Sprintf("%s to %s is their fullest link", l.From, l.To)
	if l.Capacity > 0 {
		text += fmt.Sprintf(", at %s of the link rate", percent(l.Capacity))
	}
	if v.Measured != nil && v.AtMost != nil {
		return fmt.Sprintf("its tables allow %s: %s", percent(t.Unphased), text)
	}
	return text
}

// remedy is the first repair, a plan, or other tables, whichever there are.
func (v *Verdict) remedy() string {
	repair := ""
	if len(v.Repairs) > 0 {
		first, last, now := v.Repairs[0], v.Repairs[len(v.Repairs)-1], v.AtMost.Efficiency
		switch {
		case last.Efficiency <= now: // no repair helps
		case first.Efficiency <= now:
			repair = "no single repair raises that, begin with " + first.Link
		case first.Slow > 0:
			repair = "bring " + first.Link + " to its full rate"
		default:
			repair = "repair " + first.Link
		}
	}
	other := ""
	if p := v.Planned; p != nil && (v.Measured != nil || v.Tables != nil) && v.better(p.Efficiency) {
		other = "run a plan"
	} else if i := slices.IndexFunc(v.Rerouted, func(x Tables) bool { return x.Unphased > v.Tables.Unphased*tooGood }); i >= 0 {
		other = "take tables of " + v.Rerouted[i].Engine
	}
	if repair != "" && other != "" {
		return repair + ", or " + other
	}
	return repair + other
}

// missing says what would tell why an exchange is bad, where neither tables nor pairs do.
func (v *Verdict) missing() string {
	switch m := v.Measured; {
	case m == nil || v.Pairs != nil || v.slow != "":
		return ""
	case v.adaptive:
		return "switches choose the ways (adaptive routing): measure the pairs (mpiGraph, iperf3 -J)"
	case v.Tables == nil:
		return "its tables (--tables, --engine) say which links messages share"
	case max(m.OfUnphased, m.OfPhased) < v.good.Exchange:
		return "its tables allow more: measure the pairs (mpiGraph, iperf3 -J)"
	}
	return ""
}

// byOrder says what the best order of messages gives over the tables, if the usual one gives less.
func (v *Verdict) byOrder() string {
	o := v.Ordered
	if o == nil || o.Efficiency <= tooGood*v.Tables.Phased {
		return ""
	}
	return fmt.Sprintf("in phases, the order of ranks gives %s over them, the best order of messages %s", percent(v.Tables.Phased), percent(o.Efficiency))
}

// Together is the verdict on the worst of some cases, one at least with a verdict of its own, which then begins with
// the sentences of all. Who was slow in another case over the same links, was so in that one.
func Together(of []Case) *Verdict {
	for i := range of {
		of[i].Word = answer.Unknown
		if v := of[i].Verdict; v != nil {
			a := v.Answer()
			of[i].Word, of[i].Sentence = a.Verdict, a.Sentence
		}
	}
	judged := slices.DeleteFunc(slices.Clone(of), func(c Case) bool { return c.Verdict == nil })
	worst := slices.MinFunc(judged, func(a, b Case) int {
		return cmp.Or(cmp.Compare(rank(a.Word), rank(b.Word)), cmp.Compare(a.Verdict.share(), b.Verdict.share()))
	})
	v := worst.Verdict
	v.Cases, v.name = of, worst.Name
	for _, c := range judged {
		if slices.Equal(c.Verdict.Dead, v.Dead) {
			v.slow = cmp.Or(v.slow, c.Verdict.slow)
		}
	}
	return v
}

// rank is less for what is worse.
func rank(w answer.Verdict) int {
	return slices.Index([]answer.Verdict{answer.Bad, answer.Unknown, answer.Good}, w)
}

func (v *Verdict) share() float64 {
	if v.Measured == nil {
		return 0
	}
	return v.Measured.OfAtMost
}

// ofCase says of a finding which case is meant, where there are several. Those that none is known of may be worse.
func (v *Verdict) ofCase(e answer.Evidence) answer.Evidence {
	if v.Cases == nil || len(e.Findings) == 0 {
		return e
	}
	e.Findings[0].Text = fmt.Sprintf("the worst case is %q: %s", v.name, e.Findings[0].Text)
	for _, c := range v.Cases {
		if c.Verdict == nil && e.Findings[0].Place != answer.Below {
			e.Doubts = append(e.Doubts, answer.Doubt{Text: fmt.Sprintf("case %q has no verdict", c.Name)})
		}
	}
	return e
}
