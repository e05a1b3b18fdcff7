package fattree

import (
	"fmt"

	"evbench/internal/coloring"
	"evbench/topology"
)

// A Tree is the planner's view of a tree: leaves and pods with servers only, renumbered
// from 0, and dense tables indexed leaf·spines + spine. On two levels there is one pod.
type Tree struct {
	Topology *topology.Tree
	Servers  int
	Leaves   int
	Spines   int // planes on three levels
	Pods     int
	Tops     int     // 0 on two levels
	Leaf     []int   // number in the tree
	N        []int   // servers on it
	First    []int   // rank of its first server
	Pod      []int   // of each leaf
	Name     []int   // number in the tree of each pod
	Alive    []bool  // by leaf·spines + spine
	Cables   []int   // likewise, live ones; nil: one where alive
	Live     []int   // live links of each leaf
	Pairs    []Pair  // a < b, in order, without those that share no spine
	Common   []int32 // the lists of the pairs
	apart    []bool  // by a·leaves + b: no live path joins them; nil until part

	// The readers and builders of each leaf; where all servers are both, these are n and first.
	R, B              []int // how many
	Readers, Builders []int // how many on the leaves before it
	Reach             []int // builders on other leaves that its readers send to
	Heard             []int // readers on other leaves that its builders hear; reach where all servers are both

	Both *Tree // of a directed fabric the one whose leaves it has twice, else nil

	alone  []int               // live top switches of a pod, by pod·planes + plane
	Shared []coloring.ColorSet // those of two pods, by between; nil until part
	Counts []int               // how many
}

// A Pair is two leaves and the spines they share, rising: at least one.
type Pair struct {
	A, B   int
	Spines []int32
}

func New(t *topology.Tree) *Tree {
	f := NewLower(t)
	if t.Levels() == 2 {
		return f
	}
	f.Tops, f.Pods, f.Name = t.Tops(), 0, nil
	for i, l := range f.Leaf {
		if q := t.Pod(l); f.Pods == 0 || f.Name[f.Pods-1] != q {
			f.Name = append(f.Name, q)
			f.Pods++
		}
		f.Pod[i] = f.Pods - 1
	}
	f.countTops()
	return f
}

// NewLower returns a fabric of three levels without the top switches.
func NewLower(t *topology.Tree) *Tree {
	f := &Tree{Topology: t, Servers: t.Servers(), Spines: t.Spines(), Pods: 1, Name: []int{0}, alone: make([]int, t.Spines())}
	for l := range t.Leaves() {
		if t.On(l) == 0 {
			continue
		}
		f.Leaf = append(f.Leaf, l)
		f.N = append(f.N, t.On(l))
		f.First = append(f.First, t.First(l))
		f.Reach = append(f.Reach, f.Servers-t.On(l))
		f.addRoles(l)
		f.Live = append(f.Live, 0)
		for k := range f.Spines {
			n := t.Live(l, k)
			f.Alive = append(f.Alive, n > 0)
			f.Live[f.Leaves] += n
			if t.Cables() > 1 {
				f.Cables = append(f.Cables, n)
			}
		}
		f.Leaves++
	}
	f.Pod = make([]int, f.Leaves)
	if !t.Roles() {
		f.R, f.B, f.Readers, f.Builders, f.Heard = f.N, f.N, f.First, f.First, f.Reach
	}
	return f
}

func (f *Tree) Link(leaf, spine int) int { return leaf*f.Spines + spine }

// Room returns how many messages a live link takes at a time.
func (f *Tree) Room(link int) int {
	if f.Cables == nil {
		return 1
	}
	return f.Cables[link]
}

// Part fills in the top switches that two pods share, and the leaves that no live path joins.
// O(leaves²·spines + pods²·spines·tops), but O(leaves²) where most are connected; once.
func (f *Tree) Part() {
	if f.apart != nil {
		return
	}
	f.meetAbove()
	f.apart = make([]bool, f.Leaves*f.Leaves)
	for a := range f.Leaves {
		for b := range a {
			if !f.joined(a, b) {
				f.apart[a*f.Leaves+b], f.apart[b*f.Leaves+a] = true, true
				f.Reach[a] -= f.B[b]
				f.Reach[b] -= f.B[a]
				if f.Topology.Roles() {
					f.Heard[a] -= f.R[b]
					f.Heard[b] -= f.R[a]
				}
			}
		}
	}
}

func (f *Tree) joined(a, b int) bool {
	for k := range f.Spines {
		if f.Usable(a, b, k) {
			return true
		}
	}
	return false
}

func (f *Tree) Usable(a, b, k int) bool {
	return f.Alive[f.Link(a, k)] && f.Alive[f.Link(b, k)] &&
		(f.Together(f.Pod[a], f.Pod[b]) || f.Counts[f.Between(f.Pod[a], f.Pod[b], k)] > 0)
}

// Share fills in the pairs. O(leaves²·spines), once.
func (f *Tree) Share() {
	if f.Pairs != nil {
		return
	}
	f.Part()
	f.Pairs = make([]Pair, 0, f.Leaves*(f.Leaves-1)/2)
	for a := range f.Leaves {
		for b := a + 1; b < f.Leaves; b++ {
			if f.Meets(a, b) {
				f.Pair(a, b)
			}
		}
	}
}

// Pair adds a pair of leaves, and reports whether they share a spine.
func (f *Tree) Pair(a, b int) bool {
	start := len(f.Common)
	for k := range f.Spines {
		if f.Usable(a, b, k) {
			f.Common = append(f.Common, int32(k))
		}
	}
	f.Pairs = append(f.Pairs, Pair{a, b, f.Common[start:len(f.Common):len(f.Common)]})
	return start < len(f.Common)
}

// Meets reports whether two leaves exchange messages. A leaf meets itself.
func (f *Tree) Meets(a, b int) bool { return !f.apart[a*f.Leaves+b] }

// Messages returns how many messages the readers of a leaf send to the builders of another.
func (f *Tree) Messages(a, b int) int { return f.R[a] * f.B[b] }

// Most returns the most messages that a server of leaf a sends, or receives, and how many these are
// if each that reads and builds also sends to itself.
func (f *Tree) Most(a int) (most, self int) {
	both := f.N[a]
	if f.Topology.Roles() {
		both = f.B[a]
		for _, reader := range f.ReaderOf(a) {
			if reader == none {
				both--
			}
		}
	}
	if f.R[a] > 0 {
		self = f.B[a] + f.Reach[a]
		most = self
		if both == f.R[a] {
			most--
		}
	}
	if f.B[a] > 0 {
		in := f.R[a] + f.Heard[a]
		self = max(self, in)
		if both == f.B[a] {
			in--
		}
		most = max(most, in)
	}
	return most, self
}

func (f *Tree) LeafOf() []int32 {
	out := make([]int32, 0, f.Servers)
	for l, n := range f.N {
		for range n {
			out = append(out, int32(l))
		}
	}
	return out
}

// Limits on memory.
const (
	MaxServers  = 1 << 15 // of a schedule: its table of pairs takes 4 bytes each
	maxSplit    = 1 << 28 // leaves²·spines, of FORS; and the states of a repair
	MaxPodState = 1 << 25 // phases times links of leaves, of a search on three levels
	maxPodPairs = 1 << 22 // pods²·planes
)

func (f *Tree) Check() error {
	if f.Servers > MaxServers || f.Leaves*f.Leaves*f.Spines > maxSplit || 2*f.Leaves*f.Spines*(f.Spines+1) > maxSplit {
		return fmt.Errorf("%d servers on %d leaves with %d spines are more than evbench can plan (at most %d servers, %d leaves²·spines)",
			f.Servers, f.Leaves, f.Spines, MaxServers, maxSplit)
	}
	if f.Pods*f.Pods*f.Spines > maxPodPairs {
		return fmt.Errorf("%d pods with %d planes are more than evbench can plan (at most %d pods²·planes)", f.Pods, f.Spines, maxPodPairs)
	}
	return nil
}

func CeilDiv(a, b int) int { return (a + b - 1) / b }

// Busiest returns the most messages of a server, the one to itself included: S, unless pairs of
// leaves are left out.
func (f *Tree) Busiest() int {
	most := 0
	for a := range f.Leaves {
		_, self := f.Most(a)
		most = max(most, self)
	}
	return most
}

// none stands for no spine, leaf, link or message.
const none = -1
