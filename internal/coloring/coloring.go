// Package coloring colours the edges of a bipartite multigraph such that edges with a common end
// differ, with as few colours as possible (Color), or each with a colour of its list (ListGraph).
//
// Nodes are dense integers, an edge is a pair of them with a multiplicity. By König's theorem
// k colours suffice whenever no node has more than k edges. Time is O(E log k) expected: an
// even degree is halved by an Euler split, an odd one is lowered by a perfect matching, found
// by the random walks of Goel, Kapralov and Khanna (STOC 2010). Parallel edges are kept as one
// with a weight for as long as that is shorter (Gabow and Kariv, 1982).
//
// Random numbers come only from the seed, and each part of the recursion draws its own: equal
// input, equal colouring, for any number of workers.
package coloring

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"evbench/internal/lists"
)

// An Edge joins left node U and right node V, N times. Its parallel copies are the units First,
// First+1, …, First+N-1 in the reports of Color; units of an edge with a negative First are
// coloured but not reported.
type Edge struct{ U, V, N, First int32 }

// A Graph is a bipartite multigraph with left nodes 0..Left-1 and right nodes 0..Right-1.
type Graph struct {
	Left, Right int
	Edges       []Edge
}

// Options steer Color; the zero value works.
type Options struct {
	// Seed chooses among the valid colourings.
	Seed uint64
	// Workers is how many goroutines may work at once. 0 means 1.
	Workers int
	// Memory, if not nil, is used and grown as needed, so that many colourings allocate little more
	// than the largest.
	Memory *Memory
}

// Memory is the working memory of a colouring. The zero value is ready; it serves
// one colouring at a time.
type Memory struct {
	workers []worker
	graph   multigraph
}

func (o Options) colorer(nodes int) (*colorer, *worker) {
	m := o.Memory
	n := max(o.Workers, 1)
	for len(m.workers) < n {
		m.workers = append(m.workers, worker{})
	}
	c := &colorer{nodes: nodes, shift: uint(min(31, 32-bits.Len32(uint32(nodes-1)))), seed: o.Seed, idle: make(chan *worker, n)}
	for i := 1; i < n; i++ {
		c.idle <- &m.workers[i]
	}
	return c, &m.workers[0]
}

// Degree returns the largest number of edges at one node.
func (g *Graph) Degree() int {
	left, right := g.degrees()
	return int(slices.Max(slices.Concat([]int32{0}, left, right)))
}

func (g *Graph) degrees() (left, right []int32) {
	left, right = make([]int32, g.Left), make([]int32, g.Right)
	for _, e := range g.Edges {
		left[e.U] += e.N
		right[e.V] += e.N
	}
	return left, right
}

// Color gives each unit of each edge a color 0..k-1 and reports it once through set. With several
// workers set is called concurrently, in any order. Color panics if a node has more than k edges.
func (g *Graph) Color(k int, o Options, set func(unit, color int32)) {
	if o.Memory == nil {
		o.Memory = &Memory{}
	}
	m := g.regular(int32(k), &o.Memory.graph)
	if m.nodes == 0 || k == 0 {
		return
	}
	c, w := o.colorer(m.nodes)
	c.set = set
	c.weighted(m, w, int32(k), 0)
}

// Rows colours a graph without parallel copies, given as rows: edge i joins left node i/k and right
// node right[i] < nodes. It returns the colour 0..k-1 of each edge, in memory that the next use of
// o.Memory overwrites. len(right) is a multiple of k. It panics if a right node has more than k
// edges.
func Rows(k int, right []int32, nodes int, o Options) []int32 {
	if len(right) == 0 {
		return nil
	}
	if o.Memory == nil {
		o.Memory = &Memory{}
	}
	degree := make([]int32, nodes)
	for _, v := range right {
		degree[v]++
	}
	bin, total := merge(degree, int32(k)) // at least as many as rows, as none has more than k edges
	c, w := o.colorer(len(total))
	p := w.begin(c, int32(k))
	j := int32(0)
	for _, v := range right {
		p.units = append(p.units, c.unit(bin[v], j))
		if j++; j == int32(k) {
			j = 0
		}
	}
	for v, d := range total { // rows that complete the bins
		for range int32(k) - d {
			p.units = append(p.units, c.unit(int32(v), j))
			if j++; j == int32(k) {
				j = 0
			}
		}
	}
	c.color(p, w, 0)
	return p.colors[:len(right)]
}

// unreported is the First of units that are not reported. It stays negative when any offset within
// an edge is added.
const unreported = math.MinInt32

// regular returns a k-regular graph that contains g. Nodes whose degrees together are at most k
// become one node, which only makes the colouring stricter and keeps the result below twice the
// size of g. Unreported edges complete the graph.
func (g *Graph) regular(k int32, to *multigraph) *multigraph {
	left, right := g.degrees()
	binL, degL := merge(left, k)
	binR, degR := merge(right, k)
	nodes := max(len(degL), len(degR))
	same := lists.Range[int32](nodes)
	return to.fill(nodes, part{g.Edges, binL, binR}, part{pad(nodes, degL, degR, k), same, same})
}

// merge packs nodes into bins of at most k edges, each into the last bin or a
// new one: two neighbouring bins hold more than k.
func merge(degree []int32, k int32) (bin, total []int32) {
	bin = make([]int32, len(degree))
	for v, d := range degree {
		if d > k {
			panic(fmt.Sprintf("coloring: node %d has %d edges, more than %d colours", v, d, k))
		}
		if last := len(total) - 1; last >= 0 && total[last]+d <= k {
			total[last] += d
		} else {
			total = append(total, d)
		}
		bin[v] = int32(len(total) - 1)
	}
	return bin, total
}

// pad returns unreported edges that complete nodes to k edges.
func pad(nodes int, degL, degR []int32, k int32) []Edge {
	missing := func(degree []int32, v int) int32 {
		if v < len(degree) {
			return k - degree[v]
		}
		return k
	}
	edges := make([]Edge, 0, 2*nodes)
	v, needV := 0, missing(degR, 0)
	for u := range nodes {
		for need := missing(degL, u); need > 0; {
			for needV == 0 {
				v++
				needV = missing(degR, v)
			}
			n := min(need, needV)
			edges = append(edges, Edge{int32(u), int32(v), n, unreported})
			need -= n
			needV -= n
		}
	}
	return edges
}
