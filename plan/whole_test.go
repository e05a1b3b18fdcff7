package plan_test

import (
	"slices"
	"testing"

	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/testing/need"
	"evbench/topology"
)

// Whole trees of thousands of servers have a plan by a closed form: no link has two messages in any of the phases looked at, and routes
// by destination hold its paths.
func TestWhole(t *testing.T) {
	need.Heavy(t)
	tr := expect.Value(topology.New(expect.Value(topology.Parse("FT(3;20,20,11)"))(t)))(t)
	n, leaf := tr.Servers(), tr.LeafOfRanks()
	for _, o := range []plan.Options{
		{Schedule: schedules.FORS}, {Schedule: schedules.LinearShift, Routing: routing.Ftree},
		{Schedule: schedules.LinearShift, Routing: routing.Pinned}, {Schedule: schedules.FORS, OnePath: true},
	} {
		o.Engines = engines.Trees()
		p := expect.Value(plan.Build(tr, o))(t)
		expect.True(t, p.Whole && p.Phases() == n-1 && p.Bound.Phases == n-1 && p.Bound.Kind == scheduler.KindServer, "%+v: %d phases, bound %+v", o, p.Phases(), p.Bound)
		most := float64(n - 1)
		expect.Equal(t, p.Cost(plan.Equal, 1), plan.Cost{Ideal: most, Duration: most, Busiest: most}, "cost")
		expect.Equal(t, p.Paths, topology.Paths{Most: 1, LIDs: n + tr.Switches(), Entries: n + tr.Switches() - 1}, "paths")
		var wires []topology.Wire
		used := slices.Repeat([]int{-1}, tr.AllWires())
		for _, phase := range []int{0, 18, 19, 20, 399, 400, 4007, n - 2} {
			for src := range n {
				dst := (src + phase + 1) % n
				at, _ := p.Schedule.At(src, dst)
				expect.MustTrue(t, at == phase, "%d to %d in phase %d", src, dst, at)
				if wires = wires[:0]; leaf[src] != leaf[dst] {
					wires = tr.Between(wires, leaf[src], leaf[dst], p.Path(src, dst))
				}
				for _, w := range wires {
					expect.MustTrue(t, used[w] != phase, "%+v: phase %d: two messages on %v", o, phase, w)
					used[w] = phase
				}
			}
		}
	}
}
