package opensm

import (
	"fmt"
	"slices"

	"evbench/site/lft"
)

// Routes from the hosts of one switch to one LID are one bundle: they take the
// same cables, so they share a lane.
type bundle uint32

// A dependency says that routes hold one channel while they wait for another. A channel is a cable
// in one direction, named by the slot through which routes leave a switch.
type dependency struct {
	to      int32
	bundles []bundle
	routes  int // of the bundles, less those moved to another lane
}

type lanes struct {
	g      *graph
	rows   [][]uint8 // of the vertices
	width  int       // LIDs
	on     [][]uint8 // lanes by vertex and LID
	routes []int     // of a lane
}

// TooFewLanes is the error for a network that needs more lanes than it has.
type TooFewLanes struct{ Have int }

func (e TooFewLanes) Error() string {
	return fmt.Sprintf("%d virtual lanes are too few to break all cycles of channel dependencies", e.Have)
}

// lanes gives all routes from hosts lanes 0..count-1 so that no lane has a cycle of dependencies,
// which excludes deadlocks. All routes begin on lane 0. Whenever a lane has a cycle, the routes of
// its dependency with the fewest routes move to the next lane (Domke, Hoefler and Nagel 2011,
// Algorithm 2). Cycles are found in OpenSM's order. Time grows with the length of all routes and
// with the cycles found, each O(channels) at worst. spread also uses leftover lanes.
func (r *router) lanes(count int, spread bool) error {
	if count < 1 || count > lft.MaxLanes {
		return fmt.Errorf("%d virtual lanes: must be 1..%d", count, lft.MaxLanes)
	}
	l := &lanes{g: r.g, rows: r.rows, width: r.tables.LIDs, routes: make([]int, count)}
	for _, s := range r.g.sw {
		l.on = append(l.on, r.tables.LaneRow(int(s)))
	}
	needed, err := l.breakCycles(l.everything(), count)
	if err != nil {
		return err
	}
	r.needed, r.perLane = needed, l.routes
	if spread {
		l.split(needed)
	}
	return nil
}

// WithLanes gives tables of another engine lanes in the same way.
func WithLanes(t *lft.Tables, count int) error {
	r, err := newRouter(t.Net, t.Engine)
	if err != nil {
		return err
	}
	r.tables = t
	for i, s := range r.g.sw {
		r.rows[i] = t.Row(int(s))
	}
	return r.lanes(count, false)
}

// everything returns the dependencies of the routes from hosts to all LIDs, LIDs of hosts first.
// Routes from switches depend on nothing and count on lane 0 only.
func (l *lanes) everything() *dependencies {
	d := newDependencies(l.g)
	order, all := l.g.loaded(), 0
	for _, dst := range order {
		all += int(l.g.lids[dst])
		for _, h := range l.g.hosts[dst] {
			i := l.g.net.Info(h)
			l.towards(d, order, dst, int(i.LID), 1<<i.LMC)
		}
	}
	for _, dst := range order {
		if lid := l.g.switchLID(dst); lid != 0 {
			l.towards(d, order, dst, lid, 1)
		}
	}
	l.routes[0] += all * all
	return d
}

// towards enters the routes to the LIDs of one port, from all other switches.
func (l *lanes) towards(d *dependencies, order []int32, dst int32, lid, count int) {
	l.routes[0] -= count * count // from the port itself
	for _, src := range order {
		for k := range count {
			if src != dst && l.weight(src) > 0 {
				l.enter(d, l.bundle(src, lid+k))
			}
		}
	}
}

func (l *lanes) bundle(src int32, lid int) bundle { return bundle(int(src)*l.width + lid) }

func (l *lanes) weight(src int32) int { return int(l.g.lids[src]) - 1 }

func (l *lanes) source(b bundle) (src int32, lid int) {
	return int32(int(b) / l.width), int(b) % l.width
}

// breakCycles moves bundles until no lane has a cycle. It returns the number of lanes needed.
func (l *lanes) breakCycles(d *dependencies, count int) (needed int, err error) {
	needed = 1
	for lane := range count {
		next := newDependencies(l.g)
		for s := newCycleSearch(d); s.cycle(); {
			if lane == count-1 {
				return 0, TooFewLanes{count}
			}
			needed = lane + 2
			for _, b := range s.cut() {
				l.move(b, uint8(lane), d, next)
			}
		}
		if len(next.born) == 0 {
			break
		}
		d = next
	}
	return needed, nil
}

// move takes a bundle off a lane, unless it has already left that lane.
func (l *lanes) move(b bundle, lane uint8, from, to *dependencies) {
	src, lid := l.source(b)
	if l.on[src][lid] != lane {
		return
	}
	l.on[src][lid]++
	l.routes[lane] -= l.weight(src)
	l.routes[lane+1] += l.weight(src)
	last := int32(none)
	for c := range l.channels(src, lid) {
		if dep := from.find(last, c); dep != nil {
			dep.routes -= l.weight(src)
		}
		last = c
	}
	l.enter(to, b)
}

func (l *lanes) enter(d *dependencies, b bundle) {
	src, lid := l.source(b)
	last := int32(none)
	for c := range l.channels(src, lid) {
		d.add(last, c, b, l.weight(src))
		last = c
	}
}

// channels follows the route from a vertex to a LID. It leaves out the channels to and from hosts:
// no route waits for the former, and no route in the network holds the latter.
func (l *lanes) channels(v int32, lid int) func(yield func(int32) bool) {
	return func(yield func(int32) bool) {
		for {
			port := int32(l.rows[v][lid])
			if port == 0 {
				return
			}
			slot := l.g.first[v] + port - 1
			if l.g.to[slot] == none || !yield(slot) {
				return
			}
			v = l.g.to[slot]
		}
	}
}

// split uses the leftover lanes: each goes to the group of lanes with the most routes a lane.
// Within a group OpenSM draws a lane for each requested path; here bundles take turns.
func (l *lanes) split(needed int) {
	parts := slices.Repeat([]int{1}, needed)
	for range len(l.routes) - needed {
		most := 0
		for i := range parts {
			if l.routes[i]*parts[most] > l.routes[most]*parts[i] {
				most = i
			}
		}
		parts[most]++
	}
	base := make([]int, needed)
	for i := 1; i < needed; i++ {
		base[i] = base[i-1] + parts[i-1]
	}
	for v := range l.on {
		for lid, lane := range l.on[v] {
			l.on[v][lid] = uint8(base[lane] + (v+lid)%parts[lane])
		}
	}
}
