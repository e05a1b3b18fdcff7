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
	expect.True(t, !named.Divided(), "roles of a tree where all are both")
}

// Plans of few paths have at most 3 phases above the bound of one path, and balanced ones at most 1 above
// the bound. Trees fall apart; what is left is planned.
func TestRolesPaths(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(31, 7))
	const trees = 300
	var above [2]int
	for range trees {
		o := topology.Options{Ports: 1 + random.IntN(6), Leaves: 2 + random.IntN(5), Spines: 1 + random.IntN(5)}
		whole := topologytest.Tree(t, o)
		var dead []topology.Link
		for _, n := range random.Perm(whole.AllLinks())[:random.IntN(1+whole.AllLinks()/2)] {
			dead = append(dead, topology.Link{Leaf: n / o.Spines, Spine: n % o.Spines})
		}
		tree := topologytest.Roles(t, topologytest.Without(t, o, dead...), random)
		for i, objective := range []schedules.Objective{schedules.FewestPaths, schedules.Balanced} {
			s, b, err := scheduler.FORS(tree, scheduler.Options{Seed: random.Uint64(), Objective: objective, DropUnreachable: true})
			if err != nil && err.Error() == "no two servers can reach each other: there is no message to plan" {
				continue
			}
			expect.Must(t, err)
			passes(t, tree, s)
			one, _ := scheduler.OnePathBound(tree, b)
			readers, builders := tree.RoleLists()
			limit, paths := one+3, mostSpines(tree.Shape, s)
			if objective == schedules.Balanced {
				limit = b.Phases + 1
			}
			expect.True(t, s.Phases >= b.Phases && s.Phases <= limit && (paths <= 1 || objective == schedules.Balanced),
				"%s, down %v, readers %s, builders %s, %s: %d phases, bounds %d and %d, %d spines towards a server",
				tree.Notation(), tree.DownNames(), readers, builders, objective, s.Phases, b.Phases, one, paths)
			if paths <= 1 && s.Phases < one {
				t.Errorf("%s: %d phases, below the bound %d of one path", tree.Notation(), s.Phases, one)
			}
			if s.Phases > []int{one, b.Phases}[i]+1 {
				above[i]++
			}
		}
	}
	expect.True(t, above[0] <= trees/50 && above[1] == 0, "%v of %d schedules are more than 1 above the bound", above, trees)
}

func TestRolesRefused(t *testing.T) {
	tree := expect.Value(topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4}).WithRoles("leaf0", ""))(t)
	for _, name := range []string{"xor", "bandwidth-optimal", "linear-shift-ports", "fors-closed", "fors-published", "repair:xor"} {
		_, _, err := scheduler.ByName(name, tree, scheduler.Options{})
		expect.True(t, err != nil && strings.Contains(err.Error(), "4 of 16 servers read and 16 build; schedule "+name+" is for trees where all do both"), "%s: %v", name, err)
	}
	pods := topology.Options{Ports: 2, Leaves: 4, Pods: 2}
	for _, c := range []struct {
		down string
		o    scheduler.Options
		want string
	}{
		{"pod0-spine0-top0", scheduler.Options{}, "top switches lack links or are fewer than leaves are planned where all do both; take repair:linear-shift"},
		{"leaf0-spine0", scheduler.Options{Objective: schedules.FewestPaths}, "objective paths is for trees of three levels where all do both; leave it out, or take linear-shift for one path"},
		{"leaf0-spine0", scheduler.Options{Objective: schedules.Balanced}, "objective balanced is for trees of three levels where all do both; leave it out, or take linear-shift for one path"},
	} {
		tree := expect.Value(topologytest.Tree(t, pods, c.down).WithRoles("leaf0", ""))(t)
		_, _, err := scheduler.FORS(tree, c.o)
		expect.True(t, err != nil && strings.Contains(err.Error(), c.want), "%+v: %v", c.o, err)
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
