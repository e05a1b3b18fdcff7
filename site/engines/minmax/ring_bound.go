package minmax

import (
	"fmt"
	"math"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/site/network"
)

// A RingBound says how long an AllGather takes at least, in message times: of the block of a rank or, where hosts have
// several adapters, of the part of it that one takes. It holds for any order, any routes, and hosts that pass blocks on.
type RingBound struct {
	Time float64
	Step float64 // how long a step of a ring takes at least
	Why  string
}

// tiny is by which part times may differ that are equal.
const tiny = 1e-9

// boundHosts is up to how many adapters sets of hosts are looked at behind slow cables: some seconds. Above it, each
// host alone.
const boundHosts = 1024

// BoundRing returns the bound of an AllGather: a host receives the blocks of all others over its cables, and a set of
// hosts those of all others over the cables that lead to it. Where no cable is slower than a message, hosts decide,
// as any other set has as many cables and fewer blocks to receive. Else the set with the largest ratio is found by
// minimum cuts, for one host of each switch in turn (Dinkelbach's method: the ratio of the cut is the next to try).
func BoundRing(net *network.Network, job network.Job) (b RingBound) {
	nodes := job.Nodes
	g := cables(net, job)
	total, parts := float64(job.Hosts()*g.each), float64(g.each)
	ranks := max(1, job.Slots) * g.each
	blocks := show.Plural((job.Hosts()-1)*ranks, "block", "blocks")
	seen := map[string]bool{}
	for t, v := range nodes {
		rate := lists.Sum(g.into(t, job.Host), func(a int) float64 { return g.arcs[a].room })
		if time := (total - parts) / rate; time > b.Time*(1+tiny) {
			b = RingBound{Time: time, Why: fmt.Sprintf("%s receives %s", net.Name(v), blocks)}
			switch {
			case rate < parts:
				b.Why += fmt.Sprintf(" over a cable at %s of the rate of most hosts", show.Percent(rate/parts))
			case ranks == 1:
				b.Why += ", one a step"
			}
		}
	}
	defer func() { b.Step, b.Time = max(1, b.Time/float64(job.Hosts()-1)), b.Time*float64(ranks) }()
	if !g.slow || len(nodes) > boundHosts {
		return b
	}
	for t, v := range nodes {
		key := fmt.Sprint(net.Leaf(v).Node, net.Rate(network.End{Node: v, Port: 1}))
		for !seen[key] {
			inside, time := g.cut(t, b.Time, total)
			if time <= b.Time*(1+tiny) {
				break
			}
			b = RingBound{Time: time, Why: fmt.Sprintf("the cables to %s are slow", show.Few(lists.Map(inside, func(i int) string { return net.Name(nodes[i]) })))}
		}
		seen[key] = true
	}
	return b
}

// A flowGraph is the cables of a network, in both directions, with a source that has a block part at each adapter.
type flowGraph struct {
	arcs  []flowArc
	of    [][]int // arcs that leave a node: adapters by their number, then switches, then the source
	hosts int
	rail  []int // of adapters
	each  int   // adapters of a host that have a part
	slow  bool
}

type flowArc struct {
	to         int
	room, flow float64 // messages in a message time; the source's: parts in all
	back       int
}

// cables reads the cables of the network. A cable whose rate is not known carries a message in a message time.
func cables(net *network.Network, job network.Job) *flowGraph {
	nodes := job.Nodes
	g := &flowGraph{hosts: len(nodes), of: make([][]int, len(nodes)+net.Switches()+1)}
	g.rail, g.each = job.Rails()
	rate := net.MessageRate(nodes)
	cable := func(a, b int, at network.End) {
		room := 1.0
		if r := net.Rate(at); r > 0 && rate > 0 {
			room = r / rate
		}
		g.slow = g.slow || room < 1-tiny
		g.join(a, b, room, room)
	}
	for i, v := range nodes {
		leaf := net.Leaf(v)
		cable(i, len(nodes)+net.Index(leaf.Node), leaf)
		if g.rail[i] < g.each {
			g.join(len(g.of)-1, i, 1, 0)
		}
		if i > 0 && network.OneHost(job.Host, i-1, i) {
			g.join(i-1, i, math.Inf(1), math.Inf(1))
		}
	}
	for _, c := range net.SwitchCables() {
		cable(len(nodes)+net.Index(c.A.Node), len(nodes)+net.Index(c.B.Node), c.A)
	}
	return g
}

func (g *flowGraph) join(a, b int, room, back float64) {
	n := len(g.arcs)
	g.arcs = append(g.arcs, flowArc{to: b, room: room, back: n + 1}, flowArc{to: a, room: back, back: n})
	g.of[a], g.of[b] = append(g.of[a], n), append(g.of[b], n+1)
}

// into are the arcs of cables that lead to the host of an adapter.
func (g *flowGraph) into(t int, host []int) (arcs []int) {
	for i := range g.hosts {
		if network.OneHost(host, t, i) {
			for _, a := range g.of[i] {
				if to := g.arcs[a].to; to >= g.hosts && to < len(g.of)-1 {
					arcs = append(arcs, g.arcs[a].back)
				}
			}
		}
	}
	return arcs
}

// cut returns the adapters of the set around t whose cables are the furthest from carrying the parts of all others in a
// time, and how long they need.
func (g *flowGraph) cut(t int, time, total float64) (inside []int, need float64) {
	source := len(g.of) - 1
	for i := range g.arcs {
		g.arcs[i].flow = 0
	}
	room := func(a int) float64 {
		x := g.arcs[a]
		if x.to < g.hosts && g.arcs[x.back].to == source || x.to == source {
			return x.room - x.flow
		}
		return x.room*time - x.flow
	}
	reached := g.fill(source, t, room)
	cables := 0.0
	for v := range g.of {
		for _, a := range g.of[v] {
			if reached[v] && v != source && !reached[g.arcs[a].to] {
				cables += g.arcs[a].room
			}
		}
		if v < g.hosts && !reached[v] {
			inside = append(inside, v)
		}
	}
	if len(inside) == 0 || cables == 0 {
		return nil, 0
	}
	parts := lists.CountIf(inside, func(i int) bool { return g.rail[i] < g.each })
	return inside, (total - float64(parts)) / cables
}

// fill sends all that it can from a node to another, by shortest augmenting paths (Edmonds and Karp 1972), and returns
// the nodes that it could still send to.
func (g *flowGraph) fill(from, to int, room func(arc int) float64) (reached []bool) {
	for {
		reached = make([]bool, len(g.of))
		by := make([]int, len(g.of))
		reached[from] = true
		for next := []int{from}; len(next) > 0 && !reached[to]; next = next[1:] {
			for _, a := range g.of[next[0]] {
				if v := g.arcs[a].to; !reached[v] && room(a) > tiny {
					reached[v], by[v] = true, a
					next = append(next, v)
				}
			}
		}
		if !reached[to] {
			return reached
		}
		least := math.Inf(1)
		for v := to; v != from; v = g.arcs[g.arcs[by[v]].back].to {
			least = min(least, room(by[v]))
		}
		for v := to; v != from; v = g.arcs[g.arcs[by[v]].back].to {
			g.arcs[by[v]].flow += least
			g.arcs[g.arcs[by[v]].back].flow -= least
		}
	}
}
