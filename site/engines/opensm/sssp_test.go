package opensm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/ibtest"
)

// TestReferenceTablesSSSP compares with tables of OpenSM 3.3.23 on ibsim.
//
//gate:race
func TestReferenceTablesSSSP(t *testing.T) {
	files, _ := filepath.Glob("testdata/sssp/ft2_4_8/*/*.lft.txt.gz")
	expect.Equal(t, len(files), 6, "reference tables")
	for _, file := range files {
		n := parse(t, "FT(2;4,8)", 0)
		n = without(t, n, dead(t, n, filepath.Join(filepath.Dir(file), "down.txt"))...)
		got := plain(t, n)
		if strings.HasPrefix(filepath.Base(file), "df") {
			var err error
			if got, err = DFSSSP(n, 8); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(file, func(t *testing.T) { same(t, got, reference(t, n, file)) })
	}
}

// shortest checks that routes between all hosts arrive over as few switches as
// there are between them.
func shortest(t testing.TB, name string, tables *lft.Tables) {
	t.Helper()
	n := tables.Net
	for y := range network.Node(n.Hosts()) {
		far := n.Leaf(y).Node
		if far == network.NoNode {
			continue
		}
		away := n.Distances(far)
		for x := range network.Node(n.Hosts()) {
			near := n.Leaf(x).Node
			if x == y || near == network.NoNode || away[n.Index(near)] < 0 {
				continue
			}
			for k := range 1 << n.Info(y).LMC {
				path, fault := tables.Route(x, int(n.Info(y).LID)+k)
				if fault != lft.NoFault || len(path) != away[n.Index(near)]+1 {
					t.Fatalf("%s: host %d to %d: %v, %d switches, %d apart", name, x, y, fault, len(path), away[n.Index(near)])
				}
			}
		}
	}
}

// acyclic builds the channel dependency graph of each lane anew, from every route
// of every pair, and takes away channels that nothing leads to until none is left.
func acyclic(t testing.TB, name string, tables *lft.Tables) {
	t.Helper()
	expect.True(t, lockFree(tables), "%s: %d lanes, and a cycle", name, tables.Lanes())
	expect.True(t, lft.Deadlock(tables).Free(), "%s: the check of package lft finds a cycle", name)
}

type channel struct {
	lane int
	end  network.End
}

func lockFree(tables *lft.Tables) bool {
	n, next, into := tables.Net, map[channel]map[channel]bool{}, map[channel]int{}
	add := func(x network.Node, lid int) {
		path, _ := tables.Route(x, lid)
		lane := tables.Lane(n.Leaf(x).Node, lid)
		for i := range path {
			if i+1 >= len(path) || n.IsHost(n.At(path[i+1].Node, int(path[i+1].Port)).Node) {
				break
			}
			a, b := channel{lane, path[i]}, channel{lane, path[i+1]}
			if next[a] == nil {
				next[a] = map[channel]bool{}
			}
			if !next[a][b] {
				next[a][b] = true
				into[b]++
			}
		}
	}
	for x := range network.Node(n.Hosts()) {
		for y := range network.Node(n.Hosts()) {
			for k := range 1 << n.Info(y).LMC {
				if x != y && n.Leaf(x).Node != network.NoNode {
					add(x, int(n.Info(y).LID)+k)
				}
			}
		}
	}
	var ready []channel
	for c := range next {
		if into[c] == 0 {
			ready = append(ready, c)
		}
	}
	for len(ready) > 0 {
		c := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for b := range next[c] {
			if into[b]--; into[b] == 0 {
				ready = append(ready, b)
			}
		}
		delete(next, c)
	}
	return len(next) == 0
}

// TestLanesBreakCycles routes tangles, most of which can deadlock on one lane.
func TestLanesBreakCycles(t *testing.T) {
	cyclic := 0
	for seed := range 30 {
		n := tangle(t, 6+seed%12, 3+seed, 2, rand.New(rand.NewPCG(uint64(seed), 4)))
		name := fmt.Sprint("tangle ", seed)
		tables := expect.Value(DFSSSP(n, 8))(t)
		shortest(t, name, tables)
		acyclic(t, name, tables)
		_, err := DFSSSP(n, 1)
		if lockFree(plain(t, n)) {
			continue
		}
		cyclic++
		var few TooFewLanes
		expect.True(t, errors.As(err, &few) && few.Have == 1, "%s: one lane: %v", name, err)
	}
	expect.True(t, cyclic >= 15, "only %d of 30 tangles can deadlock", cyclic)
}

func TestLanes(t *testing.T) {
	n := parse(t, "FT(2;4,8)", 0)
	for lanes := 1; lanes <= lft.MaxLanes; lanes++ {
		tables, err := DFSSSP(n, lanes)
		expect.False(t, err != nil || tables.Lanes() != lanes || tables.Engine != "dfsssp", "%d lanes, want %d: %v", tables.Lanes(), lanes, err)
	}
	for _, lanes := range []int{-1, 0, lft.MaxLanes + 1} {
		expect.True(t, expect.Err(DFSSSP(n, lanes)) != nil, "%d lanes", lanes)
	}
}

// TestDistances compares with Bellman and Ford's algorithm, and the weights with a
// count along whole routes. Which of two equals is chosen is for OpenSM to say.
func TestDistances(t *testing.T) {
	for seed := range 15 {
		name, n := drawn(t, seed, 0)
		r := expect.Value(newRouter(n, "sssp"))(t)
		g, order := r.g, r.g.loaded()
		base := slices.Clone(g.weight)
		count := make([]uint64, len(g.weight))
		for _, v := range order {
			for _, h := range g.hosts[v] {
				want := bellman(g, v)
				r.host(v, h, r.all)
				got := r.search.dist[:len(g.sw)]
				expect.MustTrue(t, slices.Equal(got, want), "%s: distances %v, want %v", name, got, want)
				for at := range g.sw {
					for w := int32(at); r.search.used[w] != none; w = g.owner[r.search.used[w]] {
						count[r.search.used[w]] += uint64(g.lids[at])
					}
				}
				for slot := range count {
					expect.MustTrue(t, g.weight[slot] == base[slot]+count[slot],
						"%s: slot %d weighs %d, want %d", name, slot, g.weight[slot], base[slot]+count[slot])
				}
			}
		}
	}
}

func bellman(g *graph, root int32) []uint64 {
	dist := make([]uint64, len(g.sw))
	for v := range dist {
		dist[v] = far
	}
	dist[root] = 1
	for changed := true; changed; {
		changed = false
		for slot, w := range g.to {
			if v := g.owner[slot]; w != none && dist[v] != far && dist[v]+g.weight[slot] < dist[w] {
				dist[w], changed = dist[v]+g.weight[slot], true
			}
		}
	}
	return dist
}

func TestOddNetworksSSSP(t *testing.T) {
	var empty network.Builder
	expect.Is(t, expect.Err(SSSP(empty.Build())), errNoHosts)
	var b network.Builder // two hosts at one switch, one at another, one alone, one joined to nothing
	for h := range 5 {
		b.Host(network.Info{Name: fmt.Sprint("h", h), LID: uint16(h + 1)})
	}
	s, other := b.Switch(network.Info{Name: "s", GUID: 1, LID: 9}, 4), b.Switch(network.Info{Name: "o", GUID: 2}, 2)
	for _, c := range [][2]network.End{
		{{Node: 0, Port: 1}, {Node: s, Port: 2}}, {{Node: 1, Port: 1}, {Node: s, Port: 4}}, {{Node: 2, Port: 1}, {Node: other, Port: 1}},
		{{Node: s, Port: 1}, {Node: s, Port: 3}}, {{Node: 3, Port: 1}, {Node: 4, Port: 1}},
	} {
		expect.Must(t, b.Cable(c[0], c[1]))
	}
	n := b.Build()
	tables := expect.Value(DFSSSP(n, 2))(t)
	want := []uint8{255, 2, 4, 255, 255, 255, 255, 255, 255, 0}
	expect.Equal(t, tables.Row(0), want, "tables.Row")
	e := Index(tables, [][]network.Node{{0, 1, 2, 3, 4}})
	expect.True(t, e.Max == 0 && e.Lost != 0, "%+v", e)
}

func BenchmarkSSSP(b *testing.B) {
	for _, notation := range []string{"FT(2;20,18)", "FT(3;18,12,12)", "FT(3;18,18,36)"} {
		n := parse(b, notation, 0)
		b.Run(fmt.Sprintf("%s/%d", notation, n.Hosts()), func(b *testing.B) {
			for b.Loop() {
				plain(b, n)
			}
		})
	}
}

func BenchmarkDFSSSP(b *testing.B) {
	n := parse(b, "FT(3;18,12,12)", 0)
	dead := expect.Value(n.Random(20, 1))(b)
	n = n.Without(dead, nil)
	for b.Loop() {
		expect.Must(b, expect.Err(DFSSSP(n, 8)))
	}
}

func BenchmarkJobs(b *testing.B) {
	n := parse(b, "FT(3;18,12,12)", 0)
	p := Placement{Jobs: scatter(n, 20, 100, 1)}
	for b.Loop() {
		sar(b, n, p, 0)
	}
}

// TestEqualToOpenSMSSSP routes degraded trees and tangles with OpenSM, whose LMC is
// 0, 1 or 2, and compares all entries. No entry is excepted.
func TestEqualToOpenSMSSSP(t *testing.T) {
	ibtest.Need(t)
	var entries atomic.Int64
	t.Run("network", func(t *testing.T) {
		for seed := range 24 {
			if !expect.All() && seed%6 != 3 {
				continue
			}
			name, n := drawn(t, seed, []int{0, 0, 0, 1, 0, 2, 0}[seed%7])
			if seed >= 20 {
				name, n = fmt.Sprint("tangle ", seed), tangle(t, 12, 12, 3, rand.New(rand.NewPCG(uint64(seed), 1)))
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				got := expect.Value(SSSP(n))(t)
				entries.Add(int64(same(t, got, ssspReferee(t, n, "sssp").Tables)))
			})
		}
	})
	t.Logf("%d entries compared", entries.Load())
}

func ssspReferee(t testing.TB, n *network.Network, engine string, args ...string) *ibtest.Result {
	t.Helper()
	r := expect.Value(ibtest.Route(t.Context(), n, engine, nil, args...))(t)
	expect.MustTrue(t, r.Engine == engine, "OpenSM used %s", r.Engine)
	return r
}

var (
	needed  = regexp.MustCompile(`Virtual Lanes needed: (\d+)`)
	before  = regexp.MustCompile(`(?s)before balancing.*?after balancing`)
	perLane = regexp.MustCompile(`\d+\. lane: (\d+)`)
)

// TestLanesOfOpenSM compares how many lanes OpenSM needs, and how many routes it
// puts on each before it spreads them: it must have cut the same cycles.
func TestLanesOfOpenSM(t *testing.T) {
	ibtest.Need(t)
	for seed := range 16 {
		if !expect.All() && seed%4 != 1 {
			continue
		}
		name, n := drawn(t, seed, []int{0, 0, 1}[seed%3])
		if seed >= 6 {
			r := rand.New(rand.NewPCG(uint64(seed), 2))
			name, n = fmt.Sprint("tangle ", seed), tangle(t, 8+seed, 4+2*seed, 2, r)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := ssspReferee(t, n, "dfsssp", "-Q")
			r, err := routed(n, "dfsssp")
			if err == nil {
				err = r.lanes(8, true)
			}
			expect.Must(t, err)
			same(t, r.tables, res.Tables)
			want := integers(needed, res.Log)
			expect.True(t, slices.Equal([]int{r.needed}, want), "needs %d lanes, OpenSM %v", r.needed, want)
			expect.Equal(t, integers(perLane, before.FindString(res.Log)), r.perLane, "routes per lane")
		})
	}
}

// integers are what a pattern finds.
func integers(p *regexp.Regexp, text string) (found []int) {
	for _, m := range p.FindAllStringSubmatch(text, -1) {
		i, _ := strconv.Atoi(m[1])
		found = append(found, i)
	}
	return found
}
