package phases

import (
	"slices"

	"evbench/internal/coloring"
	"evbench/internal/lists"
	"evbench/internal/parallel"
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/internal/split"
	"evbench/scheduler/schedules"
)

// A LinkGraph is the graph of Blocks.color in the making. A cable, and an idle node, has the same number as left
// node, upwards, and as right node, downwards.
type LinkGraph struct {
	b     *Blocks
	f     *fattree.Tree
	s     *split.Split
	Node  []int32 // by link: the first of its cables; none where dead
	Nodes int32
	Edges []coloring.Edge
	given []int32 // as the loads: messages that have their cable; nil where there is one
}

// NewLinkGraph returns the graph of a split, and gives the messages their slots and spines.
func NewLinkGraph(t *Blocks, s *split.Split) *LinkGraph {
	used := 0
	for _, x := range s.X {
		if x > 0 {
			used++
		}
	}
	g := &LinkGraph{b: t, f: t.f, s: s, Node: make([]int32, len(t.f.Alive)), Edges: make([]coloring.Edge, 0, used+8*len(t.f.Alive))} // about as many
	for i, alive := range t.f.Alive {
		if g.Node[i] = none; alive {
			g.Node[i] = g.Nodes
			g.Nodes += int32(t.f.Room(i))
		}
	}
	if t.f.Cables != nil {
		g.given = make([]int32, len(s.Load))
	}
	for a := range t.f.Leaves {
		for b := range t.f.Leaves {
			if a != b {
				g.between(a, b)
			}
		}
		g.within(a)
	}
	return g
}

func (g *LinkGraph) add() int32 {
	g.Nodes++
	return g.Nodes - 1
}

func (g *LinkGraph) between(a, b int) {
	at := g.b.Block(a, b)
	if !g.f.Meets(a, b) {
		for i := range g.f.Messages(a, b) {
			g.b.Slots[at+i] = slots.Absent
		}
		return
	}
	for k, n := range g.s.X[g.s.At(a, g.f.Leaves+b):][:g.f.Spines] {
		if n == 0 {
			continue
		}
		g.addEdge(coloring.Edge{U: int32(g.f.Link(a, k)), V: int32(g.f.Link(b, k)), N: n, First: int32(at)})
		for range n {
			g.b.Slots[at] = slots.Make(0, k)
			at++
		}
	}
}

// addEdge adds the messages of an edge between two links, from the cables of one to those of the other.
func (g *LinkGraph) addEdge(e coloring.Edge) {
	up, down := int(e.U), g.f.Leaves*g.f.Spines+int(e.V)
	e.U, e.V = g.Node[e.U], g.Node[e.V]
	if g.given == nil {
		g.Edges = append(g.Edges, e)
		return
	}
	for left := e.N; left > 0; left -= e.N {
		i, m := g.cable(up)
		j, n := g.cable(down)
		x := coloring.Edge{U: e.U + i, V: e.V + j, N: min(left, m, n), First: e.First}
		g.Edges = append(g.Edges, x)
		g.given[up] += x.N
		g.given[down] += x.N
		e.N, e.First = x.N, e.First+x.N
	}
}

// cable returns the next cable of a link, by load, and how many more messages it gets.
func (g *LinkGraph) cable(link int) (cable, left int32) {
	each := g.each(link)
	return g.given[link] / each, each - g.given[link]%each
}

// each returns how many messages a cable of a link gets, the last perhaps fewer.
func (g *LinkGraph) each(link int) int32 {
	return int32(fattree.CeilDiv(int(g.s.Load[link]), g.f.Room(link%len(g.f.Alive))))
}

// lack appends, for each cable of a link, the number of phases without a message.
func (g *LinkGraph) lack(to []int, link int) []int {
	load, each := int(g.s.Load[link]), int(g.each(link))
	for range g.f.Room(link % len(g.f.Alive)) {
		n := min(load, each)
		to = append(to, g.b.Phases-n)
		load -= n
	}
	return to
}

// within adds the messages within a leaf and its idle nodes, and fills the slots
// that need no colouring.
func (g *LinkGraph) within(a int) {
	r, b, live, k, selves := g.f.R[a], g.f.B[a], g.f.Live[a], g.b.Phases, g.b.Selves(a)
	in := &inner{g: g, at: g.b.Block(a, a), left: r*b - selves}
	always := max(0, min(r, b)-live)
	for range always {
		in.always()
	}
	nodes := make([]int32, 0, live)
	up, down := make([]int, 0, live), make([]int, 0, live) // what the cables lack
	for s := range g.f.Spines {
		if i := g.f.Link(a, s); g.f.Alive[i] {
			for c := range g.f.Room(i) {
				nodes = append(nodes, g.Node[i]+int32(c))
			}
			up, down = g.lack(up, i), g.lack(down, g.f.Link(g.f.Leaves+a, s))
		}
	}
	above, below := nodes, nodes // with readers, builders without a link
	for range r - live - always {
		above, up = append(above[:len(above):len(above)], g.add()), append(up, k)
	}
	for range b - live - always {
		below, down = append(below[:len(below):len(below)], g.add()), append(down, k)
	}
	fill := min(min(len(above), r)*k-r*g.f.Reach[a], min(len(below), b)*k-b*g.f.Heard[a])
	for i := range nodes { // first links with themselves: spines then share few nodes
		d := min(up[i], down[i], fill)
		in.edge(nodes[i], nodes[i], d)
		up[i], down[i], fill = up[i]-d, down[i]-d, fill-d
	}
	Pour(up, down, fill, func(i, j, n int) { in.edge(above[i], below[j], n) })
	g.idle([2]int{live - r, live - b}, nodes, up, down)
	for i := range selves {
		g.b.Slots[g.b.Block(a, a)+r*b-selves+i] = slots.Make(k, none)
	}
}

// idle adds count[0] nodes for the rest of a leaf's up-links and count[1] for its down-links.
func (g *LinkGraph) idle(count [2]int, nodes []int32, up, down []int) {
	idle := lists.Tabulate(max(count[0], count[1], 0), func(i int) int32 { return g.add() })
	rest := func(u, v int32, n int) {
		g.Edges = append(g.Edges, coloring.Edge{U: u, V: v, N: int32(n), First: -1})
	}
	whole := func(count int) []int { return slices.Repeat([]int{g.b.Phases}, max(count, 0)) }
	Pour(up, whole(count[0]), max(count[0], 0)*g.b.Phases, func(i, j, n int) { rest(nodes[i], idle[j], n) })
	Pour(whole(count[1]), down, max(count[1], 0)*g.b.Phases, func(i, j, n int) { rest(idle[i], nodes[j], n) })
}

// inner fills the block of a leaf with itself.
type inner struct {
	g    *LinkGraph
	at   int // next slot
	left int // slots still to fill; what comes after is time to rest
}

// always fills slots for a server without a link: one in each phase.
func (in *inner) always() {
	for p := range min(in.g.b.Phases, in.left) {
		in.g.b.Slots[in.at] = slots.Make(p, none)
		in.at++
	}
	in.left -= min(in.g.b.Phases, in.left)
}

func (in *inner) edge(u, v int32, n int) {
	used := min(n, in.left)
	for range used {
		in.g.b.Slots[in.at] = slots.Make(0, none)
		in.at++
	}
	in.left -= used
	if used > 0 {
		in.g.Edges = append(in.g.Edges, coloring.Edge{U: u, V: v, N: int32(used), First: int32(in.at - used)})
	}
	if n > used {
		in.g.Edges = append(in.g.Edges, coloring.Edge{U: u, V: v, N: int32(n - used), First: -1})
	}
}

// Pour moves amount from the sources to the sinks in order and subtracts it from both, in at most
// len(from)+len(to) portions.
func Pour(from, to []int, amount int, portion func(i, j, n int)) {
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

// color gives every slot its phase and the spine of a split.
//
// The graph has a left node for each live cable leaf→spine, a right node for each live cable
// spine→leaf, over which the messages of a spine are spread evenly, and an edge for each message that
// uses both. K phases are at least as many as the edges of a node (split). But a leaf of n servers
// must also send and receive at most n in every phase. So the graph is made K-regular; its colours are
// then perfect matchings (König 1916), in which every node has an edge in every phase:
//
//   - What the links of a leaf with at most n live ones lack is filled with edges from its
//     up-links to its down-links: messages within the leaf. Servers without a link of their
//     own talk within the leaf all the time.
//   - A leaf with |A| > n live cables gets |A|-n idle nodes on either side, each with K edges
//     to its links: in every phase |A|-n of its links are matched with these, and n remain.
//
// Where some servers only read or only build, n is the readers on the left and the builders on the
// right. Readers or builders without a link are nodes, too, if no other server of the leaf meets
// them all the time.
//
// A leaf whose servers reach r others has n·(K-r) slots within and needs n², messages to self
// included. K = n+r-1 gives n·(n-1): one added phase holds messages within the leaf, and lift makes
// each server talk to itself in that phase.
func (t *Blocks) color(s *split.Split, o schedules.Options) {
	g := NewLinkGraph(t, s)
	n := int(g.Nodes)
	(&coloring.Graph{Left: n, Right: n, Edges: g.Edges}).Color(t.Phases,
		coloring.Options{Seed: o.Seed, Workers: parallel.Workers(o.Workers)},
		func(unit, color int32) { t.Slots[unit] = t.Slots[unit].In(color) })
}
