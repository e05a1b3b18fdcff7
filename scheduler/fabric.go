package scheduler

import (
	"fmt"

	"evbench/internal/coloring"
	"evbench/topology"
)

// A fabric is the planner's view of a tree: leaves and pods with servers only, renumbered
// from 0, and dense tables indexed leaf·spines + spine. On two levels there is one pod.
type fabric struct {
	tree    *topology.Tree
	servers int
	leaves  int
	spines  int // planes on three levels
	pods    int
	tops    int     // 0 on two levels
	leaf    []int   // number in the tree
	n       []int   // servers on it
	first   []int   // rank of its first server
	pod     []int   // of each leaf
	name    []int   // number in the tree of each pod
	alive   []bool  // by leaf·spines + spine
	cables  []int   // likewise, live ones; nil: one where alive
	live    []int   // live links of each leaf
	pairs   []pair  // a < b, in order, without those that share no spine
	common  []int32 // the lists of the pairs
	apart   []bool  // by a·leaves + b: no live path joins them; nil until part

	// The readers and builders of each leaf; where all servers are both, these are n and first.
	r, b              []int // how many
	readers, builders []int // how many on the leaves before it
	reach             []int // builders on other leaves that its readers send to
	heard             []int // readers on other leaves that its builders hear; reach where all servers are both

	both *fabric // of a directed fabric the one whose leaves it has twice, else nil

	alone  []int               // live top switches of a pod, by pod·planes + plane
	shared []coloring.ColorSet // those of two pods, by between; nil until part
	counts []int               // how many
}

// A pair is two leaves and the spines they share, rising: at least one.
type pair struct {
	a, b   int
	spines []int32
}

func newFabric(t *topology.Tree) *fabric {
	f := newLower(t)
	if t.Levels() == 2 {
		return f
	}
	f.tops, f.pods, f.name = t.Tops(), 0, nil
	for i, l := range f.leaf {
		if q := t.Pod(l); f.pods == 0 || f.name[f.pods-1] != q {
			f.name = append(f.name, q)
			f.pods++
		}
		f.pod[i] = f.pods - 1
	}
	f.countTops()
	return f
}

// newLower returns a fabric of three levels without the top switches.
func newLower(t *topology.Tree) *fabric {
	f := &fabric{tree: t, servers: t.Servers(), spines: t.Spines(), pods: 1, name: []int{0}, alone: make([]int, t.Spines())}
	for l := range t.Leaves() {
		if t.On(l) == 0 {
			continue
		}
		f.leaf = append(f.leaf, l)
		f.n = append(f.n, t.On(l))
		f.first = append(f.first, t.First(l))
		f.reach = append(f.reach, f.servers-t.On(l))
		f.addRoles(l)
		f.live = append(f.live, 0)
		for k := range f.spines {
			n := t.Live(l, k)
			f.alive = append(f.alive, n > 0)
			f.live[f.leaves] += n
			if t.Cables() > 1 {
				f.cables = append(f.cables, n)
			}
		}
		f.leaves++
	}
	f.pod = make([]int, f.leaves)
	if !t.Roles() {
		f.r, f.b, f.readers, f.builders, f.heard = f.n, f.n, f.first, f.first, f.reach
	}
	return f
}

func (f *fabric) link(leaf, spine int) int { return leaf*f.spines + spine }

// room returns how many messages a live link takes at a time.
func (f *fabric) room(link int) int {
	if f.cables == nil {
		return 1
	}
	return f.cables[link]
}

// part fills in the top switches that two pods share, and the leaves that no live path joins.
// O(leaves²·spines + pods²·spines·tops), but O(leaves²) where most are connected; once.
func (f *fabric) part() {
	if f.apart != nil {
		return
	}
	f.meetAbove()
	f.apart = make([]bool, f.leaves*f.leaves)
	for a := range f.leaves {
		for b := range a {
			if !f.joined(a, b) {
				f.apart[a*f.leaves+b], f.apart[b*f.leaves+a] = true, true
				f.reach[a] -= f.b[b]
				f.reach[b] -= f.b[a]
				if f.tree.Roles() {
					f.heard[a] -= f.r[b]
					f.heard[b] -= f.r[a]
				}
			}
		}
	}
}

func (f *fabric) joined(a, b int) bool {
	for k := range f.spines {
		if f.usable(a, b, k) {
			return true
		}
	}
	return false
}

func (f *fabric) usable(a, b, k int) bool {
	return f.alive[f.link(a, k)] && f.alive[f.link(b, k)] &&
		(f.together(f.pod[a], f.pod[b]) || f.counts[f.between(f.pod[a], f.pod[b], k)] > 0)
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
			if f.meets(a, b) {
				f.pair(a, b)
			}
		}
	}
}

// pair adds a pair of leaves, and reports whether they share a spine.
func (f *fabric) pair(a, b int) bool {
	start := len(f.common)
	for k := range f.spines {
		if f.usable(a, b, k) {
			f.common = append(f.common, int32(k))
		}
	}
	f.pairs = append(f.pairs, pair{a, b, f.common[start:len(f.common):len(f.common)]})
	return start < len(f.common)
}

// meets reports whether two leaves exchange messages. A leaf meets itself.
func (f *fabric) meets(a, b int) bool { return !f.apart[a*f.leaves+b] }

// messages returns how many messages the readers of a leaf send to the builders of another.
func (f *fabric) messages(a, b int) int { return f.r[a] * f.b[b] }

// most returns the most messages that a server of leaf a sends, or receives, and how many these are
// if each that reads and builds also sends to itself.
func (f *fabric) most(a int) (most, self int) {
	both := f.n[a]
	if f.tree.Roles() {
		both = f.b[a]
		for _, reader := range f.readerOf(a) {
			if reader == none {
				both--
			}
		}
	}
	if f.r[a] > 0 {
		self = f.b[a] + f.reach[a]
		most = self
		if both == f.r[a] {
			most--
		}
	}
	if f.b[a] > 0 {
		in := f.r[a] + f.heard[a]
		self = max(self, in)
		if both == f.b[a] {
			in--
		}
		most = max(most, in)
	}
	return most, self
}

func (f *fabric) leafOf() []int32 {
	out := make([]int32, 0, f.servers)
	for l, n := range f.n {
		for range n {
			out = append(out, int32(l))
		}
	}
	return out
}

// Limits on memory.
const (
	maxServers  = 1 << 15 // of a schedule: its table of pairs takes 4 bytes each
	maxSplit    = 1 << 28 // leaves²·spines, of FORS; and the states of a repair
	maxPodState = 1 << 25 // phases times links of leaves, of a search on three levels
	maxPodPairs = 1 << 22 // pods²·planes
)

func (f *fabric) check() error {
	if f.servers > maxServers || f.leaves*f.leaves*f.spines > maxSplit || 2*f.leaves*f.spines*(f.spines+1) > maxSplit {
		return fmt.Errorf("%d servers on %d leaves with %d spines are more than evbench can plan (at most %d servers, %d leaves²·spines)",
			f.servers, f.leaves, f.spines, maxServers, maxSplit)
	}
	if f.pods*f.pods*f.spines > maxPodPairs {
		return fmt.Errorf("%d pods with %d planes are more than evbench can plan (at most %d pods²·planes)", f.pods, f.spines, maxPodPairs)
	}
	return nil
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// busiest returns the most messages of a server, the one to itself included: S, unless pairs of
// leaves are left out.
func (f *fabric) busiest() int {
	most := 0
	for a := range f.leaves {
		_, self := f.most(a)
		most = max(most, self)
	}
	return most
}

// none stands for no spine, leaf, link or message.
const none = -1
