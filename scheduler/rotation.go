package scheduler

import (
	"evbench/internal/coloring"
	"evbench/internal/parallel"
	"evbench/scheduler/schedules"
)

// A rotation is a schedule of few paths for L leaves with n servers each and w spines that
// every leaf reaches: what leaf a does with leaf a+b, leaf a' does with a'+b (mod L).
//
// A class is a distance b = 1..L-1 and a destination slot β: the n messages of each leaf a to
// slot β of leaf a+b. Two classes collide only on the same spine or at the same β, and edge
// colouring of β × spines, with the phases as colours, excludes both.
type rotation struct {
	servers, leaves, n, w int
}

// rotation returns the rotation over the spines without dead links. It returns false where leaves
// differ or every spine has a dead link.
func (f *fabric) rotation() (r rotation, spines []int, ok bool) {
	r = rotation{servers: f.servers, leaves: f.leaves, n: f.n[0]}
	for _, n := range f.n {
		if n != r.n || f.tree.Roles() {
			return r, nil, false
		}
	}
	for k := range f.spines {
		whole := true
		for a := range f.leaves {
			whole = whole && f.alive[f.link(a, k)]
		}
		if whole {
			spines = append(spines, k)
		}
	}
	r.w = len(spines)
	if f.leaves == 1 {
		r.w = 1 // none is needed
	}
	return r, spines, r.w > 0
}

// classes returns the number of classes, n·(L-1).
func (r rotation) classes() int { return r.n * (r.leaves - 1) }

// whole returns the fewest phases when a class has one spine: a spine takes ⌊K/n⌋ classes. The
// message of a server to itself is left out where that saves a phase.
func (r rotation) whole() int { return max(r.servers-1, r.n*ceilDiv(r.classes(), r.w)) }

// split returns the fewest phases when a class may have two spines: as many as the links need.
func (r rotation) split() int { return max(r.servers-1, ceilDiv(r.n*r.classes(), r.w)) }

// A timetable holds the slots of one leaf: [b·n + β] the n slots towards slot β of the leaf at
// distance b. The leaf itself is at distance 0.
type timetable [][]slot

// timetable colours. Classes in order of β and then b fill the spines one after the other, so a
// spine gets few β, and a class has at most two spines; with whole it has one. Messages within the
// leaf have no spine, but a β has them in phases of their own: n, or n-1 of K = S-1 phases and one
// in the added phase.
func (r rotation) timetable(phases int, whole bool, spines []int, o schedules.Options) timetable {
	t := make(timetable, r.leaves*r.n)
	room := phases // messages that a spine takes
	if whole {
		room -= phases % r.n
	}
	var edges []coloring.Edge
	next := 0 // message, in order of classes
	for beta := range r.n {
		for b := 1; b < r.leaves; b++ {
			class := b*r.n + beta
			for done := 0; done < r.n; {
				k := next / room
				n := min(r.n-done, (k+1)*room-next)
				edges = append(edges, coloring.Edge{U: int32(beta), V: int32(k), N: int32(n), First: int32(class*r.n + done)})
				for range n {
					t[class] = append(t[class], makeSlot(0, spines[k]))
				}
				done += n
				next += n
			}
		}
		within := r.n
		if phases < r.servers {
			within--
		}
		edges = append(edges, coloring.Edge{U: int32(beta), V: int32(r.w + beta), N: int32(within), First: int32(beta * r.n)})
		for i := range r.n {
			phase := 0
			if i >= within {
				phase = phases
			}
			t[beta] = append(t[beta], makeSlot(phase, none))
		}
	}
	(&coloring.Graph{Left: r.n, Right: r.w + r.n, Edges: edges}).Color(phases,
		coloring.Options{Seed: o.Seed, Workers: parallel.Workers(o.Workers)},
		func(unit, color int32) { x := &t[int(unit)/r.n][int(unit)%r.n]; *x = x.in(color) })
	return t
}

func (c *columns) rotate(r rotation, t timetable) {
	for a := range c.f.leaves {
		for b := range c.f.leaves {
			for beta := range r.n {
				copy(c.column(a, c.f.first[(a+b)%c.f.leaves]+beta), t[b*r.n+beta])
			}
		}
	}
}

// table returns the schedule of a rotation: with whole each class has one spine.
func (r rotation) table(f *fabric, phases int, whole bool, spines []int, bound Bound, o schedules.Options) *slotTable {
	c := newColumns(f, phases, phases < r.servers)
	c.rotate(r, r.timetable(phases, whole, spines, o))
	return c.table(bound, o)
}
