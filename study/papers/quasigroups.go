package papers

import (
	"context"
	"fmt"

	"evbench/topology/network"
)

// quasiGroups is Figures 1 and 2 of HOTI 2014: how many hosts are within three switches of a
// host, in trees of three levels with full bisection, by the number of leaves that share
// their parents. Switches of k ports have k/2 hosts or leaves below, but for the top ones,
// which have k.
func quasiGroups(ctx context.Context, o *Options, f *Figure) error {
	f.Setup = []string{
		"PGFT and QFT(3;k/2,m,k;1,m,k/2;1,k/2m,1) of switches with k ports, m = 2 to k/2; each host of a network has as many",
		"hosts within three switches: those of its leaf, and of the leaves one switch farther, counted on the network; fewest of all hosts",
	}
	for _, ports := range []int{8, 36, 48} {
		half := ports / 2
		for m := 2; m <= half; m++ {
			if half%m != 0 || o.Quick && ports*half*m > 6000 {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			o.tell(f.Name, "%d ports, %d leaves with the same parents", ports, m)
			numbers := fmt.Sprintf("(3;%d,%d,%d;1,%d,%d;1,%d,1)", half, m, ports, m, half, half/m)
			var near [2]float64
			hosts := 0
			for i, kind := range []string{"PGFT", "QFT"} {
				n, err := network.Parse(kind+numbers, 0)
				if err != nil {
					return err
				}
				near[i], hosts = float64(withinThree(n)), n.Hosts()
			}
			x, label, suffix := float64(hosts), fmt.Sprint(hosts), fmt.Sprintf(", %d ports", ports)
			f.add("PGFT"+suffix, x, label, "hosts", near[0])
			f.add("QFT"+suffix, x, label, "hosts", near[1])
			f.add("QFT/PGFT"+suffix, x, label, "", near[1]/near[0])
		}
	}
	return nil
}

// withinThree returns how many hosts a path of at most three switches leads to from a host,
// itself included: the fewest of all hosts. O(leaves · ports²).
func withinThree(n *network.Network) int {
	below := make([]int, n.Switches()) // hosts of a switch
	for h := range n.Hosts() {
		below[n.Index(n.Leaf(network.Node(h)).Node)]++
	}
	seen := make([]int, n.Switches()) // by whom last, plus one
	fewest := n.Hosts()
	for leaf := range below {
		if below[leaf] == 0 {
			continue
		}
		seen[leaf] = leaf + 1
		hosts := below[leaf]
		for _, up := range n.Ends(n.Switch(leaf)) {
			if up.Node == network.NoNode || n.IsHost(up.Node) {
				continue
			}
			for _, far := range n.Ends(up.Node) {
				if far.Node == network.NoNode || n.IsHost(far.Node) || seen[n.Index(far.Node)] == leaf+1 {
					continue
				}
				seen[n.Index(far.Node)] = leaf + 1
				hosts += below[n.Index(far.Node)]
			}
		}
		fewest = min(fewest, hosts)
	}
	return fewest
}
