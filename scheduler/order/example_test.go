package order_test

import (
	"fmt"

	"evbench/scheduler"
	"evbench/scheduler/order"
)

// Two switches with two hosts each, joined by one cable: four messages pass it each way, one in a phase.
func ExampleBest() {
	const east, west = 8, 9 // after the links of four hosts
	p := &scheduler.Problem{Hosts: 4, Paths: scheduler.One(func(to []int32, src, dst int) []int32 {
		switch {
		case src < 2 && dst >= 2:
			return append(to, east)
		case src >= 2 && dst < 2:
			return append(to, west)
		}
		return to
	})}
	for range 10 {
		p.Links = append(p.Links, scheduler.LinkOf(1))
	}
	x := order.New(p, nil)
	best, ranks := order.Best(x, 0), x.LinearShift()
	fmt.Printf("%g message times, in the order of ranks %g, bound %g\n", x.Time(best), x.Time(ranks), x.Bound().Time)
	for k := range best.Phases {
		for src := range p.Hosts {
			for dst := range p.Hosts {
				if src != dst && best.At(src, dst) == k {
					fmt.Printf(" %d→%d", src, dst)
				}
			}
		}
		fmt.Println()
	}
	// Output:
	// 4 message times, in the order of ranks 4, bound 4
	//  0→2 1→0 2→3 3→1
	//  1→2 2→1
	//  0→1 1→3 3→0
	//  0→3 2→0 3→2
}
