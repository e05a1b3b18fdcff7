package plan_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/plan"
	"evbench/plan/verify"
	"evbench/scheduler"
	"evbench/topology"
	"evbench/topology/topologytest"
)

// Plans of readers and builders are written, judged and read back.
func TestRolesRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 5))
	for range 40 {
		o := topology.Options{Ports: 1 + rng.IntN(4), Leaves: 2 + rng.IntN(3), Spines: 1 + rng.IntN(3), Cables: 1 + rng.IntN(2)}
		tree := topologytest.Roles(t, topologytest.Tree(t, o), rng)
		for _, of := range []plan.Options{{Schedule: scheduler.NameFORS}, {Schedule: scheduler.NameLinearShift, Routing: "minhop"}} {
			p := expect.Value(plan.Build(tree, of))(t)
			expect.Must(t, p.Judge())
			var file bytes.Buffer
			expect.Must(t, p.WriteText(&file))
			back := expect.Value(plan.Read(bytes.NewReader(file.Bytes())))(t)
			messages := len(slices.Collect(back.Schedule.All()))
			expect.True(t, back.Hash() == p.Hash() && messages == tree.Messages() && messages == p.Messages() && back.Cost(plan.Equal, 0) == p.Cost(plan.Equal, 0),
				"%s: %d messages of %d, costs %+v and %+v", tree.Notation(), messages, tree.Messages(), back.Cost(plan.Equal, 0), p.Cost(plan.Equal, 0))
			r := verify.Check(expect.Value(verify.Read(bytes.NewReader(file.Bytes())))(t), verify.Options{Bound: true, AllowContention: true})
			cost := p.Cost(plan.Equal, 0)
			expect.True(t, r.Valid && float64(r.Duration) == cost.Duration && r.PredictedEfficiency == cost.Synchronised() && r.LeftOut == 0,
				"%+v, cost %+v", r, cost)
		}
	}
}

// A reader that builds nothing hears of nothing, and a builder that reads nothing sends nothing.
func TestRolesJudged(t *testing.T) {
	const head = "# evbench plan 1\n# topology FT(2;2,2)\n# fill 2,2\n# down none\n%s# schedule x\n"
	const body = "0 0 2 0\n0 1 3 1\n1 0 3 0\n1 1 2 1\n"
	for _, c := range []struct {
		roles, body, want string
		kind              verify.Kind
	}{
		{"# readers server0-1\n# builders server2-3\n", body, "", ""},
		{"# readers server0-1\n# builders server2-3\n", body + "2 2 0 0\n", "server2 sends to server0, but does not read", verify.NotReader},
		{"# readers server0-1\n# builders server2-3\n", body + "2 2 0 0\n", "server2 sends to server0, which does not build", verify.NotBuilder},
		{"# readers server0-1\n# builders server2-3\n", strings.TrimSuffix(body, "1 1 2 1\n"), "server1 never sends to server2", verify.MissingMessage},
		{"# readers server0-2\n# builders server2-3\n", body, "server2 never sends to server3", verify.MissingMessage},
		{"# readers leaf0\n", body, "line 5: a plan states readers and builders, or neither", ""},
		{"# readers leaf0\n# builders leaf2\n", body, `line 6: builders "leaf2": FT(2;2,2) has leaf0..leaf1`, ""},
		{"# readers server4\n# builders leaf1\n", body, `line 5: readers "server4": FT(2;2,2) has server0..server3`, ""},
		{"# readers leaf0\n# builders leaf1\n# unreachable leaf0-leaf1\n", body, "line 7: pairs are left out", ""},
	} {
		f, err := verify.Read(strings.NewReader(fmt.Sprintf(head, c.roles) + c.body))
		if c.kind == "" && c.want != "" {
			expect.True(t, err != nil && strings.Contains(err.Error(), c.want), "%q: %v, want %q", c.roles, err, c.want)
			continue
		}
		expect.Must(t, err)
		r := verify.Check(f, verify.Options{})
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
		{pods, plan.Options{Schedule: "fors"}, "trees of three levels are planned where all do both"},
		{tree, plan.Options{Schedule: "linear-shift", Routing: "pinned"}, "paths of schedule linear-shift are pinned where all do both"},
		{tree, plan.Options{Schedule: "repair:linear-shift"}, "schedule repair:linear-shift is for trees where all do both"},
		{cut, plan.Options{Schedule: "fors", DropUnreachable: true}, "unreachable pairs are dropped where all do both"},
		{cut, plan.Options{Schedule: "fors"}, "leaf0 and leaf1 have no spine in common"},
	} {
		_, err := plan.Build(c.tree, c.o)
		expect.True(t, err != nil && strings.Contains(err.Error(), c.want), "%+v: %v, want %q", c.o, err, c.want)
	}
}
