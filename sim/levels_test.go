package sim

import (
	"testing"
	"time"

	"evbench/plan"
	"evbench/results"
	"evbench/sim/credit"
	"evbench/topology"
	"evbench/topology/topologytest"
)

// threeLevels is small on FT(3;2,2,2).
func threeLevels(t *testing.T, mode, schedule, routing string, down ...string) *Job {
	t.Helper()
	tr := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 4, Pods: 2}, down...)
	j := small(t, mode, "linear-shift", "ftree")
	j.Plan = planOf(t, tr, plan.Options{Schedule: schedule, Routing: routing, Seed: 1})
	j.Duration = 150 * time.Millisecond
	return j
}

// All models put on each wire what the plan says, in all modes and under all routings, and
// agree on plans in which no two messages share a link.
func TestThreeLevels(t *testing.T) {
	const leaf, top = "leaf1-spine0", "pod1-spine1-top0"
	for _, tt := range []struct {
		mode, schedule, routing string
		down                    []string
		free                    bool // of contention
	}{
		{results.Sync, "linear-shift", "ftree", nil, true},
		{results.Sync, "fors", "", nil, true},
		{results.Sync, "fors", "", []string{top}, true},
		{results.Sync, "fors", "", []string{leaf, top}, true},
		{results.Sync, "linear-shift", "minhop", []string{leaf, top}, false},
		{results.FreeRunning, "linear-shift", "spread", []string{top}, false},
		{results.Unsync, "", "ftree", []string{leaf}, false},
		{results.Unsync, "", "opensm-minhop", []string{top}, false},
		{results.Unsync, "fors", "pinned", []string{top}, false},
	} {
		j := threeLevels(t, tt.mode, tt.schedule, tt.routing, tt.down...)
		fluid := outcome(t, j)
		balance(t, j, fluid)
		j.Lossless = lossless(false)
		balance(t, j, packets(t, j))
		j.Lossless = lossless(true)
		queues := packets(t, j)
		balance(t, j, queues)
		if tt.mode != results.Sync {
			continue
		}
		each := phase(t, j)
		balance(t, j, each)
		if c := j.Plan.Cost(plan.Equal, 0); tt.free {
			message := mega * 8 / j.BitPerSec
			within(t, "phases", each.Span.Seconds(), message*float64(j.Plan.Phases())*float64(each.Exchanges), 1e-6)
			within(t, "packets", queues.Span.Seconds()/float64(queues.Exchanges), message*c.Duration, 0.01)
		}
		within(t, "fluid", fluid.Span.Seconds()/float64(fluid.Exchanges), each.Span.Seconds()/float64(each.Exchanges), 0.01)
	}
}

// Switches of both levels decide for themselves under routings by packet, and all arrives.
func TestThreeLevelsByPacket(t *testing.T) {
	for _, routing := range []string{"ecmp", "spray", "adaptive"} {
		j := threeLevels(t, results.Unsync, "", routing, "leaf0-spine0", "pod1-spine1-top0")
		j.Lossless = lossless(true)
		counts(t, j, packets(t, j))
	}
	j := threeLevels(t, results.Unsync, "", "minhop", "pod1-spine1-top0")
	j.Lossless = lossless(true)
	j.Lossless.Choice = credit.Relief
	counts(t, j, packets(t, j))
}

// A link to a top switch that dies and comes back while events are built loses none.
func TestThreeLevelsChange(t *testing.T) {
	for _, tt := range []struct{ mode, schedule, routing string }{
		{results.Unsync, "", "minhop"}, {results.Sync, "linear-shift", "minhop"}, {results.Sync, "fors", ""},
	} {
		j := threeLevels(t, tt.mode, tt.schedule, tt.routing)
		dead := threeLevels(t, tt.mode, tt.schedule, tt.routing, "pod0-spine1-top1")
		j.Lossless = lossless(true)
		j.Changes = []Change{{50 * time.Millisecond, dead.Plan}, {100 * time.Millisecond, j.Plan}}
		counts(t, j, packets(t, j))
		counts(t, j, outcome(t, j))
	}
}
