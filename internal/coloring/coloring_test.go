package coloring_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/internal/coloring"
	"evbench/testing/expect"
)

// random returns a multigraph whose nodes have at most degree edges, with its
// units numbered from 0, and the number of units.
func random(rng *rand.Rand, left, right, degree, tries, weight int) (*coloring.Graph, int) {
	g := &coloring.Graph{Left: left, Right: right}
	u, v := make([]int, left), make([]int, right)
	units := 0
	for range tries {
		a, b := rng.IntN(left), rng.IntN(right)
		n := min(1+rng.IntN(weight), degree-u[a], degree-v[b])
		if n <= 0 {
			continue
		}
		g.Edges = append(g.Edges, coloring.Edge{U: int32(a), V: int32(b), N: int32(n), First: int32(units)})
		u[a], v[b], units = u[a]+n, v[b]+n, units+n
	}
	return g, units
}

// color runs Color and checks that each unit gets one colour in range and that
// no two units at a node share one.
func color(t *testing.T, g *coloring.Graph, units, k int, o coloring.Options) []int32 {
	t.Helper()
	colors := slices.Repeat([]int32{-1}, units)
	times := make([]int32, units)
	g.Color(k, o, func(unit, c int32) {
		colors[unit] = c
		times[unit]++
	})
	type end struct {
		right bool
		node  int32
		color int32
	}
	used := make(map[end]bool)
	for _, e := range g.Edges {
		for unit := e.First; e.First >= 0 && unit < e.First+e.N; unit++ {
			c := colors[unit]
			l, r := end{false, e.U, c}, end{true, e.V, c}
			expect.MustTrue(t, times[unit] == 1 && c >= 0 && int(c) < k && !used[l] && !used[r],
				"unit %d of edge %+v: colour %d of %d, set %d times, taken at left %v, right %v", unit, e, c, k, times[unit], used[l], used[r])
			used[l], used[r] = true, true
		}
	}
	return colors
}

func TestColorRandom(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		left, right, degree := 1+rng.IntN(9), 1+rng.IntN(9), 1+rng.IntN(24)
		g, units := random(rng, left, right, degree, rng.IntN(120), 1+rng.IntN(degree))
		k := g.Degree() + rng.IntN(3) // as many colours as König promises, or some to spare
		color(t, g, units, k, coloring.Options{Seed: uint64(i)})
	}
}

//gate:race
func TestColorLarge(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for _, weight := range []int{1, 7, 300} {
		g, units := random(rng, 90, 110, 331, 20_000, weight)
		one := color(t, g, units, 331, coloring.Options{Seed: 5, Workers: 1})
		for _, workers := range []int{0, 2, 7} {
			expect.True(t, slices.Equal(color(t, g, units, 331, coloring.Options{Seed: 5, Workers: workers}), one),
				"weight %d: %d workers give another colouring than one", weight, workers)
		}
		expect.True(t, !slices.Equal(color(t, g, units, 331, coloring.Options{Seed: 6}), one),
			"weight %d: seeds 5 and 6 give the same colouring", weight)
	}
}

// rows returns the right ends of rows of k edges to nodes of at most k.
func rows(rng *rand.Rand, k, rows, nodes int) []int32 {
	free := make([]int32, 0, k*nodes)
	for v := range nodes {
		free = append(free, slices.Repeat([]int32{int32(v)}, k)...)
	}
	rng.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	return free[:k*min(rows, nodes)]
}

func TestRows(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	var memory coloring.Memory
	for i := range 2000 {
		k, nodes := 1+rng.IntN(20), 1+rng.IntN(12)
		right := rows(rng, k, rng.IntN(13), nodes)
		got := coloring.Rows(k, right, nodes, coloring.Options{Seed: uint64(i), Memory: &memory})
		expect.MustTrue(t, len(got) == len(right), "%d colours for %d edges", len(got), len(right))
		used := make(map[[3]int32]bool)
		for e, c := range got {
			u, v := [3]int32{0, int32(e / k), c}, [3]int32{1, right[e], c}
			expect.MustTrue(t, c >= 0 && int(c) < k && !used[u] && !used[v], "edge %d of %v, k %d: colour %d out of range or taken", e, right, k, c)
			used[u], used[v] = true, true
		}
		expect.MustTrue(t, slices.Equal(got, coloring.Rows(k, right, nodes, coloring.Options{Seed: uint64(i), Workers: 3})),
			"k %d, %d nodes: memory used before, or workers, change the colouring", k, nodes)
	}
}

// TestMemory colours graphs of all sizes, one after another, in one memory.
func TestMemory(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 10))
	var memory coloring.Memory
	for i := range 300 {
		degree := 1 + rng.IntN(200)
		g, units := random(rng, 1+rng.IntN(40), 1+rng.IntN(40), degree, rng.IntN(400), 1+rng.IntN(degree))
		used := color(t, g, units, degree, coloring.Options{Seed: uint64(i), Memory: &memory, Workers: 1 + i%3})
		expect.MustTrue(t, slices.Equal(used, color(t, g, units, degree, coloring.Options{Seed: uint64(i)})),
			"graph %d: memory used before, or workers, change the colouring", i)
	}
}

// TestWeights has weights so large that units could not number them.
func TestWeights(t *testing.T) {
	g := &coloring.Graph{Left: 1, Right: 1, Edges: []coloring.Edge{{U: 0, V: 0, N: 100_000, First: 0}}}
	color(t, g, 100_000, 100_001, coloring.Options{})
}

func TestColorUnreported(t *testing.T) {
	g := &coloring.Graph{Left: 2, Right: 2, Edges: []coloring.Edge{
		{U: 0, V: 0, N: 5, First: -1}, {U: 0, V: 1, N: 2, First: 0}, {U: 1, V: 1, N: 0, First: 2}, {U: 1, V: 0, N: 2, First: 2},
	}}
	color(t, g, 4, 7, coloring.Options{})
}

func TestColorEmpty(t *testing.T) {
	(&coloring.Graph{}).Color(3, coloring.Options{}, func(unit, color int32) { t.Errorf("unit %d gets %d", unit, color) })
}

func TestTooFewColors(t *testing.T) {
	g := &coloring.Graph{Left: 2, Right: 3, Edges: []coloring.Edge{{U: 1, V: 0, N: 2}, {U: 1, V: 2, N: 1, First: 2}}}
	for _, f := range []func(){
		func() { g.Color(2, coloring.Options{}, func(unit, color int32) {}) },
		func() { coloring.Rows(2, []int32{1, 1, 1, 0}, 2, coloring.Options{}) },
	} {
		func() {
			defer func() {
				expect.Equal(t, fmt.Sprint(recover()), "coloring: node 1 has 3 edges, more than 2 colours", "panic")
			}()
			f()
		}()
	}
}

func TestDegree(t *testing.T) {
	g := &coloring.Graph{Left: 2, Right: 3, Edges: []coloring.Edge{{U: 1, V: 0, N: 2}, {U: 0, V: 0, N: 3, First: 2}}}
	got := g.Degree()
	expect.True(t, got == 5, "Degree() = %d, want 5", got)
}
