package coloring

import "evbench/internal/lists"

// A CertificateKind says how a Certificate proves that edges cannot be coloured.
type CertificateKind int

const (
	// Hall: the edges at one node outnumber the colours of their lists.
	Hall CertificateKind = iota
	// Count: the size of a largest matching of the edges that allow a color bounds the edges of
	// that color; these sizes sum to less than the number of edges.
	Count
	// Exhausted: a search through all colourings found none. This is a claim, not a proof that can
	// be checked in less time.
	Exhausted
)

// A Certificate proves that a set of edges cannot all be coloured.
type Certificate struct {
	Kind  CertificateKind
	Edges []int32 // indices of the edges, rising
	// Node and Right are the common end of the edges: Hall only.
	Node  int
	Right bool
	// Colors are all colours in the lists of the edges.
	Colors ColorSet
	// Most is how many of the edges can have each of Colors at once, in order of the colours: Count
	// only.
	Most []int
}

func (g *ListGraph) all() []int32 { return lists.Range[int32](len(g.Edges)) }

// crowded returns a Hall certificate of the node with the most surplus edges, or nil: at each node
// a matching of edges and colours decides (Hall). O(Σ deg²·|list|) at worst; nodes whose lists all
// have as many colours as the node has edges cost almost nothing.
func (g *ListGraph) crowded() *Certificate {
	var worst *Certificate
	over := 0
	edges := g.byNode()
	for node, at := range edges {
		ok := true
		for _, e := range at {
			ok = ok && g.Edges[e].List.Len() >= len(at)
		}
		if ok {
			continue
		}
		if c, more := g.hall(node, at); c != nil && more > over {
			over = more
			c.Node, c.Right = node, node >= g.Left
			if c.Right {
				c.Node -= g.Left
			}
			worst = c
		}
	}
	return worst
}

func (g *ListGraph) byNode() [][]int32 {
	out := make([][]int32, g.Left+g.Right)
	for i, e := range g.Edges {
		out[e.U] = append(out[e.U], int32(i))
		out[g.Left+int(e.V)] = append(out[g.Left+int(e.V)], int32(i))
	}
	return out
}

// hall matches the edges of a node to colours. If edges stay unmatched, the edges on alternating
// paths from them are the set with the most surplus edges; hall returns it and the surplus, or nil.
func (g *ListGraph) hall(node int, at []int32) (*Certificate, int) {
	var owners [MaxListColors][]int32 // indices in at, by color
	var tried ColorSet
	var try func(i int) bool
	try = func(i int) bool {
		list := g.Edges[at[i]].List
		for c := list.Next(0); c >= 0; c = list.Next(c + 1) {
			if tried.Has(c) {
				continue
			}
			tried.Add(c)
			if len(owners[c]) < g.room(node, c) {
				owners[c] = append(owners[c], int32(i))
				return true
			}
			for n, owner := range owners[c] {
				if try(int(owner)) {
					owners[c][n] = int32(i)
					return true
				}
			}
		}
		return false
	}
	var over []int
	for i := range at {
		if tried = (ColorSet{}); !try(i) {
			over = append(over, i)
		}
	}
	if over == nil {
		return nil, 0
	}
	tried = ColorSet{}
	in := make([]bool, len(at))
	for _, i := range over {
		in[i] = true
		try(i) // fails; tried is the colours that it reaches
	}
	cert := &Certificate{Kind: Hall, Colors: tried}
	for c := tried.Next(0); c >= 0; c = tried.Next(c + 1) {
		for _, i := range owners[c] {
			in[i] = true
		}
	}
	for i, e := range at {
		if in[i] {
			cert.Edges = append(cert.Edges, e)
		}
	}
	return cert, len(over)
}

// scarce returns a Count certificate of all edges or of the edges of one component, or nil.
func (g *ListGraph) scarce() *Certificate {
	if c := g.count(g.all()); c != nil {
		return c
	}
	parts := g.components()
	for _, edges := range parts {
		if len(parts) == 1 {
			break
		}
		if c := g.count(edges); c != nil {
			return c
		}
	}
	return nil
}

// count sums the largest matchings of the colours.
func (g *ListGraph) count(edges []int32) *Certificate {
	cert := &Certificate{Kind: Count, Edges: edges}
	for _, e := range edges {
		cert.Colors = cert.Colors.Or(g.Edges[e].List)
	}
	sum := 0
	for c := cert.Colors.Next(0); c >= 0 && sum < len(edges); c = cert.Colors.Next(c + 1) {
		n := g.matching(edges, c)
		cert.Most = append(cert.Most, n)
		sum += n
	}
	if sum >= len(edges) {
		return nil
	}
	return cert
}

// matching returns how many of the edges that allow a color can have it at once. O(Left·E).
func (g *ListGraph) matching(edges []int32, color int) int {
	next, held := make([][]int32, g.Left), make([][]int32, g.Right)
	for _, e := range edges {
		if x := &g.Edges[e]; x.List.Has(color) {
			next[x.U] = append(next[x.U], e)
		}
	}
	taken, seen := make([]bool, len(g.Edges)), make([]int, g.Right)
	round := 0
	var try func(u int32) bool
	try = func(u int32) bool {
		for _, e := range next[u] {
			v := g.Edges[e].V
			if taken[e] || seen[v] == round {
				continue
			}
			seen[v] = round
			if len(held[v]) < g.room(g.Left+int(v), color) {
				held[v], taken[e] = append(held[v], e), true
				return true
			}
			for i, f := range held[v] {
				if try(g.Edges[f].U) {
					held[v][i], taken[e], taken[f] = e, true, false
					return true
				}
			}
		}
		return false
	}
	n := 0
	for u := range next {
		for range g.room(u, color) {
			if round++; try(int32(u)) {
				n++
			}
		}
	}
	return n
}

func (g *ListGraph) components() [][]int32 {
	root := lists.Range[int](g.Left + g.Right)
	find := func(x int) int {
		for root[x] != x {
			root[x] = root[root[x]]
			x = root[x]
		}
		return x
	}
	for _, e := range g.Edges {
		root[find(int(e.U))] = find(g.Left + int(e.V))
	}
	number := make(map[int]int)
	var out [][]int32
	for i, e := range g.Edges {
		r := find(int(e.U))
		n, ok := number[r]
		if !ok {
			n = len(out)
			number[r] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], int32(i))
	}
	return out
}
