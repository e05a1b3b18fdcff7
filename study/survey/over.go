package survey

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/parallel"
	"evbench/internal/show"
	orders "evbench/model/order"
	"evbench/plan/promise"
	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/network"
)

// OverOptions are the network, its hosts, the engine of its tables, and the sets of cables that die.
type OverOptions struct {
	Name   string // of the network
	Engine string // makes the tables anew for each set of dead cables
	Roots  []network.Node
	Nodes  []network.Node // hosts, by rank
	Host   []int          // of each node where hosts have several adapters, or nil
	K      int            // cables between switches that die at once
	Sample int            // sets drawn; 0: all, of one cable each
	Seed   uint64
	Good   float64 // share of the least time that the order of a set must reach
	// Progress is called with the number of finished sets, from one goroutine at a time; nil is allowed.
	Progress func(done, total int)
}

// An OverSet is what is left without a set of cables. Times are message times of an exchange.
type OverSet struct {
	Dead   []string `json:"dead"` // by a port of each
	Bound  float64  `json:"bound,omitempty"`
	Order  float64  `json:"order,omitempty"`
	Linear float64  `json:"linear_shift,omitempty"`
	Reason string   `json:"reason,omitempty"` // why there is no order
}

// An OverReport has the network as it is, and the sets, the slowest order first.
type OverReport struct {
	Whole      OverSet
	Sets       []OverSet
	Chosen     int // sets, of which Sets are done
	Incomplete bool
	o          OverOptions
}

// WhatIfOver computes tables and the order of messages for each set of dead cables. If ctx ends it returns
// what it has.
func WhatIfOver(ctx context.Context, n *network.Network, o OverOptions) (*OverReport, error) {
	sets, err := o.sets(n)
	if err != nil {
		return nil, err
	}
	r := &OverReport{Whole: o.set(n, nil), Chosen: len(sets), o: o}
	if r.Whole.Reason != "" {
		return nil, errors.New(r.Whole.Reason)
	}
	var mu sync.Mutex
	done := make([]*OverSet, len(sets))
	finished := 0
	parallel.Each(0, len(sets), func(_, i int) {
		if ctx.Err() != nil {
			return
		}
		x := o.set(n, sets[i])
		mu.Lock()
		defer mu.Unlock()
		done[i] = &x
		if finished++; o.Progress != nil {
			o.Progress(finished, len(sets))
		}
	})
	for _, x := range done {
		if x != nil {
			r.Sets = append(r.Sets, *x)
		}
	}
	r.Incomplete = len(r.Sets) < len(sets)
	slices.SortStableFunc(r.Sets, func(a, b OverSet) int {
		switch {
		case (a.Reason != "") != (b.Reason != ""):
			return map[bool]int{true: -1, false: 1}[a.Reason != ""]
		case a.Order != b.Order:
			return map[bool]int{true: -1, false: 1}[a.Order > b.Order]
		}
		return map[bool]int{true: -1, false: 1}[a.Linear >= b.Linear]
	})
	return r, nil
}

// sets are all cables, or so many random sets of K.
func (o OverOptions) sets(n *network.Network) (sets [][]network.Cable, err error) {
	all := n.SwitchCables()
	switch {
	case len(all) < o.K:
		return nil, fmt.Errorf("%d cables between switches, and %d are to die", len(all), o.K)
	case o.K > 1 && o.Sample == 0:
		return nil, errors.New("sets of several cables are drawn: give --sample N")
	case o.Sample == 0:
		return lists.Map(all, func(c network.Cable) []network.Cable { return []network.Cable{c} }), nil
	}
	draw := rand.New(rand.NewPCG(o.Seed, 0))
	for range o.Sample {
		set := lists.Map(draw.Perm(len(all))[:o.K], func(i int) network.Cable { return all[i] })
		sets = append(sets, set)
	}
	return sets, nil
}

func (o OverOptions) set(n *network.Network, dead []network.Cable) (x OverSet) {
	for _, c := range dead {
		x.Dead = append(x.Dead, n.CableName(c))
	}
	t, err := engines.Compute(o.Engine, n.Without(dead, nil), engines.Options{Roots: o.Roots, Seed: o.Seed})
	if err == nil {
		var p *orders.Plan
		if p, err = orders.Make(o.Name, t, lft.Job{Nodes: o.Nodes, Host: o.Host}, 0); err == nil {
			x.Bound, x.Order, x.Linear = p.Bound.Time, p.Time(p.Schedule), p.Time(p.LinearShift())
			return x
		}
	}
	x.Reason = err.Error()
	return x
}

// Answer says what the worst set costs in the planned order, and in the order of ranks.
func (r *OverReport) Answer() answer.Answer {
	var e answer.Evidence
	var lost, far int
	var reason string
	worst, linear := r.Whole, r.Whole.Linear
	for _, x := range r.Sets {
		if x.Reason != "" {
			lost, reason = lost+1, x.Reason
			continue
		}
		if x.Order > worst.Order {
			worst = x
		}
		if linear = max(linear, x.Linear); x.Order > max(x.Bound/r.o.Good, x.Bound+nearSteps) {
			far++
		}
	}
	if lost > 0 {
		e.Findings = append(e.Findings, answer.Finding{Text: show.Plural(lost, "set leaves", "sets leave") + " hosts without a route", Place: answer.Below, Cause: reason})
	} else if r.Incomplete {
		e.Doubts = []answer.Doubt{{Text: fmt.Sprintf("stopped after %d of %d sets", len(r.Sets), r.Chosen)}}
	}
	with := "with " + show.Plural(r.o.K, "dead cable", "dead cables")
	if r.o.Sample > 0 {
		with = fmt.Sprintf("with each of %s of %s", show.Plural(r.Chosen, "drawn set", "drawn sets"), show.Plural(r.o.K, "dead cable", "dead cables"))
	}
	takes := answer.Finding{Text: fmt.Sprintf("%s the planned order takes at most %s steps, without any %s", with, promise.Amount(worst.Order), promise.Amount(r.Whole.Order)), Place: answer.At}
	if far > 0 {
		takes.Doubts = []answer.Doubt{{Text: fmt.Sprintf("in %s it is more than %.0f %% above the least that the tables allow", show.Plural(far, "set", "sets"), 100*(1/r.o.Good-1))}}
	}
	e.Findings = append(e.Findings, takes, answer.Finding{Text: fmt.Sprintf("in the order of ranks the exchange takes up to %s steps", promise.Amount(linear)), Place: answer.At})
	if worst.Dead != nil {
		e.Why = []string{fmt.Sprintf("without %s the tables allow no less than %s steps", strings.Join(worst.Dead, ", "), promise.Amount(worst.Bound))}
	}
	return answer.Decide(answer.Over, e)
}

// nearSteps above the least are near in any network: small ones have few steps.
const nearSteps = 2

// shownSets bounds the rows for people.
const shownSets = 20

// WriteText writes the slowest sets for people.
func (r *OverReport) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s, %d hosts, tables of %s; %d of %d sets done\n", r.o.Name, len(r.o.Nodes), r.o.Engine, len(r.Sets), r.Chosen)
	if r.Incomplete {
		fmt.Fprintln(w, "INCOMPLETE: stopped; the numbers are those of the sets done")
	}
	lines := [][]string{{"dead", "bound", "planned order", "order of ranks"}, {"none", promise.Amount(r.Whole.Bound), promise.Amount(r.Whole.Order), promise.Amount(r.Whole.Linear)}}
	for _, x := range r.Sets[:min(len(r.Sets), shownSets)] {
		if x.Reason != "" {
			lines = append(lines, []string{strings.Join(x.Dead, ","), "–", "–", "–"})
			continue
		}
		lines = append(lines, []string{strings.Join(x.Dead, ","), promise.Amount(x.Bound), promise.Amount(x.Order), promise.Amount(x.Linear)})
	}
	right := show.Column{Right: true}
	show.Align(w, lines, show.Column{}, right, right, right)
	if more := len(r.Sets) - shownSets; more > 0 {
		fmt.Fprintf(w, "and %s with no longer order\n", show.Plural(more, "set", "sets"))
	}
	return nil
}

// Document is the report as commands print it.
func (r *OverReport) Document() answer.Document {
	return answer.Document{Answer: r.Answer(), Text: r.WriteText, Schema: "evbench/whatif-order/1", Fields: struct {
		Network    string    `json:"network"`
		Engine     string    `json:"engine"`
		Hosts      int       `json:"hosts"`
		K          int       `json:"k"`
		Sample     int       `json:"sample"` // 0: all sets
		Seed       uint64    `json:"seed"`
		Incomplete bool      `json:"incomplete"`
		Whole      OverSet   `json:"whole"`
		Sets       []OverSet `json:"sets"`
	}{r.o.Name, r.o.Engine, len(r.o.Nodes), r.o.K, r.o.Sample, r.o.Seed, r.Incomplete, r.Whole, r.Sets}}
}
