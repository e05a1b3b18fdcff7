package scheduler_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/scheduler"
	"evbench/testing/expect"
	"evbench/topology"
)

// pin pins a schedule and checks that only spines are new.
func pin(t testing.TB, tr *topology.Tree, s *scheduler.Schedule, o scheduler.Options) *scheduler.Schedule {
	t.Helper()
	p, err := scheduler.Pin(s, tr, o)
	if err != nil {
		t.Fatalf("%s, fill %v, down %v: %v", tr.Notation(), tr.Fill(), tr.DownNames(), err)
	}
	passes(t, tr, p)
	expect.MustTrue(t, p.Name == s.Name && p.Phases == s.Phases && p.Pinned,
		"%s of %d phases became %s of %d, pinned %v", s.Name, s.Phases, p.Name, p.Phases, p.Pinned)
	for src := range s.Ranks {
		for dst := range s.Ranks {
			if src == dst {
				continue
			}
			before, _ := s.At(src, dst)
			after, _ := p.At(src, dst)
			expect.MustTrue(t, before == after, "%d to %d moved from phase %d to %d", src, dst, before, after)
		}
	}
	return p
}

// bases returns the unpinned schedules of a tree.
func bases(t testing.TB, tr *topology.Tree) []*scheduler.Schedule {
	t.Helper()
	out := []*scheduler.Schedule{scheduler.LinearShift(tr), scheduler.BandwidthOptimal(tr.Shape)}
	if s, err := scheduler.XOR(tr.Shape); err == nil {
		out = append(out, s)
	}
	return out
}

// TestPinHealthy: with a spine for every port no phase is too much for a leaf.
func TestPinHealthy(t *testing.T) {
	t.Parallel()
	grid(t, func(tr *topology.Tree) {
		for _, s := range bases(t, tr) {
			pin(t, tr, s, scheduler.Options{})
		}
	})
}

// TestPinFORS forgets the spines of schedules that have some and finds new ones.
func TestPinFORS(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range 400 {
		if tr := randomTree(t, rng, 1+rng.IntN(6), 1+rng.IntN(6), i%3); tr != nil {
			s, _ := plan(t, tr, scheduler.Options{Seed: uint64(i)})
			pin(t, tr, s, scheduler.Options{Seed: uint64(i)})
		}
	}
}

//gate:race
func TestPinLarge(t *testing.T) {
	t.Parallel()
	o := topology.Options{Ports: 20, Leaves: 18}
	if !expect.All() {
		o = topology.Options{Ports: 10, Leaves: 9}
	}
	for _, dead := range []int{1, 9, 36} {
		s, _ := plan(t, random(t, o, dead, 1), scheduler.Options{})
		one := pin(t, random(t, o, dead, 1), s, scheduler.Options{Seed: 3, Workers: 1})
		for _, workers := range []int{0, 5} {
			if p := pin(t, random(t, o, dead, 1), s, scheduler.Options{Seed: 3, Workers: workers}); !slices.Equal(slices.Collect(p.All()), slices.Collect(one.All())) {
				t.Errorf("%d dead links: %d workers choose other spines than one", dead, workers)
			}
		}
	}
	pin(t, tree(t, o, topology.Link{Leaf: 7, Spine: 3}), scheduler.BandwidthOptimal(tree(t, o).Shape), scheduler.Options{})
}

// routable reports whether the messages of a phase, as pairs of leaves, can have
// spines, by trying all.
func routable(tr *topology.Live, messages [][2]int) bool {
	used := make(map[[2]int]bool)
	var try func(i int) bool
	try = func(i int) bool {
		if i == len(messages) {
			return true
		}
		a, b := messages[i][0], messages[i][1]
		for _, k := range tr.CommonSpines(a, b) {
			up, down := [2]int{a, k}, [2]int{-1 - b, k}
			if used[up] || used[down] {
				continue
			}
			used[up], used[down] = true, true
			if try(i + 1) {
				return true
			}
			used[up], used[down] = false, false
		}
		return false
	}
	return try(0)
}

// firstUnroutable returns the first phase that is not routable, or -1.
func firstUnroutable(tr *topology.Live, s *scheduler.Schedule) int {
	phases := make([][][2]int, s.Phases)
	for m := range s.All() {
		if a, b := tr.Leaf(m.Src), tr.Leaf(m.Dst); a != b {
			phases[m.Phase] = append(phases[m.Phase], [2]int{a, b})
		}
	}
	return slices.IndexFunc(phases, func(messages [][2]int) bool { return !routable(tr, messages) })
}

// TestPinRefuses compares with trying all spines, on small trees.
func TestPinRefuses(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 1))
	reasons := make(map[string]int)
	for i := range 1500 {
		tr := randomTree(t, rng, 1+rng.IntN(3), 1+rng.IntN(4), i%3)
		if tr == nil {
			continue
		}
		for _, s := range bases(t, tr) {
			want := firstUnroutable(&tr.Live, s)
			if want < 0 {
				pin(t, tr, s, scheduler.Options{Seed: uint64(i)})
				continue
			}
			_, err := scheduler.Pin(s, tr, scheduler.Options{Seed: uint64(i)})
			var u *scheduler.UnroutableError
			expect.MustFalse(t, !errors.As(err, &u) || u.Phase != want || !u.Proven || u.Schedule != s.Name,
				"%s on %s, fill %v, down %v: phase %d is not routable; got %v", s.Name, tr.Notation(), tr.Fill(), tr.DownNames(), want, err)
			for _, word := range []string{"sends", "receives", "carry", "search"} {
				if strings.Contains(u.Reason, word) {
					reasons[word]++
				}
			}
		}
	}
	expect.True(t, reasons["sends"] != 0 && reasons["receives"] != 0 && reasons["carry"] != 0, "reasons %v: want several kinds", reasons)
}

func TestPinErrors(t *testing.T) {
	t.Parallel()
	cut := tree(t, topology.Options{Ports: 2, Leaves: 3}, topology.Link{Leaf: 0, Spine: 0}, topology.Link{Leaf: 2, Spine: 1})
	four := topology.Options{Ports: 4, Leaves: 4}
	for _, tt := range []struct {
		name string
		tree *topology.Tree
		want string
	}{
		{"one link dead", tree(t, four, topology.Link{Leaf: 2, Spine: 1}),
			"schedule linear-shift: phase 3 cannot be routed without contention: leaf2 receives 4 messages through 3 live spines (spine0, spine2, spine3)"},
		{"two links dead", tree(t, four, diagonal(0, 1)...),
			"schedule linear-shift: phase 2 cannot be routed without contention: leaf0 sends 3 messages to leaf1, with which it shares 2 live spines (spine2, spine3)"},
		{"no spine in common", cut,
			"leaf0 and leaf2 have no spine in common that is alive: their servers cannot reach each other"},
	} {
		if _, err := scheduler.Pin(scheduler.LinearShift(tt.tree), tt.tree, scheduler.Options{}); fmt.Sprint(err) != tt.want {
			t.Errorf("%s: %v\nwant %s", tt.name, err, tt.want)
		}
	}
	gaveUp := &scheduler.UnroutableError{Schedule: "xor", Phase: 7, Reason: "the search ended"}
	expect.Equal(t, gaveUp.Error(), "schedule xor: no routing without contention was found for phase 7: the search ended", "what is said")
}
