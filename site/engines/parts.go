package engines

import (
	"slices"

	"evbench/internal/lists"
	"evbench/routing"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/topology"
)

// byParts computes the tables of each connected part of a tree on its own, as a
// subnet manager in each would, and puts them together.
func byParts(name string, t *topology.Tree, n *network.Network, o Options) (*lft.Tables, error) {
	parts := parts(t.Shape, n)
	if len(parts) < 2 {
		return Compute(name, n, o)
	}
	out := lft.New(name, n)
	for _, mine := range parts {
		var others []network.Node
		for i := range n.Switches() {
			if !slices.Contains(mine, i) {
				others = append(others, n.Switch(i))
			}
		}
		l, err := Compute(name, n.Without(nil, others), o)
		if err != nil {
			return nil, err
		}
		out.Engine = l.Engine
		for _, i := range mine {
			copy(out.Row(i), l.Row(i))
		}
	}
	return out, nil
}

// parts returns the connected parts of a tree with servers on several leaves, as switches, without
// leaves that reach no other.
func parts(t *topology.Shape, n *network.Network) [][]int {
	return slices.DeleteFunc(n.SwitchParts(), func(part []int) bool {
		loaded := lists.CountIf(part, func(sw int) bool { return sw < t.Leaves() && t.On(sw) > 0 })
		return loaded < 2
	})
}

// local fills the entries of each leaf for its own servers, which need no subnet manager: a manager
// that sees another part of the tree has no entries for them.
func local(tables *routing.Tables) {
	t := tables.Tree
	for l := range t.Leaves() {
		for slot := range t.On(l) {
			tables.Set(routing.Switch(l), t.First(l)+slot, routing.Port(slot))
		}
	}
}
