package network

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evbench/internal/show"
	"evbench/topology"
)

// WithRates returns the network with the rates of cables, in bit/s, by either end or by both; the
// lower rate counts.
func (n *Network) WithRates(rates map[End]float64) *Network {
	out := *n
	out.rates = map[End]float64{}
	for at, r := range rates {
		far := n.At(at.Node, int(at.Port))
		if far.Node == NoNode || !(r > 0) {
			continue
		}
		if other := rates[far]; other > 0 {
			r = min(r, other)
		}
		out.rates[at], out.rates[far] = r, r
	}
	return &out
}

// Rate returns the rate of the cable at a port in bit/s, 0 where it is not known.
func (n *Network) Rate(at End) float64 { return n.rates[at] }

// Rated reports whether the rate of a cable is known.
func (n *Network) Rated() bool { return len(n.rates) > 0 }

// UsualRate returns the most frequent rate of some cables, the highest of several, and 0 if fewer
// than half have a known rate.
func (n *Network) UsualRate(cables []Cable) (usual float64) {
	count, known := map[float64]int{}, 0
	for _, c := range cables {
		if r := n.Rate(c.A); r > 0 {
			count[r]++
			known++
		}
	}
	if 2*known < len(cables) {
		return 0
	}
	for _, r := range slices.Sorted(maps.Keys(count)) {
		if count[r] >= count[usual] {
			usual = r
		}
	}
	return usual
}

// linkRate returns the rate of a message: that of most of some hosts' cables or, where it is not
// known, that of most cables between switches; 0: neither is.
func (n *Network) linkRate(hosts []Node) float64 {
	var own []Cable
	for _, v := range hosts {
		own = append(own, Cable{End{v, 1}, n.Leaf(v)})
	}
	return cmp.Or(n.UsualRate(own), n.UsualRate(n.SwitchCables()))
}

// Capacities returns how many messages the cable at a port carries at once, each at the rate of most
// hosts: 1 where its rate is not known, less for a slower cable. It is nil where all are 1.
func (n *Network) Capacities() func(End) float64 {
	rate := n.linkRate(n.allHosts())
	if rate == 0 || !slices.ContainsFunc(n.SwitchCables(), func(c Cable) bool { r := n.Rate(c.A); return r > 0 && r != rate }) {
		return nil
	}
	return func(e End) float64 {
		if r := n.Rate(e); r > 0 {
			return r / rate
		}
		return 1
	}
}

func (n *Network) allHosts() []Node {
	out := make([]Node, n.Hosts())
	for v := range out {
		out[v] = Node(v)
	}
	return out
}

// at returns how many messages the cable at a port carries at once, each at the link rate: one
// where a rate is not known, and at least one.
func (p *Places) at(n *Network, e End) int {
	if r := n.Rate(e); p.lanes && p.rate > 0 && r > p.rate {
		return int(r/p.rate + 0.01)
	}
	return 1
}

// never returns the links that stand for no cable and for no dead one: those that a slower cable
// beside faster ones lacks, and those of a leaf that has fewer cables than others to every spine. A
// leaf is taken to have been built with as many cables to each spine as it has to one; where there
// is one spine alone, with as many as any leaf.
func (p *Places) never() (absent []topology.Link) {
	t := p.Tree
	if t.Levels() == 3 {
		return nil
	}
	all := 1
	for id := 0; t.Spines() == 1 && id < t.LowerLinks(); id += t.Cables() {
		all = max(all, len(p.distinct(id)))
	}
	for leaf := range t.Leaves() {
		free, cables, most := make([][]topology.Link, t.Spines()), make([]int, t.Spines()), max(all, p.toASpine(leaf))
		for k := range t.Spines() {
			for c := range t.Cables() {
				if l := t.Cable(leaf, k, c); len(p.cables[t.LinkID(l)]) == 0 {
					free[k] = append(free[k], l)
				}
			}
			cables[k] = len(p.distinct(t.LinkID(t.Cable(leaf, k, 0))))
		}
		for k, own := range free {
			absent = append(absent, own[:max(0, len(own)-(most-cables[k])*p.usual)]...)
		}
	}
	return absent
}

// toASpine is the most cables that a leaf has to one spine.
func (p *Places) toASpine(leaf int) (most int) {
	for k := range p.Tree.Spines() {
		most = max(most, len(p.distinct(p.Tree.LinkID(p.Tree.Cable(leaf, k, 0)))))
	}
	return most
}

// distinct returns the cables between the two switches that the links from an ID on join.
func (p *Places) distinct(id int) map[Cable]bool {
	seen := map[Cable]bool{}
	for _, own := range p.cables[id : id+p.beside(id)] {
		if len(own) > 0 {
			seen[own[0]] = true
		}
	}
	return seen
}

// AsBuilt says which leaves have fewer cables to every spine than others, "" if none has: that is
// taken for the design, as a dead cable would be one of a spine.
func (p *Places) AsBuilt() string {
	t, by := p.Tree, map[int][]string{} // leaves by cables to a spine
	most := 0
	for leaf := 0; leaf < t.Leaves() && t.Levels() == 2 && t.Spines() > 1; leaf++ {
		n := p.toASpine(leaf)
		by[n] = append(by[n], t.SwitchName(leaf))
		most = max(most, n)
	}
	var out []string
	for n := 1; n < most; n++ {
		if by[n] != nil {
			out = append(out, fmt.Sprintf("%s %s to a spine", show.Few(by[n]), show.Plural(n, "cable", "cables")))
		}
	}
	if out == nil {
		return ""
	}
	return fmt.Sprintf("taken as built, no cable dead: %s, where other leaves have %d", strings.Join(out, ", "), most)
}

// Share returns the part of a message's rate that a link of the tree has, 1 where it is not known:
// more than 1 where a cable is faster and the tree does not use that.
func (p *Places) Share(l topology.Link) float64 {
	c, ok := p.Cable(l)
	if r := p.net.Rate(c.A); ok && r > 0 && p.rate > 0 {
		return r / p.rate / float64(len(p.Tree.CableOf(l)))
	}
	return 1
}

// Rates says how links and hosts differ from the link rate.
func (p *Places) Rates() (r topology.Rates) {
	r.Slow = p.slow()
	for id := range p.Tree.AllLinks() {
		r.Faster = r.Faster || p.Share(p.Tree.LinkOf(id)) >= 2
	}
	for rank, v := range p.Host {
		if x := p.net.Rate(End{v, 1}); p.rate > 0 && x > 0 && x < p.rate {
			r.Hosts = append(r.Hosts, topology.SlowHost{Rank: rank, Share: x / p.rate})
		}
	}
	return r
}

// slow returns the live links of the tree below the link rate, with their share of it.
func (p *Places) slow() (slow []topology.SlowLink) {
	for id := range p.Tree.AllLinks() {
		l := p.Tree.LinkOf(id)
		if share := p.Share(l); share < 1 && p.Tree.LinkAlive(l) {
			slow = append(slow, topology.SlowLink{Link: l, Share: share})
		}
	}
	return slow
}
