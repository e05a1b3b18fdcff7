package opensm

import (
	"math/bits"
	"slices"

	"evbench/internal/lists"
	"evbench/site/lft"
	"evbench/site/network"
)

// used are the first switches of the routes from one switch to the LIDs of one host, with their
// counts.
type used struct {
	next   []int32
	routes []uint32
}

func (u *used) find(next int32) int { return slices.Index(u.next, next) }

func (u *used) add(next int32) {
	i := u.find(next)
	if i == none {
		i = len(u.next)
		u.next, u.routes = append(u.next, next), append(u.routes, 0)
	}
	u.routes[i]++
}

// balanceLMC fills a row for hosts with several LIDs: the first LIDs of all hosts, the switches,
// the second LIDs of all hosts, and so on.
func (l *ledger) balanceLMC() {
	total := lists.Sum(l.v.loaded, func(t int32) int { return len(l.v.hosts[t]) })
	l.used = make([]used, total)
	for offset := range 1 << l.v.lmc {
		i := 0
		for _, t := range l.v.loaded {
			if t == l.s {
				l.local(offset)
				i += len(l.v.hosts[t])
				continue
			}
			for _, host := range l.v.hosts[t] {
				l.enter(t, host, offset, &l.used[i])
				i++
			}
		}
		if offset == 0 {
			l.switches()
		}
	}
}

func (l *ledger) enter(t int32, host network.Node, offset int, u *used) {
	base, lids := l.v.lids(host)
	if offset >= lids {
		return
	}
	start := 1
	if offset > 0 {
		start = int(l.row[base+offset-1]) + 1
	}
	set := l.h.set(l.s, t)
	port, ok := l.kept(base+offset, set)
	switch {
	case ok:
	case l.dice != nil && offset == 0:
		port = l.scattered(set)
	default:
		port = l.disjoint(set, start, u)
	}
	l.row[base+offset] = l.count(port)
	if port != lft.NoPort {
		u.add(l.peer(port))
	}
}

func (l *ledger) peer(port uint8) int32 { return l.v.peers(l.s)[port-1] }

// disjoint returns the port with the fewest routes to a switch that no LID of the host uses yet.
// Without such a switch, it returns the port with the fewest routes, among equals the one whose
// switch has the fewest of this host. It tries ports cyclically from start.
func (l *ledger) disjoint(set []uint64, start int, u *used) uint8 {
	fresh, freshLoad := uint8(lft.NoPort), ^uint32(0)
	best, bestLoad, bestUsed := uint8(lft.NoPort), ^uint32(0), ^uint32(0)
	try := func(port uint8) {
		load, i := l.load[port], u.find(l.peer(port))
		if i == none {
			if load < freshLoad {
				fresh, freshLoad = port, load
			}
			return
		}
		switch routes := u.routes[i]; {
		case load < bestLoad:
			best, bestLoad = port, load
			bestUsed = min(bestUsed, routes)
		case load == bestLoad && routes < bestUsed:
			best, bestUsed = port, routes
		}
	}
	around(set, start, try)
	if fresh != lft.NoPort {
		return fresh
	}
	return best
}

// around calls try for the ports of a set, cyclically from start.
func around(set []uint64, start int, try func(port uint8)) {
	for _, late := range []bool{false, true} {
		for w, word := range set {
			for ; word != 0; word &= word - 1 {
				if p := w*64 + bits.TrailingZeros64(word) + 1; (p < start) == late {
					try(uint8(p))
				}
			}
		}
	}
}
