// Package survey plans many trees and answers what failures cost: how much slower an
// exchange becomes as links die (Slowdown), how many phases every schedule takes
// (Phases), how many addresses a plan needs (LMC), and what every failure of k links or
// spines costs (WhatIf). Durations of exchanges are in message times: how long one message
// takes on one link. Equal input gives equal numbers for any number of CPUs.
package survey

import (
	"cmp"
	"fmt"
	"slices"

	"evbench/internal/parallel"
	"evbench/scheduler"
	"evbench/topology"
)

// Reduced returns t without its f highest spines: on leaf 0 only, or on all
// leaves. It is the "bandwidth reduction f" of thesis 5.2, at least one link
// lost by at least one leaf.
func Reduced(t *topology.Tree, f int, all bool) (*topology.Tree, error) {
	leaves := 1
	if all {
		leaves = t.Leaves()
	}
	var dead []topology.Link
	for l := range leaves {
		for k := t.Spines() - f; k < t.Spines(); k++ {
			dead = append(dead, topology.Link{Leaf: l, Spine: k})
		}
	}
	return t.Without(dead...)
}

// ReducedAt is Reduced for a level of switches: 1, the links of leaves to spines, or, of
// three levels, 2, those of pods to top switches. There f links of the first pod, or of
// each, are lost: all of the highest top switch of each plane, plane by plane, then the
// next.
func ReducedAt(t *topology.Tree, level, f int, all bool) (*topology.Tree, error) {
	if level == 1 {
		return Reduced(t, f, all)
	}
	if level != 2 || t.Levels() == 2 {
		return nil, fmt.Errorf("level %d: %s has links to switches above on levels 1..%d", level, t.Notation(), levelsOf(t))
	}
	pods := 1
	if all {
		pods = t.Pods()
	}
	var dead []topology.Link
	for q := range pods {
		for i := range f {
			dead = append(dead, topology.Link{Leaf: q, Spine: i % t.Spines(), Above: true, Top: t.Tops() - 1 - i/t.Spines()})
		}
	}
	return t.Without(dead...)
}

func levelsOf(t *topology.Tree) int {
	if t.Levels() == 3 {
		return 2
	}
	return 1
}

func linksAt(t *topology.Tree, level int) int {
	if level == 2 {
		return t.Paths()
	}
	return t.Spines()
}

// reductions works out a row for each reduction 0..links-1 of one leaf or pod, then of all.
func reductions[R any](links int, row func(f int, all bool) (R, error)) ([]R, error) {
	rows := make([]R, 2*links)
	return rows, parallel.Try(0, len(rows), func(i int) (err error) {
		rows[i], err = row(i%links, i >= links)
		return err
	})
}

// plannable refuses trees that have no schedules, before one takes their memory.
func plannable(t *topology.Tree) error {
	if n := t.Servers(); n > scheduler.MaxServers {
		return fmt.Errorf("%s: %d servers: schedules of at most %d are planned", t.Notation(), n, scheduler.MaxServers)
	}
	return nil
}

// quantile returns the smallest value that at least the share q of the sorted
// values do not exceed (nearest rank).
func quantile[T cmp.Ordered](sorted []T, q float64) T {
	i := int(q*float64(len(sorted))+1-1e-9) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// A CaseReport is what one case made of the sets of a group.
type CaseReport struct {
	Case
	Planned    int     `json:"planned"`
	Refused    int     `json:"refused"`          // reachable sets without a plan
	Reason     string  `json:"reason,omitempty"` // of the first of them
	AboveBound int     `json:"above_bound"`      // plans with more phases than the bound, of those that have one
	Before     outcome `json:"before"`

	// Both are nil without a plan. Efficiency is that predicted of a synchronised exchange.
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
	// Worst names what is dead in the first set with the worst value: the most
	// phases, the least efficiency. WorstSets counts those that are as bad.
	Worst     []string `json:"worst_set"`
	WorstSets int      `json:"sets_as_bad"`
	// Histogram counts the values, rising; those of an efficiency in steps of
	// 0.05, each by its lower end.
	Histogram []Bin[T] `json:"histogram"`
}

// A Bin counts equal values.
type Bin[T cmp.Ordered] struct {
	Value T   `json:"from"`
	Count int `json:"count"`
}

func (w *whatIf) summary(g *Group, base []outcome) GroupReport {
	r := GroupReport{Group: g.Name, Sets: g.Count}
	var done []*job
	for i := range w.jobs {
		j := &w.jobs[i]
		if j.group != g {
			continue
		}
		r.Chosen++
		if j.results != nil {
			done = append(done, j)
		} else if j.done {
			if r.Unreachable++; r.First == nil {
				r.First, _ = g.Set(j.number)
			}
		}
	}
	r.Done = len(done) + r.Unreachable
	for i, c := range w.opt.Cases {
		r.Cases = append(r.Cases, caseReport(CaseReport{Case: c, Before: base[i]}, i, g, done))
	}
	return r
}

func caseReport(r CaseReport, i int, g *Group, done []*job) CaseReport {
	var sets []*job
	var phases []int
	var efficiency []float64
	for _, j := range done {
		o := j.results[i]
		if o.refused != nil {
			if r.Refused++; r.Reason == "" {
				r.Reason = o.refused.Error()
			}
			continue
		}
		sets, phases, efficiency = append(sets, j), append(phases, o.Phases), append(efficiency, o.Efficiency)
		if o.bound > 0 && o.Phases > o.bound {
			r.AboveBound++
		}
	}
	if r.Planned = len(sets); r.Planned == 0 {
		return r
	}
	names := func(at int) []string {
		names, _ := g.Set(sets[at].number)
		return names
	}
	most, least := slices.Max(phases), slices.Min(efficiency)
	r.Phases = distribution(phases, most, names, func(v int) int { return v })
	r.Efficiency = distribution(efficiency, least, names, func(v float64) float64 { return float64(int(v*20+1e-9)) / 20 })
	return r
}

// distribution describes values, of which worst is one; bin maps a value to that of
// its bin.
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
