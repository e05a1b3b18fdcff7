package routing_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"evbench/routing"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

var update = flag.Bool("update", false, "rewrite the golden tables")

func compute(t *testing.T, tr *topology.Tree, engine string) *routing.Tables {
	t.Helper()
	tables := expect.Value(routing.TreeTables(tr, engine))(t)
	return tables
}

// The tables of every engine on FT(2;4,4) without leaf0-spine0, to be read.
func TestGoldenTables(t *testing.T) {
	tr := topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4}, "leaf0-spine0")
	for _, engine := range routing.TreeEngines() {
		t.Run(engine, func(t *testing.T) {
			var got bytes.Buffer
			expect.Must(t, compute(t, tr, engine).WriteText(&got))
			file := "testdata/ft2_4_4-leaf0-spine0-" + engine + ".txt"
			if *update {
				expect.Must(t, os.WriteFile(file, got.Bytes(), 0o644))
			}
			want := expect.Value(os.ReadFile(file))(t)
			expect.True(t, bytes.Equal(got.Bytes(), want), "got\n%swant\n%s", got.Bytes(), want)
		})
	}
}

// naive is the definition of the engines, read aloud: no counters kept, no
// loops shared with the package.
func naive(tr *topology.Live, engine string, leaf, dst int) int {
	spineOf := map[int]int{}
	used := func(k int) (n int) {
		for _, s := range spineOf {
			if s == k {
				n++
			}
		}
		return n
	}
	healthy := map[int]int{}
	for d := range tr.Servers() {
		if tr.Leaf(d) == leaf {
			continue
		}
		best := 0
		for k := range tr.Spines() {
			if used(k) < used(best) {
				best = k
			}
		}
		spineOf[d], healthy[d] = best, best
	}
	for d, k := range healthy {
		if !tr.Alive(leaf, k) || !tr.Alive(tr.Leaf(d), k) {
			delete(spineOf, d)
		}
	}
	for d := range tr.Servers() {
		if _, ok := spineOf[d]; ok || tr.Leaf(d) == leaf {
			continue
		}
		common := tr.CommonSpines(leaf, tr.Leaf(d))
		order := common
		if engine == routing.Spread {
			i := leaf % len(common)
			order = append(append([]int{}, common[i:]...), common[:i]...)
		}
		best := order[0]
		for _, k := range order {
			if used(k) < used(best) {
				best = k
			}
		}
		spineOf[d] = best
	}
	return spineOf[dst]
}

func TestEnginesAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		o := topology.Options{Ports: 1 + rng.IntN(4), Leaves: 2 + rng.IntN(4), Spines: 1 + rng.IntN(5)}
		tr := topologytest.Tree(t, o)
		links, err := tr.Random(rng.IntN(o.Leaves*o.Spines/2+1), uint64(i))
		if err != nil {
			continue // every draw disconnects this small tree
		}
		tr, err = tr.Without(links...)
		expect.Must(t, err)
		for _, engine := range []string{routing.MinHop, routing.Spread} {
			tables := compute(t, tr, engine)
			for leaf := range tr.Leaves() {
				for dst := range tr.Servers() {
					if tr.Leaf(dst) == leaf {
						continue
					}
					got, ok := tables.PathOf(tr.First(leaf), dst)
					if want := naive(&tr.Live, engine, leaf, dst); !ok || got != want {
						t.Fatalf("%s on %s down %v: leaf%d to rank %d: spine %d, %v; want %d",
							engine, tr.Notation(), tr.DownNames(), leaf, dst, got, ok, want)
					}
				}
			}
		}
	}
}

func TestEveryEngineReachesAll(t *testing.T) {
	for _, tr := range []*topology.Tree{
		topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4}),
		topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 8}, "leaf0-spine0", "spine2"),
		topologytest.Tree(t, topology.Options{Ports: 3, Leaves: 5, Fill: []int{3, 3, 0, 3, 1}}, "leaf4-spine1"),
		topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3, Spines: 5}, "leaf1-spine4"),
	} {
		for _, engine := range routing.TreeEngines() {
			r := compute(t, tr, engine).Check()
			s := tr.Servers()
			expect.True(t, r.OK() && r.Pairs == s*(s-1), "%s on %s: %+v", engine, tr.Notation(), r)
		}
	}
}

func TestCheckFindsDamage(t *testing.T) {
	healthy := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3})
	for _, tt := range []struct {
		name   string
		damage func(*routing.Tables)
		want   error
		count  func(routing.Report) int
	}{
		{"entry missing at a leaf", func(x *routing.Tables) { x.Set(routing.Switch(0), 4) },
			routing.ErrNoRoute, func(r routing.Report) int { return r.Unreachable }},
		{"wrong server port", func(x *routing.Tables) { x.Set(routing.Switch(2), 4, 1) },
			routing.ErrNoRoute, func(r routing.Report) int { return r.Unreachable }},
		{"no such port", func(x *routing.Tables) { x.Set(routing.Switch(0), 4, 9) },
			routing.ErrNoRoute, func(r routing.Report) int { return r.Unreachable }},
		{"spine sends it back", func(x *routing.Tables) { x.Set(routing.Switch(healthy.Leaves()+0), 4, 0) },
			routing.ErrLoop, func(r routing.Report) int { return r.Loops }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tables := compute(t, healthy, routing.Ftree)
			tt.damage(tables)
			r := tables.Check()
			expect.True(t, errors.Is(r.First, tt.want) && tt.count(r) != 0, "Check() = %+v, want %v", r, tt.want)
		})
	}
	t.Run("tables of the healthy tree after a link died", func(t *testing.T) {
		tables := compute(t, healthy, routing.MinHop)
		tables.Tree = topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3}, "leaf1-spine0")
		if r := tables.Check(); r.DeadLinks == 0 || !errors.Is(r.First, routing.ErrDeadLink) {
			t.Errorf("Check() = %+v, want dead links", r)
		}
	})
}

// Large trees with many dead links have more sets of ports than 16 bits count.
func TestManySetsOfPorts(t *testing.T) {
	tree := topologytest.Tree(t, topology.Options{Ports: 64, Leaves: 64})
	tables := compute(t, tree, routing.MinHop)
	place := func(i int) (routing.Switch, int) { return routing.Switch(i / tree.Servers()), i % tree.Servers() }
	ports := func(i int) []routing.Port { return []routing.Port{routing.Port(i >> 16), routing.Port(i)} }
	const many = 1 << 17
	for i := range many {
		sw, dst := place(i)
		tables.Set(sw, dst, ports(i)...)
	}
	for i := range many {
		if got := tables.Ports(place(i)); !slices.Equal(got, ports(i)) {
			t.Fatalf("entry %d has the ports %v, want %v", i, got, ports(i))
		}
	}
}

// What the choice of ties costs unsynchronised traffic: the busiest wire of one
// exchange on FT(2;4,4), (S-1)/busiest.
func TestLoads(t *testing.T) {
	for _, tt := range []struct {
		engine, down string
		want         float64
	}{
		{routing.Ftree, "", 1},
		{routing.MinHop, "leaf0-spine0", 0.625},
		{routing.Spread, "leaf0-spine0", 0.9375},
		{routing.ECMP, "", 1},
	} {
		var down []string
		if tt.down != "" {
			down = []string{tt.down}
		}
		busiest := 0.0
		for _, x := range compute(t, topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4}, down...), tt.engine).Loads() {
			busiest = max(busiest, x)
		}
		got := 15 / busiest
		expect.True(t, fmt.Sprintf("%.4f", got) == fmt.Sprintf("%.4f", tt.want), "%s down %q: %.4f, want %.4f", tt.engine, tt.down, got, tt.want)
	}
}

func TestUnknownEngine(t *testing.T) {
	_, err := routing.TreeTables(topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2}), "magic")
	want := `routing "magic": no such engine; there are ftree, minhop, spread, ecmp, spray, adaptive`
	expect.True(t, err != nil && err.Error() == want, "got %v, want %s", err, want)
}

// Every next hop is taken as often as the others, by a hash of seed and pair.
func TestHashed(t *testing.T) {
	tree := expect.Value(topology.New(topology.Options{Ports: 40, Leaves: 40, Spines: 4}))(t)
	tables := expect.Value(routing.TreeTables(tree, routing.ECMP))(t)
	var hits [4]int
	differs := 0
	for a := range 40 {
		for b := range 40 {
			src, dst := tree.First(a), tree.First(b)
			k := tables.Hashed(1, a, src, dst)
			if a == b {
				expect.Equal(t, k, -1, "within leaf%d through spine", a)
				continue
			}
			expect.MustTrue(t, k == tables.Hashed(1, a, src, dst), "one pair, two paths")
			if k != tables.Hashed(2, a, src, dst) {
				differs++
			}
			hits[k]++
		}
	}
	for k, n := range hits {
		if n < 330 || n > 450 { // 390 each, give or take 3.5 sigma
			t.Errorf("spine %d was taken by %d of 1560 pairs", k, n)
		}
	}
	expect.True(t, differs >= 1000, "another seed changes %d of 1560 pairs", differs)
}

// Parallel cables are used alike where none is dead, up and down; where one is, the others take its
// destinations.
func TestParallelCables(t *testing.T) {
	o := topology.Options{Ports: 4, Leaves: 4, Spines: 2, Cables: 2}
	for _, engine := range routing.TreeEngines()[1:] { // ftree has no closed form there
		healthy, dead := topologytest.Tree(t, o), topologytest.Tree(t, o, "leaf0-spine1/1")
		for w, n := range compute(t, healthy, engine).Loads()[:2*healthy.LowerLinks()] {
			if n != 12 {
				link, way := healthy.WireName(topology.Wire(w))
				t.Errorf("%s: %s %s carries %g messages, not 12", engine, link, way, n)
			}
		}
		tables := compute(t, dead, engine)
		expect.True(t, tables.Check().OK(), "%s: %v", engine, tables.Check().First)
		lost := dead.UpWire(dead.Cable(0, 1, 1))
		load, sum := tables.Loads(), 0.0
		for id := range dead.Spines() * dead.Cables() {
			sum += load[2*id]
		}
		expect.True(t, load[lost] == 0 && load[lost+1] == 0 && math.Abs(sum-48) <= 1e-9,
			"%s: %g messages up and %g down a dead cable, %g leave leaf0", engine, load[lost], load[lost+1], sum)
	}
}
