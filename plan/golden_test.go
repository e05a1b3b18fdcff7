package plan_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"evbench/plan"
	"evbench/scheduler/judge"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

var update = flag.Bool("update", false, "rewrite the golden plans")

// The plans of testdata, one for each schedule, small enough to be read: a
// change of any of them shows what it does in the diff.
func TestGolden(t *testing.T) {
	ft23 := topology.Options{Ports: 2, Leaves: 3}
	ft33 := topology.Options{Ports: 3, Leaves: 3}
	pods, thin := topology.Options{Ports: 2, Leaves: 4, Pods: 2, Fill: []int{2, 1, 2, 1}}, topology.Options{Ports: 1, Leaves: 4, Pods: 2}
	for _, tt := range []struct {
		file string
		tree topology.Options
		down []string
		o    plan.Options
	}{
		{"linear-shift-minhop", topology.Options{Ports: 2, Leaves: 3, Fill: []int{2, 2, 1}}, []string{"leaf0-spine1"},
			plan.Options{Schedule: "linear-shift", Routing: "minhop"}},
		{"golden/linear-shift-spread-dead-spine", ft23, []string{"spine1"}, plan.Options{Schedule: "linear-shift", Routing: "spread"}},
		{"golden/linear-shift-none-cut-apart", ft23, []string{"leaf0-spine0", "leaf1-spine1"},
			plan.Options{Schedule: "linear-shift", Routing: "none", DropUnreachable: true}},
		{"golden/linear-shift-pinned-healthy", ft23, nil, plan.Options{Schedule: "linear-shift", Routing: "pinned"}},
		{"golden/linear-shift-ports-ftree-unequal", topology.Options{Ports: 3, Leaves: 3, Fill: []int{3, 2, 3}}, nil,
			plan.Options{Schedule: "linear-shift-ports", Routing: "ftree"}},
		{"golden/repair-linear-shift-ports-dead-link", topology.Options{Ports: 2, Leaves: 3, Fill: []int{2, 2, 1}}, []string{"leaf0-spine0"},
			plan.Options{Schedule: "repair:linear-shift-ports"}},
		{"golden/xor-ecmp-dead-link", topology.Options{Ports: 2, Leaves: 2}, []string{"leaf1-spine0"}, plan.Options{Schedule: "xor", Routing: "ecmp"}},
		{"golden/bandwidth-optimal-ftree-healthy", ft23, nil, plan.Options{Schedule: "bandwidth-optimal", Routing: "ftree"}},
		{"golden/bandwidth-optimal-pinned-healthy", ft23, nil, plan.Options{Schedule: "bandwidth-optimal", Routing: "pinned"}},
		{"golden/fors-healthy", ft23, nil, plan.Options{Schedule: "fors"}},
		{"golden/fors-dead-link", ft23, []string{"leaf0-spine0"}, plan.Options{Schedule: "fors"}},
		{"golden/fors-minhop-dead-link", ft23, []string{"leaf0-spine0"}, plan.Options{Schedule: "fors", Routing: "minhop"}},
		{"golden/fors-three-spines", topology.Options{Ports: 2, Leaves: 3, Spines: 3}, []string{"leaf1-spine2", "leaf2-spine0"}, plan.Options{Schedule: "fors"}},
		{"golden/fors-witness", ft33, []string{"leaf0-spine0", "leaf1-spine1", "leaf2-spine1"}, plan.Options{Schedule: "fors"}},
		{"golden/fors-cut-apart", ft23, []string{"leaf0-spine0", "leaf1-spine1"}, plan.Options{Schedule: "fors", DropUnreachable: true}},
		{"golden/fors-paths-dead-spine", ft23, []string{"spine1"}, plan.Options{Schedule: "fors", Objective: "paths"}},
		{"golden/fors-balanced-dead-spine", ft23, []string{"spine1"}, plan.Options{Schedule: "fors", Objective: "balanced"}},
		{"golden/fors-closed-dead-spine", ft23, []string{"spine1"}, plan.Options{Schedule: "fors-closed"}},
		{"golden/fors-published-dead-spine", ft23, []string{"spine1"}, plan.Options{Schedule: "fors-published"}},
		{"golden/repair-linear-shift-dead-link", ft23, []string{"leaf0-spine0"}, plan.Options{Schedule: "repair:linear-shift"}},
		{"golden/repair-bandwidth-optimal-dead-spine", ft23, []string{"spine1"}, plan.Options{Schedule: "repair:bandwidth-optimal"}},
		{"golden/pods-fors-healthy", pods, nil, plan.Options{Schedule: "fors"}},
		{"golden/pods-fors-dead-links", pods, []string{"leaf0-spine1", "pod1-spine0-top1"}, plan.Options{Schedule: "fors"}},
		{"golden/pods-linear-shift-pinned", thin, nil, plan.Options{Schedule: "linear-shift", Routing: "pinned"}},
		{"golden/pods-linear-shift-ports-pinned", pods, nil, plan.Options{Schedule: "linear-shift-ports", Routing: "pinned"}},
		{"golden/pods-bandwidth-optimal-none", thin, nil, plan.Options{Schedule: "bandwidth-optimal", Routing: "none"}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			tt.o.Seed = 1
			tt.o.Engines = engines.Trees()
			p, err := plan.Build(topologytest.Tree(t, tt.tree, tt.down...), tt.o)
			built(t, err)
			golden(t, tt.file, p)
		})
	}
}

// A plan of a schedule that is gone is read and judged as before.
func TestScheduleGone(t *testing.T) {
	text := expect.Value(os.ReadFile("testdata/schedule-gone.plan"))(t)
	expect.Equal(t, restored(t, text).ScheduleName(), "fors-published-text", "schedule")
	r := judge.Check(expect.Value(judge.Read(bytes.NewReader(text)))(t), judge.Options{Bound: true})
	expect.True(t, r.Optimal() && r.ContentionChecked, "%+v", r)
}

func built(t *testing.T, err error) {
	t.Helper()
	expect.Must(t, err)
}

// golden holds a plan against a file, and the file against Read.
func golden(t *testing.T, name string, p *plan.Plan) {
	t.Helper()
	var got bytes.Buffer
	expect.Must(t, p.WriteText(&got))
	file := "testdata/" + name + ".plan"
	if *update {
		expect.Must(t, os.WriteFile(file, got.Bytes(), 0o644))
	}
	want := expect.Value(os.ReadFile(file))(t)
	expect.True(t, bytes.Equal(got.Bytes(), want), "got\n%swant\n%s", got.Bytes(), want)
	same(t, p, restored(t, want))
}
