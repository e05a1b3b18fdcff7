package engines_test

import (
	"testing"

	"evbench/routing"
	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// TestSwitchesOverCables: where the first of parallel cables is dead, switches are reached over
// another.
func TestSwitchesOverCables(t *testing.T) {
	const leaves = 3
	for _, down := range [][]string{
		nil, {"leaf0-spine0/0"}, {"leaf1-spine0/0", "leaf1-spine1/1", "leaf2-spine1/0"}, {"leaf0-spine0/0", "leaf0-spine0/1", "leaf2-spine1/0"},
	} {
		tree := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: leaves, Spines: 2, Cables: 2}, down...)
		n := expect.Value(engines.FromTree(&tree.Live, 0))(t)
		for _, name := range []string{routing.MinHop, routing.Spread} {
			l := expect.Value(engines.Compute(name, n, engines.Options{}))(t)
			for from := range leaves {
				for to := range n.Switches() {
					if from == to || to >= leaves && !tree.Alive(from, to-leaves) {
						continue
					}
					v := n.Switch(from)
					for hops := 0; v != n.Switch(to); hops++ {
						port := l.Port(v, int(n.Info(n.Switch(to)).LID))
						expect.MustTrue(t, hops < 2 && port > 0 && port != lft.NoPort && n.At(v, int(port)).Node != network.NoNode,
							"%s without %v: port %d at %s to %s", name, down, port, n.Info(v).Name, n.Info(n.Switch(to)).Name)
						v = n.At(v, int(port)).Node
					}
				}
			}
		}
	}
}
