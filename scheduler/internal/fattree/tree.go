// Package fattree is a topology.Tree as planners see it: leaves and pods with servers only, numbered from
// 0, and links in dense tables. It answers which leaves can reach each other over which spines, planes and
// top switches, and how many messages they have for each other.
package fattree

import (
	"fmt"

	"evbench/internal/coloring"
	"evbench/topology"
)

// A Tree has tables indexed leaf·spines + spine. On two levels there is one pod.
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
	apart    []bool  // by a·leaves + b: no live path joins them; nil until Part

	// The readers and builders of each leaf; where all servers do both, these are N and First.
	R, B              []int // how many
	Readers, Builders []int // how many on the leaves before it
	Reach             []int // builders on other leaves that its readers send to
	Heard             []int // readers on other leaves that its builders hear; Reach where all servers do both

	Both *Tree // of a directed tree the one whose leaves it has twice, else nil

	alone  []int               // live top switches of a pod, by pod·planes + plane
	Shared []coloring.ColorSet // those of two pods, by Between; nil until Part
	Counts []int               // how many
}

// A Pair is two leaves and the spines they share, rising: at least one.
type Pair struct {
	A, B   int
	Spines []int32
}

// Link returns the index of a leaf and a spine.
func (f *Tree) Link(leaf, spine int) int { return leaf*f.Spines + spine }

// Room returns how many messages a live link takes at a time.
func (f *Tree) Room(link int) int {
	if f.Cables == nil {
		return 1
	}
	return f.Cables[link]
}

// Meets reports whether two leaves exchange messages. A leaf meets itself.
func (f *Tree) Meets(a, b int) bool { return !f.apart[a*f.Leaves+b] }

// Messages returns how many messages the readers of a leaf send to the builders of another.
func (f *Tree) Messages(a, b int) int { return f.R[a] * f.B[b] }

// LeafOf returns the leaf of each rank.
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

// Check returns an error where a plan would take too much memory.
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

// CeilDiv returns ⌈a/b⌉ of a ≥ 0, b > 0.
func CeilDiv(a, b int) int { return (a + b - 1) / b }

// none stands for no spine, leaf, link or message.
const none = -1

// ReaderOf returns the reader number of each builder of a leaf, none where it only builds.
func (f *Tree) ReaderOf(leaf int) (out []int32) {
	reader := int32(0)
	for rank := f.First[leaf]; rank < f.First[leaf]+f.N[leaf]; rank++ {
		i := int32(none)
		if f.Topology.Reads(rank) {
			i = reader
			reader++
		}
		if f.Topology.Builds(rank) {
			out = append(out, i)
		}
	}
	return out
}

// MostMessages returns the most messages that a server of leaf a sends, or receives, and how many these are
// if each that reads and builds also sends to itself.
func (f *Tree) MostMessages(a int) (most, self int) {
	both := f.N[a]
	if f.Topology.Divided() {
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

// Busiest returns the most messages of a server, the one to itself included: S, unless pairs of
// leaves are left out.
func (f *Tree) Busiest() int {
	most := 0
	for a := range f.Leaves {
		_, self := f.MostMessages(a)
		most = max(most, self)
	}
	return most
}
