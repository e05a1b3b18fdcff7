package scheduler

import (
	"math/rand/v2"
	"testing"

	"evbench/internal/coloring"
)

// possible reports whether the edges have a list colouring, by trying all.
func possible(edges []listEdge, color []int) bool {
	e := len(color)
	if e == len(edges) {
		return true
	}
	for c := edges[e].list.Next(0); c != none; c = edges[e].list.Next(c + 1) {
		ok := true
		for f, d := range color {
			ok = ok && (d != c || edges[f].u != edges[e].u && edges[f].v != edges[e].v)
		}
		if ok && possible(edges, append(color, c)) {
			return true
		}
	}
	return false
}

// TestListColorer compares the search with one that tries everything, on graphs
// of up to four nodes a side with random lists.
func TestListColorer(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var c listColorer
	yes, missed := 0, 0
	for range 3000 {
		left, right, colors := 1+rng.IntN(4), 1+rng.IntN(4), 1+rng.IntN(5)
		c.start(left, right, colors)
		for range rng.IntN(10) {
			var list coloring.ColorSet
			for k := range colors {
				if rng.IntN(4) > 0 {
					list.Add(k)
				}
			}
			c.add(rng.IntN(left), rng.IntN(right), list)
		}
		got := c.run(500)
		checkColors(t, &c, got)
		want := possible(c.edges, nil)
		switch {
		case got == 0 && !want:
			t.Fatal("a colouring where none exists")
		case want:
			yes++
			if got > 0 {
				missed++
			}
		}
	}
	if yes < 500 || missed > yes/100 {
		t.Errorf("%d of %d colourings missed", missed, yes)
	}
}

// checkColors checks a colouring, and that exactly that many edges have none.
func checkColors(t *testing.T, c *listColorer, left int) {
	t.Helper()
	for e, x := range c.edges {
		if c.color[e] == none {
			left--
			continue
		}
		if !x.list.Has(int(c.color[e])) {
			t.Fatalf("edge %d has colour %d, not of its list", e, c.color[e])
		}
		for f, y := range c.edges[:e] {
			if c.color[f] == c.color[e] && (x.u == y.u || x.v == y.v) {
				t.Fatalf("edges %d and %d meet and have colour %d", e, f, c.color[e])
			}
		}
	}
	if left != 0 {
		t.Fatalf("%d edges fewer without a colour than reported", left)
	}
}

// TestListColorerFull needs every colour at every node: no tabu search is needed
// where all lists are full.
func TestListColorerFull(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var c listColorer
	for range 300 {
		n, colors := 1+rng.IntN(20), 1+rng.IntN(70)
		c.start(n, n, colors)
		for range colors {
			for u, v := range rng.Perm(n) {
				c.add(u, v, allColors(colors))
			}
		}
		rng.Shuffle(len(c.edges), func(i, j int) { c.edges[i], c.edges[j] = c.edges[j], c.edges[i] })
		if left := c.run(0); left > 0 {
			t.Fatalf("%d nodes, %d colours: %d edges left", n, colors, left)
		}
		checkColors(t, &c, 0)
	}
}

// TestPodTableSwaps mixes phases and checks that they stay perfect matchings of
// the same units.
func TestPodTableSwaps(t *testing.T) {
	f := deadPods(t)
	w := newFluid(f)
	b := w.settlePods(f.simpleBound())
	s := w.roundPods(b.Phases, 0)
	if !s.repair() {
		t.Fatal("not repaired")
	}
	table := newPodTable(s, Options{})
	table.settle()
	seen := make([]bool, len(table.from))
	for p := range table.phases {
		for u := range table.nodes {
			e := table.out[p*table.nodes+u]
			if seen[e] || int(table.from[e]) != u || table.in[p*table.nodes+int(table.to[e])] != e {
				t.Fatalf("phase %d, node %d: unit %d is out of place", p, u, e)
			}
			seen[e] = true
		}
		for k, need := range table.need {
			if need && table.cost[p*table.spines+k] != table.price(p, k) {
				t.Fatalf("phase %d, plane %d: cost %d, now %d", p, k, table.cost[p*table.spines+k], table.price(p, k))
			}
		}
	}
}
