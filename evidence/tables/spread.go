package tables

import (
	"encoding/binary"
	"slices"

	"evbench/internal/coloring"
	"evbench/scheduler"
	"evbench/topology"
)

// A spread gives the messages of one phase spines such that the largest number on one directed link
// is small: the best of routes for that phase alone. No load below ⌈messages of a leaf / its live
// links⌉ is possible, so it tries that load first and then one more, until it succeeds.
//
// A load of c is a colouring of the phase's leaf-to-leaf edges with spines, in which a leaf has
// room for c edges of a spine on either side, and only spines alive at both ends are allowed
// (thesis 6.4; there by an integer program, for c = 1). Success is exact; where the search gives
// up the load may be one too many.
type spread struct {
	tree  *topology.Tree
	known map[string]int // load by leaf pattern: phases repeat a few
}

func newSpread(t *topology.Tree) *spread { return &spread{tree: t, known: map[string]int{}} }

func (s *spread) duration(o *scheduler.Schedule, leaf []int) int {
	phases := make([][][2]int, o.Phases)
	for src := range o.Ranks {
		for dst := range o.Ranks {
			if a, b := leaf[src], leaf[dst]; a != b && o.Meets(src, dst) {
				p, _ := o.At(src, dst)
				phases[p] = append(phases[p], [2]int{a, b})
			}
		}
	}
	sum := 0
	for _, edges := range phases {
		sum += max(1, s.load(edges))
	}
	return sum
}

func (s *spread) load(edges [][2]int) int {
	slices.SortFunc(edges, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	var key []byte
	for _, e := range edges {
		key = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(key, uint16(e[0])), uint16(e[1]))
	}
	c, ok := s.known[string(key)]
	if !ok {
		for c = s.least(edges); !s.fits(edges, c); c++ {
		}
		s.known[string(key)] = c
	}
	return c
}

// least is the load that the leaf with the most messages per live link needs.
func (s *spread) least(edges [][2]int) int {
	count := make([]int, 2*s.tree.Leaves())
	for _, e := range edges {
		count[2*e[0]]++
		count[2*e[1]+1]++
	}
	most := 0
	for i, n := range count {
		most = max(most, ceilDiv(n, max(1, len(s.tree.AliveSpines(i/2)))))
	}
	return most
}

// fits reports whether the search finds spines with no load above c.
func (s *spread) fits(edges [][2]int, c int) bool {
	t := s.tree
	g := &coloring.ListGraph{Left: t.Leaves(), Right: t.Leaves(), Room: func(int, int) int { return c }}
	for _, e := range edges {
		x := coloring.ListEdge{U: int32(e[0]), V: int32(e[1])}
		for _, k := range t.CommonSpines(e[0], e[1]) {
			x.List.Add(k)
		}
		g.Edges = append(g.Edges, x)
	}
	return g.Color(coloring.ListOptions{Steps: 50 * len(edges), Nodes: 1000}).Outcome == coloring.Colored
}
