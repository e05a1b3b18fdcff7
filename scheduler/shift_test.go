package scheduler_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"evbench/scheduler"
	"evbench/testing/expect"
	"evbench/topology"
)

// Linear shift without a table is contention-free on every whole tree, and says the same in each of its ways, as its table does.
func TestShift(t *testing.T) {
	rng := rand.New(rand.NewPCG(55, 1))
	seen := 0
	for range 400 {
		o := topology.Options{Ports: 1 + rng.IntN(5), Leaves: 1 + rng.IntN(5), Spines: 1 + rng.IntN(5), Cables: 1 + rng.IntN(3)}
		if rng.IntN(2) == 0 {
			o.Pods, o.Cables = 1+rng.IntN(4), 1
			o.Leaves, o.Tops = o.Pods*(1+rng.IntN(4)), 1+rng.IntN(4)
		}
		o.Fill = slices.Repeat([]int{1 + rng.IntN(o.Ports)}, o.Leaves)
		tr, err := topology.New(o)
		if err != nil {
			continue
		}
		for _, pinned := range []bool{false, true} {
			closed, listed := scheduler.Closed(tr, pinned)
			if closed == nil {
				continue
			}
			seen++
			passes(t, tr, closed)
			passes(t, tr, listed)
			expect.True(t, slices.Equal(slices.Collect(closed.All()), slices.Collect(listed.All())), "%s: messages", tr.Notation())
			for r := range closed.Ranks {
				expect.True(t, reflect.DeepEqual(closed.Row(r), listed.Row(r)), "%s: row %d", tr.Notation(), r)
			}
		}
	}
	expect.True(t, seen > 200, "%d", seen)
}

// Where a cable is dead, a leaf has fewer servers, or cables do not suffice, there is no closed form.
func TestShiftWhole(t *testing.T) {
	for _, name := range []string{"PGFT(2;4,4;1,3;1,1)", "PGFT(3;4,4,4;1,4,3;1,1,1)"} {
		o, err := topology.Parse(name)
		expect.MustTrue(t, err == nil, "%v", err)
		s, _ := scheduler.Closed(expect.Value(topology.New(o))(t), true)
		expect.True(t, s == nil, "%s", name)
	}
	tr := expect.Value(topology.New(topology.Options{Ports: 3, Leaves: 3, Fill: []int{3, 2, 3}}))(t)
	s, _ := scheduler.Closed(tr, true)
	expect.True(t, s == nil, "fill")
	tr = expect.Value(topology.New(topology.Options{Ports: 3, Leaves: 3}))(t)
	s, _ = scheduler.Closed(expect.Value(tr.Without(topology.Link{Leaf: 1, Spine: 1}))(t), true)
	expect.True(t, s == nil, "dead")
}
