package survey

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"evbench/topology"
)

// A spread gives the messages of one phase spines such that the largest number
// on one directed link is small: what routes chosen for that phase alone can do.
// No load below ⌈messages of a leaf / its live links⌉ is possible, so it tries
// that first and then one more, until it succeeds.
//
// A load of c is a colouring of the phase's leaf-to-leaf edges with c copies of
// every spine: edges of one leaf, on either side, get different copies, and only
// of spines alive at both ends (thesis 6.4; there by an integer program, for
// c = 1). Edges are coloured one by one; a blocked one is helped by an
// alternating path, and where dead links forbid that by a random edge giving
// way. So success is exact and failure is not: the load may be one too many.
type spread struct {
	tree  *topology.Tree
	known map[string]int // load by leaf pattern: phases repeat a few
}

func newSpread(t *topology.Tree) *spread { return &spread{tree: t, known: map[string]int{}} }

func (s *spread) duration(o *order, leaf []int) int {
	sum := 0
	for p := range len(o.start) - 1 {
		var edges [][2]int
		for _, m := range o.pair[o.start[p]:o.start[p+1]] {
			if a, b := leaf[m>>16], leaf[m&0xffff]; a != b {
				edges = append(edges, [2]int{a, b})
			}
		}
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
		for c = s.least(edges); !newCopies(s.tree, c).place(edges); c++ {
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

// copies is a partial colouring of one phase's edges with c copies of each spine:
// colour k·c + j is copy j of spine k.
type copies struct {
	tree   *topology.Tree
	c      int
	colors int
	out    []int32 // [leaf·colors + colour]: the edge that leaves by it, or free
	in     []int32 // likewise, enters
	edges  [][2]int
	color  []int
}

// free marks a colour that no edge of a leaf has, or an edge without colour.
const free = -1

func newCopies(t *topology.Tree, c int) *copies {
	n := t.Spines() * c
	return &copies{
		tree: t, c: c, colors: n,
		out: slices.Repeat([]int32{free}, t.Leaves()*n), in: slices.Repeat([]int32{free}, t.Leaves()*n),
	}
}

// place colours all edges and reports whether it could. Any c that reaches the
// most messages of a leaf succeeds: a single spine then holds them all.
func (p *copies) place(edges [][2]int) bool {
	p.edges, p.color = edges, slices.Repeat([]int{free}, len(edges))
	rng := rand.New(rand.NewPCG(uint64(len(edges)), uint64(p.c)))
	queue := make([]int, len(edges))
	for i := range queue {
		queue[i] = i
	}
	for kicks := 50 * len(edges); len(queue) > 0; {
		e := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if p.fits(e) || p.helped(e) {
			continue
		}
		if kicks--; kicks < 0 {
			return false
		}
		queue = p.kick(e, queue, rng)
	}
	return true
}

func (p *copies) may(e, color int) bool {
	k := color / p.c
	return p.tree.Alive(p.edges[e][0], k) && p.tree.Alive(p.edges[e][1], k)
}

func (p *copies) set(e, color int) {
	p.out[p.edges[e][0]*p.colors+color] = int32(e)
	p.in[p.edges[e][1]*p.colors+color] = int32(e)
	p.color[e] = color
}

func (p *copies) unset(e int) {
	p.out[p.edges[e][0]*p.colors+p.color[e]] = free
	p.in[p.edges[e][1]*p.colors+p.color[e]] = free
	p.color[e] = free
}

// fits gives an edge a colour that is free at both ends.
func (p *copies) fits(e int) bool {
	out, in := p.out[p.edges[e][0]*p.colors:], p.in[p.edges[e][1]*p.colors:]
	for x := range p.colors {
		if out[x] == free && in[x] == free && p.may(e, x) {
			p.set(e, x)
			return true
		}
	}
	return false
}

// helped gives an edge a colour x that is free at its source, after swapping it
// along an alternating path with a colour y that is free at its destination. The
// path does not come back to the source: it enters that side by y only.
func (p *copies) helped(e int) bool {
	out, in := p.out[p.edges[e][0]*p.colors:], p.in[p.edges[e][1]*p.colors:]
	for x := range p.colors {
		if out[x] != free || !p.may(e, x) {
			continue
		}
		for y := range p.colors {
			if in[y] != free {
				continue
			}
			if path, ok := p.path(int(in[x]), x, y); ok {
				p.swap(path, x, y)
				p.set(e, x)
				return true
			}
		}
	}
	return false
}

// path returns the edges that take turns in colours x and y from edge e on, which
// has x at a leaf where y is free, and whether all of them may swap.
func (p *copies) path(e, x, y int) (path []int, ok bool) {
	from, to := x, y
	for side := p.out; e != free; {
		if !p.may(e, to) {
			return nil, false
		}
		path = append(path, e)
		end := p.edges[e][0]
		if len(path)%2 == 0 {
			end = p.edges[e][1]
		}
		e = int(side[end*p.colors+to])
		from, to = to, from
		if side = p.in; len(path)%2 == 0 {
			side = p.out
		}
	}
	return path, true
}

func (p *copies) swap(path []int, x, y int) {
	old := make([]int, len(path))
	for i, e := range path {
		old[i] = p.color[e]
		p.unset(e)
	}
	for i, e := range path {
		p.set(e, x+y-old[i])
	}
}

// kick gives an edge a random colour that it may have; who had it there queues
// up again.
func (p *copies) kick(e int, queue []int, rng *rand.Rand) []int {
	x := rng.IntN(p.colors)
	for !p.may(e, x) {
		x = rng.IntN(p.colors)
	}
	for _, other := range []int32{p.out[p.edges[e][0]*p.colors+x], p.in[p.edges[e][1]*p.colors+x]} {
		if other != free && p.color[other] == x {
			p.unset(int(other))
			queue = slices.Insert(queue, 0, int(other))
		}
	}
	p.set(e, x)
	return queue
}
