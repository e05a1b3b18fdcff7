package judge

import (
	"fmt"
	"testing"

	"evbench/topology"
)

// Greedy is worth as much as the best of all orders.
func TestGreedyIsExact(t *testing.T) {
	draws := 60
	if testing.Short() {
		draws = 6
	}
	for m := 4; m <= 8; m++ {
		for count := 1; count <= 4; count++ {
			for seed := range draws {
				healthy, err := topology.New(topology.Options{Ports: 4 + (m-4)*(1-seed%2), Leaves: m})
				if err != nil {
					t.Fatal(err)
				}
				dead, err := healthy.Random(count, uint64(seed))
				if err != nil {
					t.Fatal(err)
				}
				tree, err := healthy.Without(dead...)
				if err != nil {
					t.Fatal(err)
				}
				best, quick := exact(tree, dead), greedy(tree)
				if g, w := sum(quick), sum(best); g != w || len(quick) != count {
					t.Errorf("%s without %v: greedy %s, exact %s", tree.Notation(), dead, values(quick), values(best))
				}
			}
		}
	}
}

func sum(list []Repair) (s int) {
	for _, r := range list {
		s += r.Phases
	}
	return s
}

func values(list []Repair) (s string) {
	for _, r := range list {
		s += fmt.Sprintf("%s:%d ", r.link, r.Phases)
	}
	return s
}
