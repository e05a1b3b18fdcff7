package topology

import (
	"fmt"
	"slices"
)

// A Shape says how many leaves, spines, pods, top switches and cables a tree has, and which servers
// hang where. Servers are ranks.
type Shape struct {
	ports  int // M0
	leaves int
	spines int
	pods   int   // 1 on two levels
	tops   int   // 0 on two levels
	cables int   // between a leaf and a spine
	fill   []int // servers present on each leaf, in the lowest slots
	first  []int // rank of the first server of each leaf; first[leaves] = S
}

// Options returns the Options with which New makes the same tree, with every link alive.
func (s *Shape) Options() Options {
	o := Options{Ports: s.ports, Leaves: s.leaves, Spines: s.spines, Fill: s.Fill(), Tops: s.tops}
	if s.tops > 0 {
		o.Pods = s.pods
	}
	if s.cables > 1 {
		o.Cables = s.cables
	}
	return o
}

// Ports returns M0, the server ports of a leaf.
func (s *Shape) Ports() int { return s.ports }

// Levels returns the number of levels of switches, 2 or 3.
func (s *Shape) Levels() int {
	if s.tops > 0 {
		return 3
	}
	return 2
}

// Pods returns the number of pods; 1 on two levels.
func (s *Shape) Pods() int { return s.pods }

// PodLeaves returns the number of leaves of a pod. Pod q has the leaves from q·PodLeaves() on.
func (s *Shape) PodLeaves() int { return s.leaves / s.pods }

func (s *Shape) Pod(leaf int) int { return leaf / (s.leaves / s.pods) }

// AcrossPods reports whether two leaves are in different pods of three levels.
func (s *Shape) AcrossPods(a, b int) bool { return s.Pod(a) != s.Pod(b) }

// Tops returns the number of top switches in a plane; 0 on two levels.
func (s *Shape) Tops() int { return s.tops }

func (s *Shape) Leaves() int { return s.leaves }

// Spines returns the number of spines or, on three levels, of planes, each with a switch in every
// pod.
func (s *Shape) Spines() int { return s.spines }

// Cables returns the number of parallel cables between a leaf and a spine; 1 on three levels.
func (s *Shape) Cables() int { return s.cables }

// OneCable returns an error where cables are parallel, for callers that do not support such trees.
func (s *Shape) OneCable(who string) error {
	if s.cables == 1 {
		return nil
	}
	return fmt.Errorf("%s has %d cables between a leaf and a spine; %s with one", s.Notation(), s.cables, who)
}

// Middles returns the number of switches that have cables to leaves: the spines or, on three
// levels, the switches of all pods.
func (s *Shape) Middles() int { return s.pods * s.spines }

func (s *Shape) Switches() int { return s.leaves + s.Middles() + s.tops*s.spines }

// links returns the number of cables between switches.
func (s *Shape) links() int { return (s.leaves*s.cables + s.pods*s.tops) * s.spines }

// Servers returns S, the number of servers present.
func (s *Shape) Servers() int { return s.first[s.leaves] }

// ServersOn returns the number of servers present on a leaf.
func (s *Shape) ServersOn(leaf int) int { return s.fill[leaf] }

// Fill returns the number of servers on each leaf.
func (s *Shape) Fill() []int { return slices.Clone(s.fill) }

// Full reports whether every leaf has M0 servers.
func (s *Shape) Full() bool { return s.Servers() == s.ports*s.leaves }

// First returns the rank of the first server of a leaf. First(Leaves()) is S.
func (s *Shape) First(leaf int) int { return s.first[leaf] }

// Leaf returns the leaf on which the server of a rank sits. O(log M1).
func (s *Shape) Leaf(rank int) int {
	// The last leaf whose first rank is <= rank; empty leaves share a first rank.
	i, found := slices.BinarySearch(s.first, rank+1)
	if found {
		for s.first[i-1] == rank+1 {
			i--
		}
	}
	return i - 1
}

// LeafOfRanks returns the leaf of every rank, for loops over pairs.
func (s *Shape) LeafOfRanks() []int {
	leaf := make([]int, 0, s.Servers())
	for l := range s.leaves {
		for range s.fill[l] {
			leaf = append(leaf, l)
		}
	}
	return leaf
}

// Slot returns the port of its leaf at which the server of a rank sits.
func (s *Shape) Slot(rank int) int { return rank - s.first[s.Leaf(rank)] }

// Position returns the position slot + leaf·M0 of the server of a rank.
func (s *Shape) Position(rank int) int {
	l := s.Leaf(rank)
	return rank - s.first[l] + l*s.ports
}

// Positions returns the position of every rank.
func (s *Shape) Positions() []int {
	at := make([]int, 0, s.Servers())
	for leaf, n := range s.fill {
		for slot := range n {
			at = append(at, slot+leaf*s.ports)
		}
	}
	return at
}

// Rank returns the rank of the server at a position, and whether one is there.
func (s *Shape) Rank(position int) (int, bool) {
	l := position / s.ports
	if position < 0 || l >= s.leaves || position%s.ports >= s.fill[l] {
		return 0, false
	}
	return s.first[l] + position%s.ports, true
}

// ServerName returns "server" and the position of the server of a rank.
func (s *Shape) ServerName(rank int) string { return fmt.Sprintf("server%d", s.Position(rank)) }

// Notation returns FT(2;M0,M1) or FT(3;M0,M1,M2), PGFT(2;m;w;p) where cables are parallel, and
// PGFT(3;m;w;p) where the planes are not M0 or the top switches of a plane not M1.
func (s *Shape) Notation() string {
	m1 := s.PodLeaves()
	switch {
	case s.cables > 1:
		return fmt.Sprintf("PGFT(2;%d,%d;1,%d;1,%d)", s.ports, s.leaves, s.spines, s.cables)
	case s.tops == 0:
		return fmt.Sprintf("FT(2;%d,%d)", s.ports, s.leaves)
	case s.spines == s.ports && s.tops == m1:
		return fmt.Sprintf("FT(3;%d,%d,%d)", s.ports, m1, s.pods)
	}
	return fmt.Sprintf("PGFT(3;%d,%d,%d;1,%d,%d;1,1,1)", s.ports, m1, s.pods, s.spines, s.tops)
}

func (s *Shape) choices() string {
	if s.tops > 0 {
		return fmt.Sprintf("%s has leaf0..leaf%d, pod0..pod%d, spine0..spine%d and top0..top%d of each spine",
			s.Notation(), s.leaves-1, s.pods-1, s.spines-1, s.tops-1)
	}
	text := fmt.Sprintf("%s has leaf0..leaf%d and spine0..spine%d", s.Notation(), s.leaves-1, s.spines-1)
	if s.cables > 1 {
		text += fmt.Sprintf(", and cables /0../%d between each two", s.cables-1)
	}
	return text
}
