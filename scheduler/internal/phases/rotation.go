package phases

import (
	"evbench/internal/coloring"
	"evbench/internal/parallel"
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/internal/split"
	"evbench/scheduler/schedules"
)

// A Rotation is a schedule of few paths for L leaves with n servers each and w spines that
// every leaf reaches: what leaf a does with leaf a+b, leaf a' does with a'+b (mod L).
//
// A class is a distance b = 1..L-1 and a destination slot β: the n messages of each leaf a to
// slot β of leaf a+b. Two classes collide only on the same spine or at the same β, and edge
// colouring of β × spines, with the phases as colours, excludes both.
type Rotation struct {
	servers, leaves, n, W int
}

// RotationOf returns the rotation over the spines without dead links. It returns false where leaves
// differ or every spine has a dead link.
func RotationOf(f *fattree.Tree) (r Rotation, spines []int, ok bool) {
	r = Rotation{servers: f.Servers, leaves: f.Leaves, n: f.N[0]}
	for _, n := range f.N {
		if n != r.n || f.Topology.Divided() {
			return r, nil, false
		}
	}
	for k := range f.Spines {
		whole := true
		for a := range f.Leaves {
			whole = whole && f.Alive[f.Link(a, k)]
		}
		if whole {
			spines = append(spines, k)
		}
	}
	r.W = len(spines)
	if f.Leaves == 1 {
		r.W = 1 // none is needed
	}
	return r, spines, r.W > 0
}

// classes returns the number of classes, n·(L-1).
func (r Rotation) classes() int { return r.n * (r.leaves - 1) }

// Whole returns the fewest phases when a class has one spine: a spine takes ⌊K/n⌋ classes. The
// message of a server to itself is left out where that saves a phase.
func (r Rotation) Whole() int { return max(r.servers-1, r.n*fattree.CeilDiv(r.classes(), r.W)) }

// Split returns the fewest phases when a class may have two spines: as many as the links need.
func (r Rotation) Split() int { return max(r.servers-1, fattree.CeilDiv(r.n*r.classes(), r.W)) }

// A timetable holds the slots of one leaf: [b·n + β] the n slots towards slot β of the leaf at
// distance b. The leaf itself is at distance 0.
type timetable [][]slots.Slot

// timetable colours. Classes in order of β and then b fill the spines one after the other, so a
// spine gets few β, and a class has at most two spines; with whole it has one. Messages within the
// leaf have no spine, but a β has them in phases of their own: n, or n-1 of K = S-1 phases and one
// in the added phase.
func (r Rotation) timetable(phases int, whole bool, spines []int, o schedules.Options) timetable {
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
					t[class] = append(t[class], slots.Make(0, spines[k]))
				}
				done += n
				next += n
			}
		}
		within := r.n
		if phases < r.servers {
			within--
		}
		edges = append(edges, coloring.Edge{U: int32(beta), V: int32(r.W + beta), N: int32(within), First: int32(beta * r.n)})
		for i := range r.n {
			phase := 0
			if i >= within {
				phase = phases
			}
			t[beta] = append(t[beta], slots.Make(phase, none))
		}
	}
	(&coloring.Graph{Left: r.n, Right: r.W + r.n, Edges: edges}).Color(phases,
		coloring.Options{Seed: o.Seed, Workers: parallel.Workers(o.Workers)},
		func(unit, color int32) { x := &t[int(unit)/r.n][int(unit)%r.n]; *x = x.In(color) })
	return t
}

func (c *Columns) rotate(r Rotation, t timetable) {
	for a := range c.F.Leaves {
		for b := range c.F.Leaves {
			for beta := range r.n {
				copy(c.Column(a, c.F.First[(a+b)%c.F.Leaves]+beta), t[b*r.n+beta])
			}
		}
	}
}

// Table returns the schedule of a rotation, of Whole phases, where each class has one spine, or of Split.
func (r Rotation) Table(f *fattree.Tree, whole bool, spines []int, bound split.Bound, o schedules.Options) *slots.Table {
	phases := r.Split()
	if whole {
		phases = r.Whole()
	}
	c := NewColumns(f, phases, phases < r.servers)
	c.rotate(r, r.timetable(phases, whole, spines, o))
	return c.Table(bound, o)
}
