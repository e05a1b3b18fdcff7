package closed

import (
	"math/rand/v2"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

func numbersOf(n *network.Network) []int { return numbers(n, newGraph(n, byHops(n))) }

// Hosts and switches shuffled, the numbers still follow the tree.
func TestNumbers(t *testing.T) {
	g := network.PGFT{M: []int{3, 3, 4}, W: []int{1, 2, 2}, P: []int{1, 1, 1}}
	n := build(t, g)
	if d := numbersOf(n); d[5] != 5 || d[35] != 35 {
		t.Errorf("a built network: %v", d)
	}
	rng := rand.New(rand.NewPCG(1, 8))
	for range 20 {
		shuffled, was := shuffle(n, rng)
		d := numbersOf(shuffled)
		at := make([]network.Node, len(d))
		for h, x := range d {
			at[x] = was[h]
		}
		for _, size := range []network.Node{3, 9} { // leaves and subtrees
			for x := 1; x < len(at); x++ {
				expect.MustFalse(t, x%int(size) != 0 && at[x]/size != at[x-1]/size, "blocks of %d are torn: %v", size, at)
			}
		}
	}
}

// shuffle returns a network without a notation, its hosts and switches in random
// order, and what each node was.
func shuffle(n *network.Network, rng *rand.Rand) (*network.Network, []network.Node) {
	var was []network.Node
	for _, h := range rng.Perm(n.Hosts()) {
		was = append(was, network.Node(h))
	}
	for _, s := range rng.Perm(n.Switches()) {
		was = append(was, n.Switch(s))
	}
	var b network.Builder
	is := make([]network.Node, len(was))
	for v, old := range was {
		is[old] = network.Node(v)
		if n.IsHost(old) {
			b.Host(n.Info(old))
		} else {
			b.Switch(n.Info(old), len(n.Ends(old)))
		}
	}
	for old := range network.Node(n.Nodes()) {
		for i, e := range n.Ends(old) {
			if e.Node > old {
				if err := b.Cable(network.End{Node: is[old], Port: uint8(i + 1)}, network.End{Node: is[e.Node], Port: e.Port}); err != nil {
					panic(err)
				}
			}
		}
	}
	return b.Build(), was
}

// A shuffled tree is routed without contention for shifts of the hosts' numbers.
func TestShuffledHasNoContention(t *testing.T) {
	n, _ := shuffle(build(t, network.PGFT{M: []int{4, 2, 8}, W: []int{1, 2, 4}, P: []int{1, 2, 1}}), rand.New(rand.NewPCG(3, 8)))
	tables := expect.Value(Dmodc(n, Options{}))(t)
	d := numbersOf(n)
	at := make([]network.Node, len(d))
	for h, x := range d {
		at[x] = network.Node(h)
	}
	ordered := order(tables, at)
	for by := range n.Hosts() {
		most, err := shiftLoad(ordered, by, 0)
		expect.MustTrue(t, err == nil && most == 1, "shift by %d: %d paths on a cable, %v", by, most, err)
	}
}

// order returns the same routes with hosts renumbered.
func order(t *lft.Tables, at []network.Node) *lft.Tables {
	n := t.Net
	is := make([]network.Node, n.Nodes())
	var b network.Builder
	for v := range network.Node(n.Nodes()) {
		if n.IsHost(v) {
			is[at[v]] = v
			b.Host(n.Info(at[v]))
		} else {
			is[v] = v
			b.Switch(n.Info(v), len(n.Ends(v)))
		}
	}
	for v := range network.Node(n.Nodes()) {
		for i, e := range n.Ends(v) {
			if e.Node > v {
				if err := b.Cable(network.End{Node: is[v], Port: uint8(i + 1)}, network.End{Node: is[e.Node], Port: e.Port}); err != nil {
					panic(err)
				}
			}
		}
	}
	out := lft.New(t.Engine, b.Build())
	for s := range n.Switches() {
		copy(out.Row(s), t.Row(s))
	}
	return out
}
