package split

import "evbench/scheduler/internal/fattree"

// A Split says how many messages from each leaf to each other take each spine. The two directions
// of a pair of leaves are independent: equal directions can cost a phase (for example three leaves
// with an odd number of messages between each two).
//
// A node is one side of a leaf: node a < leaves sends, node leaves+b receives.
type Split struct {
	F       *fattree.Tree
	X       []int32 // by (from·leaves + to)·spines + spine
	Load    []int32 // by node·spines + spine
	Ceiling int32   // of each cable
	Over    int     // Σ of loads above what links take
}

// most returns how many messages a link takes.
func (s *Split) most(link int) int32 {
	if s.F.Cables == nil {
		return s.Ceiling
	}
	return s.Ceiling * int32(s.F.Cables[link%len(s.F.Cables)])
}

// At returns the index of the messages between node i and the leaf of node j on spine 0. One of the
// nodes sends, the other receives.
func (s *Split) At(i, j int) int {
	if i > j {
		i, j = j, i
	}
	return (i*s.F.Leaves + j - s.F.Leaves) * s.F.Spines
}

// Add adds messages between two nodes on a spine.
func (s *Split) Add(i, j, k int, d int32) {
	s.X[s.At(i, j)+k] += d
	s.addLoad(i*s.F.Spines+k, d)
	s.addLoad(j*s.F.Spines+k, d)
}

func (s *Split) addLoad(link int, d int32) {
	most := s.most(link)
	s.Over -= int(max(0, s.Load[link]-most))
	s.Load[link] += d
	s.Over += int(max(0, s.Load[link]-most))
}

// none stands for no leaf, spine or link.
const none = -1
