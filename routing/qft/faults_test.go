package qft

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"evbench/routing/dmod/routetest"
	"evbench/routing/lft"
	"evbench/topology/network"
)

// joined counts, by searching, the ordered pairs of switches with hosts and hosts
// that a path up and then down joins.
func joined(n *network.Network, rank []int) int {
	pairs := 0
	for h := range network.Node(n.Hosts()) {
		leaf := n.Leaf(h).Node
		if leaf == network.NoNode {
			continue
		}
		for s, reached := range above(n, rank, leaf) {
			if reached && hasHosts(n, s) {
				pairs++
			}
		}
	}
	return pairs
}

func hasHosts(n *network.Network, s network.Node) bool {
	for _, e := range n.Ends(s) {
		if e.Node != network.NoNode && n.IsHost(e.Node) {
			return true
		}
	}
	return false
}

// above searches from a leaf, backwards: up, then down.
func above(n *network.Network, rank []int, leaf network.Node) map[network.Node]bool {
	type state struct {
		s    network.Node
		down bool
	}
	seen, queue := map[state]bool{{leaf, false}: true}, []state{{leaf, false}}
	reached := map[network.Node]bool{}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		reached[at.s] = true
		for _, e := range n.Ends(at.s) {
			if e.Node == network.NoNode || n.IsHost(e.Node) {
				continue
			}
			next := state{e.Node, rank[e.Node] < rank[at.s]}
			if (next.down || !at.down) && !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return reached
}

func levels(t *tree) []int {
	rank := make([]int, t.n.Nodes())
	for s := range t.n.Switches() {
		rank[t.n.Switch(s)] = t.level(s)
	}
	return rank
}

// All that up*/down* paths join is joined, whatever is missing.
func TestFaults(t *testing.T) {
	small := append([]Shape{{[]int{4, 4, 4}, []int{1, 4, 2}, []int{1, 1, 2}}, {[]int{4, 4, 4, 3}, []int{1, 4, 4, 2}, []int{1, 1, 1, 2}}}, sizes[:6]...)
	small = append(small, sizes[12:14]...)
	lost := 0
	for i, q := range small {
		for seed := range uint64(6) {
			rng := rand.New(rand.NewPCG(uint64(i), seed))
			lost += faulty(t, q, true, build(t, q, int(seed%2)), rng)
			plain, err := network.PGFT(q).Build(0)
			if err != nil {
				t.Fatal(err)
			}
			lost += faulty(t, q, false, plain, rng)
		}
	}
	if lost == 0 {
		t.Error("no network lost a pair: the test does not reach the hard cases")
	}
}

// faulty takes cables and a switch away, and returns how many routes are lost.
func faulty(t *testing.T, q Shape, quasi bool, whole *network.Network, rng *rand.Rand) int {
	t.Helper()
	gone := network.NoNode
	if rng.IntN(2) == 0 {
		gone = whole.Switch(rng.IntN(whole.Switches()))
	}
	share := rng.Float64() * 0.3
	n := routetest.Dead(whole, nil, func(a, b network.End) bool {
		return a.Node == gone || b.Node == gone || rng.Float64() < share
	})
	tables, err := route(q, n, quasi)
	if err != nil {
		t.Fatal(err)
	}
	rank := levels(newTree(q, quasi, n))
	w := routetest.All(tables, rank)
	want := joined(n, rank) << n.Info(0).LMC
	if w.Looped > 0 || w.UpDown > 0 || w.Routes-w.Lost != want {
		t.Fatalf("%s, quasi %v: %s; want %d", q, quasi, w, want)
	}
	return w.Lost
}

// maskOnly is Algorithm 1 for a fat tree (§V.A) as the paper writes it: on the way
// up a port is out when it is missing at the switch or at the one on the same level
// in the destination's subtree; the paper leaves the choice to chance.
func maskOnly(g Shape, n *network.Network) *lft.Tables {
	t, h := newTree(g, false, n), len(g.M)
	tables := lft.New("masks", n)
	at, of := make([]int, h), make([]int, h)
	for s := range n.Switches() {
		l := t.level(s)
		t.digits(s, l, at)
		for d := range n.Hosts() {
			lid := int(n.Info(network.Node(d)).LID)
			leaf := n.Index(n.Switch(d / g.M[0]))
			t.digits(leaf, 1, of)
			copy(of[:l], at[:l])
			q := t.number(of, l) // Q
			if q == s {
				port := uint8(1 + d/product(g.M, l-1)%g.M[l-1])
				if n.At(n.Switch(s), int(port)).Node != network.NoNode {
					tables.Row(s)[lid] = port
				}
				continue
			}
			for i := range g.W[l] {
				port := g.M[l-1] + 1 + (d/product(g.W, l)+i)%g.W[l]
				if n.At(n.Switch(s), port).Node != network.NoNode && n.At(n.Switch(q), port).Node != network.NoNode {
					tables.Row(s)[lid] = uint8(port)
					break
				}
			}
		}
	}
	return tables
}

// Masks of one level, as Algorithm 1 is written, lose hosts that masks of all
// levels do not; never the other way.
func TestMasksOfOneLevelLoseMore(t *testing.T) {
	g := Shape{[]int{3, 3, 3, 3}, []int{1, 3, 3, 3}, []int{1, 1, 1, 1}}
	whole, err := network.PGFT(g).Build(0)
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := 0, 0
	for seed := range uint64(10) {
		n := routetest.Degrade(whole, rand.New(rand.NewPCG(seed, 7)), 0.1)
		tables, err := FatTree(g, n)
		if err != nil {
			t.Fatal(err)
		}
		rank := levels(newTree(g, false, n))
		a, b := routetest.All(maskOnly(g, n), rank), routetest.All(tables, rank)
		if a.Lost < b.Lost {
			t.Errorf("seed %d: masks of one level lose %d, ours %d", seed, a.Lost, b.Lost)
		}
		theirs, ours = theirs+a.Lost, ours+b.Lost
	}
	if theirs <= ours {
		t.Errorf("masks of one level lose %d routes in all, ours %d", theirs, ours)
	}
	t.Logf("lost of 10 networks: %d with masks of one level, %d with those of all", theirs, ours)
}

// A fault changes only entries whose closed form leads to it.
func TestFaultsAreLocal(t *testing.T) {
	q := sizes[1]
	n := build(t, q, 0)
	before, err := QFT(q, n)
	if err != nil {
		t.Fatal(err)
	}
	s := n.Switch(0)
	dead := network.End{Node: s, Port: 5} // s1_0, first up
	after, err := QFT(q, routetest.Dead(n, nil, func(a, _ network.End) bool { return a == dead }))
	if err != nil {
		t.Fatal(err)
	}
	moved := 0
	for h := range network.Node(n.Hosts()) {
		lid := int(n.Info(h).LID)
		if was, is := before.Port(s, lid), after.Port(s, lid); was == 5 {
			moved++
			if is == 5 {
				t.Errorf("h%d still leaves s1_0 by the dead port", h)
			}
		} else if was != is {
			t.Errorf("h%d leaves s1_0 by port %d, not %d any more", h, is, was)
		}
	}
	if moved != 15 {
		t.Errorf("%d entries through the port, not a quarter of the 60 that go up", moved)
	}
}

func TestBadInput(t *testing.T) {
	q := sizes[0]
	n := build(t, q, 0)
	pgft, err := network.PGFT(q).Build(0)
	if err != nil {
		t.Fatal(err)
	}
	twisted := twist(n)
	for _, c := range []struct {
		name string
		run  func(Shape, *network.Network) (*lft.Tables, error)
		q    Shape
		n    *network.Network
		want string
	}{
		{"lengths", QFT, Shape{[]int{4}, []int{1, 2}, []int{1}}, n, "must be one for each level"},
		{"zero", QFT, Shape{[]int{4, 0}, []int{1, 2}, []int{1, 1}}, n, "level 2: m = 0"},
		{"two crossed", QFT, Shape{[]int{4, 2, 4}, []int{1, 2, 4}, []int{1, 2, 2}}, n, "2 levels with p > 1"},
		{"hosts of two cables", QFT, Shape{[]int{4, 2, 4}, []int{2, 2, 4}, []int{1, 2, 1}}, n, "a host has one cable"},
		{"too many hosts", QFT, Shape{[]int{200, 200, 200}, []int{1, 2, 4}, []int{1, 2, 1}}, n, "more than 65536 hosts"},
		{"other size", QFT, sizes[1], n, "the network has 32 hosts"},
		{"not crossed", QFT, q, pgft, "2 cables join s1_0 and s2_0"},
		{"crossed", FatTree, q, n, "port 7 of s1_0 leads to s2_2"},
		{"twisted", QFT, q, twisted, "leads to"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.run(c.q, c.n); (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// twist swaps the up cables of the first leaf and one of another group.
func twist(n *network.Network) *network.Network {
	var b network.Builder
	for v := range network.Node(n.Nodes()) {
		if n.IsHost(v) {
			b.Host(n.Info(v))
		} else {
			b.Switch(n.Info(v), len(n.Ends(v)))
		}
	}
	swap := map[network.End]network.End{}
	x, y := network.End{Node: n.Switch(0), Port: 5}, network.End{Node: n.Switch(7), Port: 5}
	swap[x], swap[y] = y, x
	for v := range network.Node(n.Nodes()) {
		for i, e := range n.Ends(v) {
			a := network.End{Node: v, Port: uint8(i + 1)}
			if e.Node <= v {
				continue
			}
			if other, ok := swap[a]; ok {
				a = other
			}
			if err := b.Cable(a, e); err != nil {
				panic(err)
			}
		}
	}
	return b.Build()
}

// Tables do not depend on how many cores fill them.
func TestSameForAnyCores(t *testing.T) {
	q := sizes[13]
	n := routetest.Degrade(build(t, q, 1), rand.New(rand.NewPCG(1, 3)), 0.1)
	var want *lft.Tables
	for _, cores := range []int{1, 2, 5} {
		before := runtime.GOMAXPROCS(cores)
		got, err := QFT(q, n)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		for s := range n.Switches() {
			if !bytes.Equal(got.Row(s), want.Row(s)) {
				t.Errorf("%d cores: %s differs", cores, n.Info(n.Switch(s)).Name)
			}
		}
	}
}
