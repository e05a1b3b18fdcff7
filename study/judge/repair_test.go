package judge

import (
	"fmt"
	"testing"

	"evbench/internal/expect"
	"evbench/topology"
	"evbench/topology/network"
)

// Greedy is worth as much as the best of all orders; with slow links nearly.
func TestGreedyIsExact(t *testing.T) {
	draws := 60
	if testing.Short() {
		draws = 6
	}
	for m := 4; m <= 8; m++ {
		for count := 1; count <= 4; count++ {
			for seed := range draws {
				healthy := expect.Value(topology.New(topology.Options{Ports: 4 + (m-4)*(1-seed%2), Leaves: m}))(t)
				dead := expect.Value(healthy.Random(count, uint64(seed)))(t)
				// One draw of ten has slow links in place of some dead ones.
				cut, more := count, 1+1e-9
				if seed%10 == 1 {
					cut, more = count/2, 1.03
				}
				in, slow := input(t, healthy.Notation(), "", topology.LinkNames(dead[:cut])...), map[network.End]float64{}
				if cut < count {
					for _, c := range in.Whole.Cables() {
						slow[c.A] = 1e10
					}
					for i, l := range dead[cut:] {
						low, _ := healthy.Ends(l)
						slow[network.End{Node: in.Whole.Switch(low.Switch), Port: uint8(low.Port + 1)}] = 1e10 / float64(2+i%3)
					}
					in.Net = in.Net.WithRates(slow)
				}
				f, err := newFabric(in.Whole, in.Net, in.Hosts)
				expect.MustTrue(t, err == nil && f.tree != nil, "%v %v", err, f.why)
				faults := f.faults()
				best, quick := f.exact(faults), f.greedy(faults)
				if g, w := sum(quick), sum(best); g > w*more || len(quick) != count {
					t.Errorf("%s without %v: greedy %s, exact %s", healthy.Notation(), f.faults(), values(quick), values(best))
				}
			}
		}
	}
}

func sum(list []Repair) (s float64) {
	for _, r := range list {
		s += r.Phases
	}
	return s
}

func values(list []Repair) (s string) {
	for _, r := range list {
		s += fmt.Sprintf("%s:%.4g ", r.Link, r.Phases)
	}
	return s
}
