package scheduler

import (
	"slices"

	"evbench/internal/coloring"
	"evbench/topology"
)

// A traffic holds the messages of a schedule between leaves, phase by phase. A message has its
// place src·ranks + dst in the slots of the schedule as name.
type traffic struct {
	f     *fabric
	lists []coloring.ColorSet // planes between two leaves by a·leaves + b; nil on two levels
	ranks int
	on    []int32             // leaf of each rank
	up    []coloring.ColorSet // live spines of each leaf
	start []int               // by phase, in what follows
	pair  []uint32            // messages by phase, then by source leaf and destination leaf
}

// newTraffic sorts the messages of s. Pairs that never meet have no message. O(S²).
func newTraffic(s *slotTable, t *topology.Tree) *traffic {
	f := newFabric(t)
	x := &traffic{f: f}
	if f.tops > 0 {
		f.part()
		x.lists = f.planeLists()
	}
	x.ranks, x.up, x.start = s.ranks, make([]coloring.ColorSet, f.leaves), make([]int, s.phases+1)
	for l, n := range f.n {
		for range n {
			x.on = append(x.on, int32(l))
		}
		for k := range f.spines {
			if f.alive[f.link(l, k)] {
				x.up[l].Add(k)
			}
		}
	}
	x.between(s, func(p int, _ uint32) { x.start[p+1]++ })
	for p := range s.phases {
		x.start[p+1] += x.start[p]
	}
	x.pair = make([]uint32, x.start[s.phases])
	next := slices.Clone(x.start)
	x.between(s, func(p int, m uint32) {
		x.pair[next[p]] = m
		next[p]++
	})
	return x
}

// between calls f with each message between leaves, by leaves and then servers.
func (x *traffic) between(s *slotTable, f func(phase int, m uint32)) {
	for a := range x.f.leaves {
		for b := range x.f.leaves {
			for src := x.f.first[a]; a != b && src < x.f.first[a]+x.f.n[a]; src++ {
				row := src * x.ranks
				for m := row + x.f.first[b]; m < row+x.f.first[b]+x.f.n[b]; m++ {
					if s.slots[m] != absent {
						f(s.slots[m].phase(), uint32(m))
					}
				}
			}
		}
	}
}

func (x *traffic) of(phase int) []uint32 { return x.pair[x.start[phase]:x.start[phase+1]] }

func (x *traffic) ends(m uint32) (src, dst int) { return int(m) / x.ranks, int(m) % x.ranks }

func (x *traffic) across(m uint32) (a, b int32) {
	src, dst := x.ends(m)
	return x.on[src], x.on[dst]
}

// reachable returns a *topology.UnreachableError if a message has no spine to take.
func (x *traffic) reachable() error {
	err := x.f.tree.Connected()
	if err == nil {
		return nil
	}
	for _, m := range x.pair {
		if a, b := x.across(m); x.choices(m) == 0 && x.f.tops == 0 {
			return &topology.UnreachableError{A: x.f.leaf[min(a, b)], B: x.f.leaf[max(a, b)]}
		} else if x.choices(m) == 0 {
			return err
		}
	}
	return nil
}

// choices returns how many messages between the leaves of m fit into a phase.
func (x *traffic) choices(m uint32) int {
	both := x.both(m)
	if x.f.cables == nil {
		return both.Len()
	}
	a, b := x.across(m)
	n := 0
	for k := both.Next(0); k >= 0; k = both.Next(k + 1) {
		n += min(x.f.room(x.f.link(int(a), k)), x.f.room(x.f.link(int(b), k)))
	}
	return n
}

// both returns the spines that a message may take. Between pods they have a top switch in common.
func (x *traffic) both(m uint32) coloring.ColorSet {
	a, b := x.across(m)
	if x.f.tops > 0 {
		return x.lists[int(a)*x.f.leaves+int(b)]
	}
	return x.up[a].And(x.up[b])
}

// graph returns the messages as edges between leaves, with the spines that they may take as lists.
func (x *traffic) graph(messages []uint32) *coloring.ListGraph {
	g := &coloring.ListGraph{Left: x.f.leaves, Right: x.f.leaves, Edges: make([]coloring.ListEdge, len(messages))}
	if x.f.cables != nil {
		g.Room = func(node, spine int) int { return x.f.room(x.f.link(node%x.f.leaves, spine)) }
	}
	for i, m := range messages {
		a, b := x.across(m)
		g.Edges[i] = coloring.ListEdge{U: a, V: b, List: x.both(m)}
	}
	return g
}

// patterns groups the phases that send equally many messages from each leaf to each other: spines
// for one phase fit all phases of its group. The groups come by their first phase.
func (x *traffic) patterns() [][]int {
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
func (x *traffic) hash(phase int) uint64 {
	h := uint64(14695981039346656037)
	for _, m := range x.of(phase) {
		a, b := x.across(m)
		h = (h ^ uint64(a)) * 1099511628211
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

func (x *traffic) same(p, q int) bool {
	return slices.EqualFunc(x.of(p), x.of(q), func(m, n uint32) bool {
		a, b := x.across(m)
		c, d := x.across(n)
		return a == c && b == d
	})
}
