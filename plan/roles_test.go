package plan_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/plan"
	"evbench/scheduler/judge"
	"evbench/scheduler/schedules"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// Plans of readers and builders are written, judged and read back.
func TestRolesRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 5))
	for range 40 {
		o := topology.Options{Ports: 1 + rng.IntN(4), Leaves: 2 + rng.IntN(3), Spines: 1 + rng.IntN(3), Cables: 1 + rng.IntN(2)}
		tree := topologytest.Roles(t, topologytest.Tree(t, o), rng)
		for _, of := range []plan.Options{{Schedule: schedules.FORS}, {Schedule: schedules.LinearShift, Routing: "minhop"}} {
			p := expect.Value(plan.Build(tree, of))(t)
			expect.Must(t, p.Judge())
			var file bytes.Buffer
			expect.Must(t, p.WriteText(&file))
			back := expect.Value(plan.Read(bytes.NewReader(file.Bytes()), engines.Trees()))(t)
			messages := len(slices.Collect(back.Schedule.All()))
			expect.True(t, back.Hash() == p.Hash() && messages == tree.Messages() && messages == p.Messages() && back.Cost(plan.Equal, 0) == p.Cost(plan.Equal, 0),
				"%s: %d messages of %d, costs %+v and %+v", tree.Notation(), messages, tree.Messages(), back.Cost(plan.Equal, 0), p.Cost(plan.Equal, 0))
			r := judge.Check(expect.Value(judge.Read(bytes.NewReader(file.Bytes())))(t), judge.Options{Bound: true, AllowContention: true})
			cost := p.Cost(plan.Equal, 0)
			expect.True(t, r.Valid && float64(r.Duration) == cost.Duration && r.PredictedEfficiency == cost.Synchronised() && r.LeftOut == 0,
				"%+v, cost %+v", r, cost)
		}
	}
}

// Schedules and objectives for random trees of two and three levels, of which links are dead and leaves
// fall apart: the judge, who counts messages one by one, finds the plans valid.
func TestRolesJudgedRandom(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(31, 9))
	built := map[string]int{}
	for range expect.Samples(150, 40) {
		o := topology.Options{Ports: 1 + rng.IntN(5), Leaves: 2 + rng.IntN(5), Spines: 1 + rng.IntN(4), Cables: 1 + rng.IntN(2)}
		if rng.IntN(3) == 0 {
			o.Cables, o.Pods, o.Leaves = 1, 2, 2*(1+rng.IntN(3))
			o.Tops = o.Leaves/2 + rng.IntN(2)
		}
		dead := map[string]bool{}
		for range rng.IntN(1 + o.Leaves*o.Spines/(1+2*rng.IntN(2))) {
			dead[fmt.Sprintf("leaf%d-spine%d", rng.IntN(o.Leaves), rng.IntN(o.Spines))] = true
		}
		if o.Pods > 0 && rng.IntN(2) == 0 {
			dead[fmt.Sprintf("pod0-spine%d-top%d", rng.IntN(o.Spines), rng.IntN(o.Tops))] = true
		}
		tree := topologytest.Roles(t, topologytest.Tree(t, o, slices.Sorted(maps.Keys(dead))...), rng)
		for _, of := range []plan.Options{
			{Schedule: "fors"}, {Schedule: "fors", Objective: schedules.FewestPaths, OnePath: o.Cables == 1}, {Schedule: "fors", Objective: schedules.Balanced},
			{Schedule: "linear-shift", Routing: "minhop"}, {Schedule: "linear-shift", Routing: "pinned"}, {Schedule: "repair:linear-shift"}, {Schedule: "repair:fors"},
		} {
			of.DropUnreachable = true
			p, err := plan.Build(tree, of)
			if err != nil {
				text := err.Error()
				expect.True(t, strings.Contains(text, "no two servers can reach each other") || o.Pods > 0 && strings.Contains(text, "where all do both; ") ||
					of.Routing == "pinned" && (strings.Contains(text, "cannot be routed") || strings.Contains(text, "no routing")), "%s: %v", of.Schedule, err)
				continue
			}
			v := judged(t, p)
			expect.True(t, (len(p.Unreachable) > 0) == (v.LeftOut > 0), "%s down %v: %v unreachable, %d messages left out", tree.Notation(), tree.DownNames(), p.Unreachable, v.LeftOut)
			expect.True(t, p.Paths == (topology.Paths{}) || *v.Paths == p.Paths, "%s: paths %+v, judged %+v", tree.Notation(), p.Paths, *v.Paths)
			of.DropUnreachable = false
			q, err := plan.Build(tree, of)
			expect.True(t, (v.LeftOut == 0) == (err == nil) && (err != nil || judged(t, q).LeftOut == 0), "%s: %d messages left out, not dropped: %v", tree.Notation(), v.LeftOut, err)
			expect.True(t, v.Messages == p.Messages() && v.LeftOut == tree.Messages()-p.Messages(), "%d messages, %d left out of %d", v.Messages, v.LeftOut, tree.Messages())
			expect.True(t, of.Schedule != "fors" || of.Objective == schedules.FewestPaths || p.Gap() <= 1, "%s: gap %d", tree.Notation(), p.Gap())
			expect.True(t, !of.OnePath || p.Paths.Most <= 1, "%s: %+v", tree.Notation(), p.Paths)
			if built[of.Schedule]++; len(p.Unreachable) > 0 {
				built["apart"]++
			}
		}
	}
	expect.True(t, built["fors"] > expect.Samples(200, 50) && built["repair:linear-shift"] > expect.Samples(100, 25) && built["apart"] > expect.Samples(200, 50), "%v", built)
}

// A pod's links to top switches bound what leaves and what enters it, by roles.
func TestRolesPods(t *testing.T) {
	tree := expect.Value(topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 8, Pods: 4, Spines: 2, Tops: 2}, "leaf0-spine0").WithRoles("leaf0", "leaf7"))(t)
	p := expect.Value(plan.Build(tree, plan.Options{Engines: engines.Trees(), Schedule: "linear-shift", Routing: "minhop"}))(t)
	expect.Must(t, p.Judge())
	expect.True(t, p.Bound.Phases == 16 && p.Bound.String() == "leaf0", "bound %d %s, want 16 messages over one link", p.Bound.Phases, p.Bound)
}

// A reader that builds nothing hears of nothing, and a builder that reads nothing sends nothing.
func TestRolesJudged(t *testing.T) {
	const head = "# evbench plan 1\n# topology FT(2;2,2)\n# fill 2,2\n# down none\n%s# schedule x\n"
	const body = "0 0 2 0\n0 1 3 1\n1 0 3 0\n1 1 2 1\n"
	for _, c := range []struct {
		roles, body, want string
		kind              judge.Kind
	}{
		{"# readers server0-1\n# builders server2-3\n", body, "", ""},
		{"# readers server0-1\n# builders server2-3\n", body + "2 2 0 0\n", "server2 sends to server0, but does not read", judge.NotReader},
		{"# readers server0-1\n# builders server2-3\n", body + "2 2 0 0\n", "server2 sends to server0, which does not build", judge.NotBuilder},
		{"# readers server0-1\n# builders server2-3\n", strings.TrimSuffix(body, "1 1 2 1\n"), "server1 never sends to server2", judge.MissingMessage},
		{"# readers server0-2\n# builders server2-3\n", body, "server2 never sends to server3", judge.MissingMessage},
		{"# readers leaf0\n", body, "line 5: a plan states readers and builders, or neither", ""},
		{"# readers leaf0\n# builders leaf2\n", body, `line 6: builders "leaf2": FT(2;2,2) has leaf0..leaf1`, ""},
		{"# readers server4\n# builders leaf1\n", body, `line 5: readers "server4": FT(2;2,2) has server0..server3`, ""},
	} {
		f, err := judge.Read(strings.NewReader(fmt.Sprintf(head, c.roles) + c.body))
		if c.kind == "" && c.want != "" {
			expect.True(t, err != nil && strings.Contains(err.Error(), c.want), "%q: %v, want %q", c.roles, err, c.want)
			continue
		}
		expect.Must(t, err)
		r := judge.Check(f, judge.Options{})
		expect.True(t, r.Valid == (c.kind == "") && (c.kind == "" || r.Counts[c.kind] == 1) && strings.Contains(fmt.Sprint(r.Offences), c.want),
			"%q: %v, want %q", c.roles, r.Offences, c.want)
	}
}

// What plans with roles do not go with is refused.
func TestRolesRefused(t *testing.T) {
	tree := expect.Value(topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2}).WithRoles("leaf0", "leaf1"))(t)
	pods := expect.Value(topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 4, Pods: 2}).WithRoles("leaf0", ""))(t)
	cut := expect.Value(topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2}, "leaf0-spine0", "leaf0-spine1").WithRoles("leaf0", "leaf1"))(t)
	for _, c := range []struct {
		tree *topology.Tree
		o    plan.Options
		want string
	}{
		{pods, plan.Options{Engines: engines.Trees(), Schedule: "fors", Objective: schedules.Balanced}, "objective balanced is for trees of three levels where all do both"},
		{tree, plan.Options{Engines: engines.Trees(), Schedule: "xor"}, "schedule xor is for trees where all do both"},
		{tree, plan.Options{Engines: engines.Trees(), Schedule: "repair:xor"}, "schedule repair:xor is for trees where all do both"},
		{cut, plan.Options{Engines: engines.Trees(), Schedule: "fors", DropUnreachable: true}, "no two servers can reach each other"},
		{cut, plan.Options{Engines: engines.Trees(), Schedule: "fors"}, "leaf0 and leaf1 have no spine in common"},
	} {
		_, err := plan.Build(c.tree, c.o)
		expect.True(t, err != nil && strings.Contains(err.Error(), c.want), "%+v: %v, want %q", c.o, err, c.want)
	}
}
