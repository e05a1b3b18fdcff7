package scheduler

import "evbench/topology"

// A fabric is the planner's view of a tree: leaves with servers only, renumbered
// 0..leaves-1, and dense tables indexed leaf·spines + spine.
type fabric struct {
	tree    *topology.Tree
	servers int
	leaves  int
	spines  int
	leaf    []int   // number in the tree
	n       []int   // servers on it
	first   []int   // rank of its first server
	alive   []bool  // by leaf·spines + spine
	live    []int   // live spines of each leaf
	pairs   []pair  // a < b, in order
	common  []int32 // the lists of the pairs
}

// A pair is two leaves and the spines they share, rising.
type pair struct {
	a, b   int
	spines []int32
}

func newFabric(t *topology.Tree) *fabric {
	f := &fabric{tree: t, servers: t.Servers(), spines: t.Spines()}
	for l := range t.Leaves() {
		if t.On(l) == 0 {
			continue
		}
		f.leaf = append(f.leaf, l)
		f.n = append(f.n, t.On(l))
		f.first = append(f.first, t.First(l))
		live := 0
		for k := range f.spines {
			f.alive = append(f.alive, t.Alive(l, k))
			if t.Alive(l, k) {
				live++
			}
		}
		f.live = append(f.live, live)
	}
	f.leaves = len(f.leaf)
	return f
}

// link returns the index of a leaf's link to a spine.
func (f *fabric) link(leaf, spine int) int { return leaf*f.spines + spine }

// share fills in the pairs.
func (f *fabric) share() {
	f.pairs = make([]pair, 0, f.leaves*(f.leaves-1)/2)
	for a := range f.leaves {
		for b := a + 1; b < f.leaves; b++ {
			start := len(f.common)
			for k := range f.spines {
				if f.alive[f.link(a, k)] && f.alive[f.link(b, k)] {
					f.common = append(f.common, int32(k))
				}
			}
			f.pairs = append(f.pairs, pair{a, b, f.common[start:len(f.common):len(f.common)]})
		}
	}
}

// messages returns how many messages leaf a has for leaf b.
func (f *fabric) messages(a, b int) int { return f.n[a] * f.n[b] }
