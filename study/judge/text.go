package judge

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"evbench/internal/show"
)

// WriteJSON writes the verdict as one document.
func (v *Verdict) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(v) }

// WriteText writes the verdict for people, the answer first.
func (v *Verdict) WriteText(w io.Writer) error { return show.Align(w, v.Lines()) }

// Lines are what the verdict says: what each line is about, which is empty where it goes on,
// and the line.
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
		add("at most", "%s of the link rate, %.5g phases for %s; %s %s", percent(a.Efficiency), a.Phases, show.Plural(v.Hosts-1, "message", "messages"), percent(a.Healthy), healthy)
		add("", "%s", a.Why)
	}
	if t := v.Tables; t != nil {
		some := ""
		if t.Counted < v.Hosts-1 {
			some = fmt.Sprintf(", estimated from %d phases", t.Counted)
		}
		add("tables", "%s in phases (linear shift%s), %s without: %s", percent(t.Phased), some, percent(t.Unphased), origin(t.Engine))
		v.links(add)
	}
	if v.Pairs != nil {
		v.Pairs.lines(add)
	}
	v.advice(add)
	for _, n := range v.Notes {
		add("note", "%s", n)
	}
	return rows
}

// readTables is what package lft calls the engine of tables that it has read.
const readTables = "file"

func origin(engine string) string {
	if engine == readTables {
		return "the tables given"
	}
	return "engine " + engine
}

// aboveTables is said of what was measured where tables exclude it.
const aboveTables = "This is more than these tables allow: others were in place, or the rate is another."

func (m *Measured) above() bool { return m.Limit == "" && m.OfUnphased > tooGood }

func (v *Verdict) answer(add func(string, string, ...any)) {
	if m := v.Measured; m != nil {
		text := percent(m.Efficiency) + " of the link rate"
		if v.AtMost != nil {
			text = fmt.Sprintf("%s of what the network can do at most; %s", percent(m.OfAtMost), text)
		}
		if v.Tables != nil {
			text += fmt.Sprintf("; %s of what its tables allow in phases, %s of what they allow without", percent(m.OfPhased), percent(m.OfUnphased))
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
	if v.Slots > 1 {
		ranks = fmt.Sprintf("%d ranks each", v.Slots)
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
		add("links", "none takes longer than the link of a host, %d routes", v.Hosts-1)
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
		add("links", "%s to %s (port %s): %d routes%s, the link of a host has %d%s", l.From, l.To, l.Port, l.Routes, rate, v.Hosts-1, more)
		if i == 0 {
			add("", "of %s", l.pairs())
		}
	}
}

const textPairs = 5

func (l LinkLoad) pairs() string {
	var names []string
	for _, p := range l.Pairs[:min(len(l.Pairs), textPairs)] {
		names = append(names, p.Src+" to "+p.Dst)
	}
	text := strings.Join(names, ", ")
	if n := l.Routes - int64(len(names)); n > 0 {
		text += fmt.Sprintf(" and %d more pairs", n)
	}
	return text
}

const mostSteps = 12

// repairs writes a line for each repair that brings something, with those before it that
// bring nothing alone.
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
	var all []string
	for _, t := range v.Rerouted {
		all = append(all, fmt.Sprintf("%s %s in phases, %s without", t.Engine, percent(t.Phased), percent(t.Unphased)))
	}
	if len(all) > 0 {
		add("re-route", "%s", strings.Join(all, "; "))
	}
	if p := v.Planned; p != nil {
		add("plan", "%s: %s in %d phases, with its own paths (evbench plan -s %s)", p.Schedule, percent(p.Efficiency), p.Phases, p.Schedule)
		if len(p.Uses) > 0 {
			add("", "phases over %s last longer: without these links a plan takes longer still", show.Few(p.Uses))
		}
		if len(p.Avoids) > 0 {
			add("", "%s count as dead: with these slow links a plan takes longer", show.Few(p.Avoids))
		}
	}
}

func percent(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }
