package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// wrong returns what is wrong with s as an all-to-all exchange on t, or nil: every ordered
// pair of servers that can reach each other meets once; in a phase at most one message is from
// and one to each server; no phase is empty; with a pinned schedule a message between leaves
// has a live path, and no wire two messages in a phase; otherwise it has none. Messages come
// by phase, then source. It shares no code with what makes schedules.
func wrong(t *topology.Tree, s *scheduler.Schedule) error {
	n := t.Servers()
	met, busy := make([]bool, n*n), slices.Repeat([]int{-1}, t.AllWires())
	before := scheduler.Message{Phase: -1, Src: n}
	leaf, wires := t.LeafOfRanks(), []topology.Wire(nil)
	for m := range s.All() {
		switch {
		case m.Src == m.Dst:
			return fmt.Errorf("%+v: a message to self", m)
		case met[m.Src*n+m.Dst]:
			return fmt.Errorf("%+v: the pair has met before", m)
		case m.Phase != before.Phase && m.Phase != before.Phase+1, m.Phase == before.Phase && m.Src <= before.Src:
			return fmt.Errorf("%+v after %+v: a phase is empty or messages are out of order", m, before)
		}
		met[m.Src*n+m.Dst], before = true, m
		a, b := leaf[m.Src], leaf[m.Dst]
		if err := wrongPath(&t.Live, s.Pinned, m, a, b); err != nil {
			return err
		}
		wires = append(wires[:0], t.FromServer(m.Src), t.ToServer(m.Dst))
		if s.Pinned && a != b {
			wires = t.Between(wires, a, b, t.PathOf(m.Spine, m.Top))
		}
		for _, w := range wires {
			if busy[w] == m.Phase {
				link, direction := t.WireName(w)
				return fmt.Errorf("%+v: %s %s has a message in this phase already", m, link, direction)
			}
			busy[w] = m.Phase
		}
	}
	if before.Phase != s.Phases-1 {
		return fmt.Errorf("the last message is in phase %d of %d", before.Phase, s.Phases)
	}
	return wrongPairs(t, s, met)
}

// wrongPath returns what is wrong with the spine and the top switch of a message from leaf a to leaf b.
func wrongPath(t *topology.Live, pinned bool, m scheduler.Message, a, b int) error {
	switch {
	case !pinned || a == b:
		if m.Spine != scheduler.None || m.Top != scheduler.None {
			return fmt.Errorf("%+v: a spine where none is needed or chosen", m)
		}
	case m.Spine < 0 || m.Spine >= t.Spines() || !t.Alive(a, m.Spine) || !t.Alive(b, m.Spine):
		return fmt.Errorf("%+v: the spine is not alive at leaf%d and leaf%d", m, a, b)
	case !t.AcrossPods(a, b) && t.Cables() == 1:
		if m.Top != scheduler.None {
			return fmt.Errorf("%+v: a top switch within a pod", m)
		}
	case m.Top < 0 || m.Top >= t.Paths()/t.Spines() || !t.PathAlive(a, b, t.PathOf(m.Spine, m.Top)):
		return fmt.Errorf("%+v: the top switch is not alive from the pods of leaf%d and leaf%d, or the cable not", m, a, b)
	}
	return nil
}

// wrongPairs compares the pairs that met with those that are to meet, and with what the
// schedule says of each.
func wrongPairs(t *topology.Tree, s *scheduler.Schedule, met []bool) error {
	apart := map[[2]int]bool{}
	for _, p := range t.Unreachable() {
		apart[p] = true
	}
	leaf := t.LeafOfRanks()
	for i, did := range met {
		src, dst := i/len(leaf), i%len(leaf)
		if src == dst {
			continue
		}
		want := t.Reads(src) && t.Builds(dst) && !apart[[2]int{min(leaf[src], leaf[dst]), max(leaf[src], leaf[dst])}]
		if did != want || s.Meets(src, dst) != want {
			return fmt.Errorf("%d and %d: want a message %v, in the list %v, Meets says %v", src, dst, want, did, s.Meets(src, dst))
		}
		if p, k := s.At(src, dst); !did && (p != scheduler.None || k != scheduler.None) {
			return fmt.Errorf("%d and %d never meet; At says phase %d, spine %d", src, dst, p, k)
		}
	}
	return nil
}

// passes fails the test where a schedule is wrong.
func passes(t testing.TB, tree *topology.Tree, s *scheduler.Schedule) {
	t.Helper()
	expect.Must(t, wrong(tree, s), "%s on %s, fill %v, %d spines, down %v", s.Name, tree.Notation(), tree.Fill(), tree.Spines(), tree.DownNames())
}

// A schedule does not depend on the number of workers, but, where it is searched, on the
// seed; the number of phases depends on the tree alone.
//
//gate:race
func TestWorkers(t *testing.T) {
	t.Parallel()
	ports, leaves := expect.Samples(12, 6), expect.Samples(10, 7)
	wide := random(t, topology.Options{Ports: ports, Leaves: leaves, Spines: ports + 2}, 3*leaves, 1)
	apart := evenly(t, topology.Options{Ports: ports, Leaves: leaves}, leaves-1, rand.New(rand.NewPCG(1, 2)))
	pods := deadOf(t, tree(t, topology.Options{Ports: 4, Leaves: 16, Pods: 4}), 5, 9, rand.New(rand.NewPCG(3, 3)))
	for _, tt := range []struct {
		name   string
		tree   *topology.Tree
		o      scheduler.Options
		seeded bool
	}{
		{"fors", wide, scheduler.Options{}, true},
		{"fors", wide, scheduler.Options{Objective: schedules.FewestPaths}, true},
		{"fors", wide, scheduler.Options{Objective: schedules.Balanced}, true},
		{"fors", apart, dropping, false},
		{"fors", pods, scheduler.Options{}, true},
		{"fors-closed", uniformTree(t, topology.Options{Ports: expect.Samples(20, 10), Leaves: expect.Samples(18, 9)}, 1, 3), scheduler.Options{}, false},
	} {
		planned := func(seed uint64, workers int) *scheduler.Schedule {
			tt.o.Seed, tt.o.Workers = seed, workers
			s, _, err := scheduler.ByName(tt.name, tt.tree, tt.o)
			expect.Must(t, err)
			passes(t, tt.tree, s)
			return s
		}
		same := func(a, b *scheduler.Schedule) bool {
			return slices.Equal(slices.Collect(a.All()), slices.Collect(b.All()))
		}
		one := planned(7, 1)
		for _, workers := range []int{7, 0, 2}[:expect.Samples(3, 1)] {
			expect.True(t, same(planned(7, workers), one),
				"%s %s on %s: %d workers make another schedule than one", tt.name, tt.o.Objective, tt.tree.Notation(), workers)
			if tt.tree == pods && !same(pin(t, pods, one, scheduler.Options{Workers: workers}), pin(t, pods, one, scheduler.Options{Workers: 1})) {
				t.Errorf("%d workers pin in another way than one", workers)
			}
		}
		other := planned(8, 1)
		expect.False(t, tt.seeded && same(other, one) || tt.o.Objective == "" && other.Phases != one.Phases,
			"%s %s on %s: seeds 7 and 8 make the same schedule, or one of other length", tt.name, tt.o.Objective, tt.tree.Notation())
	}
}

var tree = topologytest.Without
