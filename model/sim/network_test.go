package sim

import (
	"math"
	"slices"
	"testing"
	"time"

	"evbench/builder/modes"
	"evbench/model/credit"
	"evbench/plan"
	"evbench/routing"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

func planned(t *testing.T, tr *topology.Tree, schedule, route string) *plan.Plan {
	t.Helper()
	return planOf(t, tr, plan.Options{Schedule: schedule, Routing: route, Seed: 1})
}

func podPlan(t testing.TB, o topology.Options) *plan.Plan {
	t.Helper()
	return planOf(t, topologytest.Tree(t, o), plan.Options{Schedule: "fors", Seed: 1})
}

// TestNetworkLoads adds up one exchange over the paths of the network: each wire
// carries what the plan says.
func TestNetworkLoads(t *testing.T) {
	whole := topology.Options{Ports: 4, Leaves: 8}
	partly := topology.Options{Ports: 4, Leaves: 5, Fill: []int{4, 3, 4, 0, 2}}
	for _, c := range []struct {
		name string
		plan *plan.Plan
	}{
		{"ftree", planned(t, topologytest.Tree(t, whole), "linear-shift", "ftree")},
		{"minhop with failures", planned(t, topologytest.Tree(t, whole, "leaf0-spine0", "leaf3-spine1"), "", "minhop")},
		{"pinned", planned(t, topologytest.Tree(t, whole, "leaf0-spine0"), "fors", "pinned")},
		{"gaps and an empty leaf", planned(t, topologytest.Tree(t, partly, "leaf0-spine2"), "linear-shift", "spread")},
		{"three levels", podPlan(t, topology.Options{Ports: 2, Leaves: 8, Pods: 4})},
		{"cables", planned(t, topologytest.Tree(t, cables, "leaf0-spine1/0"), "fors", "")},
		{"cables by tables", planned(t, topologytest.Tree(t, cables, "leaf0-spine1/0"), "linear-shift", "minhop")},
	} {
		want, ok := c.plan.Loads(plan.Equal)
		expect.MustTrue(t, ok, "%s: the plan has no loads", c.name)
		n := networkOf(c.plan, 1)
		got := make([]float64, n.wires)
		for src := range c.plan.Tree.Servers() {
			for dst := range c.plan.Tree.Servers() {
				if src == dst {
					continue
				}
				for _, w := range n.path(nil, src, dst) {
					got[w]++
				}
			}
		}
		expect.True(t, slices.Equal(got, want), "%s: loads %v, the plan says %v", c.name, got, want)
	}
}

// TestNetworkNames holds the order and the names of the wires of one path.
func TestNetworkNames(t *testing.T) {
	p := podPlan(t, topology.Options{Ports: 2, Leaves: 4, Pods: 2})
	n := networkOf(p, 1)
	for _, c := range []struct {
		src, dst int
		want     []string
	}{
		{0, 1, []string{"server0-leaf0 up", "server1-leaf0 down"}},
		{0, 2, []string{"server0-leaf0 up", "leaf0-spine? up", "leaf1-spine? down", "server2-leaf1 down"}},
		{0, 7, []string{"server0-leaf0 up", "leaf0-spine? up", "pod0-spine?-top? up", "pod1-spine?-top? down", "leaf3-spine? down", "server7-leaf3 down"}},
	} {
		var got []string
		for _, w := range n.path(nil, c.src, c.dst) {
			link, direction := n.name(int(w))
			got = append(got, link+" "+direction)
		}
		expect.True(t, slices.EqualFunc(got, c.want, alike), "%d -> %d: %v, want %v", c.src, c.dst, got, c.want)
	}
}

// alike compares two names; a "?" stands for any one byte.
func alike(got, want string) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range want {
		if want[i] != '?' && want[i] != got[i] {
			return false
		}
	}
	return true
}

// TestHashedPaths: under ecmp a pair keeps its path, another seed gives others, every
// path is alive, and the busiest wire is on average as busy as plan.Cost says.
func TestHashedPaths(t *testing.T) {
	p := planned(t, topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 8}, "leaf0-spine0"), "", routing.ECMP)
	const draws = 64
	sum, differ := 0.0, 0
	first := networkOf(p, 0)
	for seed := range uint64(draws) {
		n := networkOf(p, seed)
		load := make([]float64, n.wires)
		for src := range p.Tree.Servers() {
			for dst := range p.Tree.Servers() {
				if src == dst {
					continue
				}
				path := n.path(nil, src, dst)
				expect.MustTrue(t, slices.Equal(path, n.path(nil, src, dst)), "seed %d: %d -> %d changes its path", seed, src, dst)
				if !slices.Equal(path, first.path(nil, src, dst)) {
					differ++
				}
				for _, w := range path {
					load[w]++
				}
			}
		}
		expect.MustTrue(t, load[p.Tree.Up(0, 0)]+load[p.Tree.Down(0, 0)] <= 0, "seed %d: a path crosses the dead link", seed)
		sum += slices.Max(load) / draws
	}
	expect.True(t, differ != 0, "no path depends on the seed")
	want := p.Cost(plan.Equal, 1).Busiest
	expect.True(t, math.Abs(sum-want) <= 0.05*want, "busiest wire carries %.1f messages on average, plan.Cost says %.1f", sum, want)
}

// threeLevels is small on FT(3;2,2,2).
func threeLevels(t *testing.T, mode modes.Mode, schedule, routing string, down ...string) *Job {
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
		mode              modes.Mode
		schedule, routing string
		down              []string
		free              bool // of contention
	}{
		{modes.Sync, "linear-shift", "ftree", nil, true},
		{modes.Sync, "fors", "", nil, true},
		{modes.Sync, "fors", "", []string{top}, true},
		{modes.Sync, "fors", "", []string{leaf, top}, true},
		{modes.Sync, "linear-shift", "minhop", []string{leaf, top}, false},
		{modes.FreeRunning, "linear-shift", "spread", []string{top}, false},
		{modes.Unsync, "", "ftree", []string{leaf}, false},
		{modes.Unsync, "", "opensm-minhop", []string{top}, false},
		{modes.Unsync, "fors", "pinned", []string{top}, false},
	} {
		j := threeLevels(t, tt.mode, tt.schedule, tt.routing, tt.down...)
		fluid := outcome(t, j)
		balance(t, j, fluid)
		j.Lossless = lossless(false)
		balance(t, j, packets(t, j))
		j.Lossless = lossless(true)
		queues := packets(t, j)
		balance(t, j, queues)
		if tt.mode != modes.Sync {
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
		j := threeLevels(t, modes.Unsync, "", routing, "leaf0-spine0", "pod1-spine1-top0")
		j.Lossless = lossless(true)
		counts(t, j, packets(t, j))
	}
	j := threeLevels(t, modes.Unsync, "", "minhop", "pod1-spine1-top0")
	j.Lossless = lossless(true)
	j.Lossless.Choice = credit.Relief
	counts(t, j, packets(t, j))
}

// A link to a top switch that dies and comes back while events are built loses none.
func TestThreeLevelsChange(t *testing.T) {
	for _, tt := range []struct {
		mode              modes.Mode
		schedule, routing string
	}{
		{modes.Unsync, "", "minhop"}, {modes.Sync, "linear-shift", "minhop"}, {modes.Sync, "fors", ""},
	} {
		j := threeLevels(t, tt.mode, tt.schedule, tt.routing)
		dead := threeLevels(t, tt.mode, tt.schedule, tt.routing, "pod0-spine1-top1")
		j.Lossless = lossless(true)
		j.Changes = []Change{{50 * time.Millisecond, dead.Plan}, {100 * time.Millisecond, j.Plan}}
		counts(t, j, packets(t, j))
		counts(t, j, outcome(t, j))
	}
}
