package survey

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"evbench/topology"
)

// A Group is all the ways in which k things of one sort can die: links, or whole spines; on three
// levels links of both levels, or middle and top switches. The sets are numbered 0..Count-1 in
// lexicographic order.
type Group struct {
	Name  string // "links", "spines" or "switches"
	k     int
	Count int64 // of sets

	names []string
	units [][]topology.Link
}

// Groups returns the sets of k live links of t, and of k switches other than leaves
// that have a live link left. A group without a set is left out.
func Groups(t *topology.Live, k int) []Group {
	links, switches := Group{Name: "links", k: k}, Group{Name: "spines", k: k}
	if t.Levels() == 3 {
		switches.Name = "switches"
	}
	for id := range t.AllLinks() {
		if link := t.LinkOf(id); t.LinkAlive(link) && t.CableOf(link)[0] == link {
			links.add(t.LinkName(link), t.CableOf(link)...)
		}
	}
	for sw := t.Leaves(); sw < t.Switches(); sw++ {
		if dead := deadWith(t, sw); dead != nil {
			switches.add(t.SwitchName(sw), dead...)
		}
	}
	var out []Group
	for _, g := range []Group{links, switches} {
		if g.Count = binomial(len(g.units), k); g.Count > 0 {
			out = append(out, g)
		}
	}
	return out
}

// deadWith returns the live links of a switch, and of those that are the same switch of the network; nil
// for these.
func deadWith(t *topology.Live, sw int) (dead []topology.Link) {
	for twin := range t.Switches() {
		if !t.OneSwitch(sw, twin) {
			continue
		}
		if twin < sw {
			return nil
		}
		for port := range t.SwitchPorts(twin) {
			if link, _, ok := t.LinkAt(twin, port); ok && t.LinkAlive(link) {
				dead = append(dead, link)
			}
		}
	}
	return dead
}

func (g *Group) add(name string, dead ...topology.Link) {
	g.names, g.units = append(g.names, name), append(g.units, dead)
}

// Set returns the names of the dead things in set i, and the links.
func (g *Group) Set(i int64) (names []string, dead []topology.Link) {
	for _, u := range g.combination(i) {
		names = append(names, g.names[u])
		dead = append(dead, g.units[u]...)
	}
	return names, dead
}

// combination returns set i of the k-subsets of the units in lexicographic order.
func (g *Group) combination(i int64) []int {
	out := make([]int, 0, g.k)
	for u := 0; len(out) < g.k; u++ {
		with := binomial(len(g.units)-u-1, g.k-len(out)-1) // sets that go on with u
		if i < with {
			out = append(out, u)
		} else {
			i -= with
		}
	}
	return out
}

// A chosen group is a group with its planned sets.
type chosen struct {
	*Group
	numbers []int64 // rising; nil: all
}

func (c *chosen) len() int {
	if c.numbers == nil {
		return int(c.Count)
	}
	return len(c.numbers)
}

func (c *chosen) number(i int) int64 {
	if c.numbers == nil {
		return int64(i)
	}
	return c.numbers[i]
}

// choose draws n sets without repetition; all of them when n is 0 or at least their number. Floyd's
// method: n draws.
func (g *Group) choose(n int, seed uint64) chosen {
	if n == 0 || int64(n) >= g.Count {
		return chosen{Group: g}
	}
	rng := rand.New(rand.NewPCG(seed, uint64(len(g.units))))
	drawn := make(map[int64]bool, n)
	out := make([]int64, 0, n)
	for last := g.Count - int64(n); last < g.Count; last++ {
		i := rng.Int64N(last + 1)
		if drawn[i] {
			i = last
		}
		drawn[i] = true
		out = append(out, i)
	}
	slices.Sort(out)
	return chosen{g, out}
}

// binomial returns n over k, for k ≤ MaxK and n a number of links: below 2⁶³.
func binomial(n, k int) int64 {
	if k > n {
		return 0
	}
	out := int64(1)
	for i := range int64(k) {
		out = out * (int64(n) - i) / (i + 1)
	}
	return out
}

// mostSets is how many sets are planned without a sample, mostKept how many where a journal keeps
// their costs, and mostSampled how many of each group in a sample, as each result is kept.
const (
	mostSets    = 200_000
	mostKept    = 20_000_000
	mostSampled = 1_000_000
)

// CountSets says in words how many sets a survey plans, and refuses a survey that would not end;
// errors name the flags of evbench whatif.
func CountSets(t *topology.Live, o WhatIfOptions) (string, error) {
	switch {
	case o.K < 1 || o.K > MaxK:
		return "", fmt.Errorf("--k %d: must be 1..%d", o.K, MaxK)
	case o.Sample < 0:
		return "", fmt.Errorf("--sample %d: must be a number of sets", o.Sample)
	case o.Sample > mostSampled:
		return "", fmt.Errorf("--sample %d: at most %d sets", o.Sample, mostSampled)
	}
	var parts []string
	all := int64(0)
	for _, g := range Groups(t, o.K) {
		n := g.Count
		if o.Sample > 0 {
			n = min(n, int64(o.Sample))
		}
		all += n
		sets := fmt.Sprintf("%d sets", n)
		if n < g.Count {
			sets = fmt.Sprintf("%d of %d sets", n, g.Count)
		}
		parts = append(parts, fmt.Sprintf("%s: %s of %d", g.Name, sets, o.K))
	}
	text := strings.Join(parts, "; ")
	switch {
	case all > mostKept:
		return "", fmt.Errorf("%s: more than %d; plan some of them with --sample, for example --sample 10000", text, mostKept)
	case all > mostSets && o.Sample == 0 && !o.Sweep.Keeps():
		return "", fmt.Errorf("%s: more than %d; plan some of them with --sample, for example --sample 10000, or all in shards (--shard, --journal)", text, mostSets)
	}
	return text, nil
}
