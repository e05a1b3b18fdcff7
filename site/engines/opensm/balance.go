package opensm

import (
	"math/bits"

	"evbench/site/lft"
	"evbench/site/network"
)

// A ledger chooses ports for one switch: it holds the routes that each port has so far, and the row
// for the choices.
type ledger struct {
	v    *view
	h    *hops
	s    int32
	row  []uint8
	load [256]uint32 // by port
	used []used      // with LMC > 0: by host, in the order of v.loaded
	dice *dice       // scatter: chooses among ports of equal load
	old  []uint8     // the row before, which is kept where it is still good
}

// balance fills the row of the switch from its sets of ports (osm_ucast_mgr.c,
// osm_switch.c: osm_switch_recommend_path). Hosts come switch by switch, those
// of the switch with most hosts first, and port by port; each takes the first
// port that has the fewest routes, and then counts on it. Then come the
// switches' own LIDs, which do not count.
//
// O(H·P) for a switch, P being its ports.
func (l *ledger) balance() {
	if l.v.lmc > 0 {
		l.balanceLMC()
		return
	}
	for _, t := range l.v.loaded {
		if t == l.s {
			l.local(0)
			continue
		}
		set := l.h.set(l.s, t)
		for _, host := range l.v.hosts[t] {
			lid, _ := l.v.lids(host)
			port, ok := l.kept(lid, set)
			if !ok {
				port = l.least(set)
			}
			l.row[lid] = l.count(port)
		}
	}
	l.switches()
}

// kept returns the port of the row before where it is still in the set.
func (l *ledger) kept(lid int, set []uint64) (uint8, bool) {
	if l.old == nil {
		return 0, false
	}
	p := int(l.old[lid]) - 1
	return l.old[lid], p >= 0 && p/64 < len(set) && set[p/64]>>(p%64)&1 == 1
}

func (l *ledger) local(offset int) {
	for _, host := range l.v.hosts[l.s] {
		if base, lids := l.v.lids(host); offset < lids {
			l.row[base+offset] = l.count(l.v.net.Leaf(host).Port)
		}
	}
}

func (l *ledger) switches() {
	for _, t := range l.v.order {
		lid := l.v.lid(t)
		switch {
		case lid == 0:
		case t == l.s:
			l.row[lid] = 0
		default:
			set := l.h.set(l.s, t)
			port, ok := l.kept(lid, set)
			if !ok {
				port = l.least(set)
			}
			l.row[lid] = port
		}
	}
}

func (l *ledger) count(port uint8) uint8 {
	if port != lft.NoPort {
		l.load[port]++
	}
	return port
}

// least returns the first of the ports with the fewest routes.
func (l *ledger) least(set []uint64) uint8 {
	if l.dice != nil {
		return l.scattered(set)
	}
	best, fewest := uint8(lft.NoPort), ^uint32(0)
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			p := uint8(w*64 + bits.TrailingZeros64(word) + 1)
			if c := l.load[p]; c < fewest {
				best, fewest = p, c
			}
		}
	}
	return best
}

// MinHop routes along shortest ways: OpenSM's engine minhop, its default (osm_ucast_mgr.c; memo,
// §4.2 and §4.3). Every reachable switch has an entry. On a degraded tree it may deadlock: a route
// may go down and up again. With LMC > 0 the routes to the LIDs of a host leave by as many
// different switches as exist.
var MinHop = Engine{"minhop", func(v *view, _ []network.Node) (*hops, []int32, error) { return v.shortest(), nil, nil }}
