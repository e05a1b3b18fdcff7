package scheduler

import (
	"math/rand/v2"
	"slices"

	"evbench/internal/coloring"
	"evbench/internal/parallel"
)

// A timing gives phases to labelled columns: it colours the graph of links, as table.color does,
// and then relieves destinations that get two messages in a phase by swaps. Edges within leaves and
// to idle nodes fill up links, so the graph is regular: in every phase as many messages enter a
// leaf as leave it, and a swap keeps it so.
type timing struct {
	c           *columns
	f           *fabric
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
func newTiming(c *columns, s laid, spines int, o Options) *timing {
	load := s.label(c)
	t := &timing{c: c, f: c.f, lane: s.down, spines: spines, node: make([]int32, len(c.f.alive)), random: rand.New(rand.NewPCG(o.Seed, uint64(c.phases)))}
	for i, alive := range c.f.alive {
		if alive {
			t.node[i] = t.add(i / c.f.spines)
		}
	}
	t.links = t.nodes
	for a, n := range c.f.b {
		t.leafOf = append(t.leafOf, slices.Repeat([]int32{int32(a)}, n)...)
	}
	for a := range c.f.leaves {
		for b := range c.f.leaves {
			for d := c.f.builders[b]; a != b && d < c.f.builders[b]+c.f.b[b]; d++ {
				t.between(a, b, d)
			}
		}
	}
	slots := int32(len(c.slots))
	units := slots
	if c.f.tree.Roles() {
		units = t.inside(load, units)
	} else {
		for a := range c.f.leaves {
			units = t.within(a, load, units)
		}
	}
	t.left, t.right, t.dest = make([]int32, units), make([]int32, units), make([]int32, units)
	for _, e := range t.edges {
		for u := e.First; u < e.First+e.N; u++ {
			t.left[u], t.right[u], t.dest[u] = e.U, e.V, None
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
	col := t.c.column(a, d)
	at := t.f.readers[a]*t.c.width + d*t.f.r[a]
	for i := 0; i < len(col) && col[i] != absent; {
		j := i
		for j < len(col) && col[j] == col[i] {
			j++
		}
		k := col[i].spine()
		t.edges = append(t.edges, coloring.Edge{
			U: t.node[t.f.link(a, k)], V: t.node[t.f.link(b, t.lane(d, k))], N: int32(j - i), First: int32(at + i),
		})
		i = j
	}
}

func (t *timing) owner(slot int32) int32 {
	a := 0
	for a+1 < t.f.leaves && int(slot) >= t.f.readers[a+1]*t.c.width {
		a++
	}
	return int32((int(slot) - t.f.readers[a]*t.c.width) / t.f.r[a])
}

// within adds the edges that make the links of leaf a regular, as units from
// first upwards, and returns the next unit.
func (t *timing) within(a int, load []int32, first int32) int32 {
	nodes, up, down := t.lack(a, load)
	pad := func(u, v int32, n int) {
		t.edges = append(t.edges, coloring.Edge{U: u, V: v, N: int32(n), First: first})
		first += int32(n)
	}
	idle := max(0, len(nodes)-t.f.n[a])
	others, forUp, forDown := make([]int32, idle), make([]int, idle), make([]int, idle)
	for i := range others {
		others[i], forUp[i], forDown[i] = t.keepIdle(a), t.c.phases, t.c.phases
	}
	pour(up, forUp, idle*t.c.phases, func(i, j, n int) { pad(nodes[i], others[j], n) })
	pour(forDown, down, idle*t.c.phases, func(i, j, n int) { pad(others[i], nodes[j], n) })
	rest := 0
	for i := range nodes { // first links with themselves: cycles are then short
		n := min(up[i], down[i])
		pad(nodes[i], nodes[i], n)
		up[i], down[i] = up[i]-n, down[i]-n
		rest += up[i]
	}
	pour(up, down, rest, func(i, j, n int) { pad(nodes[i], nodes[j], n) })
	t.of = append(t.of, append(nodes, others...))
	return first
}

// lack returns the nodes of the links of a leaf, those with least to do first, and in how many phases
// they have no message upwards, and downwards.
func (t *timing) lack(a int, load []int32) (nodes []int32, up, down []int) {
	var live []int
	for k := range t.f.spines {
		if i := t.f.link(a, k); t.f.alive[i] {
			live = append(live, i)
		}
	}
	down0 := len(load) / 2
	slices.SortStableFunc(live, func(i, j int) int { return int(load[i] + load[down0+i] - load[j] - load[down0+j]) })
	nodes, up, down = make([]int32, len(live)), make([]int, len(live)), make([]int, len(live))
	for j, i := range live {
		nodes[j], up[j], down[j] = t.node[i], t.c.phases-int(load[i]), t.c.phases-int(load[down0+i])
	}
	return nodes, up, down
}

func (t *timing) color(o Options) {
	k := t.c.phases
	t.up, t.down = make([]int32, t.nodes*k), make([]int32, t.nodes*k)
	g := coloring.Graph{Left: t.nodes, Right: t.nodes, Edges: t.edges}
	g.Color(k, coloring.Options{Seed: o.Seed, Workers: parallel.Workers(o.Workers)}, func(unit, color int32) {
		t.up[int(t.left[unit])*k+int(color)] = unit
		t.down[int(t.right[unit])*k+int(color)] = unit
	})
	t.edges = nil
	t.busy = make([]uint8, t.c.width*k)
	for i, u := range t.up {
		if d := t.dest[u]; d != None {
			t.busy[int(d)*k+i%k]++
		}
	}
}

// finish writes phases into the columns and adds the messages within leaves, in phases in which a
// server hears nothing from outside: as many servers of its leaf then send nothing outside as
// receive nothing.
func (t *timing) finish() {
	for i, u := range t.up {
		if t.dest[u] != None {
			t.c.slots[u] = makeSlot(i%t.c.phases, t.c.slots[u].spine())
		}
	}
	for a := range t.f.leaves {
		for d := t.f.builders[a]; !t.f.tree.Roles() && d < t.f.builders[a]+t.f.b[a]; d++ {
			col := t.c.column(a, d)
			if t.c.dropsSelf {
				col[0] = makeSlot(t.c.phases, None)
				col = col[1:]
			}
			for p := 0; len(col) > 0; p++ {
				if t.busy[d*t.c.phases+p] == 0 {
					col[0] = makeSlot(p, None)
					col = col[1:]
				}
			}
		}
	}
}
