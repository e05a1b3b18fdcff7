package closed

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
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

func levels(t *tree, n *network.Network) []int {
	rank := make([]int, n.Nodes())
	for s := range n.Switches() {
		rank[n.Switch(s)] = t.level(s)
	}
	return rank
}

// All that up*/down* paths join is joined, whatever is missing.
func TestFaults(t *testing.T) {
	small := append([]shape{{M: []int{4, 4, 4}, W: []int{1, 4, 2}, P: []int{1, 1, 2}}, {M: []int{4, 4, 4, 3}, W: []int{1, 4, 4, 2}, P: []int{1, 1, 1, 2}}}, sizes[:6]...)
	small = append(small, sizes[12:14]...)
	lost := 0
	for i, q := range small {
		for seed := range uint64(6) {
			rng := rand.New(rand.NewPCG(uint64(i), seed))
			lost += faulty(t, network.PGFT(q), true, buildQFT(t, q, int(seed%2)), rng)
			lost += faulty(t, network.PGFT(q), false, build(t, network.PGFT(q)), rng)
		}
	}
	expect.True(t, lost != 0, "no network lost a pair: the test does not reach the hard cases")
}

// faulty takes cables and a switch away, and returns how many routes are lost.
func faulty(t *testing.T, q network.PGFT, quasi bool, whole *network.Network, rng *rand.Rand) int {
	t.Helper()
	gone := network.NoNode
	if rng.IntN(2) == 0 {
		gone = whole.Switch(rng.IntN(whole.Switches()))
	}
	share := rng.Float64() * 0.3
	n := without(whole, nil, func(a, b network.End) bool {
		return a.Node == gone || b.Node == gone || rng.Float64() < share
	})
	tables := route("qft", q, quasi, n)
	rank := levels(newTree(q, quasi), n)
	w := walkAll(tables, rank)
	want := joined(n, rank) << n.Info(0).LMC
	expect.MustTrue(t, w.Looped <= 0 && w.UpDown <= 0 && w.Routes-w.Lost == want, "%s, quasi %v: %s; want %d", q, quasi, w, want)
	return w.Lost
}

// maskOnly is Algorithm 1 for a fat tree (§V.A) as the paper writes it: on the way
// up a port is out when it is missing at the switch or at the one on the same level
// in the destination's subtree; the paper leaves the choice to chance.
func maskOnly(g network.PGFT, n *network.Network) *lft.Tables {
	t, h := newTree(g, false), len(g.M)
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
	g := network.PGFT{M: []int{3, 3, 3, 3}, W: []int{1, 3, 3, 3}, P: []int{1, 1, 1, 1}}
	whole := build(t, g)
	theirs, ours := 0, 0
	for seed := range uint64(10) {
		n := degrade(whole, rand.New(rand.NewPCG(seed, 7)), 0.1)
		tables := expect.Value(QFT(n))(t)
		rank := levels(newTree(g, false), n)
		a, b := walkAll(maskOnly(g, n), rank), walkAll(tables, rank)
		expect.True(t, a.Lost >= b.Lost, "seed %d: masks of one level lose %d, ours %d", seed, a.Lost, b.Lost)
		theirs, ours = theirs+a.Lost, ours+b.Lost
	}
	expect.True(t, theirs > ours, "masks of one level lose %d routes in all, ours %d", theirs, ours)
	t.Logf("lost of 10 networks: %d with masks of one level, %d with those of all", theirs, ours)
}

// A fault changes only entries whose closed form leads to it.
//
//gate:race
func TestFaultsAreLocal(t *testing.T) {
	q := sizes[1]
	n := buildQFT(t, q, 0)
	before := expect.Value(QFT(n))(t)
	s := n.Switch(0)
	gone := network.End{Node: s, Port: 5} // s1_0, first up
	after := expect.Value(QFT(without(n, nil, func(a, _ network.End) bool { return a == gone })))(t)
	moved := 0
	for h := range network.Node(n.Hosts()) {
		lid := int(n.Info(h).LID)
		if was, is := before.Port(s, lid), after.Port(s, lid); was == 5 {
			moved++
			expect.True(t, is != 5, "h%d still leaves s1_0 by the dead port", h)
		} else if was != is {
			t.Errorf("h%d leaves s1_0 by port %d, not %d any more", h, is, was)
		}
	}
	expect.True(t, moved == 15, "%d entries through the port, not a quarter of the 60 that go up", moved)
}

func TestTwoCrossedLevels(t *testing.T) {
	n := buildQFT(t, shape{M: []int{4, 2, 4}, W: []int{1, 2, 4}, P: []int{1, 2, 2}}, 0)
	expect.Error(t, expect.Err(QFT(n)), "2 levels with p > 1")
}

// Tables do not depend on how many cores fill them.
func TestSameForAnyCores(t *testing.T) {
	q := sizes[13]
	n := degrade(buildQFT(t, q, 1), rand.New(rand.NewPCG(1, 3)), 0.1)
	var want *lft.Tables
	for _, cores := range []int{1, 2, 5} {
		before := runtime.GOMAXPROCS(cores)
		got, err := QFT(n)
		runtime.GOMAXPROCS(before)
		expect.Must(t, err)
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
