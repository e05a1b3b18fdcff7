package order

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"evbench/internal/lists"
)

// A Ring is an order of hosts in which each sends to the next, and the last to the first. AllGather and
// reduce-scatter over a ring of N hosts take N−1 steps of one block a host (Patarasuk and Yuan, "Bandwidth optimal
// all-reduce algorithms for clusters of workstations", JPDC 2009, for rings that share no link). In each step the same
// messages are under way: host → next. So the ring takes N−1 steps exactly if none of its messages share a link.
//
// Where hosts have several adapters there is a ring for each, which share no link either, and each takes its part of a
// block.
type Ring struct {
	Rings [][]int32 // places in Problem: of each ring its adapters, in order
	// Step is how long a step lasts, in message times: as long as the link needs that is the last.
	Step float64
	Link int // that link
	Load int // its messages
}

// Most rings are found in a few moves. These bound the search where there is none: moves of a ring, fewer where each
// has more places to go to, some seconds for 256 switches; and lengths of steps tried where links are slower.
const (
	ringMoves   = 3_000_000
	mostMoves   = 10_000
	ringTargets = 8
)

// InOrder is the ring of the hosts in their order, as programs have it.
func (p *Exchange) InOrder() *Ring {
	r := &Ring{Rings: lists.Map(p.members(), func(m []int32) []int32 { return slices.Clone(m) })}
	p.measure(r)
	return r
}

// Back is the ring the other way round: each sends to the one before, over routes of its own.
func (p *Exchange) Back(r *Ring) *Ring {
	back := &Ring{Rings: lists.Map(r.Rings, func(m []int32) []int32 { m = slices.Clone(m); slices.Reverse(m); return m })}
	p.measure(back)
	return back
}

// Ring returns the ring whose steps are shortest, of those found. least is how long no step is shorter; 1 where no host
// is slower. Hosts on one switch follow one another, since their messages pass no link. So a ring is an order of
// switches, with the host at which each is entered: a greedy order, then moves that take most messages off full
// links, with a tabu list, until no link is too full.
func (p *Exchange) Ring(least float64) *Ring {
	best := p.InOrder()
	for _, target := range p.targets(least) {
		if target >= best.Step {
			break
		}
		r := &Ring{}
		load := make([]int32, len(p.Links))
		for k, members := range p.members() {
			x := p.search(members, load, target, uint64(k))
			x.improve()
			r.Rings = append(r.Rings, x.hosts())
		}
		if p.measure(r); r.Step < best.Step {
			best = r
		}
		if best.Step <= target {
			break
		}
	}
	return best
}

// members are the adapters of each ring: the first of each host, the second, as many as each host has.
func (p *Exchange) members() (rings [][]int32) {
	if p.host == nil {
		return [][]int32{lists.Tabulate(p.Hosts, func(i int) int32 { return int32(i) })}
	}
	of := map[int][]int32{}
	for i, h := range p.host {
		of[h] = append(of[h], int32(i))
	}
	each := p.Hosts
	for _, adapters := range of {
		each = min(each, len(adapters))
	}
	for k := range each {
		rings = append(rings, lists.Tabulate(len(of), func(h int) int32 { return of[h][k] }))
	}
	return rings
}

// targets are lengths of a step from the least on: those that slow links need for a few messages.
func (p *Exchange) targets(least float64) []float64 {
	out := []float64{least}
	for l, link := range p.Links {
		for n := int32(1); n <= 2; n++ {
			if t := p.need(int32(l), n); (link.Share < 1 || n == 2) && t > least {
				out = append(out, t)
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), ringTargets)]
}

// measure fills in how long a step lasts, and the link that decides.
func (p *Exchange) measure(r *Ring) {
	load := make([]int32, len(p.Links))
	for _, ring := range r.Rings {
		for i, src := range ring {
			dst := ring[(i+1)%len(ring)]
			load[src]++
			load[p.Hosts+int(dst)]++
			for _, l := range p.Between(int(src), int(dst)) {
				load[l]++
			}
		}
	}
	r.Step, r.Link, r.Load = 1, -1, 0
	for l, n := range load {
		if t := p.need(int32(l), n); n > 0 && (t > r.Step || r.Link < 0 || t == r.Step && l >= 2*p.Hosts && r.Link < 2*p.Hosts) {
			r.Step, r.Link, r.Load = t, l, int(n)
		}
	}
}

// A ringSearch is an order of blocks, the members on one switch, with the messages on links.
type ringSearch struct {
	p      *Exchange
	blocks [][]int32 // in the order of the ring; each is entered at its first member and left at its last
	load   []int32   // of links, also by other rings
	room   []int32   // messages that a link carries in a step of the target length
	over   int       // messages beyond it, of all links
	rng    *rand.Rand
	tabu   map[int32]int // by first member at the time: until which move the block stays where it is
}

// search begins with the blocks that each come closest to the one before, where load is already on the links.
func (p *Exchange) search(members, load []int32, target float64, seed uint64) *ringSearch {
	x := &ringSearch{p: p, load: load, rng: rand.New(rand.NewPCG(1, seed)), tabu: map[int32]int{}}
	x.room = lists.Tabulate(len(p.Links), func(l int) int32 {
		return int32(target*p.Links[l].Rate() + round)
	})
	blocks := lists.Groups(members, func(i int32) int32 { return p.block[i] })
	at, left := blocks[0], blocks[1:]
	x.blocks = append(x.blocks, at)
	for len(left) > 0 {
		next, least := 0, [2]int{1 << 30, 0}
		for i, b := range left {
			way := p.Between(int(at[len(at)-1]), int(b[0]))
			full := lists.CountIf(way, func(l int32) bool { return x.load[l] >= x.room[l] })
			if c := [2]int{full, len(way)}; cmp.Or(cmp.Compare(c[0], least[0]), cmp.Compare(c[1], least[1])) < 0 {
				next, least = i, c
			}
		}
		x.change([2]int32{at[len(at)-1], left[next][0]}, 1)
		at = left[next]
		x.blocks = append(x.blocks, at)
		left = slices.Delete(slices.Clone(left), next, next+1)
	}
	x.change(x.pair(len(x.blocks)-1), 1)
	return x
}

func (x *ringSearch) hosts() []int32 { return slices.Concat(x.blocks...) }

// block is the block at a place of the ring, modulo its length.
func (x *ringSearch) block(i int) []int32 { return x.blocks[(i+len(x.blocks))%len(x.blocks)] }

// pair is the message from the block at a place to the next.
func (x *ringSearch) pair(i int) [2]int32 {
	b := x.block(i)
	return [2]int32{b[len(b)-1], x.block(i + 1)[0]}
}

// change puts a message onto its links, or takes it off.
func (x *ringSearch) change(m [2]int32, by int32) {
	for _, l := range x.p.Between(int(m[0]), int(m[1])) {
		if by < 0 {
			x.load[l]--
		}
		if x.load[l] >= x.room[l] {
			x.over += int(by)
		}
		if by > 0 {
			x.load[l]++
		}
	}
}

// gain is how many messages fewer are on full links after a move that takes off some messages and brings others.
func (x *ringSearch) gain(off, on [][2]int32) int {
	before := x.over
	x.changes(off, on)
	gain := before - x.over
	x.changes(on, off)
	return gain
}

func (x *ringSearch) changes(off, on [][2]int32) {
	for _, m := range off {
		x.change(m, -1)
	}
	for _, m := range on {
		x.change(m, 1)
	}
}

// A ringMove enters a block at another member, or moves a block behind another, or exchanges two.
type ringMove struct {
	at, to, member int // places; member > 0: of the block at, the others are places
	swap           bool
	off, on        [][2]int32
}

// improve moves blocks until no link is too full, or the moves are used up.
func (x *ringSearch) improve() {
	n := len(x.blocks)
	best, least := slices.Clone(x.blocks), x.over
	for move := 0; x.over > 0 && n > 1 && move < min(mostMoves, ringMoves/n); move++ {
		at := x.fullAt(x.rng.IntN(n))
		var choice ringMove
		top := -1 << 30
		for _, m := range x.moves(at, move) {
			if g := x.gain(m.off, m.on); g > top || g == top && x.rng.IntN(2) == 0 {
				top, choice = g, m
			}
		}
		if choice.on == nil {
			x.tabu = map[int32]int{}
			continue
		}
		x.apply(choice)
		x.tabu[x.block(choice.at)[0]] = move + 3 + x.rng.IntN(1+n/4)
		if x.over < least {
			best, least = lists.Map(x.blocks, func(b []int32) []int32 { return slices.Clone(b) }), x.over
		}
	}
	if x.over > least {
		for i := range x.blocks {
			x.change(x.pair(i), -1)
		}
		x.blocks = best
		for i := range x.blocks {
			x.change(x.pair(i), 1)
		}
	}
}

// fullAt is the place, from one on, of a block whose message to the next passes a link that is too full.
func (x *ringSearch) fullAt(from int) int {
	for i := range x.blocks {
		m := x.pair(from + i)
		for _, l := range x.p.Between(int(m[0]), int(m[1])) {
			if x.load[l] > x.room[l] {
				return (from + i + 1) % len(x.blocks)
			}
		}
	}
	return from
}

// moves are those of the block at a place, or of the one before, that its message needs not to be as it is.
func (x *ringSearch) moves(at, now int) (out []ringMove) {
	n := len(x.blocks)
	b := x.block(at)
	for k := 1; k < len(b); k++ {
		m := ringMove{at: at, member: k, off: [][2]int32{x.pair(at - 1)}, on: [][2]int32{{x.pair(at - 1)[0], b[k]}}}
		if k == len(b)-1 { // it is left at the one that was first
			m.off, m.on = append(m.off, x.pair(at)), append(m.on, [2]int32{b[0], x.pair(at)[1]})
		}
		out = append(out, m)
	}
	if n < 3 {
		return out
	}
	for _, at := range []int{at, (at - 1 + n) % n} {
		if x.tabu[x.block(at)[0]] > now {
			continue
		}
		b := x.block(at)
		first, last := b[0], b[len(b)-1]
		before, after := x.pair(at-1), x.pair(at)
		for d := 1; d < n-1; d++ { // behind the block at to, which is not the one before
			to := (at + d) % n
			gap := x.pair(to)
			out = append(out, ringMove{at: at, to: to, off: [][2]int32{before, after, gap}, on: [][2]int32{{before[0], after[1]}, {gap[0], first}, {last, gap[1]}}})
			if d > 1 {
				o := x.block(to)
				out = append(out, ringMove{at: at, to: to, swap: true, off: [][2]int32{before, after, x.pair(to - 1), gap},
					on: [][2]int32{{before[0], o[0]}, {o[len(o)-1], after[1]}, {x.pair(to - 1)[0], first}, {last, gap[1]}}})
			}
		}
	}
	return out
}

func (x *ringSearch) apply(m ringMove) {
	x.changes(m.off, m.on)
	switch b := x.blocks[m.at]; {
	case m.member > 0:
		b[0], b[m.member] = b[m.member], b[0]
	case m.swap:
		x.blocks[m.at], x.blocks[m.to] = x.blocks[m.to], x.blocks[m.at]
	default:
		to := m.to
		x.blocks = slices.Delete(x.blocks, m.at, m.at+1)
		if m.to > m.at {
			to--
		}
		x.blocks = slices.Insert(x.blocks, to+1, b)
	}
}
