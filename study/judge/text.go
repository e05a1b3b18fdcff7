package judge

import (
	"fmt"
	"io"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
)

// Document is the verdict as commands print it.
func (v *Verdict) Document() answer.Document {
	return answer.Document{Answer: v.Answer(), Text: func(w io.Writer) error { return show.Align(w, v.lines()) }, Fields: v}
}

// Share is the measured rate over the possible one, if both are known.
func (v *Verdict) Share() (of float64, known bool) {
	if v.Measured == nil || v.AtMost == nil {
		return 0, false
	}
	return v.Measured.OfAtMost, true
}

// lines are the lines of the verdict: the subject of each line, empty where it continues, and the
// line.
func (v *Verdict) lines() (rows [][]string) {
	last := ""
	add := func(head, text string, a ...any) {
		if head == last && head != "note" {
			head = "" // the line goes on
		} else if head != "" {
			last = head
		}
		rows = append(rows, []string{head, fmt.Sprintf(text, a...)})
	}
	for _, c := range v.Cases {
		add("cases", "%s: %s: %s", c.Name, c.Word, c.Sentence)
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
		add("tables", "%s: %s", t.allow(" (linear shift"+some+")"), origin(t.Engine))
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

func (l LinkLoad) pairs(unit string) string {
	names := lists.Map(l.Pairs[:min(len(l.Pairs), textPairs)], func(p HostPair) string { return p.Src + " to " + p.Dst })
	text := strings.Join(names, ", ")
	if n := l.Routes - int64(len(names)); unit == "bytes" && len(l.Pairs) > len(names) {
		text += " and more pairs"
	} else if n > 0 && unit != "bytes" {
		text += fmt.Sprintf(" and %d more pairs", n)
	}
	return text
}

// allow says what tables allow, in phases of some kind and without.
func (t *Tables) allow(phases string) string {
	if t.Phased == 0 {
		return percent(t.Unphased) + " without phases"
	}
	return fmt.Sprintf("%s in phases%s, %s without", percent(t.Phased), phases, percent(t.Unphased))
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

func (p *Pairs) lines(slow float64, add func(string, string, ...any)) {
	add("pairs", "%s", p.summary(slow))
	if p.Above > 0 {
		add("", "%s more than a link carries, up to %.3g times that, and counted as a link's rate: bursts from buffers, which larger messages have less of",
			show.Plural(p.Above, "pair got", "pairs got"), p.Fastest)
	}
	for _, c := range p.Causes {
		add("who", "%s: %d of its %s", c.Text(0), c.Slow, show.Plural(c.Pairs, "pair", "pairs"))
	}
	if p.Scattered > 0 {
		add("", "what makes %s slow is not known", show.Plural(p.Scattered, "pair", "pairs"))
	}
	for i, x := range p.Pairs[:min(len(p.Pairs), textPairs)] {
		more := ""
		if i == textPairs-1 && p.Slow > textPairs {
			more = fmt.Sprintf("; and %d more", p.Slow-textPairs)
		}
		add("slow", "%s to %s: %s, expected %s%s", x.Src, x.Dst, show.Amount(x.Rate, "bit/s"), show.Amount(x.Expected, "bit/s"), more)
	}
}

func (p *Pairs) summary(slow float64) string {
	text := fmt.Sprintf("%s, usually %s", show.Plural(p.Count, "pair", "pairs"), show.Amount(p.Usual, "bit/s"))
	if p.OfRate > 0 {
		text += fmt.Sprintf(" (%s of the link rate)", percent(p.OfRate))
	}
	if p.Below == 0 {
		return text + fmt.Sprintf("; none has less than %.0f%% of that", 100*slow)
	}
	text += fmt.Sprintf("; %s less than %.0f%% of that", show.Plural(p.Below, "has", "have"), 100*slow)
	if p.Shared > 0 {
		text += fmt.Sprintf(": %d get their share of links that are shared under the tables or slow, %d do not", p.Shared, p.Slow)
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
		all = append(all, t.Engine+" "+t.allow(""))
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
