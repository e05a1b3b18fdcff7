package network

import (
	"maps"
	"slices"

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

// linkRate returns the rate of a message: that of most of some hosts' cables, or that of most cables
// between switches where these are slower or the other is not known; 0: neither is.
func (n *Network) linkRate(hosts []Node) float64 {
	var own []Cable
	for _, v := range hosts {
		own = append(own, Cable{End{v, 1}, n.Leaf(v)})
	}
	host, between := n.UsualRate(own), n.UsualRate(n.SwitchCables())
	if host == 0 || between > 0 && between < host {
		return between
	}
	return host
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
// beside faster ones lacks.
func (p *Places) never() (absent []topology.Link) {
	each := p.Tree.Cables()
	for id := 0; p.lanes && id < p.Tree.LowerLinks(); id += each {
		var free []topology.Link
		cables := map[Cable]bool{}
		for at, own := range p.cables[id : id+each] {
			if len(own) == 0 {
				free = append(free, p.Tree.LinkOf(id+at))
			} else {
				cables[own[0]] = true
			}
		}
		absent = append(absent, free[:max(0, len(free)-(p.most-len(cables))*p.usual)]...)
	}
	return absent
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

// Slow returns the live links of the tree below the link rate, with their share of it.
func (p *Places) Slow() (slow []topology.SlowLink) {
	for id := range p.Tree.AllLinks() {
		l := p.Tree.LinkOf(id)
		if share := p.Share(l); share < 1 && p.Tree.LinkAlive(l) {
			slow = append(slow, topology.SlowLink{Link: l, Share: share})
		}
	}
	return slow
}
