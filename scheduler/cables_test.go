package scheduler_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// On random trees with parallel cables fors reaches its bound or is one above, which is rare, and
// all schedules that choose paths keep each cable to one message.
func TestRandomCables(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(31, 1))
	above := 0
	trees := expect.Samples(300, 60)
	for range trees {
		tree := topologytest.Cables(t, rng, 6, 7, 6)
		s, b, err := scheduler.FORS(tree, scheduler.Options{Seed: rng.Uint64()})
		expect.Must(t, err)
		passes(t, tree, s)
		expect.True(t, s.Phases <= b.Phases+1, "%s without %v: %d phases, bound %d", tree.Notation(), tree.DownNames(), s.Phases, b.Phases)
		if s.Phases > b.Phases {
			above++
		}
		for _, o := range []scheduler.Options{{Objective: schedules.FewestPaths}, {Objective: schedules.Balanced}} {
			few, _, err := scheduler.FORS(tree, o)
			expect.Must(t, err)
			passes(t, tree, few)
			if o.Objective == schedules.FewestPaths {
				oneCable(t, &tree.Live, few)
			}
			most := max(tree.Servers(), s.Phases)
			expect.False(t, o.Objective == schedules.Balanced && few.Phases > most,
				"%s without %v: balanced has %d phases, more than %d", tree.Notation(), tree.DownNames(), few.Phases, most)
		}
		repaired, _, err := scheduler.ByName("repair:linear-shift", tree, scheduler.Options{})
		expect.Must(t, err)
		passes(t, tree, repaired)
	}
	expect.True(t, above <= max(1, trees/200), "%d of %d schedules are above the bound", above, trees)
}

// oneCable fails the test unless a leaf has one path to each server, and a server one cable down from
// each spine.
func oneCable(t *testing.T, tree *topology.Live, s *scheduler.Schedule) {
	t.Helper()
	path, cable := map[[2]int]int{}, map[[2]int]int{}
	for m := range s.All() {
		if m.Spine == scheduler.None {
			continue
		}
		_, down := tree.LaneCables(m.Top)
		from, at := [2]int{tree.Leaf(m.Src), m.Dst}, [2]int{m.Spine, m.Dst}
		if _, ok := path[from]; !ok {
			path[from] = tree.PathOf(m.Spine, m.Top)
		}
		if _, ok := cable[at]; !ok {
			cable[at] = down
		}
		expect.MustTrue(t, path[from] == tree.PathOf(m.Spine, m.Top) && cable[at] == down, "%s without %v: server %d has several paths from leaf%d, or cables down from spine%d",
			tree.Notation(), tree.DownNames(), m.Dst, from[0], m.Spine)
	}
}

// With dead cables, and readers and builders, too, the objective paths finds one cable down for each
// server.
func TestOneCable(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(31, 9))
	for range 100 {
		tree := topologytest.Roles(t, topologytest.Cables(t, rng, 6, 7, 4), rng)
		s, _, err := scheduler.FORS(tree, scheduler.Options{Objective: schedules.FewestPaths})
		expect.Must(t, err)
		passes(t, tree, s)
		oneCable(t, &tree.Live, s)
	}
	tree := topologytest.Tree(t, topology.Options{Ports: 20, Leaves: 18, Spines: 10, Cables: 2}, "leaf0-spine3/1")
	s, b, err := scheduler.FORS(tree, scheduler.Options{Objective: schedules.FewestPaths})
	expect.Must(t, err)
	passes(t, tree, s)
	oneCable(t, &tree.Live, s)
	expect.True(t, s.Phases == 360 && b.Phases == 359, "%d phases, bound %d: want 360, 359", s.Phases, b.Phases)
}

// A pair of leaves meets at a spine whichever of its cables are dead; a cable more is a message more
// in a phase.
func TestCablesMeet(t *testing.T) {
	o := topology.Options{Ports: 4, Leaves: 2, Spines: 1, Cables: 2}
	tree := topologytest.Tree(t, o, "leaf0-spine0/0", "leaf1-spine0/1")
	s, b, err := scheduler.FORS(tree, scheduler.Options{})
	expect.Must(t, err)
	passes(t, tree, s)
	expect.True(t, s.Phases == 16 && b.Phases == 16 && b.String() == "leaf0", "%d phases, bound %d %s: want 16, by leaf0", s.Phases, b.Phases, b)
	o = topology.Options{Ports: 20, Leaves: 18, Spines: 10, Cables: 2}
	if s, b, err = scheduler.FORS(topologytest.Tree(t, o), scheduler.Options{}); err != nil || s.Phases != 359 || b.Phases != 359 {
		t.Errorf("%d phases, bound %d, %v: want 359", s.Phases, b.Phases, err)
	}
	passes(t, topologytest.Tree(t, o), s)
}

// A phase pinned over parallel cables takes as many messages of a spine as both leaves have live ones.
func TestPinCables(t *testing.T) {
	o := topology.Options{Ports: 4, Leaves: 4, Spines: 2, Cables: 2}
	tree := topologytest.Tree(t, o)
	s := expect.Value(scheduler.Pin(scheduler.LinearShift(tree), tree, scheduler.Options{}))(t)
	passes(t, tree, s)
	dead := topologytest.Tree(t, o, "leaf0-spine0/1")
	_, err := scheduler.Pin(scheduler.LinearShift(dead), dead, scheduler.Options{})
	want := "cannot be routed without contention: leaf0 sends 4 messages through 3 live cables (spine0, spine1)"
	expect.True(t, err != nil && strings.Contains(err.Error(), want), "error %v, want %q", err, want)
	for _, name := range []string{schedules.FORSClosed, schedules.FORSPublished} {
		_, _, err := scheduler.ByName(name, tree, scheduler.Options{})
		if want := "needs one cable from a leaf to a spine; PGFT(2;4,4;1,2;1,2) has 2: use fors"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}
