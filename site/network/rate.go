package network

import (
	"cmp"
	"maps"
	"slices"

	"evbench/internal/lists"
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

// MessageRate returns the rate of a message: that of most of some hosts' cables or, where it is not
// known, that of most cables between switches; 0: neither is.
func (n *Network) MessageRate(hosts []Node) float64 {
	own := lists.Map(hosts, func(v Node) Cable { return Cable{End{v, 1}, n.Leaf(v)} })
	return cmp.Or(n.UsualRate(own), n.UsualRate(n.SwitchCables()))
}

// Capacities returns how many messages the cable at a port carries at once, each at the rate of most
// hosts: 1 where its rate is not known, less for a slower cable. It is nil where all are 1.
func (n *Network) Capacities() func(End) float64 {
	rate := n.MessageRate(n.allHosts())
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
	return lists.Tabulate(n.Hosts(), func(v int) Node { return Node(v) })
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
	r.Slow, r.Faster, r.Counted = p.slow(), p.stack != nil && !p.stack.exact, p.stack == nil || !p.stack.parts
	for id := range p.Tree.AllLinks() {
		if p.Share(p.Tree.LinkOf(id)) >= 2 {
			r.Faster, r.Counted = true, false
		}
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
