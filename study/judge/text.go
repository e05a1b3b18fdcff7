package judge

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
)

// WriteJSON writes the verdict as one document.
func (v *Verdict) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(v) }

// WriteText writes the verdict for people, the answer first.
func (v *Verdict) WriteText(w io.Writer) error { return show.Align(w, v.Lines()) }

// Lines are the lines of the verdict: the subject of each line, empty where it continues, and the
// line.
func (v *Verdict) Lines() (rows [][]string) {
	last := ""
	add := func(head, text string, a ...any) {
		if head == last && head != "note" {
			head = "" // the line goes on
		} else if head != "" {
			last = head
		}
		rows = append(rows, []string{head, fmt.Sprintf(text, a...)})
	}
	v.answer(add)
	if a := v.AtMost; a != nil {
		healthy := "without dead links"
		if len(v.Slow) > 0 {
			healthy = "with all links whole"
		}
		what := fmt.Sprintf("%.5g %s for %s", a.Phases, phases(a.Phases), show.Plural(int(v.each), "message", "messages"))
		if a.ByteTimes > 0 {
			what = fmt.Sprintf("%.0f byte times for %d bytes of the busiest", a.ByteTimes, v.each)
		}
		if a.Seconds > 0 {
			what += fmt.Sprintf(", %.4g ms", 1e3*a.Seconds)
		}
		add("at most", "%s of the link rate, %s; %s %s", percent(a.Efficiency), what, percent(a.Healthy), healthy)
		add("", "%s", a.Why)
		if a.Full > 0 {
			add("", "%.5g %s with the messages inside hosts, which a plan includes", a.Full, phases(a.Full))
		}
	}
	if t := v.Tables; t != nil {
		some := ""
		if t.Counted < v.servers-1 {
			some = fmt.Sprintf(", estimated from %d phases", t.Counted)
		}
		if t.Phased == 0 {
			add("tables", "%s without phases: %s", percent(t.Unphased), origin(t.Engine))
		} else {
			add("tables", "%s in phases (linear shift%s), %s without: %s", percent(t.Phased), some, percent(t.Unphased), origin(t.Engine))
		}
		v.links(add)
	}
	v.rails(add)
	if v.Pairs != nil {
		v.Pairs.lines(v.good.Pair, add)
	}
	v.advice(add)
	for _, n := range v.Notes {
		add("note", "%s", n)
	}
	return rows
}

// readTables is the engine name that package lft gives to tables that it has read.
const readTables = "file"

func origin(engine string) string {
	if engine == readTables {
		return "the tables given"
	}
	return "engine " + engine
}

// aboveTables is the text for a measurement above the limit of the tables.
const aboveTables = "This is more than these tables allow: the network had other tables, or the links have another rate."

func (m *Measured) above() bool { return m.Limit == "" && m.OfUnphased > tooGood }

func (v *Verdict) answer(add func(string, string, ...any)) {
	if m := v.Measured; m != nil {
		text := percent(m.Efficiency) + " of the link rate"
		if v.AtMost != nil {
			text = fmt.Sprintf("%s of what the network can do at most; %s", percent(m.OfAtMost), text)
		}
		if v.Tables != nil {
			if m.OfPhased > 0 {
				text += fmt.Sprintf("; %s of what its tables allow in phases, %s of what they allow without", percent(m.OfPhased), percent(m.OfUnphased))
			} else {
				text += fmt.Sprintf("; %s of what its tables allow without phases", percent(m.OfUnphased))
			}
		}
		if m.Limit != "" {
			text = "no more than " + text
		}
		add("measured", "%s", text)
		if !m.Given {
			add("", "%s", m.What)
		}
		if m.Limit != "" {
			add("", "perhaps less: %s", m.Limit)
		}
		if m.above() {
			add("", "%s", aboveTables)
		}
	}
	ranks := "one rank each"
	if v.slots > 1 {
		ranks = fmt.Sprintf("%d ranks each", v.slots)
	}
	switch {
	case v.Adapters == 0:
	case v.Adapters%v.Hosts == 0:
		ranks = fmt.Sprintf("%d adapters each, ", v.Adapters/v.Hosts) + strings.Replace(ranks, "each", "an adapter", 1)
	default:
		ranks = fmt.Sprintf("%d adapters, ", v.Adapters) + strings.Replace(ranks, "each", "an adapter", 1)
	}
	if v.Readers > 0 {
		ranks += fmt.Sprintf(", %s, %s", show.Plural(v.Readers, "reader", "readers"), show.Plural(v.Builders, "builder", "builders"))
	}
	dead := ""
	if len(v.Dead) > 0 {
		dead = ", dead: " + show.Few(v.Dead)
	}
	if len(v.Slow) > 0 {
		dead += ", slow: " + show.Few(v.Slow)
	}
	if v.Rate > 0 {
		ranks += ", links of " + show.Amount(v.Rate, "bit/s")
	}
	add("network", "%s, %s, %s%s", v.Network, show.Plural(v.Hosts, "host", "hosts"), ranks, dead)
}

func (v *Verdict) links(add func(string, string, ...any)) {
	t := v.Tables
	if !t.Decides {
		add("links", "none takes longer than the link of a host, %d %s", v.each, v.unit)
		return
	}
	for i, l := range t.Links {
		more := ""
		if i == len(t.Links)-1 && t.LinksAt > len(t.Links) {
			more = fmt.Sprintf(", and %d more", t.LinksAt-len(t.Links))
		}
		rate := ""
		if l.Capacity > 0 {
			rate = fmt.Sprintf(" at %s of the link rate", percent(l.Capacity))
		}
		add("links", "%s to %s (port %s): %d %s%s, the link of a host has %d%s", l.From, l.To, l.Port, l.Routes, v.unit, rate, v.each, more)
		if i == 0 {
			add("", "of %s", l.pairs(v.unit))
		}
	}
}

// rails writes one line for all rails with the same result.
func (v *Verdict) rails(add func(string, string, ...any)) {
	for i := 0; i < len(v.Rails); {
		a, last := v.Rails[i], i
		for last+1 < len(v.Rails) && v.Rails[last+1].gives() == a.gives() {
			last++
		}
		if last == i {
			add("rails", "%d (%s): %s", i, show.Few(a.Leaves), a.gives())
		} else {
			add("rails", "%d to %d (%s to %s): %s each", i, last, show.Few(a.Leaves), show.Few(v.Rails[last].Leaves), a.gives())
		}
		i = last + 1
	}
}

func (r Rail) gives() string {
	text := fmt.Sprintf("%d adapters, at most %s of the link rate", r.Adapters, percent(r.Efficiency))
	if r.Tables > 0 {
		text += fmt.Sprintf(", its tables %s", percent(r.Tables))
	}
	return text
}

const textPairs = 5

func (l LinkLoad) pairs(unit string) string {
	names := lists.Of(l.Pairs[:min(len(l.Pairs), textPairs)], func(p HostPair) string { return p.Src + " to " + p.Dst })
	text := strings.Join(names, ", ")
	if n := l.Routes - int64(len(names)); unit == "bytes" && len(l.Pairs) > len(names) {
		text += " and more pairs"
	} else if n > 0 && unit != "bytes" {
		text += fmt.Sprintf(" and %d more pairs", n)
	}
	return text
}

const mostSteps = 12

// repairs writes a line for each useful repair, with earlier ones that have no effect alone.
func (v *Verdict) repairs(add func(string, string, ...any)) {
	steps := 0
	var names []string
	for i, r := range v.Repairs {
		before := v.AtMost.Efficiency
		if i > 0 {
			before = v.Repairs[i-1].Efficiency
		}
		name := r.Link
		if r.Slow > 0 {
			name += " to full rate"
		}
		names = append(names, name)
		if r.Efficiency == before && i < len(v.Repairs)-1 {
			continue
		}
		if steps++; steps > mostSteps {
			add("", "and %d more", len(v.Repairs)-i)
			return
		}
		first, together := fmt.Sprint(i+1), ""
		if len(names) > 1 {
			first, together = fmt.Sprintf("%d to %d", i+2-len(names), i+1), " together"
		}
		if r.Efficiency == before {
			add("repair", "%s. %s: nothing more for this exchange", first, show.Few(names))
			return
		}
		add("repair", "%s. %s%s: at most %s → %s", first, show.Few(names), together, percent(before), percent(r.Efficiency))
		names = nil
	}
}

func (v *Verdict) advice(add func(string, string, ...any)) {
	v.repairs(add)
	if o := v.Ordered; o != nil {
		add("order", "%s in %s over the present tables, with the best order of messages: %s", percent(o.Efficiency), show.Plural(o.Phases, "step", "steps"), o.Command)
	}
	var all []string
	for _, t := range v.Rerouted {
		if t.Phased <= v.Tables.Phased*(1+1e-9) && t.Unphased <= v.Tables.Unphased*(1+1e-9) {
			continue
		}
		if t.Phased == 0 {
			all = append(all, fmt.Sprintf("%s %s without phases", t.Engine, percent(t.Unphased)))
			continue
		}
		all = append(all, fmt.Sprintf("%s %s in phases, %s without", t.Engine, percent(t.Phased), percent(t.Unphased)))
	}
	if len(all) > 0 {
		add("re-route", "%s", strings.Join(all, "; "))
	}
	if p := v.Planned; p == nil || !v.better(p.Efficiency) {
		return
	} else if p.Phases == 0 {
		add("plan", "%s: %s without phases, with its own paths (evbench plan --sizes)", p.Schedule, percent(p.Efficiency))
	} else {
		add("plan", "%s: %s in %s, with its own paths (evbench plan -s %s)", p.Schedule, percent(p.Efficiency), show.Plural(p.Phases, "phase", "phases"), p.Schedule)
		if len(p.Uses) > 0 {
			add("", "phases over %s last longer, and a plan without these links is no faster", show.Few(p.Uses))
		}
		if len(p.Avoids) > 0 {
			add("", "%s count as dead: with these slow links a plan takes longer", show.Few(p.Avoids))
		}
	}
}

func phases(n float64) string {
	if n == 1 {
		return "phase"
	}
	return "phases"
}

func percent(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }

// Answer is the verdict in a few sentences: the measured share of the possible rate, then its
// obstacle, and the remedy.
func (v *Verdict) Answer() answer.Answer {
	verdict := v.verdict()
	parts := []string{v.share(), v.guess(), v.slowest(), v.byTables(), v.byOrder(), v.firstRepair(), v.missing(verdict)}
	a := answer.Answer{
		Question: "Is this all-to-all exchange good for its network?",
		Verdict:  verdict,
		Sentence: strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " "),
	}
	if v.AtMost != nil && v.AtMost.Why != "" {
		a.Why = []string{v.AtMost.Why}
	}
	if verdict != answer.Good && v.Tables == nil && v.flags != nil {
		a.Next = append(a.Next, answer.Typed(slices.Concat([]string{"evbench", "judge"}, v.flags, v.again, []string{"--engine", "opensm-minhop"})...))
	}
	if p := v.Planned; verdict != answer.Good && p != nil && v.better(p.Efficiency) && v.flags != nil {
		a.Next = append(a.Next, answer.Typed(slices.Concat([]string{"evbench", "plan"}, v.flags, []string{"-o", "plan.txt"})...))
	}
	return a
}

// missing says what would tell why an exchange is bad, where neither tables nor pairs do.
func (v *Verdict) missing(verdict answer.Verdict) string {
	switch m := v.Measured; {
	case verdict == answer.Unknown && v.Pairs != nil && v.Rate == 0:
		return "Whether all are slow is not known: give the rate of the links (--rate)."
	case verdict == answer.Unknown && m == nil && v.AtMost == nil && v.Tables == nil:
		return "What the network can do is not known: give its tables (--tables, --engine)."
	case verdict != answer.Bad || m == nil:
	case v.Tables == nil:
		return "Give its tables (--tables, --engine): they say which links messages share."
	case v.Pairs == nil && max(m.OfUnphased, m.OfPhased) < v.good.Exchange:
		explained := "Its tables do not explain that"
		if v.Tables.Decides {
			explained = fmt.Sprintf("Its tables do not explain all of that, %s of what they allow was reached", percent(m.OfUnphased))
		}
		return explained + ": measure the pairs (mpiGraph, iperf3 -J)."
	}
	return ""
}

// verdict compares the measured share with the possible one; without a result it uses the limit of
// the tables, or else the limit of dead links.
func (v *Verdict) verdict() answer.Verdict {
	m, most, t, enough := v.Measured, v.AtMost, v.Tables, v.good.Exchange
	switch {
	case v.Guess != "":
		return answer.Unknown
	case v.Pairs != nil && (v.Pairs.Slow > 0 || v.allSlow()):
		return answer.Bad
	case m != nil && m.Limit != "" && most != nil && m.OfAtMost < enough:
		return answer.Bad // the slowest rank took longer still
	case m != nil && (m.Limit != "" || m.above()):
		return answer.Unknown
	case v.Pairs != nil && v.Rate == 0:
		return answer.Unknown
	case v.Pairs != nil && m == nil:
		return answer.Good
	case most == nil && t != nil && m != nil:
		return answer.Of(m.OfUnphased >= enough)
	case most == nil:
		return answer.Unknown
	case m != nil:
		return answer.Of(m.OfAtMost >= enough)
	case t != nil:
		return answer.Of(t.Unphased >= enough*most.Efficiency)
	}
	return answer.Of(most.Efficiency >= enough*most.Healthy)
}

// from says from where on the exchange is good.
func (v *Verdict) from(what string) string {
	return fmt.Sprintf(" (good from %.4g%% of %s)", 100*v.good.Exchange, what)
}

func (v *Verdict) guess() string {
	if v.Guess == "" {
		return ""
	}
	return "That is a guess: " + v.Guess + "."
}

// share says what share of the possible rate was measured, or else the possible rate.
func (v *Verdict) share() string {
	begin, end := "", "."
	if m := v.Measured; m != nil && m.Limit != "" {
		begin, end = "No more than ", fmt.Sprintf(", perhaps less (%s).", m.Limit)
	}
	switch m, a := v.Measured, v.AtMost; {
	case m != nil && a != nil:
		return begin + percent(m.Efficiency) + " of the link rate was measured" + end + fmt.Sprintf(" The network can do %s%s.", percent(a.Efficiency), v.from("that"))
	case m != nil:
		if v.Tables != nil {
			end = v.from("what its tables allow") + end
		}
		return begin + percent(m.Efficiency) + " of the link rate was measured" + end
	case a != nil:
		from := ""
		switch {
		case v.Pairs != nil:
		case v.Tables != nil:
			from = v.from("that")
		case a.Efficiency < a.Healthy:
			from = v.from(percent(a.Healthy) + ", without dead links")
		}
		return fmt.Sprintf("The network can do %s of the link rate at most%s.", percent(a.Efficiency), from)
	}
	return ""
}

// allSlow reports whether pairs usually have far less than the stated rate of the links.
func (v *Verdict) allSlow() bool { return v.Rate > 0 && v.Pairs.Usual < v.good.Pairs*v.Rate }

func (v *Verdict) slowest() string {
	p := v.Pairs
	switch {
	case p == nil:
		return ""
	case p.Slow == 0 && v.allSlow():
		return fmt.Sprintf("%s slow alike: usually %s, %s of the link rate (good from %s): look at what they share, such as adapters, MTU, or one process a host.",
			show.Plural(p.Count, "pair is", "pairs are all"), show.Amount(p.Usual, "bit/s"), percent(p.Usual/v.Rate), percent(v.good.Pairs))
	case p.Slow == 0 && p.Below > 0:
		return fmt.Sprintf("%d of %s below the usual %s because their links are shared or slow; none is slower than that.",
			p.Below, show.Plural(p.Count, "pair is", "pairs are"), show.Amount(p.Usual, "bit/s"))
	case p.Slow == 0:
		of := ""
		if v.Rate > 0 {
			of = fmt.Sprintf(", %s of the link rate (good from %s)", percent(p.Usual/v.Rate), percent(v.good.Pairs))
		}
		if p.Count == 1 {
			return fmt.Sprintf("The one pair is not slow: %s%s.", show.Amount(p.Usual, "bit/s"), of)
		}
		return fmt.Sprintf("None of %d pairs is slow: usually %s%s.", p.Count, show.Amount(p.Usual, "bit/s"), of)
	}
	text := fmt.Sprintf("%d of %s slow", p.Slow, show.Plural(p.Count, "pair is", "pairs are"))
	if len(p.Common) > 0 {
		c := p.Common[0]
		text += fmt.Sprintf("; look at %s to %s, over which %d of %d are slow", c.From, c.To, c.Slow, c.Pairs)
	}
	return text + "."
}

// byTables states the limit of the tables if it is below the limit of hosts' links, and tables with
// a higher limit.
func (v *Verdict) byTables() string {
	t := v.Tables
	switch {
	case t == nil:
		return ""
	case v.Measured != nil && v.Measured.above():
		return aboveTables
	case !t.Decides && v.Measured == nil && t.Phased == 0:
		return fmt.Sprintf("Its tables allow %s.", percent(t.Unphased))
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

// byOrder says what the best order of messages gives over the tables, if the usual one gives less.
func (v *Verdict) byOrder() string {
	o := v.Ordered
	if o == nil || o.Efficiency <= tooGood*v.Tables.Phased {
		return ""
	}
	return fmt.Sprintf("In phases, the order of ranks gives %s over them, the best order of messages %s.", percent(v.Tables.Phased), percent(o.Efficiency))
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
		return fmt.Sprintf("No single repair raises the limit; begin with %s.", first.Link)
	}
	return ""
}
