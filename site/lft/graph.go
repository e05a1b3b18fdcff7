package lft

import (
	"slices"

	"evbench/internal/lists"
	"evbench/internal/parallel"
	"evbench/site/network"
)

// A graph is a network prepared for walks. The channel of a switch and port, the cable in the
// direction away from the switch, is switch·stride + port.
type graph struct {
	n      *network.Network
	stride int            // ports of the largest switch, and port 0
	far    []int32        // by channel: a switch, a host or one of the others as atHost, or nowhere
	owner  []network.Node // by LID
	leaves []leaf
}

type leaf struct {
	sw    int32
	hosts int32
	first network.Node // a host on it, and another one if there is
	other network.Node
}

// nowhere is at the end of a port without a cable, and port 0.
const nowhere = int32(-1)

func atHost(h network.Node) int32 { return -2 - int32(h) }

func newGraph(n *network.Network) *graph {
	g := &graph{n: n, owner: owners(n)}
	for i := range n.Switches() {
		g.stride = max(g.stride, len(n.Ends(n.Switch(i)))+1)
	}
	g.far = slices.Repeat([]int32{nowhere}, n.Switches()*g.stride)
	for i := range n.Switches() {
		l := leaf{sw: int32(i), first: network.NoNode, other: network.NoNode}
		for p, e := range n.Ends(n.Switch(i)) {
			switch {
			case e.Node == network.NoNode:
			case n.IsHost(e.Node):
				g.far[i*g.stride+p+1] = atHost(e.Node)
				l.add(e.Node)
			default:
				g.far[i*g.stride+p+1] = int32(n.Index(e.Node))
			}
		}
		if l.hosts > 0 {
			g.leaves = append(g.leaves, l)
		}
	}
	for k := range n.Others() {
		if e := n.Leaf(n.Other(k)); e.Node != network.NoNode {
			g.far[n.Index(e.Node)*g.stride+int(e.Port)] = atHost(n.Other(k))
		}
	}
	return g
}

func (l *leaf) add(h network.Node) {
	l.hosts++
	if l.first == network.NoNode {
		l.first = h
	} else if l.other == network.NoNode {
		l.other = h
	}
}

func (g *graph) next(sw int32, port uint8) int32 {
	if int(port) >= g.stride {
		return nowhere
	}
	return g.far[int(sw)*g.stride+int(port)]
}

func (g *graph) channel(sw int32, port uint8) int32 { return sw*int32(g.stride) + int32(port) }

func (g *graph) end(channel int32) network.End {
	return network.End{Node: g.n.Switch(int(channel) / g.stride), Port: uint8(int(channel) % g.stride)}
}

// destination returns the host, or the one of others, that has a LID, or NoNode.
func (g *graph) destination(lid int) network.Node {
	if v := g.owner[lid]; v != network.NoNode && (g.n.IsHost(v) || g.n.IsOther(v)) {
		return v
	}
	return network.NoNode
}

// sources returns how many hosts of a leaf send to a host, or one of the others: all but itself.
func (g *graph) sources(l leaf, dst network.Node) int32 {
	if e := g.n.Leaf(dst); g.n.IsHost(dst) && e.Node == g.n.Switch(int(l.sw)) {
		return l.hosts - 1
	}
	return l.hosts
}

// block is how many LIDs are transposed at once: a cache line of a row.
const block = 64

// A visitor looks at the entries of all switches towards one LID of a host, or of one of the others.
type visitor interface {
	visit(lid int, dst network.Node, column []uint8)
}

// sweep shows every LID of every host, and of the others, to one of the visitors, one a worker, each of which sees its
// LIDs in rising order. It transposes rows block by block, so that each byte is fetched from memory
// once. O(S · LIDs).
func sweep[V visitor](t *Tables, g *graph, visitors []V) {
	s := t.Net.Switches()
	columns := lists.Tabulate(len(visitors), func(w int) []uint8 { return make([]uint8, s*block) })
	parallel.Each(len(visitors), (t.LIDs+block-1)/block, func(w, b int) {
		from, to := b*block, min((b+1)*block, t.LIDs)
		buf := columns[w]
		for i := range s {
			for k, p := range t.Row(i)[from:to] {
				buf[k*s+i] = p
			}
		}
		for lid := from; lid < to; lid++ {
			if dst := g.destination(lid); dst != network.NoNode {
				visitors[w].visit(lid, dst, buf[(lid-from)*s:(lid-from+1)*s])
			}
		}
	})
}

// A forest holds the routes to one LID: the entries of all switches make a tree to the destination,
// and other trees that end elsewhere.
type forest struct {
	g      *graph
	dst    int32
	column []uint8
	hops   []int32 // switches to go, this one included; 0 unknown, or less: see fault
	done   []int32 // switches whose hops are known, none before the next on its way
	stack  []int32
}

// onStack marks the switches of the route being followed. Smaller values are faults.
const onStack = -1

func faulty(f Fault) int32   { return onStack - int32(f) }
func fault(hops int32) Fault { return Fault(onStack - hops) }

func newForest(g *graph) *forest {
	return &forest{g: g, hops: make([]int32, g.n.Switches())}
}

func (f *forest) begin(dst network.Node, column []uint8) {
	f.dst, f.column = atHost(dst), column
	for _, i := range f.done {
		f.hops[i] = 0
	}
	f.done = f.done[:0]
}

// follow returns the number of switches on the route from a switch, or a fault.
// All calls for one LID together take O(S).
func (f *forest) follow(at int32) int32 {
	var end int32 // of the rest: switches to go, or a fault
	for {
		if end = f.hops[at]; end == onStack {
			end = faulty(Loop)
		}
		if end != 0 {
			break
		}
		f.hops[at] = onStack
		f.stack = append(f.stack, at)
		next := f.g.next(at, f.column[at])
		if next < 0 {
			end = f.stop(f.column[at], next)
			break
		}
		at = next
	}
	for k := len(f.stack) - 1; k >= 0; k-- {
		if end >= 0 {
			end++
		}
		f.hops[f.stack[k]] = end
		f.done = append(f.done, f.stack[k])
	}
	f.stack = f.stack[:0]
	return end
}

func (f *forest) stop(port uint8, next int32) int32 {
	switch {
	case next == f.dst:
		return 0
	case port == NoPort:
		return faulty(NoEntry)
	case next != nowhere || port == 0:
		return faulty(WrongHost)
	}
	return faulty(DeadPort)
}
