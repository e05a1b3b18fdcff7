package survey

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler/schedules"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/topology"
)

var classTrees = []struct {
	notation          string
	fill              []int
	readers, builders string
	down              []topology.Link
}{
	{notation: "FT(2;3,4)"},
	{notation: "FT(2;4,3)", down: []topology.Link{{Leaf: 1, Spine: 2}}},
	{notation: "FT(2;3,5)", fill: []int{3, 1, 3, 2, 1}},
	{notation: "FT(2;3,4)", readers: "leaf0-1,server6", builders: "leaf2-3"},
	{notation: "FT(2;4,4)", fill: []int{4, 4, 0, 4}, down: []topology.Link{{Leaf: 0, Spine: 0}, {Leaf: 3, Spine: 1}}},
}

func classTree(t *testing.T, i int) *topology.Tree {
	x := classTrees[i]
	o := expect.Value(topology.Parse(x.notation))(t)
	o.Fill = x.fill
	tree := expect.Value(topology.New(o))(t)
	if x.readers != "" {
		tree = expect.Value(tree.WithRoles(x.readers, x.builders))(t)
	}
	return expect.Value(tree.Without(x.down...))(t)
}

// Costs by classes and by changed messages are those of each set alone.
func TestClasses(t *testing.T) {
	for i := range classTrees {
		tree := classTree(t, i)
		for k := 1; k <= 2; k++ {
			w := &whatIf{tree: tree, opt: WhatIfOptions{K: k, Seed: 1, Cases: DefaultCases(), Engines: engines.Trees()}, leaf: tree.LeafOfRanks(), orders: map[string]*Order{}, classes: newClasses(tree), quickly: map[string]*changes{}}
			expect.OK(t, w.prepare(&WhatIfReport{}))
			alone := &whatIf{tree: tree, opt: w.opt, leaf: w.leaf, orders: w.orders}
			known := 0
			for _, g := range Groups(&tree.Live, k) {
				for n := range g.Count {
					names, dead := g.Set(n)
					cut := expect.Value(tree.Without(dead...))(t)
					if cut.Exchanges() != nil {
						continue
					}
					for _, c := range w.opt.Cases {
						want, wantErr := alone.outcome(cut, c)
						got, ok := w.quick(cut, c, dead)
						if !ok {
							continue
						}
						known++
						err := error(nil)
						expect.True(t, got == want && fmt.Sprint(err) == fmt.Sprint(wantErr), "%v without %v, %s: %+v, %v; alone %+v, %v", classTrees[i], names, c, got, err, want, wantErr)
					}
				}
			}
			expect.True(t, known > 0, "%v: no set has a class", classTrees[i])
		}
	}
}

// Equal classes are equal sets after a permutation of spines, and of leaves of one kind.
func TestClassForms(t *testing.T) {
	tree := classTree(t, 2)
	c := newClasses(tree)
	draw := rand.New(rand.NewPCG(4, 4))
	for range 300 {
		var set, moved []topology.Link
		spines, leaves := draw.Perm(3), []int{0, 1, 2, 3, 4}
		if draw.IntN(2) == 0 {
			leaves = []int{2, 4, 0, 3, 1} // 0 and 2 have three servers, 1 and 4 one
		}
		seen := map[topology.Link]bool{}
		for len(set) < 1+draw.IntN(3) {
			x := topology.Link{Leaf: draw.IntN(5), Spine: draw.IntN(3)}
			if !seen[x] {
				seen[x] = true
				set = append(set, x)
				moved = append([]topology.Link{{Leaf: leaves[x.Leaf], Spine: spines[x.Spine]}}, moved...)
			}
		}
		a, first := c.of(set)
		b, second := c.of(moved)
		expect.Equal(t, b, a, "class of %v and %v", set, moved)
		expect.Equal(t, fmt.Sprint(second), fmt.Sprint(first), "first set of %v and %v", set, moved)
		again, _ := c.of(first)
		expect.Equal(t, again, a, "class of the first set %v of %v", first, set)
	}
	for _, tt := range [][2][]topology.Link{
		{{{Leaf: 0, Spine: 0}}, {{Leaf: 1, Spine: 0}}},
		{{{Leaf: 0, Spine: 0}, {Leaf: 2, Spine: 0}}, {{Leaf: 0, Spine: 0}, {Leaf: 2, Spine: 1}}},
		{{{Leaf: 0, Spine: 0}, {Leaf: 0, Spine: 1}}, {{Leaf: 0, Spine: 0}, {Leaf: 2, Spine: 1}}},
	} {
		a, _ := c.of(tt[0])
		b, _ := c.of(tt[1])
		expect.True(t, a != b, "%v and %v are one class", tt[0], tt[1])
	}
	expect.True(t, newClasses(expect.Value(topology.New(topology.Options{Ports: 2, Leaves: 4, Pods: 2}))(t)) == nil, "three levels have classes")
}

// A plan that differs from its class ends the survey: here a class is told the outcome of another.
func TestClassesAreChecked(t *testing.T) {
	tree := classTree(t, 0)
	for seed := range uint64(100) {
		w := &whatIf{tree: tree, opt: WhatIfOptions{K: 1, Seed: seed, Cases: []Case{{schedules.FORS, routing.Pinned}}}, leaf: tree.LeafOfRanks(), orders: map[string]*Order{}, classes: newClasses(tree)}
		if routing.Mix(seed, 0)%drawn != 0 {
			continue
		}
		dead := []topology.Link{{Leaf: 0, Spine: 0}}
		_, ok := w.byClass(w.opt.Cases[0], dead)
		expect.MustTrue(t, ok, "no class")
		for _, r := range w.classes.results {
			r.out.Phases++
		}
		_, err := w.checked(expect.Value(tree.Without(dead...))(t), w.opt.Cases[0], 0, dead)
		expect.Error(t, err, "leaf0-spine0", "by its class or by what changes: a defect of evbench")
		return
	}
	t.Error("no seed draws the first set")
}

// TestChanges: counting changes gives the same duration as counting all messages, over any paths.
func TestChanges(t *testing.T) {
	draw := rand.New(rand.NewPCG(2, 9))
	for _, o := range []topology.Options{
		{Ports: 3, Leaves: 4}, {Ports: 3, Leaves: 5, Fill: []int{3, 1, 0, 2, 2}}, {Ports: 4, Leaves: 3, Spines: 2, Cables: 2}, {Ports: 2, Leaves: 6, Pods: 3}, {Ports: 4, Leaves: 1},
	} {
		tree := expect.Value(topology.New(o))(t)
		leaf := tree.LeafOfRanks()
		for _, name := range []string{schedules.LinearShift, schedules.LinearShiftPorts, schedules.XOR, schedules.BandwidthOptimal} {
			p, err := plan.Build(tree, plan.Options{Schedule: name, Routing: plan.NoRouting})
			if err != nil {
				continue
			}
			order := NewOrder(p.Schedule)
			c := newChanges(&tree.Live, order, leaf)
			for range 10 {
				var paths []int32
				got := expect.Value(c.over(func(path []int32) error {
					for i := range path {
						path[i] = int32(draw.IntN(tree.Paths()))
					}
					paths = append(paths, path...)
					return nil
				}))(t)
				want := order.Duration(tree.Wires, leaf, func(src, dst int) int { return int(paths[leaf[src]*len(leaf)+dst]) })
				expect.Equal(t, got, want, "%+v, %s", o, name)
			}
		}
	}
}

func BenchmarkWhatIf(b *testing.B) {
	o := expect.Value(topology.Parse("FT(2;20,18)"))(b)
	tree := expect.Value(topology.New(o))(b)
	for b.Loop() {
		expect.Value(WhatIf(context.Background(), tree, WhatIfOptions{K: 2, Sample: 300}))(b)
	}
}

func BenchmarkTables(b *testing.B) {
	tree := expect.Value(topology.New(expect.Value(topology.Parse("FT(2;20,18)"))(b)))(b)
	for b.Loop() {
		expect.Value(plan.Tables(engines.Trees(), tree, routing.Ftree))(b)
	}
}
