package scheduler

import (
	"slices"
	"sync"

	"evbench/internal/coloring"
)

// lift gives the slots of the table to servers. Each ordered pair of leaves a, b
// has n_a·n_b slots, and no phase more than n_a that leave a or n_b that enter b.
//
//  1. For each destination leaf b, colour the bipartite graph of phases and
//     groups, the slots of a block taken n_b at a time, with n_b colours: the
//     destination servers. A phase then reaches each server of b at most once,
//     and of each group one slot goes to each server.
//  2. For each source leaf a, colour the graph of phases and destination servers,
//     which have n_a slots each from a, with n_a colours: the source servers.
//
// No node has more edges than there are colours, so both exist (König). Both
// permute slots within the memory of one leaf. O(S²·log n) in all.
func (t *table) lift(o Options) {
	w := o.workers()
	pool := sync.Pool{New: func() any { return &lifter{table: t, seed: o.Seed} }}
	for _, step := range []func(*lifter, int){(*lifter).destinations, (*lifter).sources} {
		each(w, t.leaves, func(leaf int) {
			l := pool.Get().(*lifter)
			step(l, leaf)
			pool.Put(l)
		})
	}
}

// A lifter is the working memory of one goroutine.
type lifter struct {
	*table
	seed  uint64
	edges []coloring.Edge
	note  []int32 // one number for each edge
	out   []slot  // slots of one leaf, in the new order
}

// start forgets the leaf before.
func (l *lifter) start(n int) {
	size := n * l.servers
	l.edges = slices.Grow(l.edges[:0], size)
	l.note = slices.Grow(l.note[:0], size)[:size]
	l.out = slices.Grow(l.out[:0], size)[:size]
}

// slot notes that the slot at index i of the table belongs to left node u.
func (l *lifter) slot(u, i int) {
	l.edges = append(l.edges, coloring.Edge{U: int32(u), V: int32(l.slots[i].phase()), N: 1, First: int32(len(l.edges))})
}

func (l *lifter) color(n, leaf int, set func(unit, color int32)) {
	g := coloring.Graph{Left: l.servers, Right: l.phases + 1, Edges: l.edges}
	g.Color(n, coloring.Options{Seed: l.seed ^ uint64(leaf+1)<<32}, set)
}

// destinations orders every group of slots towards leaf b by destination server.
func (l *lifter) destinations(b int) {
	n := l.n[b]
	l.start(n)
	index := l.note[:0]
	for a := range l.leaves {
		for g := range l.n[a] {
			for j := range n {
				i := l.block(a, b) + g*n + j
				l.slot(l.first[a]+g, i)
				index = append(index, int32(i))
			}
		}
	}
	l.color(n, b, func(unit, color int32) {
		l.out[unit-unit%int32(n)+color] = l.slots[index[unit]]
	})
	for unit, i := range index {
		l.slots[i] = l.out[unit]
	}
}

// sources puts the slots of leaf a in their final places: a row of S for each
// source server, by destination rank.
func (l *lifter) sources(a int) {
	n := l.n[a]
	l.start(n)
	for b := range l.leaves {
		for beta := range l.n[b] {
			for g := range n {
				l.slot(l.first[b]+beta, l.block(a, b)+g*l.n[b]+beta)
			}
		}
	}
	row := l.note
	l.color(n, l.leaves+a, func(unit, color int32) { row[unit] = color })
	if l.dropsSelf() {
		l.selfToSelf(a, row)
	}
	unit := 0
	for b := range l.leaves {
		for beta := range l.n[b] {
			for g := range n {
				l.out[int(row[unit])*l.servers+l.first[b]+beta] = l.slots[l.block(a, b)+g*l.n[b]+beta]
				unit++
			}
		}
	}
	copy(l.slots[l.first[a]*l.servers:], l.out)
}

// selfToSelf renames the source servers of leaf a such that in the added phase
// each sends to itself. In that phase all n servers of the leaf send to, and
// hear from, servers of the leaf: a permutation. Names of source servers are
// free, so it may be made the identity.
func (l *lifter) selfToSelf(a int, row []int32) {
	n := l.n[a]
	name := make([]int32, n)
	unit := l.first[a] * n
	for beta := range n {
		for g := range n {
			if l.slots[l.block(a, a)+g*n+beta].phase() == l.phases {
				name[row[unit]] = int32(beta)
			}
			unit++
		}
	}
	for i, r := range row {
		row[i] = name[r]
	}
}

// each runs f for 0..n-1 on several goroutines and returns when all have ended.
func each(workers, n int, f func(i int)) {
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	wg.Wait()
}
