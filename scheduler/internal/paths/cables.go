package paths

import (
	"math/rand/v2"
	"slices"

	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/phases"
	"evbench/scheduler/internal/slots"
)

// A descent gives each leaf one spine for each destination, and each destination one of parallel
// cables down from each spine: then one address of a server suffices. It works on the tree that
// lanesOf returns, in which the cables to a spine are lanes next to each other.
//
// It starts as a spread does, each destination on a native lane, and moves columns, the messages of
// a leaf for a destination, to other spines, and destinations to other cables, until no link carries
// more than it takes. Each move is the best that does not undo one of the last (tabu search).
type descent struct {
	f      *fattree.Tree
	cables int     // parallel ones
	uppers int     // spines
	spine  []int32 // by leaf and destination; none without messages
	lane   []int32 // down, by destination and spine
	weight []int32 // likewise: messages
	room   []int32 // of links: by leaf and spine upwards, then by leaf and lane downwards
	load   []int32
	over   int32          // Σ of loads above room
	left   map[[3]int]int // by key of a move: the step before which it is not made
	random *rand.Rand
	leafOf []int32 // by destination
	cursor int
}

// A move takes a column to a spine, or with leaf none a destination to another lane of a spine.
type move struct {
	leaf, dst, spine int
	lane             int32
	rise             int32 // of what links carry too much
}

const (
	maxMoves = 4000 // of a descent
	tenure   = 12   // moves for which one is not undone, and at random as many more
)

// newDescent starts with the native lanes of a spread, for so many phases.
func newDescent(s *spread, cables, phases int) *descent {
	f, n := s.f, s.f.Topology.Builders()
	d := &descent{
		f: f, cables: cables, uppers: f.Spines / cables, left: map[[3]int]int{}, random: rand.New(rand.NewPCG(uint64(n), uint64(phases))),
		spine: slices.Repeat([]int32{none}, f.Leaves*n),
	}
	d.lane, d.weight = make([]int32, n*d.uppers), make([]int32, n*d.uppers)
	for b, count := range f.B {
		d.leafOf = append(d.leafOf, slices.Repeat([]int32{int32(b)}, count)...)
	}
	d.rooms(phases)
	for dst, b := range d.leafOf {
		for k := range d.uppers {
			n := max(1, d.lanes(int(b), k))
			d.lane[dst*d.uppers+k] = int32(k*cables + (dst+k)%n)
		}
		if lane := s.native[dst]; lane != none {
			d.lane[dst*d.uppers+lane/cables] = int32(lane)
		}
	}
	for dst, b := range d.leafOf {
		for a := range f.Leaves {
			if a == int(b) || f.R[a] == 0 || !f.Meets(a, int(b)) {
				continue
			}
			k := s.native[dst] / cables
			if s.native[dst] == none || d.lanes(a, k) == 0 {
				k = d.lightest(a, dst)
			}
			d.place(a, dst, k, 1)
		}
	}
	return d
}

// rooms fills in what links take. A leaf sends whole columns.
func (d *descent) rooms(phases int) {
	for a, r := range d.f.R {
		for k := range d.uppers {
			d.room = append(d.room, int32(d.lanes(a, k)*(phases/max(r, 1))*r))
		}
	}
	for _, alive := range d.f.Alive {
		room := int32(0)
		if alive {
			room = int32(phases)
		}
		d.room = append(d.room, room)
	}
	d.load = make([]int32, len(d.room))
}

// lanes returns how many cables of a leaf to a spine are alive.
func (d *descent) lanes(leaf, k int) (n int) {
	for n < d.cables && d.f.Alive[d.f.Link(leaf, k*d.cables+n)] {
		n++
	}
	return n
}

// up returns the link from a leaf to a spine, below that of a lane down to a destination.
func (d *descent) up(a, k int) int { return a*d.uppers + k }

func (d *descent) below(dst int, lane int32) int {
	return d.f.Leaves*d.uppers + d.f.Link(int(d.leafOf[dst]), int(lane))
}

func (d *descent) lightest(a, dst int) int {
	best, least := none, int32(0)
	for k := range d.uppers {
		if d.lanes(a, k) == 0 || d.lanes(int(d.leafOf[dst]), k) == 0 {
			continue
		}
		u, v := d.up(a, k), d.below(dst, d.lane[dst*d.uppers+k])
		if x := max(d.load[u]-d.room[u], d.load[v]-d.room[v]); best == none || x < least {
			best, least = k, x
		}
	}
	return best
}

// place adds a column to a spine, or with sign -1 takes it away.
func (d *descent) place(a, dst, k int, sign int32) {
	n := sign * int32(d.f.R[a])
	d.add(d.up(a, k), n)
	d.add(d.below(dst, d.lane[dst*d.uppers+k]), n)
	d.weight[dst*d.uppers+k] += n
	d.spine[a*len(d.leafOf)+dst] = int32(k)
}

func (d *descent) add(link int, n int32) {
	d.over += d.rise(link, n)
	d.load[link] += n
}

// rise returns by how much more a link carries too much with n more messages.
func (d *descent) rise(link int, n int32) int32 {
	x := d.load[link] - d.room[link]
	return max(0, x+n) - max(0, x)
}

// settle moves until no link carries too much, and reports whether it succeeded.
func (d *descent) settle() bool {
	for step := 0; d.over > 0; step++ {
		if step == maxMoves {
			return false
		}
		for d.load[d.cursor] <= d.room[d.cursor] {
			d.cursor = (d.cursor + 1) % len(d.load)
		}
		if best := d.best(step); best.spine != none {
			d.make(best, step+tenure+d.random.IntN(tenure))
		}
		d.cursor = (d.cursor + 1) % len(d.load)
	}
	return true
}

// best returns the move off the link of the cursor after which links carry least too much.
func (d *descent) best(step int) move {
	best := move{spine: none}
	d.each(d.cursor, func(m move) {
		if d.left[m.key()] > step && d.over+m.rise > 0 {
			return
		}
		if best.spine == none || m.rise < best.rise || m.rise == best.rise && d.random.IntN(2) == 0 {
			best = m
		}
	})
	return best
}

// key is where a move goes.
func (m move) key() [3]int {
	if m.leaf == none {
		return [3]int{none, m.dst, int(m.lane)}
	}
	return [3]int{m.leaf, m.dst, m.spine}
}

func (d *descent) make(m move, until int) {
	at := m.dst*d.uppers + m.spine
	if m.leaf == none {
		d.left[[3]int{none, m.dst, int(d.lane[at])}] = until
		d.add(d.below(m.dst, d.lane[at]), -d.weight[at])
		d.lane[at] = m.lane
		d.add(d.below(m.dst, m.lane), d.weight[at])
		return
	}
	from := int(d.spine[m.leaf*len(d.leafOf)+m.dst])
	d.left[[3]int{m.leaf, m.dst, from}] = until
	d.place(m.leaf, m.dst, from, -1)
	d.lane[at] = m.lane
	d.place(m.leaf, m.dst, m.spine, 1)
}

// each calls f for the moves that take messages off a link.
func (d *descent) each(link int, f func(move)) {
	if n := d.f.Leaves * d.uppers; link >= n {
		b, lane := (link-n)/d.f.Spines, (link-n)%d.f.Spines
		for dst := d.f.Builders[b]; dst < d.f.Builders[b]+d.f.B[b]; dst++ {
			if k := lane / d.cables; int(d.lane[dst*d.uppers+k]) == lane {
				d.relabel(dst, k, f)
				for a := range d.f.Leaves {
					d.column(a, dst, k, f)
				}
			}
		}
		return
	}
	for dst := range d.leafOf {
		d.column(link/d.uppers, dst, link%d.uppers, f)
	}
}

func (d *descent) relabel(dst, k int, f func(move)) {
	w, old := d.weight[dst*d.uppers+k], d.lane[dst*d.uppers+k]
	for n := range d.lanes(int(d.leafOf[dst]), k) {
		if lane := int32(k*d.cables + n); lane != old && w > 0 {
			f(move{none, dst, k, lane, d.rise(d.below(dst, old), -w) + d.rise(d.below(dst, lane), w)})
		}
	}
}

// column calls f for the moves of a column off spine k, if it is there. The first of a destination
// at a spine chooses the cable down.
func (d *descent) column(a, dst, k int, f func(move)) {
	if int(d.spine[a*len(d.leafOf)+dst]) != k {
		return
	}
	n := int32(d.f.R[a])
	off := d.rise(d.up(a, k), -n) + d.rise(d.below(dst, d.lane[dst*d.uppers+k]), -n)
	for to := range d.uppers {
		lanes := d.lanes(int(d.leafOf[dst]), to)
		if to == k || lanes == 0 || d.lanes(a, to) == 0 {
			continue
		}
		rise, at := off+d.rise(d.up(a, to), n), dst*d.uppers+to
		if d.weight[at] > 0 {
			f(move{a, dst, to, d.lane[at], rise + d.rise(d.below(dst, d.lane[at]), n)})
			continue
		}
		for i := range lanes {
			lane := int32(to*d.cables + i)
			f(move{a, dst, to, lane, rise + d.rise(d.below(dst, lane), n)})
		}
	}
}

// down returns the lane down of a message that goes up by one.
func (d *descent) down(dst, lane int) int { return int(d.lane[dst*d.uppers+lane/d.cables]) }

// label gives the columns their lanes up: those that they have down where these are alive and have
// room, as cycles of a timing are then short.
func (d *descent) label(c *phases.Columns) (load []int32) {
	load = make([]int32, 2*len(d.f.Alive))
	var others [][2]int
	for a := range d.f.Leaves {
		for dst, b := range d.leafOf {
			x, col := slots.Absent, c.Column(a, dst)
			if k := d.spine[a*len(d.leafOf)+dst]; a == int(b) {
				x = slots.Make(0, none)
			} else if k != none {
				lane := d.lane[dst*d.uppers+int(k)]
				load[len(d.f.Alive)+d.f.Link(int(b), int(lane))] += int32(d.f.R[a])
				if !d.goesUp(c, load, a, dst, int(lane)) {
					others = append(others, [2]int{a, dst})
				}
				continue
			}
			for i := range col {
				col[i] = x
			}
		}
	}
	for _, x := range others {
		k := int(d.spine[x[0]*len(d.leafOf)+x[1]])
		for lane := k * d.cables; !d.goesUp(c, load, x[0], x[1], lane); lane++ {
		}
	}
	return load
}

// goesUp gives a column a lane up, and reports whether that takes it.
func (d *descent) goesUp(c *phases.Columns, load []int32, a, dst, lane int) bool {
	at, k := d.f.Link(a, lane), lane/d.cables
	n := d.lanes(a, k)
	if lane%d.cables >= n || load[at]+int32(d.f.R[a]) > d.room[d.up(a, k)]/int32(n) {
		return false
	}
	load[at] += int32(d.f.R[a])
	for i, col := 0, c.Column(a, dst); i < len(col); i++ {
		col[i] = slots.Make(0, lane)
	}
	return true
}
