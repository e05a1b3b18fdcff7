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

// Slow returns the live links of the tree below the usual rate, with the remaining share.
func (p *Places) Slow(n *Network) (slow []topology.SlowLink) {
	usual := n.UsualRate(n.SwitchCables())
	for id := range p.Tree.AllLinks() {
		l := p.Tree.LinkOf(id)
		if c, ok := p.Cable(l); ok && p.Tree.LinkAlive(l) && n.Rate(c.A) > 0 && n.Rate(c.A) < usual {
			slow = append(slow, topology.SlowLink{Link: l, Share: n.Rate(c.A) / usual})
		}
	}
	return slow
}
