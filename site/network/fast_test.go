package network_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/scheduler"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/topology"
)

// rated gives hosts a rate, and cables between switches those that of returns, in the order of SwitchCables.
func rated(n *network.Network, host float64, of func(i int) float64) *network.Network {
	rates := map[network.End]float64{}
	for v := range network.Node(n.Hosts()) {
		rates[network.End{Node: v, Port: 1}] = host
	}
	for i, c := range n.SwitchCables() {
		rates[c.A] = of(i)
	}
	return n.WithRates(rates)
}

// A cable as fast as two hosts is two links that live and die together, under one name.
func TestFastCable(t *testing.T) {
	whole, _ := shuffled(t, build(t, "PGFT(2;4,2;1,2;1,1)"), 1)
	n := rated(whole, 100e9, func(int) float64 { return 200e9 })
	tree := expect.Value(network.TreeOf(n))(t).Tree
	dead, all := tree.Damage()
	expect.MustTrue(t, tree.Cables() == 2 && dead == 0 && all == 4, "%s: %d of %d", tree.Notation(), dead, all)
	name := tree.LinkName(topology.Link{Cable: 1})
	links := expect.Value(tree.Links(name))(t)
	expect.Equal(t, links, []topology.Link{{Cable: 1}, {Cable: 2}}, "%s", name)
	for _, also := range []string{name + "/0", name + "/1"} { // by number
		expect.Equal(t, expect.Value(tree.Links(also))(t), links, "%s", also)
	}
	down := expect.Value(tree.Without(links...))(t)
	dead, all = down.Damage()
	expect.True(t, dead == 1 && all == 4, "%d of %d", dead, all)
	expect.Equal(t, down.DownNames(), []string{name}, "down")
	for seed := range uint64(20) {
		drawn := expect.Value(tree.Random(1, seed))(t)
		expect.True(t, len(drawn) == 2 && slices.Equal(tree.CableOf(drawn[0]), drawn), "drawn %v", drawn)
	}
	s, bound, err := scheduler.FORS(tree, scheduler.Options{})
	expect.True(t, err == nil && s.Phases == 7 && bound.Phases == 7, "%d phases, bound %d, %v", s.Phases, bound.Phases, err)

	lost := n.Without(n.SwitchCables()[:1], nil) // as in a file that was written after a cable had died
	p := expect.Value(network.TreeOf(lost))(t)
	dead, all = p.Tree.Damage()
	expect.True(t, dead == 1 && all == 4 && len(p.Tree.DownNames()) == 1, "%d of %d: %v", dead, all, p.Tree.DownNames())
}

// Hosts of a job that are as fast as the cables make them simple links again; slower cables beside fast ones are no
// damage.
func TestMixedRates(t *testing.T) {
	whole, _ := shuffled(t, build(t, "PGFT(2;4,2;1,2;1,1)"), 1)
	rates := map[network.End]float64{}
	for v := range network.Node(whole.Hosts()) {
		rates[network.End{Node: v, Port: 1}] = 100e9
	}
	var fast []network.Node
	for _, s := range []int{0, 1} {
		own := whole.HostsOn(whole.Leaf(network.Node(s)).Node)
		rates[network.End{Node: own[0], Port: 1}] = 200e9
		fast = append(fast, own[0])
	}
	cables := whole.SwitchCables()
	for i, c := range cables {
		rates[c.A] = []float64{100e9, 200e9, 200e9, 200e9}[i]
	}
	n := whole.WithRates(rates)
	p := expect.Value(network.TreeOf(n))(t)
	dead, all := p.Tree.Damage()
	expect.True(t, p.Tree.Cables() == 2 && dead == 0 && all == 4 && len(p.Tree.Missing()) == 1 && len(p.Rates().Slow) == 0,
		"%s: %d of %d, missing %v, slow %v", p.Tree.Notation(), dead, all, p.Tree.Missing(), p.Rates().Slow)
	expect.Equal(t, p.Tree.Healthy().Missing(), p.Tree.Missing(), "missing when healthy")
	if fast[0] == fast[1] {
		return
	}
	q := expect.Value(p.For(n, fast))(t)
	expect.True(t, q.Tree.Cables() == 1 && len(q.Rates().Slow) == 1, "%s, slow %v", q.Tree.Notation(), q.Rates().Slow)
}

// On random trees whose cables carry 1 to 4 messages no cable carries more in a phase, and plans reach the bound.
func TestCapacitiesAreKept(t *testing.T) {
	above := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		whole, _ := shuffled(t, build(t, fmt.Sprintf("PGFT(2;%d,%d;1,%d;1,%d)", 1+rng.IntN(5), 2+rng.IntN(3), 1+rng.IntN(3), 1+rng.IntN(2))), seed)
		n := rated(whole, 100e9, func(int) float64 { return 100e9 * float64(1+rng.IntN(4)) })
		p := expect.Value(network.TreeOf(n))(t)
		s, bound, err := scheduler.FORS(p.Tree, scheduler.Options{})
		expect.MustTrue(t, err == nil, "seed %d: %v", seed, err)
		expect.MustTrue(t, s.Phases >= bound.Phases && s.Phases <= bound.Phases+1, "seed %d: %d phases, bound %d", seed, s.Phases, bound.Phases)
		above += s.Phases - bound.Phases
		expect.MustTrue(t, float64(bound.Phases) >= leafBound(n, p), "seed %d: bound %d, a leaf needs %g", seed, bound.Phases, leafBound(n, p))
		fits(t, n, p, s, fmt.Sprintf("seed %d", seed))
	}
	expect.True(t, above <= 6, "%d of 300 plans are above the bound", above)
}

// leafBound is what the messages of a leaf for others need, over the rates of its cables.
func leafBound(n *network.Network, p *network.Places) (most float64) {
	for l := range p.Tree.Leaves() {
		sum, on := 0.0, p.Tree.ServersOn(l)
		for _, c := range n.SwitchCables() {
			if c.A.Node == p.Node(l) || c.B.Node == p.Node(l) {
				sum += n.Rate(c.A) / 100e9
			}
		}
		most = max(most, math.Ceil(float64(on*(p.Tree.Servers()-on))/sum-1e-9))
	}
	return most
}

// fits counts the messages of each phase on each port.
func fits(t *testing.T, n *network.Network, p *network.Places, s *scheduler.Schedule, what string) {
	t.Helper()
	type use struct {
		at    network.End
		phase int
	}
	count := map[use]int{}
	for m := range s.All() {
		a, b := p.Tree.Leaf(m.Src), p.Tree.Leaf(m.Dst)
		if a == b {
			continue
		}
		links := p.Tree.PathLinks(a, b, p.Tree.PathOf(m.Spine, s.Top(m.Src, m.Dst)))
		for i, l := range links {
			c, ok := p.Cable(l)
			expect.MustTrue(t, ok && p.Tree.LinkAlive(l), "%s: %s has no cable", what, l)
			at := c.A
			if i >= len(links)/2 { // down
				at = c.B
			}
			count[use{at, m.Phase}]++
		}
	}
	for u, messages := range count {
		expect.MustTrue(t, float64(messages) <= n.Rate(u.at)/100e9, "%s: phase %d: %d messages at %v, a port of %g", what, u.phase, messages, u.at, n.Rate(u.at))
	}
}
