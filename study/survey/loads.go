package survey

import (
	"slices"

	"evbench/routing"
	"evbench/scheduler"
	"evbench/topology"
)

// An Order is a schedule as lists of messages: pair[start[p]:start[p+1]] for phase p, each src<<16
// | dst by rank. It takes four bytes a message, where Schedule.Messages takes forty; it serves
// every failure of a survey.
type Order struct {
	start []int
	pair  []uint32
}

// NewOrder sorts the messages of a schedule by phase, by counting. O(S²). Ranks
// are below 2¹⁶: a schedule with more would not fit in memory.
func NewOrder(s *scheduler.Schedule) *Order {
	o := &Order{start: make([]int, s.Phases+1)}
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

// Duration returns the duration of a synchronised exchange in message times: the sum over the
// phases of the largest number of messages on one directed link. A server link never carries more
// than one, so a phase costs at least 1. path returns the path (topology.Tree.PathOf) of a message
// between leaves. O(messages + phases·links).
func (o *Order) Duration(t topology.Wires, leaf []int, path func(src, dst int) int) int {
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

// TablePaths returns the path of every message that single-path tables route, as a
// function of ranks. The tables must have a route for every pair.
func TablePaths(tables *routing.Tables, leaf []int) func(src, dst int) int {
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
			if t.ServersOn(l) > 0 && leaf[dst] != l {
				k, _ := tables.PathOf(t.First(l), dst)
				path[l*s+dst] = int32(k)
			}
		}
	}
}
