package scheduler_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/scheduler"
	"evbench/topology"
	"evbench/topology/topologytest"
)

// Plans of readers and builders are complete and free of contention, and reach the bound.
func TestRoles(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(31, 2))
	const trees = 400
	above := 0
	for range trees {
		o := topology.Options{Ports: 1 + random.IntN(6), Leaves: 2 + random.IntN(5), Spines: 1 + random.IntN(5), Cables: 1 + random.IntN(3)}
		whole := topologytest.Tree(t, o)
		links, err := whole.Random(random.IntN(1+whole.AllLinks()/3), random.Uint64())
		for n := whole.AllLinks() / 3; err != nil; n /= 2 {
			links, err = whole.Random(n, 1)
		}
		tree := topologytest.Roles(t, topologytest.Without(t, o, links...), random)
		s, b, err := scheduler.FORS(tree, scheduler.Options{Seed: random.Uint64()})
		expect.Must(t, err)
		passes(t, tree, s)
		readers, builders := tree.RoleLists()
		expect.True(t, s.Phases >= b.Phases && s.Phases <= b.Phases+1, "%s, down %v, readers %s, builders %s: %d phases, bound %d %s",
			tree.Notation(), tree.DownNames(), readers, builders, s.Phases, b.Phases, b)
		if s.Phases > b.Phases {
			above++
		}
		shift := scheduler.LinearShift(tree)
		passes(t, tree, shift)
		expect.True(t, shift.Phases <= max(tree.Readers(), tree.Builders()), "linear shift: %d phases", shift.Phases)
	}
	expect.True(t, above <= trees/200, "%d of %d schedules are above the bound", above, trees)
}

// All are both by name or without: one plan.
func TestRolesOfAll(t *testing.T) {
	tree := topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4}, "leaf0-spine0")
	named := expect.Value(tree.WithRoles("server0-15", "leaf0-3"))(t)
	expect.True(t, !named.Roles(), "roles of a tree where all are both")
}

func TestRolesRefused(t *testing.T) {
	tree := expect.Value(topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4}).WithRoles("leaf0", ""))(t)
	for _, name := range []string{"xor", "bandwidth-optimal", "linear-shift-ports", "fors-closed", "fors-published", "repair:linear-shift"} {
		_, _, err := scheduler.ByName(name, tree, scheduler.Options{})
		expect.True(t, err != nil && strings.Contains(err.Error(), "4 of 16 servers read and 16 build; schedule "+name+" is for trees where all do both"), "%s: %v", name, err)
	}
	for _, o := range []scheduler.Options{{DropUnreachable: true}, {Objective: scheduler.FewestPaths}} {
		_, _, err := scheduler.FORS(tree, o)
		expect.True(t, err != nil && strings.Contains(err.Error(), "where all do both"), "%+v: %v", o, err)
	}
}

func BenchmarkRoles(b *testing.B) {
	whole := topologytest.Tree(b, topology.Options{Ports: 20, Leaves: 18})
	links, err := whole.Random(9, 1)
	expect.Must(b, err)
	tree := expect.Value(expect.Value(whole.Without(links...))(b).WithRoles("server0-239", "server240-359"))(b)
	var s *scheduler.Schedule
	var bound scheduler.Bound
	for b.Loop() {
		s, bound, err = scheduler.FORS(tree, scheduler.Options{})
		expect.Must(b, err)
	}
	b.ReportMetric(float64(s.Phases), "phases")
	b.ReportMetric(float64(bound.Phases), "bound")
}
