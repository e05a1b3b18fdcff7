package coloring

import (
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/testing/expect"
)

// A roomy is a random graph with lists, in which nodes have room for several edges of a color.
type roomy struct {
	ListGraph
	colors int
	room   []int
}

func newRoomy(rng *rand.Rand, most int) *roomy {
	r := &roomy{colors: 1 + rng.IntN(5)}
	r.Left, r.Right = 1+rng.IntN(4), 1+rng.IntN(4)
	for range rng.IntN(10) {
		e := ListEdge{U: int32(rng.IntN(r.Left)), V: int32(rng.IntN(r.Right))}
		for k := range r.colors {
			if rng.IntN(4) > 0 {
				e.List.Add(k)
			}
		}
		r.Edges = append(r.Edges, e)
	}
	for range (r.Left + r.Right) * r.colors {
		r.room = append(r.room, 1+rng.IntN(most))
	}
	if most > 1 {
		r.Room = func(node, color int) int { return r.room[node*r.colors+color] }
	}
	return r
}

// possible reports whether the edges have a list colouring, by trying all.
func (r *roomy) possible(e int) bool {
	if e == len(r.Edges) {
		return true
	}
	x := r.Edges[e]
	for c := x.List.Next(0); c != none; c = x.List.Next(c + 1) {
		u, v := &r.room[int(x.U)*r.colors+c], &r.room[(r.Left+int(x.V))*r.colors+c]
		if *u > 0 && *v > 0 {
			*u, *v = *u-1, *v-1
			ok := r.possible(e + 1)
			*u, *v = *u+1, *v+1
			if ok {
				return true
			}
		}
	}
	return false
}

// check checks a colouring, and that exactly that many edges have none.
func (r *roomy) check(t *testing.T, color func(e int32) int, left int) {
	t.Helper()
	used := make([]int, len(r.room))
	for e, x := range r.Edges {
		c := color(int32(e))
		if c == none {
			left--
			continue
		}
		expect.MustTrue(t, x.List.Has(c), "edge %d has colour %d, not of its list", e, c)
		for _, i := range [2]int{int(x.U)*r.colors + c, (r.Left+int(x.V))*r.colors + c} {
			if used[i]++; used[i] > r.room[i] {
				t.Fatalf("node %d has room for %d edges of colour %d", i/r.colors, r.room[i], c)
			}
		}
	}
	expect.MustTrue(t, left == 0, "%d edges fewer without a colour than reported", left)
}

func (r *roomy) quick(c *Quick, steps int) int {
	c.Start(r.Left, r.Right, r.colors)
	for _, x := range r.Edges {
		c.Add(int(x.U), int(x.V), x.List)
	}
	return c.Run(steps)
}

// TestQuick compares the search with one that tries everything, on graphs of up to four nodes a
// side with random lists.
func TestQuick(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var c Quick
	yes, missed := 0, 0
	for range 3000 {
		r := newRoomy(rng, 1)
		got := r.quick(&c, 500)
		r.check(t, c.Color, got)
		want := r.possible(0)
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
	expect.True(t, yes >= 500 && missed <= yes/100, "%d of %d colourings missed", missed, yes)
}

// TestListColorRooms does the same with the search that proves what it does not find, where nodes
// have room for one edge of a color or two.
func TestListColorRooms(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	kinds := map[CertificateKind]int{}
	for range 5000 {
		r := newRoomy(rng, 2)
		c := r.ListGraph.Color(ListOptions{Steps: 200})
		r.check(t, func(e int32) int { return int(c.Color[e]) }, c.Uncolored)
		want := r.possible(0)
		expect.MustTrue(t, c.Outcome != GaveUp && want == (c.Outcome == Colored), "outcome %d, a colouring exists: %t", c.Outcome, want)
		if c.Certificate != nil {
			kinds[c.Certificate.Kind]++
		}
		if x := c.Certificate; x != nil && x.Kind == Hall {
			node, room := x.Node, 0
			if x.Right {
				node += r.Left
			}
			for k := x.Colors.Next(0); k != none; k = x.Colors.Next(k + 1) {
				room += r.Room(node, k)
			}
			expect.MustTrue(t, room < len(x.Edges), "%d edges have room for %d", len(x.Edges), room)
		}
	}
	expect.True(t, kinds[Hall] != 0 && kinds[Count] != 0, "certificates by kind: %v", kinds)
}

// TestQuickFull needs every colour at every node: no tabu search is needed where all lists are full.
func TestQuickFull(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var c Quick
	for range 300 {
		n := 1 + rng.IntN(20)
		r := &roomy{colors: 1 + rng.IntN(70)}
		r.Left, r.Right = n, n
		for range r.colors {
			for u, v := range rng.Perm(n) {
				r.Edges = append(r.Edges, ListEdge{int32(u), int32(v), upTo(r.colors - 1)})
			}
		}
		r.room = slices.Repeat([]int{1}, 2*n*r.colors)
		rng.Shuffle(len(r.Edges), func(i, j int) { r.Edges[i], r.Edges[j] = r.Edges[j], r.Edges[i] })
		left := r.quick(&c, 0)
		expect.MustTrue(t, left <= 0, "%d nodes, %d colours: %d edges left", n, r.colors, left)
		r.check(t, c.Color, 0)
	}
}
