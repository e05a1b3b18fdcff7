// Package survey plans many trees and answers what failures cost: every failure of k links or spines (WhatIf).
// Durations of exchanges are in message times: the time of one message on one link. Equal input
// gives equal numbers for any number of CPUs.
package survey

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// quantile returns the smallest value that at least the share q of the sorted
// values do not exceed (nearest rank).
func quantile[T cmp.Ordered](sorted []T, q float64) T {
	i := int(q*float64(len(sorted))+1-1e-9) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// A CaseReport is the result of one case for the sets of a group.
type CaseReport struct {
	Case
	Planned    int     `json:"planned"`
	Refused    int     `json:"refused"`          // reachable sets without a plan
	Reason     string  `json:"reason,omitempty"` // of the first of them
	AboveBound int     `json:"above_bound"`      // plans with more phases than the bound, of those that have one
	Before     outcome `json:"before"`

	// Both are nil without a plan. Efficiency is the prediction for a synchronised exchange.
	Phases     *Distribution[int]     `json:"phases"`
	Efficiency *Distribution[float64] `json:"predicted_efficiency"`
}

// A Distribution describes the values of all plans of a case. Quantiles are by nearest
// rank.
type Distribution[T cmp.Ordered] struct {
	Min    T `json:"min"`
	P5     T `json:"p5"`
	Median T `json:"median"`
	P95    T `json:"p95"`
	Max    T `json:"max"`
	// Worst names the dead parts of the first set with the worst value: the most phases, the least
	// efficiency. WorstSets counts the equally bad sets.
	Worst     []string `json:"worst_set"`
	WorstSets int      `json:"sets_as_bad"`
	// Histogram counts the values, rising; an efficiency in steps of 0.05, each by its lower end.
	Histogram []Bin[T] `json:"histogram"`
}

// A Bin counts equal values.
type Bin[T cmp.Ordered] struct {
	Value T   `json:"from"`
	Count int `json:"count"`
}

// summary is the report of a group whose first set is an item of the sweep.
func (w *whatIf) summary(g *chosen, first int, base []outcome) GroupReport {
	r := GroupReport{Group: g.Name, Sets: g.Count, Chosen: g.len()}
	for i, s := range w.states[first : first+g.len()] {
		switch s {
		case planned:
			r.Done++
		case unreachable:
			r.Done++
			if r.Unreachable++; r.First == nil {
				r.First, _ = g.Set(g.number(i))
			}
		}
	}
	for k, c := range w.opt.Cases {
		r.Cases = append(r.Cases, w.caseReport(CaseReport{Case: c, Before: base[k]}, k, g, first))
	}
	return r
}

// caseReport fills the report of case k of a group.
func (w *whatIf) caseReport(r CaseReport, k int, g *chosen, first int) CaseReport {
	var sets []int32 // of the group
	var phases []int
	var efficiency []float64
	for i := range g.len() {
		if w.states[first+i] != planned {
			continue
		}
		at := (first+i)*len(w.opt.Cases) + k
		if why, ok := w.refused[at]; ok {
			if r.Refused++; r.Reason == "" {
				r.Reason = why
			}
			continue
		}
		o := w.outcomes[at]
		sets, phases, efficiency = append(sets, int32(i)), append(phases, int(o.Phases)), append(efficiency, o.Efficiency)
		if o.bound > 0 && o.Phases > o.bound {
			r.AboveBound++
		}
	}
	if r.Planned = len(sets); r.Planned == 0 {
		return r
	}
	names := func(at int) []string {
		names, _ := g.Set(g.number(int(sets[at])))
		return names
	}
	most, least := slices.Max(phases), slices.Min(efficiency)
	r.Phases = distribution(phases, most, names, func(v int) int { return v })
	r.Efficiency = distribution(efficiency, least, names, func(v float64) float64 { return float64(int(v*20+1e-9)) / 20 })
	return r
}

// distribution describes values, including worst; bin maps a value to the value of its bin.
func distribution[T cmp.Ordered](values []T, worst T, names func(at int) []string, bin func(T) T) *Distribution[T] {
	s := &Distribution[T]{Worst: names(slices.Index(values, worst))}
	for _, v := range values {
		if v == worst {
			s.WorstSets++
		}
	}
	values = slices.Clone(values)
	slices.Sort(values)
	s.Min, s.P5, s.Median = values[0], quantile(values, 0.05), quantile(values, 0.5)
	s.P95, s.Max = quantile(values, 0.95), values[len(values)-1]
	for _, v := range values {
		if b := bin(v); len(s.Histogram) == 0 || s.Histogram[len(s.Histogram)-1].Value != b {
			s.Histogram = append(s.Histogram, Bin[T]{b, 0})
		}
		s.Histogram[len(s.Histogram)-1].Count++
	}
	return s
}

// Answer states the throughput after the worst failure, for the best and for the worst case. It is not known
// where the rates of links are not, or not counted with.
func (r *WhatIfReport) Answer() answer.Answer {
	var e answer.Evidence
	if n := r.tree.Names(); n != nil && n.Guess != "" {
		e.Doubts = append(e.Doubts, answer.Doubt{Text: "the shares are guesses: " + n.Guess})
	}
	if r.assumes != "" {
		e.Doubts = append(e.Doubts, answer.Doubt{Text: "this is for equal rates: " + r.assumes})
	}
	if len(r.Groups) > 0 && r.Groups[0].Done > 0 {
		r.found(&r.Groups[0], &e)
	}
	if r.Incomplete && (len(e.Findings) == 0 || e.Findings[0].Place != answer.Below) { // else more sets change nothing
		g := &r.Groups[0]
		e.Doubts = append(e.Doubts, answer.Doubt{Text: fmt.Sprintf("stopped after %d of %d sets", g.Done, g.Chosen)})
	}
	return answer.Decide(answer.WhatIf.About(show.Plural(r.k, "link", "links")), e)
}

// found adds what a group shows: sets without a plan, then what the best and the worst case keep.
func (r *WhatIfReport) found(g *GroupReport, e *answer.Evidence) {
	best, worst := g.extremes()
	if g.Unreachable > 0 {
		e.Findings = append(e.Findings, answer.Finding{Place: answer.Below, Cause: "only more cables help",
			Text: fmt.Sprintf("%d of %d sets leave servers unreachable, first %s", g.Unreachable, g.Done, strings.Join(g.First, ","))})
	}
	if best == nil {
		if g.Unreachable == 0 {
			e.Findings = append(e.Findings, answer.Finding{Text: fmt.Sprintf("none of %s has a plan", show.Plural(g.Done, "set", "sets")), Place: answer.Below})
		}
		return
	}
	if r.adaptive {
		e.Findings = append(e.Findings, answer.Finding{Text: fmt.Sprintf("whichever %s, no order keeps more than %s of the link rate", r.killed(g), show.Percent(r.possible(best))),
			Doubts: []answer.Doubt{{Text: "what adaptive routing keeps is not known"}}})
		return
	}
	if best.Refused > 0 {
		e.Findings = append(e.Findings, answer.Finding{Text: show.Plural(best.Refused, "set is", "sets are") + " without a plan", Place: answer.Below, Cause: best.Reason})
	}
	keeps := answer.Finding{Text: fmt.Sprintf("whichever %s, %s keeps at least %s of the link rate", r.killed(g), best.Case.words(), show.Percent(best.Efficiency.Min)), Place: answer.At}
	schedule := best.Schedule
	switch most := r.possible(best); {
	case best.Routing == routing.Pinned && best.AboveBound > 0:
		keeps.Doubts = []answer.Doubt{{Text: show.Plural(best.AboveBound, "plan is", "plans are") + " above the proven bound"}}
	case best.Routing == routing.Pinned:
		if best.Efficiency.Min < best.Before.Efficiency {
			e.Why = []string{"no plan is shorter than those of " + best.Case.String()}
		}
	case best.Efficiency.Min < r.good*most:
		schedule, keeps.Place = schedules.FORS, answer.Below
		keeps.Cause = fmt.Sprintf("a plan can keep %s there (good from %.4g %% of that)", show.Percent(most), 100*r.good)
	default:
		e.Why = []string{fmt.Sprintf("there a plan can keep %s at most (good from %.4g %% of that)", show.Percent(most), 100*r.good)}
	}
	e.Findings = append(e.Findings, keeps)
	if worst != best {
		e.Findings = append(e.Findings, answer.Finding{Text: fmt.Sprintf("%s keeps %s", worst.Case.words(), show.Percent(worst.Efficiency.Min))})
	}
	flags := append(append([]string{"evbench", "plan"}, plan.TreeFlags(r.tree)...), "--schedule", schedule)
	if len(r.tree.Dead()) == 0 {
		flags = append(flags, "--down", strings.Join(best.Efficiency.Worst, ","))
	}
	e.Next = []string{answer.Typed(append(flags, "-o", "plan.txt")...)}
}

// possible is the most that a plan can keep without the worst set of a case.
func (r *WhatIfReport) possible(c *CaseReport) float64 {
	var dead []topology.Link
	for _, name := range c.Efficiency.Worst {
		links, err := r.tree.Links(name)
		if err != nil {
			return 0
		}
		dead = append(dead, links...)
	}
	t, err := r.tree.Without(dead...)
	if err != nil {
		return 0
	}
	return efficiency(&t.Roles, scheduler.LowerBound(t, scheduler.Options{}).Phases)
}

// killed says which sets the numbers cover: "link dies", "of 200 drawn sets of 2 links dies".
func (r *WhatIfReport) killed(g *GroupReport) string {
	switch {
	case g.Chosen < int(g.Sets):
		return fmt.Sprintf("of %d drawn sets of %s dies", g.Chosen, show.Plural(r.k, "link", "links"))
	case r.k == 1:
		return "link dies"
	}
	return fmt.Sprintf("%d links die", r.k)
}

// extremes are the cases whose worst set keeps the most (ties: the better median) and the least.
func (g *GroupReport) extremes() (best, worst *CaseReport) {
	for i := range g.Cases {
		c := &g.Cases[i]
		if c.Planned == 0 {
			continue
		}
		if best == nil || c.Efficiency.Min > best.Efficiency.Min ||
			c.Efficiency.Min == best.Efficiency.Min && c.Efficiency.Median > best.Efficiency.Median {
			best = c
		}
		if worst == nil || c.Efficiency.Min < worst.Efficiency.Min {
			worst = c
		}
	}
	return best, worst
}
