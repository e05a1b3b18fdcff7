package network

import (
	"fmt"
	"slices"

	"evbench/internal/show"
)

// An other is a port that has LIDs, and a cable to a switch, and is no host: of an aggregation
// node, the adapter within a switch that reduces, or of a router. Tables lead to it, and no
// exchange does.
type other struct {
	info   Info
	at     End // of the switch; of NoNode where that is cut off
	router bool
}

// Others returns the number of ports that have LIDs and are no hosts. As nodes they follow Nodes:
// Info, Leaf and Behind know them. Nodes, Ends and Cables are without them.
func (n *Network) Others() int { return len(n.others) }

func (n *Network) Other(i int) Node { return Node(len(n.info) + i) }

func (n *Network) IsOther(v Node) bool { return int(v) >= len(n.info) }

// IsRouter reports whether one of the others is a router's.
func (n *Network) IsRouter(v Node) bool {
	return n.IsOther(v) && n.others[int(v)-len(n.info)].router
}

// Behind returns the node at a port of a switch, the others included, or NoNode.
func (n *Network) Behind(s Node, port int) Node {
	if e := n.At(s, port); e.Node != NoNode {
		return e.Node
	}
	at := End{s, uint8(port)}
	if i := slices.IndexFunc(n.others, func(o other) bool { return o.at == at }); i >= 0 && port > 0 {
		return n.Other(i)
	}
	return NoNode
}

// cutOthers returns the others without the cables of these nodes.
func (n *Network) cutOthers(nodes []Node) []other {
	out := slices.Clone(n.others)
	for i := range out {
		if slices.Contains(nodes, out[i].at.Node) {
			out[i].at = End{Node: NoNode}
		}
	}
	return out
}

// Other adds a port that is no host, at a free port of a switch; of NoNode where it is cut off. Add
// all before the first cable.
func (b *Builder) Other(i Info, at End, router bool) error {
	if at.Node != NoNode {
		if err := b.free(at); err != nil {
			return err
		}
		if int(at.Node) < b.n.hosts {
			return fmt.Errorf("%s is a host, not a switch", b.n.info[at.Node].Name)
		}
		if b.taken == nil {
			b.taken = map[End]bool{}
		}
		b.taken[at] = true
	}
	i.Name = show.Line(i.Name)
	b.n.others = append(b.n.others, other{i, at, router})
	return nil
}
