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
	reach   []int   // servers on other leaves that each leaf exchanges messages with
	pairs   []pair  // a < b, in order, without those that share no spine
	common  []int32 // the lists of the pairs
	apart   []bool  // by a·leaves + b: they share no spine; nil until part
}

// A pair is two leaves and the spines they share, rising: at least one.
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
		f.reach = append(f.reach, f.servers-t.On(l))
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

// part takes leaves that share no spine out of each other's reach. O(leaves²·spines),
// but O(leaves²) where most are connected; once.
func (f *fabric) part() { f.partBy(f.touch) }

// partBy is part for leaves that meet where reach says so.
func (f *fabric) partBy(reach func(a, b int) bool) {
	if f.apart != nil {
		return
	}
	f.apart = make([]bool, f.leaves*f.leaves)
	for a := range f.leaves {
		for b := range a {
			if !reach(a, b) {
				f.apart[a*f.leaves+b], f.apart[b*f.leaves+a] = true, true
				f.reach[a] -= f.n[b]
				f.reach[b] -= f.n[a]
			}
		}
	}
}

// touch reports whether two leaves share a live spine.
func (f *fabric) touch(a, b int) bool {
	for k := range f.spines {
		if f.alive[f.link(a, k)] && f.alive[f.link(b, k)] {
			return true
		}
	}
	return false
}

// share fills in the pairs. O(leaves²·spines), once.
func (f *fabric) share() {
	if f.pairs != nil {
		return
	}
	f.part()
	f.pairs = make([]pair, 0, f.leaves*(f.leaves-1)/2)
	for a := range f.leaves {
		for b := a + 1; b < f.leaves; b++ {
			if !f.meets(a, b) {
				continue
			}
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

// meets reports whether two leaves exchange messages. A leaf does with itself.
func (f *fabric) meets(a, b int) bool { return !f.apart[a*f.leaves+b] }

// messages returns how many messages leaf a has for a leaf b that it meets.
func (f *fabric) messages(a, b int) int { return f.n[a] * f.n[b] }

// sends returns how many messages each server of leaf i sends.
func (f *fabric) sends(i int) int { return f.n[i] - 1 + f.reach[i] }
