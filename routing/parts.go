package routing

import (
	"evbench/routing/lft"
	"evbench/topology"
	"evbench/topology/network"
)

// byParts computes the tables of each connected part of a tree on its own, as a
// subnet manager in each would, and puts them together.
func byParts(name string, t *topology.Tree, n *network.Network, o Options) (*lft.Tables, error) {
	parts := parts(t)
	if len(parts) < 2 {
		return Compute(name, n, o)
	}
	out := lft.New(name, n)
	for _, mine := range parts {
		var others []network.Node
		for i, in := range mine {
			if !in {
				others = append(others, n.Switch(i))
			}
		}
		l, err := Compute(name, n.Without(nil, others), o)
		if err != nil {
			return nil, err
		}
		out.Engine = l.Engine
		for i, in := range mine {
			if in {
				copy(out.Row(i), l.Row(i))
			}
		}
	}
	return out, nil
}

// parts returns the connected parts of a tree with servers on several leaves,
// each as a set of switches. Leaves that reach no other are in none.
func parts(t *topology.Tree) [][]bool {
	switches := t.Switches()
	var out [][]bool
	done := make([]bool, switches)
	for l := range t.Leaves() {
		if done[l] {
			continue
		}
		mine, loaded := make([]bool, switches), 0
		mine[l] = true
		for todo := []int{l}; len(todo) > 0; {
			sw := todo[len(todo)-1]
			todo, done[sw] = todo[:len(todo)-1], true
			if sw < t.Leaves() && t.On(sw) > 0 {
				loaded++
			}
			for _, next := range joined(t, sw) {
				if !mine[next] {
					mine[next] = true
					todo = append(todo, next)
				}
			}
		}
		if loaded > 1 {
			out = append(out, mine)
		}
	}
	return out
}

func joined(t *topology.Tree, sw int) []int {
	var out []int
	for port := range t.SwitchPorts(sw) {
		l, upper, ok := t.LinkAt(sw, port)
		if !ok || !t.LinkAlive(l) {
			continue
		}
		low, high := t.Ends(l)
		if upper {
			out = append(out, low.Switch)
		} else {
			out = append(out, high.Switch)
		}
	}
	return out
}

// local fills the entries of each leaf for its own servers, which need no subnet
// manager: one that sees another part of the tree has none for them.
func local(tables *Tables) {
	t := tables.Tree
	for l := range t.Leaves() {
		for slot := range t.On(l) {
			tables.Set(Switch(l), t.First(l)+slot, Port(slot))
		}
	}
}
