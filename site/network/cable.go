package network

import (
	"fmt"
	"slices"
	"strconv"
)

// A Cable joins two ports.
type Cable struct{ A, B End }

// Cables returns all cables, each once, ordered by A, the end at the lower node and port. So a
// host's cable begins at the host and, in a network of a notation, every other at the lower level.
func (n *Network) Cables() []Cable {
	var out []Cable
	for v := range Node(n.Nodes()) {
		for i, e := range n.Ends(v) {
			at := End{v, uint8(i + 1)}
			if e.Node > v || e.Node == v && e.Port > at.Port {
				out = append(out, Cable{at, e})
			}
		}
	}
	return out
}

// SwitchCables returns the cables that join two switches, ordered as in Cables.
func (n *Network) SwitchCables() []Cable {
	return slices.DeleteFunc(n.Cables(), func(c Cable) bool { return n.IsHost(c.A.Node) })
}

// EndName returns the name of a port: "s1_0/5".
func (n *Network) EndName(e End) string {
	return n.info[e.Node].Name + "/" + strconv.Itoa(int(e.Port))
}

func (c Cable) ports() [2]uint8 { return [2]uint8{c.A.Port, c.B.Port} }

// CableName returns the name of the first end of a cable: "s1_0/5".
func (n *Network) CableName(c Cable) string { return n.EndName(c.A) }

// Isolated reports whether no cable leads to a node.
func (n *Network) Isolated(v Node) bool {
	return !slices.ContainsFunc(n.Ends(v), func(e End) bool { return e.Node != NoNode })
}

// Without returns the network without these cables, and without all cables of these nodes, which
// keep their numbers. It skips missing cables.
func (n *Network) Without(cables []Cable, nodes []Node) *Network {
	out := *n
	out.ends = slices.Clone(n.ends)
	for _, c := range cables {
		if n.has(c) {
			out.cut(c.A)
			out.cut(c.B)
		}
	}
	for _, v := range nodes {
		if v < 0 || int(v) >= n.Nodes() {
			continue
		}
		for i, e := range n.Ends(v) {
			if e.Node != NoNode {
				out.cut(End{v, uint8(i + 1)})
				out.cut(e)
			}
		}
	}
	return &out
}

func (n *Network) has(c Cable) bool {
	a, b := c.A, c.B
	return a.Node >= 0 && int(a.Node) < n.Nodes() && b.Node != NoNode && n.At(a.Node, int(a.Port)) == b
}

func (n *Network) cut(e End) { n.ends[int(n.first[e.Node])+int(e.Port)-1] = End{Node: NoNode} }

// WithInfo returns the network with other names, GUIDs and LIDs, one Info for
// each node.
func (n *Network) WithInfo(info []Info) *Network {
	if len(info) != len(n.info) {
		panic("fabric: one Info for each node is wanted")
	}
	out := *n
	out.info = slices.Clone(info)
	return &out
}

// Numbered returns the network with LIDs in the order of the nodes, as Build
// gives them: 2^lmc to a host, from 2^lmc on, then one to a switch.
func (n *Network) Numbered(lmc int) (*Network, error) {
	if lmc < 0 || lmc > maxLMC {
		return nil, fmt.Errorf("LMC %d: must be 0..%d", lmc, maxLMC)
	}
	lid := 1 << lmc
	if last := (n.hosts+1)<<lmc - 1 + n.Switches(); last > maxLID {
		return nil, fmt.Errorf("%d hosts with LMC %d and %d switches need LIDs to %d, more than %d", n.hosts, lmc, n.Switches(), last, maxLID)
	}
	info := slices.Clone(n.info)
	for v := range info {
		info[v].LID, info[v].LMC = uint16(lid), 0
		if v < n.hosts {
			info[v].LMC = uint8(lmc)
			lid += 1<<lmc - 1
		}
		lid++
	}
	return n.WithInfo(info), nil
}
