package opensm

import (
	"evbench/site/lft"
)

// columns is how many LIDs are routed before their entries go to the tables, so that a cache line
// of a table is written at once.
const columns = 64

// furthest is how many hops a route may have, so that they fit into a byte.
const furthest = noPath - 1

// A mission is the purpose of the routes to one LID.
type mission struct {
	real bool   // false for a host that a leaf could have but has not: it counts, that is all
	main bool   // the route counts on its way up
	load uint64 // what a route counts
}

func (m mission) aside() mission { return mission{real: m.real, load: m.load} }

// routeHosts routes to all hosts, leaf by leaf, port by port. A leaf with fewer
// hosts than another is counted as if it had as many.
func (f *ftree) routeHosts() {
	for _, s := range f.leaves {
		for _, h := range f.v.hosts[s] {
			lid, _ := f.v.lids(h)
			f.begin(lid)
			f.enter(s, f.v.net.Leaf(h).Port, 1)
			f.climb(s, none, 1, mission{real: true, main: true, load: f.load(h)})
		}
		for range f.most - f.switches[s].hosts {
			f.begin(0)
			f.hops[s] = 1
			f.climb(s, none, 1, mission{main: true, load: f.least})
			f.lids = f.lids[:len(f.lids)-1]
		}
	}
}

func (f *ftree) routeSwitches() {
	for _, s := range f.v.order {
		if lid := f.v.lid(s); lid != 0 {
			f.begin(lid)
			f.enter(s, 0, 0)
			f.climb(s, none, 0, mission{real: true, load: f.least})
		}
	}
}

func (f *ftree) begin(lid int) {
	if len(f.lids) == columns {
		f.flush()
	}
	c := len(f.lids)
	f.lids = append(f.lids, lid)
	if f.columns[c] == nil {
		f.columns[c] = make([]uint8, len(f.switches))
	}
	if f.hops == nil {
		f.hops = make([]uint8, len(f.switches))
	}
	f.ports = f.columns[c]
	for i := range f.ports {
		f.ports[i] = lft.NoPort
	}
	for i := range f.hops {
		f.hops[i] = noPath
	}
}

func (f *ftree) flush() {
	for _, s := range f.v.order {
		row := f.tables.Row(int(s))
		for c, lid := range f.lids {
			row[lid] = f.columns[c][s]
		}
	}
	f.lids = f.lids[:0]
}

func (f *ftree) enter(s int32, port, hops uint8) { f.ports[s], f.hops[s] = port, hops }

// wanted reports whether a switch has no route yet, or a longer one. The two tests differ at the
// leaf of a missing host.
func (f *ftree) wanted(s int32, hops uint8) bool {
	return f.ports[s] == lft.NoPort || hops < f.hops[s]
}

// climb makes the routes to the LID that lead down through s: from below s, and from all switches
// above. It came to s from prev, or starts there; s is hops away. It reports whether any host got a
// route.
func (f *ftree) climb(s, prev int32, hops uint8, m mission) bool {
	sw := &f.switches[s]
	made := f.descend(s, prev, hops, m)
	if f.rank[s] == 0 || len(sw.up) == 0 || hops >= furthest {
		return made
	}
	f.sortUp(sw)
	best, rest := sw.up[0], sw.up
	if m.main {
		rest = sw.up[1:]
		c := best.leastDown()
		best.downward += m.load
		best.cables[c].downward += m.load
		f.switches[best.far].excess += m.load - f.least
		sw.upDirty = true
		if f.wanted(best.far, hops+1) {
			f.enter(best.far, best.cables[c].far, hops+1)
		}
		made = f.climb(best.far, s, hops+1, m) || made
	}
	for _, g := range rest {
		if f.wanted(g.far, hops+1) {
			f.enter(g.far, g.cables[g.leastDown()].far, hops+1)
			made = f.climb(g.far, s, hops+1, m.aside()) || made
		}
	}
	if len(sw.level) > 0 {
		made = f.cross(s, hops, best, m) || made
	}
	return made
}

// cross continues through switches of the same rank. The original counts such a route on the best
// group up, and on the cable that it takes.
func (f *ftree) cross(s int32, hops uint8, best *group, m mission) (made bool) {
	sw := &f.switches[s]
	sortDownward(sw.level)
	for _, g := range sw.level {
		if !f.wanted(g.far, hops+1) {
			continue
		}
		c := g.leastDown()
		f.enter(g.far, g.cables[c].far, hops+1)
		if f.climb(g.far, s, hops+1, m.aside()) {
			best.downward += m.load
			g.cables[c].downward += m.load
			sw.upDirty = true
			made = true
		}
	}
	return made
}

// descend makes the routes to the LID that lead up to s, from all switches below without a route,
// or with a longer one. It reports whether there are hosts below.
func (f *ftree) descend(s, prev int32, hops uint8, m mission) bool {
	sw := &f.switches[s]
	made := sw.hosts > 0
	if !made && len(sw.below) == 0 || hops >= furthest {
		return made
	}
	if sw.belowDirty {
		sortUpward(sw.below)
		sw.belowDirty = false
	}
	sortUpward(sw.level)
	for _, g := range sw.below {
		if g.far != prev && hops+1 < f.hops[g.far] && f.reach(g, hops, m) {
			sw.belowDirty = true
			made = true
		}
	}
	if !m.real {
		return made
	}
	for _, g := range sw.level {
		if g.far != prev && hops+1 < f.hops[g.far] && f.reach(g, hops, m) {
			sw.belowDirty = true
			made = true
		}
	}
	return made
}

func (f *ftree) reach(g *group, hops uint8, m mission) bool {
	c := g.leastUp()
	f.enter(g.far, g.cables[c].far, hops+1)
	if !f.descend(g.far, none, hops+1, m) {
		return false
	}
	g.cables[c].upward += m.load
	g.upward += m.load
	return true
}

// least is the first of the cables with the least load.
func (g *group) least(load func(*cable) uint64) int {
	best := 0
	for i := range g.cables {
		if load(&g.cables[i]) < load(&g.cables[best]) {
			best = i
		}
	}
	return best
}

func (g *group) leastUp() int   { return g.least(func(c *cable) uint64 { return c.upward }) }
func (g *group) leastDown() int { return g.least(func(c *cable) uint64 { return c.downward }) }
