package scheduler_test

import (
	"fmt"
	"slices"
	"testing"

	"evbench/scheduler"
	"evbench/testing/expect"
	"evbench/topology"
)

// levelled is the formula, digit by digit.
func levelled(levels []int, s, p int) int {
	d, place := 0, 1
	for k, m := range levels {
		factor := 1
		for _, above := range levels[k+1:] {
			factor *= above
		}
		d += (s/factor + p/factor) % m * place
		place *= m
	}
	return d
}

// optimal checks a schedule over the levels of a tree against the formula.
func optimal(t *testing.T, tr *topology.Tree, s *scheduler.Schedule, levels []int) {
	t.Helper()
	var phases []int // those of the formula that hold a message
	for p := range tr.Ports() * tr.Leaves() {
		if slices.ContainsFunc(ranks(tr.Shape), func(r int) bool {
			d, here := tr.Rank(levelled(levels, tr.Position(r), p))
			return here && d != r
		}) {
			phases = append(phases, p)
		}
	}
	if s.Phases != len(phases) {
		t.Fatalf("levels %v, fill %v: %d phases, want %d", levels, tr.Fill(), s.Phases, len(phases))
	}
	sends(t, tr, s, func(src, p int) int {
		d, here := tr.Rank(levelled(levels, tr.Position(src), phases[p]))
		if !here {
			return -1
		}
		return d
	})
}

func ranks(tr *topology.Shape) []int {
	out := make([]int, tr.Servers())
	for r := range out {
		out[r] = r
	}
	return out
}

// leavers returns the most messages that leave, or enter, a subtree of that many
// servers in a phase. Trees are full.
func leavers(s *scheduler.Schedule, subtree int) int {
	n := make(map[[3]int]int)
	most := 0
	for m := range s.All() {
		if a, b := m.Src/subtree, m.Dst/subtree; a != b {
			for _, end := range [][3]int{{m.Phase, 0, a}, {m.Phase, 1, b}} {
				n[end]++
				most = max(most, n[end])
			}
		}
	}
	return most
}

// TestBandwidthOptimalLevels checks trees of two and three levels: the formula, that all pairs meet,
// and how many messages leave a subtree.
func TestBandwidthOptimalLevels(t *testing.T) {
	t.Parallel()
	check := func(m0, m1, m2 int) {
		n := m0 * m1 * m2
		if n < 2 || n > 64 {
			return
		}
		tr, levels := tree(t, topology.Options{Ports: m0, Leaves: m1 * m2, Pods: m2}), []int{m0, m1, m2}
		s := scheduler.BandwidthOptimal(tr.Shape)
		optimal(t, tr, s, levels)
		for _, subtree := range []int{m0, m0 * m1} {
			got, want := leavers(s, subtree), subtree-subtree*subtree/n
			expect.True(t, got <= want, "levels %v: %d messages leave a subtree of %d servers, want at most %d", levels, got, subtree, want)
		}
	}
	for m0 := 1; m0 <= 8; m0++ {
		for m1 := 1; m1 <= 8; m1++ {
			check(m0, m1, 1)
			for m2 := 2; m2 <= 4; m2++ {
				check(m0, m1, m2)
			}
		}
	}
}

// TestBandwidthOptimalPods checks three-level trees, full and partly filled.
func TestBandwidthOptimalPods(t *testing.T) {
	for _, o := range []topology.Options{
		{Ports: 2, Leaves: 4, Pods: 2},
		{Ports: 4, Leaves: 16, Pods: 4},
		{Ports: 8, Leaves: 6, Pods: 3, Spines: 2, Tops: 5},
		{Ports: 3, Leaves: 6, Pods: 2, Fill: []int{3, 0, 1, 2, 3, 3}},
		{Ports: 3, Leaves: 4, Pods: 1},
		{Ports: 3, Leaves: 4, Pods: 4},
	} {
		t.Run(fmt.Sprint(o), func(t *testing.T) {
			p := expect.Value(topology.New(o))(t)
			levels := []int{o.Ports, o.Leaves / o.Pods, o.Pods}
			optimal(t, p, scheduler.BandwidthOptimal(p.Shape), levels)
		})
	}
}

// TestBandwidthOptimalTwoLevels shows that one pod, or pods of one leaf, change
// nothing.
func TestBandwidthOptimalTwoLevels(t *testing.T) {
	options := topology.Options{Ports: 6, Leaves: 4}
	want := scheduler.BandwidthOptimal(tree(t, options).Shape)
	for _, options.Pods = range []int{1, 4} {
		p := expect.Value(topology.New(options))(t)
		expect.True(t, slices.Equal(slices.Collect(scheduler.BandwidthOptimal(p.Shape).All()), slices.Collect(want.All())),
			"%s: not the schedule of two levels", p.Notation())
	}
}
