package paths

import (
	"math/rand/v2"
	"slices"

	"evbench/internal/coloring"
	"evbench/internal/parallel"
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/phases"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/schedules"
)

// A timing gives phases to labelled columns: it colours the graph of links, as package phases does,
// and then relieves destinations that get two messages in a phase by swaps. Edges within leaves and
// to idle nodes fill up links, so the graph is regular: in every phase as many messages enter a
// leaf as leave it, and a swap keeps it so.
type timing struct {
	c           *phases.Columns
	f           *fattree.Tree
	node        []int32 // by link
	nodes       int
	edges       []coloring.Edge
	left, right []int32   // nodes of each unit; units that are slots have their indices
	dest        []int32   // builder to which a unit goes, or none
	up, down    []int32   // [node·phases + phase] unit
	busy        []uint8   // [builder·phases + phase] messages that it gets: fewer than MaxPorts
	of          [][]int32 // the nodes of each leaf, its links first
	home        []int32   // by node: its leaf
	links       int       // nodes below are links
	idle        [2][]bool // by node: as left node, as right node, it keeps a link of its leaf idle
	leafOf      []int32   // by builder
	spines      int       // that a leaf may use towards a destination
	random      *rand.Rand
	work        int                     // units looked at
	lane        func(dst, lane int) int // laid.down
}

// newTiming labels columns with the spines laid for them, and colours them. A leaf may use that many
// spines towards a destination.
func newTiming(c *phases.Columns, s laid, spines int, o schedules.Options) *timing {
	load := s.label(c)
	t := &timing{c: c, f: c.F, lane: s.down, spines: spines, node: make([]int32, len(c.F.Alive)), random: rand.New(rand.NewPCG(o.Seed, uint64(c.Phases)))}
	for i, alive := range c.F.Alive {
		if alive {
			t.node[i] = t.add(i / c.F.Spines)
		}
	}
	t.links = t.nodes
	for a, n := range c.F.B {
		t.leafOf = append(t.leafOf, slices.Repeat([]int32{int32(a)}, n)...)
	}
	for a := range c.F.Leaves {
		for b := range c.F.Leaves {
			for d := c.F.Builders[b]; a != b && d < c.F.Builders[b]+c.F.B[b]; d++ {
				t.between(a, b, d)
			}
		}
	}
	slots := int32(len(c.Slots))
	units := slots
	if c.F.Topology.Divided() {
		units = t.inside(load, units)
	} else {
		for a := range c.F.Leaves {
			units = t.within(a, load, units)
		}
	}
	t.left, t.right, t.dest = make([]int32, units), make([]int32, units), make([]int32, units)
	for _, e := range t.edges {
		for u := e.First; u < e.First+e.N; u++ {
			t.left[u], t.right[u], t.dest[u] = e.U, e.V, none
			if u < slots {
				t.dest[u] = t.owner(u)
			}
		}
	}
	t.color(o)
	return t
}

// add returns a new node of a leaf, with the same number left and right.
func (t *timing) add(leaf int) int32 {
	t.nodes++
	t.home = append(t.home, int32(leaf))
	for side := range t.idle {
		t.idle[side] = append(t.idle[side], false)
	}
	return int32(t.nodes - 1)
}

// keepIdle returns a new node that keeps an up-link of a leaf idle in each phase, and a down-link.
func (t *timing) keepIdle(leaf int) int32 {
	u := t.add(leaf)
	t.idle[0][u], t.idle[1][u] = true, true
	return u
}

// joins reports whether an edge without a message may join left node u and right node v.
func (t *timing) joins(u, v int) bool {
	near := t.home[u] == t.home[v]
	return !(t.idle[0][u] && (v >= t.links || !near) || t.idle[1][v] && (u >= t.links || !near))
}

func (t *timing) between(a, b, d int) {
	col := t.c.Column(a, d)
	at := t.f.Readers[a]*t.c.Width + d*t.f.R[a]
	for i := 0; i < len(col) && col[i] != slots.Absent; {
		j := i
		for j < len(col) && col[j] == col[i] {
			j++
		}
		k := col[i].Spine()
		t.edges = append(t.edges, coloring.Edge{
			U: t.node[t.f.Link(a, k)], V: t.node[t.f.Link(b, t.lane(d, k))], N: int32(j - i), First: int32(at + i),
		})
		i = j
	}
}

func (t *timing) owner(slot int32) int32 {
	a := 0
	for a+1 < t.f.Leaves && int(slot) >= t.f.Readers[a+1]*t.c.Width {
		a++
	}
	return int32((int(slot) - t.f.Readers[a]*t.c.Width) / t.f.R[a])
}

// within adds the edges that make the links of leaf a regular, as units from
// first upwards, and returns the next unit.
func (t *timing) within(a int, load []int32, first int32) int32 {
	nodes, up, down := t.lack(a, load)
	pad := func(u, v int32, n int) {
		t.edges = append(t.edges, coloring.Edge{U: u, V: v, N: int32(n), First: first})
		first += int32(n)
	}
	idle := max(0, len(nodes)-t.f.N[a])
	others, forUp, forDown := make([]int32, idle), make([]int, idle), make([]int, idle)
	for i := range others {
		others[i], forUp[i], forDown[i] = t.keepIdle(a), t.c.Phases, t.c.Phases
	}
	phases.Pour(up, forUp, idle*t.c.Phases, func(i, j, n int) { pad(nodes[i], others[j], n) })
	phases.Pour(forDown, down, idle*t.c.Phases, func(i, j, n int) { pad(others[i], nodes[j], n) })
	rest := 0
	for i := range nodes { // first links with themselves: cycles are then short
		n := min(up[i], down[i])
		pad(nodes[i], nodes[i], n)
		up[i], down[i] = up[i]-n, down[i]-n
		rest += up[i]
	}
	phases.Pour(up, down, rest, func(i, j, n int) { pad(nodes[i], nodes[j], n) })
	t.of = append(t.of, append(nodes, others...))
	return first
}

// lack returns the nodes of the links of a leaf, those with least to do first, and in how many phases
// they have no message upwards, and downwards.
func (t *timing) lack(a int, load []int32) (nodes []int32, up, down []int) {
	var live []int
	for k := range t.f.Spines {
		if i := t.f.Link(a, k); t.f.Alive[i] {
			live = append(live, i)
		}
	}
	down0 := len(load) / 2
	slices.SortStableFunc(live, func(i, j int) int { return int(load[i] + load[down0+i] - load[j] - load[down0+j]) })
	nodes, up, down = make([]int32, len(live)), make([]int, len(live)), make([]int, len(live))
	for j, i := range live {
		nodes[j], up[j], down[j] = t.node[i], t.c.Phases-int(load[i]), t.c.Phases-int(load[down0+i])
	}
	return nodes, up, down
}

func (t *timing) color(o schedules.Options) {
	k := t.c.Phases
	t.up, t.down = make([]int32, t.nodes*k), make([]int32, t.nodes*k)
	g := coloring.Graph{Left: t.nodes, Right: t.nodes, Edges: t.edges}
	g.Color(k, coloring.Options{Seed: o.Seed, Workers: parallel.Workers(o.Workers)}, func(unit, color int32) {
		t.up[int(t.left[unit])*k+int(color)] = unit
		t.down[int(t.right[unit])*k+int(color)] = unit
	})
	t.edges = nil
	t.busy = make([]uint8, t.c.Width*k)
	for i, u := range t.up {
		if d := t.dest[u]; d != none {
			t.busy[int(d)*k+i%k]++
		}
	}
}

// finish writes phases into the columns and adds the messages within leaves, in phases in which a
// server hears nothing from outside: as many servers of its leaf then send nothing outside as
// receive nothing.
func (t *timing) finish() {
	for i, u := range t.up {
		if t.dest[u] != none {
			t.c.Slots[u] = slots.Make(i%t.c.Phases, t.c.Slots[u].Spine())
		}
	}
	for a := range t.f.Leaves {
		for d := t.f.Builders[a]; !t.f.Topology.Divided() && d < t.f.Builders[a]+t.f.B[a]; d++ {
			col := t.c.Column(a, d)
			if t.c.DropsSelf {
				col[0] = slots.Make(t.c.Phases, none)
				col = col[1:]
			}
			for p := 0; len(col) > 0; p++ {
				if t.busy[d*t.c.Phases+p] == 0 {
					col[0] = slots.Make(p, none)
					col = col[1:]
				}
			}
		}
	}
}

// A laid is one spine for each leaf and destination, or few, such that no link carries too much.
type laid interface {
	label(*phases.Columns) (load []int32) // slots without phases, and the loads of links
	down(dst, lane int) int               // the lane down of a message that goes up by one
}

// inside is within for all leaves where some servers only read or only build, which the papers do not
// treat. Messages within a leaf are units with a destination, too: which phases suit them does not
// follow from the other messages.
//
// A leaf with fewer live links than readers has left nodes for the other readers, one with more has
// right nodes that keep the rest of its up-links idle; likewise builders and down-links. Edges without
// a message complete the graph, within leaves where they can.
func (t *timing) inside(load []int32, first int32) int32 {
	var all []int32    // nodes
	var up, down []int // phases that they lack as left, and as right nodes
	pad := func(u, v int32, n int) {
		t.edges = append(t.edges, coloring.Edge{U: u, V: v, N: int32(n), First: first})
		first += int32(n)
	}
	for a := range t.f.Leaves {
		nodes, out, in := t.lack(a, load)
		links, r, b, k := len(nodes), t.f.R[a], t.f.B[a], t.c.Phases
		idleUp, idleDown := max(0, links-r), max(0, links-b)
		lefts, rights := max(links, r)+idleDown, max(links, b)+idleUp // of these messages have their nodes
		for len(nodes) < max(lefts, rights) {
			nodes, out, in = append(nodes, t.add(a)), append(out, k), append(in, k)
		}
		for i, u := range nodes[links:] {
			t.idle[0][u], t.idle[1][u] = i < idleDown, i < idleUp
		}
		phases.Pour(out[:links], in[links:links+idleUp], idleUp*k, func(i, j, n int) { pad(nodes[i], nodes[links+j], n) })
		phases.Pour(in[:links], out[links:links+idleDown], idleDown*k, func(i, j, n int) { pad(nodes[links+j], nodes[i], n) })
		at := int32(t.f.Readers[a]*t.c.Width + t.f.Builders[a]*r)
		join := func(i, j, n int) {
			t.edges = append(t.edges, coloring.Edge{U: nodes[i], V: nodes[j], N: int32(n), First: at})
			at += int32(n)
		}
		within, loops := r*b, 0
		for i := range min(lefts, rights) {
			loops += min(out[i], in[i])
		}
		for i := range min(lefts, rights) { // first links with themselves, in equal shares: cycles are then short
			loop := min(out[i], in[i])
			n := min(loop, fattree.CeilDiv(within*loop, max(loops, 1)))
			join(i, i, n)
			out[i], in[i], within, loops = out[i]-n, in[i]-n, within-n, loops-loop
		}
		phases.Pour(out[:lefts], in[:rights], within, join)
		for i, u := range nodes {
			n := min(out[i], in[i])
			pad(u, u, n)
			out[i], in[i] = out[i]-n, in[i]-n
		}
		phases.Pour(out, in, min(sum(out), sum(in)), func(i, j, n int) { pad(nodes[i], nodes[j], n) })
		all, up, down = append(all, nodes...), append(up, out...), append(down, in...)
		t.of = append(t.of, nodes)
	}
	t.of = append(t.of, all) // for twist
	phases.Pour(up, down, sum(up), func(i, j, n int) { pad(all[i], all[j], n) })
	return first
}

func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}
