package scheduler

import (
	"slices"

	"evbench/internal/coloring"
)

// A linkGraph is the graph in the making. A cable, and an idle node, has the same number as left
// node, upwards, and as right node, downwards.
type linkGraph struct {
	b     *blocks
	f     *fabric
	s     *split
	node  []int32 // by link: the first of its cables; none where dead
	nodes int32
	edges []coloring.Edge
	dealt []int32 // as the loads: messages that have their cable; nil where there is one
}

// newLinkGraph returns the graph of a split, and gives the messages their slots and spines.
func newLinkGraph(t *blocks, s *split) *linkGraph {
	used := 0
	for _, x := range s.x {
		if x > 0 {
			used++
		}
	}
	g := &linkGraph{b: t, f: t.f, s: s, node: make([]int32, len(t.f.alive)), edges: make([]coloring.Edge, 0, used+8*len(t.f.alive))} // about as many
	for i, alive := range t.f.alive {
		if g.node[i] = none; alive {
			g.node[i] = g.nodes
			g.nodes += int32(t.f.room(i))
		}
	}
	if t.f.cables != nil {
		g.dealt = make([]int32, len(s.load))
	}
	for a := range t.f.leaves {
		for b := range t.f.leaves {
			if a != b {
				g.between(a, b)
			}
		}
		g.within(a)
	}
	return g
}

func (g *linkGraph) add() int32 {
	g.nodes++
	return g.nodes - 1
}

func (g *linkGraph) between(a, b int) {
	at := g.b.block(a, b)
	if !g.f.meets(a, b) {
		for i := range g.f.messages(a, b) {
			g.b.slots[at+i] = absent
		}
		return
	}
	for k, n := range g.s.x[g.s.at(a, g.f.leaves+b):][:g.f.spines] {
		if n == 0 {
			continue
		}
		g.deal(coloring.Edge{U: int32(g.f.link(a, k)), V: int32(g.f.link(b, k)), N: n, First: int32(at)})
		for range n {
			g.b.slots[at] = makeSlot(0, k)
			at++
		}
	}
}

// deal adds the messages of an edge between two links, from the cables of one to those of the other.
func (g *linkGraph) deal(e coloring.Edge) {
	up, down := int(e.U), g.f.leaves*g.f.spines+int(e.V)
	e.U, e.V = g.node[e.U], g.node[e.V]
	if g.dealt == nil {
		g.edges = append(g.edges, e)
		return
	}
	for left := e.N; left > 0; left -= e.N {
		i, m := g.cable(up)
		j, n := g.cable(down)
		x := coloring.Edge{U: e.U + i, V: e.V + j, N: min(left, m, n), First: e.First}
		g.edges = append(g.edges, x)
		g.dealt[up] += x.N
		g.dealt[down] += x.N
		e.N, e.First = x.N, e.First+x.N
	}
}

// cable returns the next cable of a link, by load, and how many more messages it gets.
func (g *linkGraph) cable(link int) (cable, left int32) {
	each := g.each(link)
	return g.dealt[link] / each, each - g.dealt[link]%each
}

// each returns how many messages a cable of a link gets, the last perhaps fewer.
func (g *linkGraph) each(link int) int32 {
	return int32(ceilDiv(int(g.s.load[link]), g.f.room(link%len(g.f.alive))))
}

// lack appends, for each cable of a link, the number of phases without a message.
func (g *linkGraph) lack(to []int, link int) []int {
	load, each := int(g.s.load[link]), int(g.each(link))
	for range g.f.room(link % len(g.f.alive)) {
		n := min(load, each)
		to = append(to, g.b.phases-n)
		load -= n
	}
	return to
}

// within adds the messages within a leaf and its idle nodes, and fills the slots
// that need no colouring.
func (g *linkGraph) within(a int) {
	r, b, live, k, selves := g.f.r[a], g.f.b[a], g.f.live[a], g.b.phases, g.b.selves(a)
	in := &inner{g: g, at: g.b.block(a, a), left: r*b - selves}
	always := max(0, min(r, b)-live)
	for range always {
		in.always()
	}
	nodes := make([]int32, 0, live)
	up, down := make([]int, 0, live), make([]int, 0, live) // what the cables lack
	for s := range g.f.spines {
		if i := g.f.link(a, s); g.f.alive[i] {
			for c := range g.f.room(i) {
				nodes = append(nodes, g.node[i]+int32(c))
			}
			up, down = g.lack(up, i), g.lack(down, g.f.link(g.f.leaves+a, s))
		}
	}
	above, below := nodes, nodes // with readers, builders without a link
	for range r - live - always {
		above, up = append(above[:len(above):len(above)], g.add()), append(up, k)
	}
	for range b - live - always {
		below, down = append(below[:len(below):len(below)], g.add()), append(down, k)
	}
	fill := min(min(len(above), r)*k-r*g.f.reach[a], min(len(below), b)*k-b*g.f.heard[a])
	for i := range nodes { // first links with themselves: spines then share few nodes
		d := min(up[i], down[i], fill)
		in.edge(nodes[i], nodes[i], d)
		up[i], down[i], fill = up[i]-d, down[i]-d, fill-d
	}
	pour(up, down, fill, func(i, j, n int) { in.edge(above[i], below[j], n) })
	g.idle([2]int{live - r, live - b}, nodes, up, down)
	for i := range selves {
		g.b.slots[g.b.block(a, a)+r*b-selves+i] = makeSlot(k, none)
	}
}

// idle adds count[0] nodes for the rest of a leaf's up-links and count[1] for its down-links.
func (g *linkGraph) idle(count [2]int, nodes []int32, up, down []int) {
	idle := make([]int32, max(count[0], count[1], 0))
	for i := range idle {
		idle[i] = g.add()
	}
	rest := func(u, v int32, n int) {
		g.edges = append(g.edges, coloring.Edge{U: u, V: v, N: int32(n), First: -1})
	}
	whole := func(count int) []int { return slices.Repeat([]int{g.b.phases}, max(count, 0)) }
	pour(up, whole(count[0]), max(count[0], 0)*g.b.phases, func(i, j, n int) { rest(nodes[i], idle[j], n) })
	pour(whole(count[1]), down, max(count[1], 0)*g.b.phases, func(i, j, n int) { rest(idle[i], nodes[j], n) })
}

// inner fills the block of a leaf with itself.
type inner struct {
	g    *linkGraph
	at   int // next slot
	left int // slots still to fill; what comes after is time to rest
}

// always fills slots for a server without a link: one in each phase.
func (in *inner) always() {
	for p := range min(in.g.b.phases, in.left) {
		in.g.b.slots[in.at] = makeSlot(p, none)
		in.at++
	}
	in.left -= min(in.g.b.phases, in.left)
}

func (in *inner) edge(u, v int32, n int) {
	used := min(n, in.left)
	for range used {
		in.g.b.slots[in.at] = makeSlot(0, none)
		in.at++
	}
	in.left -= used
	if used > 0 {
		in.g.edges = append(in.g.edges, coloring.Edge{U: u, V: v, N: int32(used), First: int32(in.at - used)})
	}
	if n > used {
		in.g.edges = append(in.g.edges, coloring.Edge{U: u, V: v, N: int32(n - used), First: -1})
	}
}

// pour moves amount from the sources to the sinks in order and subtracts it from both, in at most
// len(from)+len(to) portions.
func pour(from, to []int, amount int, portion func(i, j, n int)) {
	for i, j := 0, 0; amount > 0; {
		n := min(from[i], to[j], amount)
		if n > 0 {
			portion(i, j, n)
			from[i], to[j], amount = from[i]-n, to[j]-n, amount-n
		}
		if from[i] == 0 {
			i++
		} else if to[j] == 0 {
			j++
		}
	}
}
