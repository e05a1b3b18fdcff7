package loop_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"evbench/failover"
	"evbench/failover/loop"
	"evbench/plan"
	"evbench/testing/expect"
	"evbench/topology"
)

func newTree(t *testing.T, dead ...topology.Link) *topology.Tree {
	t.Helper()
	tree, err := topology.New(topology.Options{Ports: 3, Leaves: 4})
	if err == nil {
		tree, err = tree.Without(dead...)
	}
	expect.Must(t, err)
	return tree
}

func build(t *topology.Tree) (*plan.Plan, error) {
	return plan.Build(t, plan.Options{Schedule: "fors", Seed: 1})
}

func newPlan(t *testing.T, tree *topology.Tree) *plan.Plan {
	t.Helper()
	p := expect.Value(build(tree))(t)
	return p
}

var a, b = topology.Link{Leaf: 0, Spine: 1}, topology.Link{Leaf: 2, Spine: 0}

// Plans come from memory, and are computed only else.
func TestSources(t *testing.T) {
	p := &loop.Plans{Build: build}
	p.Keep(newPlan(t, newTree(t)))
	for _, tt := range []struct {
		tree *topology.Tree
		want failover.Source
	}{
		{newTree(t), failover.Kept}, {newTree(t, a), failover.Computed}, {newTree(t, b), failover.Computed},
		{newTree(t, a), failover.Kept}, {newTree(t, b), failover.Kept},
	} {
		m, err := p.Plan(t.Context(), tt.tree)
		expect.True(t, err == nil && m.Source == tt.want && m.Plan.Hash() == newPlan(t, tt.tree).Hash(),
			"%v: source %s, want %s; %v", tt.tree.Dead(), m.Source, tt.want, err)
	}
}

// Servers that are cut off have no plan; a cancelled call makes none.
func TestNoPlan(t *testing.T) {
	p := &loop.Plans{Build: build}
	var cut []topology.Link
	for k := range 3 {
		cut = append(cut, topology.Link{Leaf: 1, Spine: k})
	}
	if _, err := p.Plan(t.Context(), newTree(t, cut...)); !errors.As(err, new(*topology.UnreachableError)) {
		t.Errorf("cut off: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expect.Is(t, expect.Err(p.Plan(ctx, newTree(t))), context.Canceled)
	refuse := errors.New("no")
	p.Build = func(*topology.Tree) (*plan.Plan, error) { return nil, refuse }
	expect.Is(t, expect.Err(p.Plan(t.Context(), newTree(t))), refuse)
}

// A plan that is not what it claims to be is not used.
func TestJudge(t *testing.T) {
	good := newPlan(t, newTree(t, a))
	bad := *good
	bad.Tree = newTree(t, a, b) // the plan goes over b
	p := &loop.Plans{Build: func(*topology.Tree) (*plan.Plan, error) { return &bad, nil }}
	_, err := p.Plan(t.Context(), bad.Tree)
	expect.Error(t, err, "the judge refuses the plan")
}

// Plannings overlap: one that was given up still computes when the next begins. Each gets the
// plan of its own dead links, and equal ones share one computation.
func TestPlansOverlap(t *testing.T) {
	trees := []*topology.Tree{newTree(t), newTree(t, a), newTree(t, b), newTree(t, a, b)}
	var builds atomic.Int32
	all := make(chan struct{}) // closed when each tree is being planned for
	p := &loop.Plans{Build: func(t *topology.Tree) (*plan.Plan, error) {
		if builds.Add(1) == int32(len(trees)) {
			close(all)
		}
		<-all
		return build(t)
	}}
	var asked sync.WaitGroup
	for _, tree := range slices.Repeat(trees, 3) {
		asked.Go(func() {
			m, err := p.Plan(t.Context(), tree)
			expect.True(t, err == nil && slices.Equal(m.Plan.Tree.Dead(), tree.Dead()), "%v: %v", tree.DownNames(), err)
		})
	}
	asked.Wait()
	expect.Equal(t, int(builds.Load()), len(trees), "plans computed")
}

// What is kept has a bound, and the first plan stays.
func TestForgets(t *testing.T) {
	built := 0
	p := &loop.Plans{Build: func(t *topology.Tree) (*plan.Plan, error) { built++; return build(t) }}
	big := expect.Value(topology.New(topology.Options{Ports: 4, Leaves: 4}))(t)
	first := expect.Value(build(big))(t)
	p.Keep(first)
	ask := func(l ...topology.Link) failover.Source {
		tree := expect.Value(big.Without(l...))(t)
		m := expect.Value(p.Plan(t.Context(), tree))(t)
		return m.Source
	}
	var pairs [][]topology.Link
	for i := range 16 {
		for k := range i {
			pairs = append(pairs, []topology.Link{{Leaf: i / 4, Spine: i % 4}, {Leaf: k / 4, Spine: k % 4}})
		}
	}
	for _, dead := range pairs[:81] {
		ask(dead...)
	}
	expect.False(t, ask() != failover.Kept || ask(pairs[80]...) != failover.Kept || ask(pairs[0]...) != failover.Computed || built != 82,
		"%d plans built", built)
}
