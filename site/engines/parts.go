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
func byParts(name string, t *topology.Shape, n *network.Network, o Options) (*lft.Tables, error) {
	parts := parts(t, n)
	if len(parts) < 2 {
		return Compute(name, n, o)
	}
	return together(name, n, parts, func(part *network.Network) (*lft.Tables, error) { return Compute(name, part, o) })
}

// rails computes the tables of a network of several files, which a subnet manager each looks after.
func (e Engine) rails(n *network.Network, o Options) (*lft.Tables, error) {
	if n.Files < 2 || e.Name == MinMax || e.Name == File { // which take all parts at once
		return e.do(n, o)
	}
	return together(e.Name, n, n.SwitchParts(), func(part *network.Network) (*lft.Tables, error) { return e.do(part, o) })
}

// together puts the tables of parts of a network together, given as switches. Each is computed as if the others were dead.
func together(name string, n *network.Network, parts [][]int, compute func(*network.Network) (*lft.Tables, error)) (*lft.Tables, error) {
	out := lft.New(name, n)
	for _, mine := range parts {
		others := lists.Filter(lists.Range[int](n.Switches()), func(i int) bool { return !slices.Contains(mine, i) })
		l, err := compute(n.Without(nil, lists.Map(others, n.Switch)))
		if err != nil {
			return nil, err
		}
		out.Engine = l.Engine
		for _, i := range mine {
			copy(out.Row(i), l.Row(i))
			if l.Lanes() > 1 {
				copy(out.LaneRow(i), l.LaneRow(i))
			}
		}
	}
	return out, nil
}

// parts returns the connected parts of a tree with servers on several leaves, as switches, without
// leaves that reach no other.
func parts(t *topology.Shape, n *network.Network) [][]int {
	return slices.DeleteFunc(n.SwitchParts(), func(part []int) bool {
		loaded := lists.CountIf(part, func(sw int) bool { return sw < t.Leaves() && t.ServersOn(sw) > 0 })
		return loaded < 2
	})
}

// local fills the entries of each leaf for its own servers, which need no subnet manager: a manager
// that sees another part of the tree has no entries for them.
func local(tables *routing.Tables) {
	t := tables.Tree
	for l := range t.Leaves() {
		for slot := range t.ServersOn(l) {
			tables.Set(routing.Switch(l), t.First(l)+slot, routing.Port(slot))
		}
	}
}
