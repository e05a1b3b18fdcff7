package network

import (
	"fmt"
	"slices"
	"strconv"

	"evbench/internal/lists"
)

// A Cable joins two ports.
type Cable struct{ A, B End }

// Has reports whether the network has a cable of a network with the same nodes.
func (n *Network) Has(c Cable) bool { return n.At(c.A.Node, int(c.A.Port)) == c.B }

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
func (n *Network) EndName(e End) string { return n.Name(e.Node) + "/" + strconv.Itoa(int(e.Port)) }

// Name returns the name of a node or, where another node has the same, its key as Index takes it, such
// as 0x0002c90401000000: switches without a manager of their own share a name.
func (n *Network) Name(v Node) string {
	if n.shared != nil && n.shared[v] || n.Info(v).Name == "" {
		return fmt.Sprintf("0x%016x", n.Key(v))
	}
	return n.Info(v).Name
}

// share finds the names that nodes share.
func (n *Network) share() {
	count := map[string]int{}
	for v := range Node(n.Nodes() + n.Others()) {
		count[n.Info(v).Name]++
	}
	n.shared = nil
	if len(count) == n.Nodes()+n.Others() {
		return
	}
	n.shared = lists.Tabulate(n.Nodes()+n.Others(), func(v int) bool { return count[n.Info(Node(v)).Name] > 1 })
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
	out.ends, out.others = slices.Clone(n.ends), n.cutOthers(nodes)
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
// each node, and one for each of the others.
func (n *Network) WithInfo(info []Info) *Network {
	if len(info) != len(n.info)+len(n.others) {
		panic("fabric: one Info for each node is wanted")
	}
	out := *n
	out.info, out.others = slices.Clone(info[:len(n.info)]), slices.Clone(n.others)
	for i := range out.others {
		out.others[i].info = info[len(n.info)+i]
	}
	out.share()
	return &out
}

// WithSomeLIDs returns the network, Numbered with LMC 0 if no node has a LID.
func (n *Network) WithSomeLIDs() (*Network, error) {
	if n.MaxLID() > 0 {
		return n, nil
	}
	return n.Numbered(0)
}

// Numbered returns the network with LIDs in the order of the nodes, as Build
// gives them: 2^lmc to a host, from 2^lmc on, then as many to each of the others, and one to a switch.
func (n *Network) Numbered(lmc int) (*Network, error) {
	if lmc < 0 || lmc > maxLMC {
		return nil, fmt.Errorf("LMC %d: must be 0..%d", lmc, maxLMC)
	}
	ends := n.hosts + n.Others()
	if last := (ends+1)<<lmc - 1 + n.Switches(); last > maxLID {
		return nil, fmt.Errorf("%d hosts with LMC %d and %d switches need LIDs to %d, more than %d", ends, lmc, n.Switches(), last, maxLID)
	}
	info := make([]Info, n.Nodes()+n.Others())
	for v := range Node(len(info)) {
		i := n.Info(v)
		switch {
		case n.IsHost(v):
			i.LID, i.LMC = uint16((int(v)+1)<<lmc), uint8(lmc)
		case n.IsOther(v):
			i.LID, i.LMC = uint16((n.hosts+int(v)-n.Nodes()+1)<<lmc), uint8(lmc)
		default:
			i.LID, i.LMC = uint16((ends+1)<<lmc+n.Index(v)), 0
		}
		info[v] = i
	}
	return n.WithInfo(info), nil
}
