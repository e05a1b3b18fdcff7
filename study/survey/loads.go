package survey

import (
	"slices"

	"evbench/internal/lists"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/topology"
)

// An order is a schedule as lists of messages: pair[start[p]:start[p+1]] for phase p, each src<<16
// | dst by rank. It takes four bytes a message, where Schedule.Messages takes forty; it serves
// every failure of a survey.
type order struct {
	start []int
	pair  []uint32
}

// newOrder sorts the messages of a schedule by phase, by counting. O(S²). Ranks
// are below 2¹⁶: a schedule with more would not fit in memory.
func newOrder(s *scheduler.Schedule) *order {
	o := &order{start: make([]int, s.Phases+1)}
	visit := func(f func(src, dst, phase int)) {
		for src := range s.Ranks {
			for dst := range s.Ranks {
				if s.Meets(src, dst) {
					p, _ := s.At(src, dst)
					f(src, dst, p)
				}
			}
		}
	}
	visit(func(_, _, p int) { o.start[p+1]++ })
	for p := range s.Phases {
		o.start[p+1] += o.start[p]
	}
	o.pair = make([]uint32, o.start[s.Phases])
	next := slices.Clone(o.start)
	visit(func(src, dst, p int) {
		o.pair[next[p]] = uint32(src)<<16 | uint32(dst)
		next[p]++
	})
	return o
}

// duration returns the duration of a synchronised exchange in message times: the sum over the
// phases of the largest number of messages on one directed link. A server link never carries more
// than one, so a phase costs at least 1. path returns the path (topology.Tree.PathOf) of a message
// between leaves. O(messages + phases·links).
func (o *order) duration(t topology.Wires, leaf []int, path func(src, dst int) int) int {
	sum := 0
	load, crossed := make([]uint16, t.AllWires()), make([]topology.Wire, 0, 4)
	for p := range len(o.start) - 1 {
		most := uint16(1)
		for _, m := range o.pair[o.start[p]:o.start[p+1]] {
			src, dst := int(m>>16), int(m&0xffff)
			a, b := leaf[src], leaf[dst]
			if a == b {
				continue
			}
			crossed = t.Between(crossed[:0], a, b, path(src, dst))
			for _, w := range crossed {
				load[w]++
				most = max(most, load[w])
			}
		}
		sum += int(most)
		clear(load)
	}
	return sum
}

// tablePaths returns the path of every message that single-path tables route, as a
// function of ranks. The tables must have a route for every pair.
func tablePaths(tables *routing.Tables, leaf []int) func(src, dst int) int {
	s := tables.Tree.Servers()
	path := make([]int32, tables.Tree.Leaves()*s)
	pathTable(tables, leaf, path)
	return func(src, dst int) int { return int(path[leaf[src]*s+dst]) }
}

// pathTable fills these paths, by leaf·servers + dst.
func pathTable(tables *routing.Tables, leaf []int, path []int32) {
	t := tables.Tree
	s := t.Servers()
	for l := range t.Leaves() {
		for dst := range s {
			if t.On(l) > 0 && leaf[dst] != l {
				k, _ := tables.PathOf(t.First(l), dst)
				path[l*s+dst] = int32(k)
			}
		}
	}
}

func pinnedPaths(t topology.Wires, s *scheduler.Schedule) func(src, dst int) int {
	return func(src, dst int) int {
		_, k := s.At(src, dst)
		return t.PathOf(k, s.Top(src, dst))
	}
}

// A counter holds how many messages of each phase leave and enter each leaf, or each subtree of
// another level, whichever is more: the input of the count model.
type counter struct {
	subtrees int
	external []uint16 // [phase·subtrees + subtree]
	busy     []bool   // by phase: a message leaves some leaf
}

// newCounter counts the messages between n subtrees, given the leaf and the subtree of each rank.
// O(S²).
func newCounter(s *scheduler.Schedule, leaf, subtree []int, n int) *counter {
	c := &counter{subtrees: n, external: make([]uint16, s.Phases*n), busy: make([]bool, s.Phases)}
	in := make([]uint16, s.Phases*n)
	for src, a := range subtree {
		for dst, b := range subtree {
			if leaf[src] == leaf[dst] || !s.Meets(src, dst) {
				continue
			}
			p, _ := s.At(src, dst)
			if c.busy[p] = true; a != b {
				c.external[p*n+a]++
				in[p*n+b]++
			}
		}
	}
	for i, n := range in {
		c.external[i] = max(c.external[i], n)
	}
	return c
}

// duration returns the duration of the exchange in message times by thesis 5.3, Algorithm 2: a
// phase lasts as long as the leaf with the most messages for each of its live links,
//
//	Σ over phases of max over leaves l of ⌈external(p,l) / live(l)⌉.
//
// For other levels subtrees take the place of leaves, and a phase whose messages only leave leaves
// costs 1: below, all links are alive.
//
// The listing prints ⌊ ⌋, the text ⌈ ⌉; only the latter makes sense. A phase in which all messages
// stay within leaves costs nothing. It is the best of any routing at the leaves; it ignores
// conflicts inside the spines.
func (c *counter) duration(live []int) int {
	sum := 0
	for p, busy := range c.busy {
		most := 0
		if busy {
			most = 1
		}
		for l, n := range c.external[p*c.subtrees:][:c.subtrees] {
			most = max(most, ceilDiv(int(n), live[l]))
		}
		sum += most
	}
	return sum
}

func liveLinks(t *topology.Tree) []int {
	return lists.Make(t.Leaves(), func(l int) int { return max(1, len(t.AliveSpines(l))) })
}

// FaultAdaptivePhases returns the phases, and so the duration, of the thesis' fault-adaptive
// schedule (5.4.1, equation 5.1): the larger of S and ⌈n·(S-n)/live⌉ over the leaves. With full
// leaves and a reduction f the latter is ⌈M0·(S-M0)/(M0-f)⌉.
func FaultAdaptivePhases(t *topology.Tree) int {
	s := t.Servers()
	most := s
	for l := range t.Leaves() {
		n := t.On(l)
		most = max(most, ceilDiv(n*(s-n), max(1, len(t.AliveSpines(l)))))
	}
	return most
}
