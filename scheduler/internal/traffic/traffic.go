// Package traffic sorts the messages of a schedule between leaves by phase, for whoever looks for their
// paths: a phase is a graph of leaves whose edges have lists of spines.
package traffic

import (
	"slices"

	"evbench/internal/coloring"
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/slots"
	"evbench/topology"
)

// A Traffic holds the messages of a schedule between leaves, phase by phase. A message has its
// place src·ranks + dst in the slots of the schedule as name.
type Traffic struct {
	F     *fattree.Tree
	lists []coloring.ColorSet // planes between two leaves by a·leaves + b; nil on two levels
	Ranks int
	on    []int32             // leaf of each rank
	Up    []coloring.ColorSet // live spines of each leaf
	start []int               // by phase, in what follows
	pair  []uint32            // messages by phase, then by source leaf and destination leaf
}

// New sorts the messages of s. Pairs that never meet have no message. O(S²).
func New(s *slots.Table, t *topology.Tree) *Traffic {
	f := fattree.New(t)
	x := &Traffic{F: f}
	if f.Tops > 0 {
		f.Part()
		x.lists = f.PlaneLists()
	}
	x.Ranks, x.Up, x.start = s.Ranks, make([]coloring.ColorSet, f.Leaves), make([]int, s.Phases+1)
	for l, n := range f.N {
		for range n {
			x.on = append(x.on, int32(l))
		}
		for k := range f.Spines {
			if f.Alive[f.Link(l, k)] {
				x.Up[l].Add(k)
			}
		}
	}
	x.between(s, func(p int, _ uint32) { x.start[p+1]++ })
	for p := range s.Phases {
		x.start[p+1] += x.start[p]
	}
	x.pair = make([]uint32, x.start[s.Phases])
	next := slices.Clone(x.start)
	x.between(s, func(p int, m uint32) {
		x.pair[next[p]] = m
		next[p]++
	})
	return x
}

// between calls f with each message between leaves, by leaves and then servers.
func (x *Traffic) between(s *slots.Table, f func(phase int, m uint32)) {
	for a := range x.F.Leaves {
		for b := range x.F.Leaves {
			for src := x.F.First[a]; a != b && src < x.F.First[a]+x.F.N[a]; src++ {
				row := src * x.Ranks
				for m := row + x.F.First[b]; m < row+x.F.First[b]+x.F.N[b]; m++ {
					if s.Slots[m] != slots.Absent {
						f(s.Slots[m].Phase(), uint32(m))
					}
				}
			}
		}
	}
}

func (x *Traffic) Of(phase int) []uint32 { return x.pair[x.start[phase]:x.start[phase+1]] }

func (x *Traffic) Ends(m uint32) (src, dst int) { return int(m) / x.Ranks, int(m) % x.Ranks }

func (x *Traffic) Across(m uint32) (a, b int32) {
	src, dst := x.Ends(m)
	return x.on[src], x.on[dst]
}

// Reachable returns a *topology.UnreachableError if a message has no spine to take.
func (x *Traffic) Reachable() error {
	err := x.F.Topology.Connected()
	if err == nil {
		return nil
	}
	for _, m := range x.pair {
		if a, b := x.Across(m); x.Choices(m) == 0 && x.F.Tops == 0 {
			return &topology.UnreachableError{A: x.F.Leaf[min(a, b)], B: x.F.Leaf[max(a, b)]}
		} else if x.Choices(m) == 0 {
			return err
		}
	}
	return nil
}

// Choices returns how many messages between the leaves of m fit into a phase.
func (x *Traffic) Choices(m uint32) int {
	both := x.both(m)
	if x.F.Cables == nil {
		return both.Len()
	}
	a, b := x.Across(m)
	n := 0
	for k := both.Next(0); k >= 0; k = both.Next(k + 1) {
		n += min(x.F.Room(x.F.Link(int(a), k)), x.F.Room(x.F.Link(int(b), k)))
	}
	return n
}

// both returns the spines that a message may take. Between pods they have a top switch in common.
func (x *Traffic) both(m uint32) coloring.ColorSet {
	a, b := x.Across(m)
	if x.F.Tops > 0 {
		return x.lists[int(a)*x.F.Leaves+int(b)]
	}
	return x.Up[a].And(x.Up[b])
}

// Graph returns the messages as edges between leaves, with the spines that they may take as lists.
func (x *Traffic) Graph(messages []uint32) *coloring.ListGraph {
	g := &coloring.ListGraph{Left: x.F.Leaves, Right: x.F.Leaves, Edges: make([]coloring.ListEdge, len(messages))}
	if x.F.Cables != nil {
		g.Room = func(node, spine int) int { return x.F.Room(x.F.Link(node%x.F.Leaves, spine)) }
	}
	for i, m := range messages {
		a, b := x.Across(m)
		g.Edges[i] = coloring.ListEdge{U: a, V: b, List: x.both(m)}
	}
	return g
}

// Patterns groups the phases that send equally many messages from each leaf to each other: spines
// for one phase fit all phases of its group. The groups come by their first phase.
func (x *Traffic) Patterns() [][]int {
	var out [][]int
	known := make(map[uint64][]int) // groups by hash
	for p := range len(x.start) - 1 {
		h := x.hash(p)
		i := slices.IndexFunc(known[h], func(i int) bool { return x.same(out[i][0], p) })
		if i < 0 {
			known[h] = append(known[h], len(out))
			out = append(out, []int{p})
			continue
		}
		i = known[h][i]
		out[i] = append(out[i], p)
	}
	return out
}

// hash is FNV-1a of the leaves of the messages.
func (x *Traffic) hash(phase int) uint64 {
	h := uint64(14695981039346656037)
	for _, m := range x.Of(phase) {
		a, b := x.Across(m)
		h = (h ^ uint64(a)) * 1099511628211
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

func (x *Traffic) same(p, q int) bool {
	return slices.EqualFunc(x.Of(p), x.Of(q), func(m, n uint32) bool {
		a, b := x.Across(m)
		c, d := x.Across(n)
		return a == c && b == d
	})
}
