package balance_test

import (
	"fmt"
	"math"

	"evbench/scheduler"
	"evbench/scheduler/balance"
	"evbench/topology"
)

// Two leaves of two hosts each and three spines. Each message between leaves knows a port for each spine.
func ExampleMake() {
	paths := scheduler.Listed{Hosts: 4, Of: make([][][]int32, 16)}
	for src := range 4 {
		for dst := range 4 {
			for spine := range 3 {
				up, down := int32(8+src/2*3+spine), int32(14+dst/2*3+spine)
				if src/2 == dst/2 {
					paths.Of[src*4+dst] = [][]int32{nil} // they pass no spine
				} else {
					paths.Of[src*4+dst] = append(paths.Of[src*4+dst], []int32{up, down})
				}
			}
		}
	}
	p := &scheduler.Problem{Hosts: 4, Paths: paths}
	for range 8 + 12 {
		p.Links = append(p.Links, scheduler.LinkOf(1))
	}
	plan := balance.Make(p, 0)
	fmt.Printf("%d phases, no plan has fewer than %g\n", plan.Phases, p.Least().Time)
	fmt.Printf("in phase %d host 0 sends to host 2 through spine %d\n", plan.At(0, 2), plan.Path[2])
	// Output:
	// 3 phases, no plan has fewer than 3
	// in phase 1 host 0 sends to host 2 through spine 0
}

// Four leaves of four hosts and four spines, one of which has lost the cable to the first leaf: 48 messages of its hosts
// pass three cables, 16 each.
func ExampleMake_tree() {
	tree, err := topology.New(topology.Options{Ports: 4, Leaves: 4})
	if err != nil {
		panic(err)
	}
	if tree, err = tree.Without(topology.Link{Leaf: 0, Spine: 1}); err != nil {
		panic(err)
	}
	p := scheduler.OfTree(tree, topology.Rates{})
	fmt.Printf("%d phases, no plan has fewer than %g\n", balance.Make(p, 0).Phases, math.Ceil(p.Least().Time))
	// Output:
	// 16 phases, no plan has fewer than 16
}
