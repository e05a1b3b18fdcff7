package survey

import (
	"slices"

	"evbench/routing"
	"evbench/scheduler"
	"evbench/topology"
)

// An order is a schedule as lists of messages: those of phase p are
// pair[start[p]:start[p+1]], each src<<16 | dst by rank. It takes four bytes a
// message, where Schedule.Messages takes forty; it serves every failure of a
// survey.
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

// duration returns the duration of a synchronised exchange in message times: the
// sum over the phases of the largest number of messages on one directed link. A
// server link never carries more than one, so a phase costs at least 1. path says
// which path (topology.Tree.PathOf) a message between leaves takes. O(messages +
// phases·links).
func (o *order) duration(t *topology.Tree, leaf []int, path func(src, dst int) int) int {
	sum := 0
	load := make([]uint16, t.Wires())
	for p := range len(o.start) - 1 {
		most := uint16(1)
		for _, m := range o.pair[o.start[p]:o.start[p+1]] {
			src, dst := int(m>>16), int(m&0xffff)
			a, b := leaf[src], leaf[dst]
			if a == b {
				continue
			}
			k, top := t.SpineTop(path(src, dst))
			up, down := t.Up(a, k), t.Down(b, k)
			load[up]++
			load[down]++
			most = max(most, load[up], load[down])
			if t.Apart(a, b) {
				up, down = t.TopUp(t.Pod(a), k, top), t.TopDown(t.Pod(b), k, top)
				load[up]++
				load[down]++
				most = max(most, load[up], load[down])
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
	t := tables.Tree
	s := t.Servers()
	path := make([]int32, t.Leaves()*s)
	for l := range t.Leaves() {
		for dst := range s {
			if t.On(l) > 0 && leaf[dst] != l {
				k, _ := tables.PathOf(t.First(l), dst)
				path[l*s+dst] = int32(k)
			}
		}
	}
	return func(src, dst int) int { return int(path[leaf[src]*s+dst]) }
}

func pinnedPaths(t *topology.Tree, s *scheduler.Schedule) func(src, dst int) int {
	return func(src, dst int) int {
		_, k := s.At(src, dst)
		return t.PathOf(k, s.Top(src, dst))
	}
}
