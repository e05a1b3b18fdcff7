package sim

import (
	"testing"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/plan"
	"evbench/routing"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// lhcbA is the fabric of 326 servers: two leaves have 19 servers and sixteen 18.
func lhcbA(tb testing.TB, down ...string) *topology.Tree {
	tb.Helper()
	fill := make([]int, 18)
	for i := range fill {
		fill[i] = 18
	}
	fill[0], fill[1] = 19, 19
	return topologytest.Tree(tb, topology.Options{Ports: 20, Leaves: 18, Fill: fill}, down...)
}

func planOf(tb testing.TB, t *topology.Tree, o plan.Options) *plan.Plan {
	tb.Helper()
	o.Engines = engines.Trees()
	p := expect.Value(plan.Build(t, o))(tb)
	return p
}

// exchange is one unsynchronised exchange at 200 Gbit/s.
func exchange(p *plan.Plan) *Job {
	return &Job{
		Setting: builder.Setting{Name: "exchange", Mode: modes.Unsync, Credits: 1}, Plan: p, BitPerSec: 200e9, Common: builder.Common{Interval: time.Second, Seed: 1}, Header: 40,
		Size: func(uint64, int) int { return 1 << 20 },
	}
}

func spreadSizes(mean int, spread float64) func(uint64, int) int {
	return func(event uint64, src int) int {
		share := float64(routing.Mix(event, uint64(src))>>11) / (1 << 53)
		return int(float64(mean) * (1 + spread*(2*share-1)))
	}
}

func BenchmarkFluidExchange(b *testing.B) {
	for _, c := range []struct {
		name string
		down []string
		size func(uint64, int) int
	}{
		{name: "healthy"},
		{name: "down", down: []string{"leaf0-spine0", "leaf5-spine3", "leaf11-spine7"}},
		{name: "unequal", down: []string{"leaf0-spine0"}, size: spreadSizes(1<<20, 0.5)},
	} {
		b.Run(c.name, func(b *testing.B) {
			j := exchange(planOf(b, lhcbA(b, c.down...), plan.Options{Routing: "ftree"}))
			if c.size != nil {
				j.Size = c.size
			}
			for b.Loop() {
				o := expect.Value(Fluid(b.Context(), j, nil))(b)
				ideal := float64(325*(1<<20+40)*8) / j.BitPerSec
				b.ReportMetric(ideal/o.Span.Seconds(), "efficiency")
				b.ReportMetric(j.Plan.Cost(plan.Equal, 1).Unsynchronised(), "bound")
			}
		})
	}
}

// BenchmarkFluidCredits is a fifth of a second of event building, exact, with routes under
// which fragments of one size end at many different moments.
func BenchmarkFluidCredits(b *testing.B) {
	down := []string{"leaf0-spine0", "leaf0-spine3", "leaf5-spine1", "leaf5-spine4", "leaf11-spine2", "leaf11-spine5"}
	j := exchange(planOf(b, lhcbA(b, down...), plan.Options{Routing: "opensm-minhop"}))
	j.Credits, j.Duration, j.Timing.Overhead = 2, 200*time.Millisecond, 4*time.Microsecond
	for b.Loop() {
		o := expect.Value(Fluid(b.Context(), j, nil))(b)
		b.ReportMetric(efficiency(j, o), "efficiency")
	}
}

// efficiency holds a run against one in which no server's cable is ever idle.
func efficiency(j *Job, o *Outcome) float64 {
	n := j.Plan.Tree.Servers()
	var most float64
	for server := range n {
		wire := j.Plan.Tree.ToServer(server)
		most = max(most, o.Wires[wire])
	}
	return 8 * most / j.BitPerSec / o.Span.Seconds()
}
