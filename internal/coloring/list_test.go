package coloring_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/internal/coloring"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// lists returns a graph of random edges and lists of colours below colors.
func lists(rng *rand.Rand, left, right, edges, colors int, share float64) *coloring.ListGraph {
	g := &coloring.ListGraph{Left: left, Right: right}
	for range edges {
		e := coloring.ListEdge{U: int32(rng.IntN(left)), V: int32(rng.IntN(right))}
		for c := range colors {
			if rng.Float64() < share {
				e.List.Add(c)
			}
		}
		g.Edges = append(g.Edges, e)
	}
	return g
}

// proper checks a colouring, complete or not, and returns how many edges have none.
func proper(t testing.TB, g *coloring.ListGraph, color []int16) int {
	t.Helper()
	type end struct {
		right bool
		node  int32
		color int16
	}
	seen := make(map[end]bool)
	open := 0
	for i, e := range g.Edges {
		c := color[i]
		if c < 0 {
			open++
			continue
		}
		u, v := end{false, e.U, c}, end{true, e.V, c}
		expect.MustTrue(t, e.List.Has(int(c)) && !seen[u] && !seen[v], "edge %d, %d-%d: colour %d is taken or not in its list", i, e.U, e.V, c)
		seen[u], seen[v] = true, true
	}
	return open
}

// fewest returns the least number of edges that must stay without a colour, by
// looking through everything.
func fewest(g *coloring.ListGraph) int {
	used := make(map[[2]int32]bool)
	best := len(g.Edges)
	var try func(i, open int)
	try = func(i, open int) {
		if open >= best {
			return
		}
		if i == len(g.Edges) {
			best = open
			return
		}
		e := g.Edges[i]
		for c := e.List.Next(0); c >= 0; c = e.List.Next(c + 1) {
			u, v := [2]int32{e.U, int32(c)}, [2]int32{-1 - e.V, int32(c)}
			if used[u] || used[v] {
				continue
			}
			used[u], used[v] = true, true
			try(i+1, open)
			used[u], used[v] = false, false
		}
		try(i+1, open+1)
	}
	try(0, 0)
	return best
}

// convinced checks a certificate from its edges alone.
func convinced(t testing.TB, g *coloring.ListGraph, c *coloring.Certificate) {
	t.Helper()
	expect.MustTrue(t, slices.IsSorted(c.Edges) && len(slices.Compact(slices.Clone(c.Edges))) == len(c.Edges), "edges %v: not rising", c.Edges)
	colors := make(map[int]bool)
	for _, i := range c.Edges {
		e := g.Edges[i]
		expect.MustFalse(t, c.Kind == coloring.Hall && int(map[bool]int32{false: e.U, true: e.V}[c.Right]) != c.Node,
			"%+v: edge %d is not at the node", c, i)
		for k := range coloring.MaxListColors {
			if e.List.Has(k) {
				colors[k] = true
				expect.MustTrue(t, c.Colors.Has(k), "%+v: edge %d may have colour %d too", c, i, k)
			}
		}
	}
	expect.MustFalse(t, c.Kind == coloring.Hall && len(colors) >= len(c.Edges),
		"%+v: %d edges, %d colours: proves nothing", c, len(c.Edges), len(colors))
	if c.Kind == coloring.Count {
		sum, at := 0, 0
		for k := range coloring.MaxListColors {
			if c.Colors.Has(k) {
				n := largest(g, c.Edges, k)
				expect.MustTrue(t, c.Most[at] == n, "%+v: colour %d serves %d edges at once", c, k, n)
				sum += n
				at++
			}
		}
		expect.MustTrue(t, sum < len(c.Edges), "%+v: %d of %d edges: proves nothing", c, sum, len(c.Edges))
	}
}

// largest returns the size of a largest matching of the edges that allow a colour:
// by trying, for each edge in turn, to take it or not.
func largest(g *coloring.ListGraph, edges []int32, color int) int {
	if len(edges) == 0 {
		return 0
	}
	e, best := g.Edges[edges[0]], largest(g, edges[1:], color)
	if !e.List.Has(color) {
		return best
	}
	var rest []int32
	for _, i := range edges[1:] {
		if f := g.Edges[i]; f.U != e.U && f.V != e.V {
			rest = append(rest, i)
		}
	}
	return max(best, 1+largest(g, rest, color))
}

func TestListColorRandom(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(11, 2))
	kinds := make(map[string]int)
	for i := range 6000 {
		g := lists(rng, 1+rng.IntN(4), 1+rng.IntN(4), rng.IntN(10), 1+rng.IntN(5), 0.2+0.8*rng.Float64())
		r := g.Color(coloring.ListOptions{Seed: uint64(i)})
		open, least := proper(t, g, r.Color), fewest(g)
		want := coloring.Colored
		if least > 0 {
			want = coloring.Impossible
		}
		expect.MustTrue(t, r.Outcome == want && open == r.Uncolored && (r.Certificate != nil) == (least > 0),
			"graph %d, %+v: outcome %v with %d uncoloured, certificate %v; the fewest is %d", i, g, r.Outcome, open, r.Certificate, least)
		kind := "coloured"
		if least > 0 {
			convinced(t, g, r.Certificate)
			kind = fmt.Sprint(r.Certificate.Kind)
		}
		kinds[kind]++
		p := g.Color(coloring.ListOptions{Seed: uint64(i), Partial: true, Steps: 300})
		if open := proper(t, g, p.Color); open != p.Uncolored || open > least {
			t.Errorf("graph %d: the partial colouring leaves %d, the fewest is %d", i, open, least)
		}
	}
	expect.True(t, len(kinds) == 4, "outcomes %v: want every kind of certificate", kinds)
}

// TestListColorLong gives every edge a list as long as the larger degree of its
// ends, which always suffices (Borodin, Kostochka, Woodall), and as the largest
// degree of all (Galvin), for which stable matchings do without search.
func TestListColorLong(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 8))
	for i := range 3000 {
		g := lists(rng, 1+rng.IntN(9), 1+rng.IntN(9), 1+rng.IntN(60), 1, 0)
		degree := make(map[int32]int)
		for _, e := range g.Edges {
			degree[e.U]++
			degree[-1-e.V]++
		}
		most := 0
		for _, d := range degree {
			most = max(most, d)
		}
		colors := most + rng.IntN(most+1)
		for j, e := range g.Edges {
			n := max(degree[e.U], degree[-1-e.V])
			if i%2 == 0 {
				n = most
			}
			for _, c := range rng.Perm(colors)[:n] {
				g.Edges[j].List.Add(c)
			}
		}
		o := coloring.ListOptions{Seed: uint64(i), Nodes: -1}
		if i%2 == 0 {
			o.Steps = -1
		}
		r := g.Color(o)
		expect.MustTrue(t, r.Outcome == coloring.Colored && proper(t, g, r.Color) == 0,
			"graph %d, %+v: outcome %v, %d uncoloured", i, g, r.Outcome, r.Uncolored)
	}
}

// TestListColorHonest leaves out the searches: what is then not coloured is not
// called impossible unless it is.
func TestListColorHonest(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 4))
	outcomes := make(map[coloring.Outcome]int)
	for i := range 3000 {
		g := lists(rng, 3, 3, 5+rng.IntN(5), 3+rng.IntN(2), 0.6)
		r := g.Color(coloring.ListOptions{Seed: uint64(i), Steps: -1, Nodes: -1})
		outcomes[r.Outcome]++
		open := proper(t, g, r.Color)
		least := fewest(g)
		expect.MustFalse(t, r.Uncolored != open || (r.Outcome == coloring.Colored) != (open == 0) || r.Outcome == coloring.Impossible && least == 0,
			"graph %d, %+v: outcome %v with %d uncoloured, the fewest is %d", i, g, r.Outcome, open, least)
		if r.Outcome == coloring.Impossible {
			convinced(t, g, r.Certificate)
		}
	}
	expect.True(t, len(outcomes) == 3, "outcomes %v: want all three", outcomes)
}

// TestExtend adds an edge to a colouring.
func TestExtend(t *testing.T) {
	need.Heavy(t)
	t.Parallel()
	rng := rand.New(rand.NewPCG(6, 4))
	added, all := 0, expect.Samples(2000, 700)
	for i := range all {
		g := lists(rng, 4, 4, 1+rng.IntN(14), 4, 0.8)
		last := len(g.Edges) - 1
		most := &coloring.ListGraph{Left: 4, Right: 4, Edges: g.Edges[:last]}
		color := append(most.Color(coloring.ListOptions{Seed: uint64(i), Partial: true}).Color, -1)
		before, open := slices.Clone(color), proper(t, g, color)
		if g.Extend(color) {
			expect.MustTrue(t, proper(t, g, color) == 0, "graph %d: %v says all are coloured", i, color)
			added++
		} else if !slices.Equal(color, before) {
			t.Fatalf("graph %d with %d uncoloured: not extended, but changed", i, open)
		}
	}
	expect.True(t, added >= all/10, "only %d of %d were extended", added, all)
}

func TestListColorSame(t *testing.T) {
	g := lists(rand.New(rand.NewPCG(1, 1)), 18, 18, 300, 20, 0.85)
	a, b := g.Color(coloring.ListOptions{Seed: 9}), g.Color(coloring.ListOptions{Seed: 9})
	expect.True(t, a.Outcome == b.Outcome && slices.Equal(a.Color, b.Color), "the same seed gives two colourings")
}

func TestColorSet(t *testing.T) {
	var s coloring.ColorSet
	want := []int{0, 5, 63, 64, 127, 128, 200, 255}
	for _, c := range want {
		s.Add(c)
	}
	var got []int
	for c := s.Next(0); c >= 0; c = s.Next(c + 1) {
		got = append(got, c)
	}
	expect.True(t, slices.Equal(got, want) && s.Len() == len(want), "%v, %d: want %v", got, s.Len(), want)
	var u coloring.ColorSet
	u.Add(64)
	u.Add(65)
	both, either, rest := s.And(u), s.Or(u), s.Without(u)
	expect.True(t, both.Len() == 1 && both.Has(64) && either.Len() == 9 && rest.Len() == 7 && !rest.Has(64),
		"%v and %v: %v in both, %v in either, %v in the first", s, u, both, either, rest)
	if s.Remove(64); s.Has(64) || s.Len() != 7 {
		t.Errorf("64 removed: %v", s)
	}
}
