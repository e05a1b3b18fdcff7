package opensm

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"evbench/site/lft"
	"evbench/site/network"
)

// errNotFatTree is wrapped by the errors of Ftree: OpenSM would fall back to
// its next engine.
var errNotFatTree = errors.New("not a fat tree")

// Ftree routes as OpenSM's engine ftree does (osm_ucast_ftree.c; Zahavi, "D-Mod-K Routing Providing
// Non-Blocking Traffic for Shift Permutations on Real Life Fat Trees", 2009). Host by host in the
// order of the tree, it goes up by the least used cable, and from each switch on the way down again
// to all switches without a route. On a regular tree each cable gets one host of a leaf, and no
// shift of all hosts has a conflict.
//
// With roots the tree may be degraded in any way that leaves all hosts at one distance from the
// roots; pairs without a way up and then down have no entry. Without roots, ranks are counted from
// the hosts, and the tree must be pure: equal numbers of cables at all switches of a rank. Anything
// else, and LMC > 0, is an error that wraps errNotFatTree.
//
// A switch further from the roots than the leaves, and joined switches of equal rank, are used as
// OpenSM uses them, except where the joined switches have several hosts: OpenSM (3.3.23) then sorts
// the hosts of a switch, while it goes through them, by bytes of its memory that are no order of
// switches (compare_port_groups_by_remote_switch_index). From run to run it exchanges the routes of
// two hosts, or gives one host none at all. Ftree routes each in the order of ports. OpenSM's lists of compute and I/O nodes are not supported: all hosts compute.
//
// O((H+S)·E) time and O(E) memory beside the tables, on one processor: each route depends on the
// loads of the routes before.
func Ftree(n *network.Network, roots []network.Node) (*lft.Tables, error) {
	f, err := newView(n).ftree(roots)
	if err != nil {
		return nil, err
	}
	f.load, f.least = func(network.Node) uint64 { return 1 }, 1
	return f.route("ftree"), nil
}

// FtreeWeighted is Ftree with a weight for each host: its relative traffic received (thesis 3.2.4;
// Zahid et al., "A Weighted Fat-Tree Routing Algorithm for Efficient Load-Balancing in InfiniBand
// Enterprise Clusters", 2015). A route counts with the weight of its host in place of one, and the
// hosts of a leaf are routed heaviest first. With equal weights the tables equal those of Ftree.
//
// One change, as the paper gives weights for enterprise clusters only and leaves ties to the order
// of switches: among cables up with equal loads, the switch that leads down to the least weight
// above the lightest host wins. Otherwise the first spine would reach the heaviest host of every
// leaf. A missing host of a leaf, and a switch, count as the lightest host.
func FtreeWeighted(n *network.Network, roots []network.Node, w *lft.Weights) (*lft.Tables, error) {
	v := newView(n)
	f, err := v.ftree(roots)
	if err != nil {
		return nil, err
	}
	// The lowest bits count routes, so that routes without weight are spread too.
	f.load = func(h network.Node) uint64 { return uint64(w.Of(h))<<16 + 1 }
	f.weighted, f.least = true, math.MaxUint64
	for _, s := range v.loaded {
		slices.SortStableFunc(v.hosts[s], func(a, b network.Node) int { return cmp.Compare(f.load(b), f.load(a)) })
		f.least = min(f.least, f.load(v.hosts[s][len(v.hosts[s])-1]))
	}
	return f.route("ftree-weighted"), nil
}

func (f *ftree) route(engine string) *lft.Tables {
	f.tables = lft.New(engine, f.v.net)
	f.routeHosts()
	f.routeSwitches()
	f.flush()
	return f.tables
}

// An ftree is a network in ranks: roots are rank 0.
type ftree struct {
	v        *view
	rank     []int32
	leafRank int32
	switches []ftSwitch // by index
	leaves   []int32    // in the order of their tuples; some may have no hosts
	most     int        // hosts of a leaf

	load     func(host network.Node) uint64 // that a route to a host counts
	least    uint64                         // of all hosts
	weighted bool                           // loads differ

	// The routes to one LID, by switch.
	ports []uint8 // lft.NoPort before a choice
	hops  []uint8

	tables  *lft.Tables
	columns [columns][]uint8 // routes not yet in the tables
	lids    []int
}

type ftSwitch struct {
	up, level, below []*group // cables to other switches
	hosts            int
	tuple            tuple
	upDirty          bool // loads have changed since up was sorted
	belowDirty       bool
	excess           uint64 // weighted: loads of the hosts led down to here, less the least each
}

// A group is the cables from one switch to another.
type group struct {
	far              int32
	place            int // of the far switch in the order of tuples
	cables           []cable
	upward, downward uint64 // loads of routes
}

type cable struct {
	port, far        uint8 // at this end and at the other
	upward, downward uint64
}

func notFatTree(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errNotFatTree}, args...)...)
}

func (v *view) ftree(roots []network.Node) (*ftree, error) {
	hosts := v.attached()
	switch {
	case v.lmc > 0:
		return nil, notFatTree("LMC is %d, must be 0", v.lmc)
	case len(v.order) < 2 || hosts < 2:
		return nil, notFatTree("%d switches and %d hosts: must be at least 2 of each", len(v.order), hosts)
	}
	f := &ftree{v: v, switches: make([]ftSwitch, len(v.seen))}
	if err := f.setRanks(roots); err != nil {
		return nil, err
	}
	f.group()
	f.index()
	if err := f.setLeaves(); err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		return f, f.pure()
	}
	return f, nil
}

// setRanks counts ranks from the roots and checks that all hosts have one rank. Without roots, or
// with all out of sight, the switches furthest from all hosts are the roots.
func (f *ftree) setRanks(roots []network.Node) error {
	v := f.v
	first := v.visible(roots)
	if len(first) == 0 {
		first = v.furthest()
	}
	f.rank = v.ranks(first)
	f.leafRank = f.rank[v.loaded[0]]
	for _, s := range v.loaded {
		if f.rank[s] != f.leafRank {
			return notFatTree("AB26: hosts at %s have rank %d, hosts at %s rank %d",
				v.name(s), f.rank[s], v.name(v.loaded[0]), f.leafRank)
		}
	}
	if f.leafRank < 1 || f.leafRank > 7 {
		return notFatTree("%d ranks of switches: must be 2 to 8", f.leafRank+1)
	}
	return nil
}

func (v *view) visible(nodes []network.Node) []int32 {
	var switches []int32
	for _, r := range nodes {
		if i := v.net.Index(r); i >= 0 && i < len(v.seen) && v.seen[i] {
			switches = append(switches, int32(i))
		}
	}
	return switches
}

func (v *view) furthest() []int32 {
	away := v.ranks(v.loaded)
	most := int32(0)
	var best []int32
	for _, s := range v.order {
		if away[s] > most {
			most, best = away[s], nil
		}
		if away[s] == most {
			best = append(best, s)
		}
	}
	return best
}

func (v *view) name(s int32) string { return v.net.Info(v.net.Switch(int(s))).Name }

// group groups the cables of each switch by their other switch, in the order of ports.
func (f *ftree) group() {
	v := f.v
	for _, s := range v.order {
		sw := &f.switches[s]
		sw.hosts = len(v.hosts[s])
		sw.upDirty = true
		f.most = max(f.most, sw.hosts)
		for p, t := range v.peers(s) {
			if t == none {
				continue
			}
			list := &sw.level
			if f.rank[t] < f.rank[s] {
				list = &sw.up
			} else if f.rank[t] > f.rank[s] {
				list = &sw.below
			}
			g := find(*list, t)
			if g == nil {
				g = &group{far: t}
				*list = append(*list, g)
			}
			g.cables = append(g.cables, cable{port: uint8(p + 1), far: v.back[int(v.first[s])+p]})
		}
	}
}

func find(groups []*group, far int32) *group {
	for _, g := range groups {
		if g.far == far {
			return g
		}
	}
	return nil
}

// pure makes OpenSM's checks for roots that it found itself: it compares each switch with the first
// of its rank.
func (f *ftree) pure() error {
	like := map[int32]int32{}
	for _, s := range f.v.order {
		r, ok := like[f.rank[s]]
		if !ok {
			like[f.rank[s]] = s
			continue
		}
		a, b := &f.switches[r], &f.switches[s]
		bad := ""
		switch {
		case len(a.up) != len(b.up):
			bad = "AB09: different numbers of groups of cables up"
		case f.rank[s] != f.leafRank && len(a.below) != len(b.below):
			bad = "AB0A: different numbers of groups of cables down"
		case unequal(a.up, b.up):
			bad = "AB0B: different numbers of cables in a group up"
		case f.rank[s] != f.leafRank && len(a.below) > 0 && unequal(a.below, b.below[:1]):
			bad = "AB0C: different numbers of cables in a group down"
		}
		if bad != "" {
			return notFatTree("%s at %s and %s", bad, f.v.name(r), f.v.name(s))
		}
	}
	return nil
}

// unequal reports whether a group has another number of cables than the first
// of a.
func unequal(a, groups []*group) bool {
	return slices.ContainsFunc(groups, func(g *group) bool { return len(g.cables) != len(a[0].cables) })
}
