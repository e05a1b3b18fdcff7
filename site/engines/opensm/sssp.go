package opensm

import (
	"evbench/site/lft"
	"evbench/site/network"
)

// SSSP returns the tables of OpenSM's engine sssp. It takes one destination after the other: hosts
// of the switches with most hosts first, then switches. All switches get the lightest of the
// shortest routes to the destination, and each cable of it grows heavier by the number of LIDs that
// use it. Routes are minimal; they may deadlock. O(D (C + V log V)) for D LIDs, C cables and V
// switches.
func SSSP(n *network.Network) (*lft.Tables, error) {
	r, err := routed(n, "sssp")
	if err != nil {
		return nil, err
	}
	return r.tables, nil
}

// DFSSSP returns the tables of SSSP, with virtual lanes such that no routes from hosts can
// deadlock; TooFewLanes if that takes more lanes than exist. It also spreads routes over leftover
// lanes.
func DFSSSP(n *network.Network, lanes int) (*lft.Tables, error) {
	r, err := routed(n, "dfsssp")
	if err != nil {
		return nil, err
	}
	if err := r.lanes(lanes, true); err != nil {
		return nil, err
	}
	return r.tables, nil
}

func routed(n *network.Network, engine string) (*router, error) {
	r, err := newRouter(n, engine)
	if err != nil {
		return nil, err
	}
	for _, v := range r.g.loaded() {
		for _, h := range r.g.hosts[v] {
			r.host(v, h, r.all)
		}
	}
	r.switches()
	return r, nil
}

// A router fills tables, destination by destination.
type router struct {
	g      *graph
	search *search
	tables *lft.Tables
	rows   [][]uint8 // of the vertices
	spread *spread   // nil: routes come from the search

	needed  int   // lanes, to break all cycles
	perLane []int // routes, before lanes left over are used
}

func newRouter(n *network.Network, engine string) (*router, error) {
	g, err := newGraph(n)
	if err != nil {
		return nil, err
	}
	r := &router{g: g, search: newSearch(g), tables: lft.New(engine, n)}
	for _, s := range g.sw {
		r.rows = append(r.rows, r.tables.Row(int(s)))
	}
	return r, nil
}

func (r *router) all() []uint64 { return r.search.all() }

// host routes to all LIDs of a host at vertex v, each on its own. routes says
// how many routes from each vertex are counted.
func (r *router) host(v int32, h network.Node, routes func() []uint64) {
	i := r.g.net.Info(h)
	for k := range 1 << i.LMC {
		lid := int(i.LID) + k
		r.search.from(v, false)
		if r.spread != nil {
			r.spread.choose(routes())
		} else {
			r.search.add(routes())
		}
		r.write(lid)
		r.rows[v][lid] = r.g.net.Leaf(h).Port
	}
}

func (r *router) switches() {
	for _, v := range r.g.loaded() {
		lid := r.g.switchLID(v)
		if lid == 0 {
			continue
		}
		r.search.from(v, true)
		r.write(lid)
		r.rows[v][lid] = 0
		r.search.add(r.all())
	}
}

func (r *router) write(lid int) {
	g := r.g
	for v, slot := range r.search.used {
		if slot != none {
			r.rows[v][lid] = uint8(g.back[slot] - g.first[v] + 1)
		}
	}
}
