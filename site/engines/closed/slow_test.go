package closed

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

// A slow is the second version of Dmodc: searches and formulas, no more.
type slow struct {
	n      *network.Network
	rank   []int
	number []int
	strict bool // DownCost
	cost   map[[2]network.Node]int
	down   map[[2]network.Node]int
}

const noWay = 1 << 20 // an infinite cost

func newSlow(n *network.Network, rank, number []int, strict bool) *slow {
	s := &slow{n, rank, number, strict, map[[2]network.Node]int{}, map[[2]network.Node]int{}}
	for h := range network.Node(n.Hosts()) {
		if leaf := n.Leaf(h).Node; leaf != network.NoNode {
			s.search(leaf)
		}
	}
	return s
}

func (s *slow) near(v network.Node) []network.Node {
	var out []network.Node
	for _, e := range s.n.Ends(v) {
		if e.Node != network.NoNode && !s.n.IsHost(e.Node) && e.Node != v && !slices.Contains(out, e.Node) {
			out = append(out, e.Node)
		}
	}
	slices.SortFunc(out, func(a, b network.Node) int { return cmp.Compare(s.n.Info(a).GUID, s.n.Info(b).GUID) })
	return out
}

// search finds all costs to a leaf, breadth first and backwards.
func (s *slow) search(leaf network.Node) {
	type state struct {
		v      network.Node
		turned bool
	}
	dist := map[state]int{{leaf, false}: 0}
	queue := []state{{leaf, false}}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, v := range s.near(at.v) {
			next := state{v, s.rank[v] < s.rank[at.v]}
			if _, ok := dist[next]; ok || s.rank[v] == s.rank[at.v] || at.turned && !next.turned {
				continue
			}
			dist[next] = dist[at] + 1
			queue = append(queue, next)
		}
	}
	for i := range s.n.Switches() {
		v := s.n.Switch(i)
		key := [2]network.Node{v, leaf}
		s.down[key], s.cost[key] = noWay, noWay
		if c, ok := dist[state{v, false}]; ok {
			s.down[key], s.cost[key] = c, c
		}
		if c, ok := dist[state{v, true}]; ok {
			s.cost[key] = min(s.cost[key], c)
		}
	}
}

// candidates is equation 1.
func (s *slow) candidates(v, leaf network.Node) [][]uint8 {
	var out [][]uint8
	own := s.cost[[2]network.Node{v, leaf}]
	for _, w := range s.near(v) {
		offered := s.cost[[2]network.Node{w, leaf}]
		if s.strict && s.rank[w] < s.rank[v] {
			offered = s.down[[2]network.Node{w, leaf}]
		}
		if offered >= own || s.strict && s.rank[w] == s.rank[v] {
			continue
		}
		var ports []uint8
		for i, e := range s.n.Ends(v) {
			if e.Node == w {
				ports = append(ports, uint8(i+1))
			}
		}
		out = append(out, ports)
	}
	return out
}

// divider is the largest product of arities over all ways up to a switch.
func (s *slow) divider(v network.Node) int {
	most := 1
	for _, w := range s.near(v) {
		if s.rank[w] < s.rank[v] {
			above := 0
			for _, x := range s.near(w) {
				if s.rank[x] > s.rank[w] {
					above++
				}
			}
			most = max(most, s.divider(w)*above)
		}
	}
	return most
}

// compare checks every entry to a host.
func (s *slow) compare(t *testing.T, tables *lft.Tables) {
	t.Helper()
	for i := range s.n.Switches() {
		v := s.n.Switch(i)
		divider := s.divider(v)
		for h := range network.Node(s.n.Hosts()) {
			for x := range 1 << s.n.Info(h).LMC {
				want := s.port(v, h, divider, s.number[h]+x)
				got := tables.Port(v, int(s.n.Info(h).LID)+x)
				if got != want {
					t.Fatalf("%s to %s, LID +%d: port %d, not %d", s.n.Info(v).Name, s.n.Info(h).Name, x, got, want)
				}
			}
		}
	}
}

// port is equations 3 and 4.
func (s *slow) port(v, h network.Node, divider, d int) uint8 {
	leaf := s.n.Leaf(h)
	switch leaf.Node {
	case network.NoNode:
		return lft.NoPort
	case v:
		return leaf.Port
	}
	c := s.candidates(v, leaf.Node)
	if len(c) == 0 {
		return lft.NoPort
	}
	g := c[d/divider%len(c)]
	return g[d/(divider*len(c))%len(g)]
}

// Dmodc is what the paper says, on degraded trees with GUIDs and LIDs of any order.
func TestDmodcAgainstSlow(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 3))
		g := randomPGFT(rng)
		n := relabel(degrade(build(t, g), rng, rng.Float64()*0.4), rng, int(seed%3))
		if seed%4 == 0 { // hosts without a cable
			n = without(n, nil, func(a, _ network.End) bool { return n.IsHost(a.Node) && rng.IntN(4) == 0 })
		}
		o := Options{Partial: true, DownCost: seed%2 == 0}
		r, err := newRouter(n, o)
		expect.MustTrue(t, err == nil, "%s: %v", g, err)
		newSlow(n, byHops(n), numbersOf(n), o.DownCost).compare(t, r.tables())
	}
}

// So it is on what is only like a fat tree.
func TestDmodcOnOtherNetworks(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 4))
		n, _ := layered(t, rng, seed%3 == 0)
		o := Options{Partial: true, DownCost: seed%2 == 0}
		r := expect.Value(newRouter(n, o))(t)
		newSlow(n, byHops(n), numbersOf(n), o.DownCost).compare(t, r.tables())
	}
}

// Without DownCost routes may go up again, with it they never do, by any ranks;
// neither loops, and what is not parted arrives.
func TestDownCost(t *testing.T) {
	bent := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		n, rank := layered(t, rng, true)
		for _, strict := range []bool{false, true} {
			r := expect.Value(newRouter(n, Options{Partial: true, DownCost: strict, Ranks: rank}))(t)
			w := walkAll(r.tables(), rank)
			pairs, _, _ := r.parted()
			expect.MustFalse(t, w.Looped > 0 || strict && (w.UpDown > 0 || w.Lost != 4*pairs) || w.Lost > 4*pairs,
				"seed %d, strict %v: %s, %d pairs of leaves parted", seed, strict, w, pairs)
			bent += w.UpDown
		}
	}
	expect.True(t, bent != 0, "no route went up again without DownCost: the test shows nothing")
}
