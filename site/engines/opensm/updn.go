package opensm

import (
	"errors"

	"evbench/internal/lists"
	"evbench/internal/parallel"
	"evbench/site/lft"
	"evbench/site/network"
)

// A course is the direction of a cable: towards the roots, away from them, or to a switch of equal
// rank.
type course uint8

const (
	up course = iota
	down
	level
)

// errNoRoots is the error of UpDown where no switch looks like a root. OpenSM
// falls back to minhop then.
var errNoRoots = errors.New("no root switches: none is at one distance from nine of ten hosts")

// UpDown routes along the shortest of the ways that never go up after having gone down: OpenSM's
// engine updn (osm_ucast_updn.c). Without roots it finds them as OpenSM does (memo, §4.1). Free of
// deadlock. Pairs without such a way have no entry, without an error.
var UpDown = Engine{"updn", func(v *view, roots []network.Node) (*hops, []int32, error) {
	first, err := v.tops(roots)
	if err != nil {
		return nil, nil, err
	}
	return v.updn(first), first, nil
}}

// Scatter is UpDown with a random choice among the ports that have the fewest routes so far:
// OpenSM's option --scatter-ports with this seed. OpenSM starts the C library's generator anew for
// each computation, so the same seed gives the same tables. They equal OpenSM's if its C library is
// GNU's. One processor: the order of draws counts.
func Scatter(n *network.Network, roots []network.Node, seed uint32) (*lft.Tables, error) {
	if seed == 0 {
		return UpDown.Route(n, roots)
	}
	v := newView(n)
	h, first, err := UpDown.sets(v, roots)
	if err != nil {
		return nil, err
	}
	t, d := lft.New("updn-scatter", n), newDice(seed)
	for _, s := range v.order {
		l := ledger{v: v, h: h, s: s, row: t.Row(int(s)), dice: d}
		l.balance()
	}
	return v.rooted(t, first), nil
}

// tops returns the roots that are in sight, or those that OpenSM finds.
func (v *view) tops(roots []network.Node) ([]int32, error) {
	first := v.visible(roots)
	if len(roots) == 0 {
		first = v.detect()
	}
	if len(first) == 0 {
		return nil, errNoRoots
	}
	return first, nil
}

func (v *view) rooted(t *lft.Tables, first []int32) *lft.Tables {
	for _, s := range first {
		t.Roots = append(t.Roots, v.net.Switch(int(s)))
	}
	return t
}

func (v *view) updn(first []int32) *hops {
	rank := v.ranks(first)
	courses := v.courses(func(s, t int32) course {
		switch {
		case rank[s] == 0 && rank[t] == 0:
			return up
		case rank[s] != rank[t]:
			return sign(rank[s] < rank[t])
		default:
			return sign(v.guid(s) < v.guid(t))
		}
	})
	return v.legal(courses, up, down)
}

func sign(less bool) course {
	if less {
		return down
	}
	return up
}

// DownUp routes along the shortest of the ways that never go down after having gone up, with ranks
// counted from the switches with hosts: OpenSM's engine dnup, for networks whose hosts are at
// several levels (osm_ucast_dnup.c). On a tree it allows the same ways as UpDown.
var DownUp = Engine{"dnup", func(v *view, _ []network.Node) (*hops, []int32, error) {
	rank := v.ranks(v.loaded)
	courses := v.courses(func(s, t int32) course {
		if rank[s] == rank[t] {
			return level
		}
		return sign(rank[s] < rank[t])
	})
	return v.legal(courses, down, up), nil, nil
}}

// detect returns the switches that OpenSM takes for roots: those with more than
// 90 % of all hosts at one distance, and at most 5 % at any other.
func (v *view) detect() []int32 {
	d, hosts := v.distances(), v.attached()
	var roots []int32
	for _, s := range v.order {
		var bars [256]int
		for _, t := range v.loaded {
			bars[d.of(s)[t]] += len(v.hosts[t])
		}
		most, some := 0, 0
		for _, b := range bars[:64] {
			if float64(b) > float64(hosts)*0.9 {
				most++
			}
			if float64(b) > float64(hosts)*0.05 {
				some++
			}
		}
		if most == 1 && some == 1 {
			roots = append(roots, s)
		}
	}
	return roots
}

// ranks returns the distance of each switch in sight from the nearest of some.
func (v *view) ranks(first []int32) []int32 {
	from := lists.Map(first, func(s int32) network.Node { return v.net.Switch(int(s)) })
	rank := make([]int32, len(v.seen))
	for s, d := range v.net.Distances(from...) {
		rank[s] = int32(d)
	}
	return rank
}

func (v *view) courses(of func(s, t int32) course) []course {
	c := make([]course, len(v.peer))
	for _, s := range v.order {
		for p, t := range v.peers(s) {
			if t != none {
				c[int(v.first[s])+p] = of(s, t)
			}
		}
	}
	return c
}

// legal returns the tables from a search from each switch that starts in one course and does not
// turn from bad to the start's course again.
func (v *view) legal(courses []course, start, bad course) *hops {
	h := v.newHops()
	parallel.Each(0, (len(v.order)+15)/16, func(_, i int) {
		w := &walk{v: v, h: h, courses: courses, start: start, bad: bad,
			hops: make([]uint8, len(v.peer)), least: make([]uint8, len(v.seen)),
			heading: make([]course, len(v.seen)), waiting: make([]bool, len(v.seen))}
		for _, t := range v.order[i*16 : min(len(v.order), i*16+16)] {
			w.from(t)
		}
	})
	return h
}

// A walk is a search from one switch, the target of routes, outwards.
type walk struct {
	v          *view
	h          *hops
	courses    []course
	start, bad course

	hops    []uint8 // to the target, by slot
	least   []uint8 // of a switch's slots
	heading []course
	waiting []bool // in todo
	todo    []int32
}

// from walks from a target and enters the sets of ports towards it. A switch may wait twice: a
// shorter way through another port brings it back, heading where that way heads. This makes the
// tables of odd networks equal to OpenSM's.
func (w *walk) from(target int32) {
	for i := range w.hops {
		w.hops[i] = noPath
	}
	for i := range w.least {
		w.least[i] = noPath
	}
	w.least[target], w.heading[target] = 0, w.start
	w.todo = append(w.todo[:0], target)
	for i := 0; i < len(w.todo); i++ {
		w.step(w.todo[i])
	}
	for _, s := range w.v.order {
		if s == target || w.least[s] == noPath {
			continue
		}
		set := w.h.set(s, target)
		for p, hops := range w.hops[w.v.first[s]:w.v.first[s+1]] {
			if hops == w.least[s] {
				set[p/64] |= 1 << (p % 64)
			}
		}
	}
}

func (w *walk) step(s int32) {
	w.waiting[s] = false
	v, heading := w.v, w.heading[s]
	for slot := v.first[s]; slot < v.first[s+1]; slot++ {
		t, next := v.peer[slot], w.courses[slot]
		if t == none || heading == w.bad && next == w.start {
			continue
		}
		far := v.first[t] + int32(v.back[slot]) - 1
		if int(w.least[s])+1 >= int(w.hops[far]) {
			continue
		}
		w.hops[far] = w.least[s] + 1
		w.least[t] = min(w.least[t], w.hops[far])
		if !w.waiting[t] {
			w.waiting[t], w.heading[t] = true, next
			w.todo = append(w.todo, t)
		}
	}
}
