package order

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"evbench/internal/lists"
	"evbench/scheduler"
)

// Ejection ends for a number of phases after so many placements: DefaultSteps for each message of the
// exchange, within these limits.
const (
	DefaultSteps = 40
	leastSteps   = 400_000
	mostSteps    = 2_000_000
)

// mostWork bounds ejection for all numbers of phases together: a placement looks at all phases of the links
// of a message. It ends the search in networks of thousands of hosts after about a minute.
const mostWork = 100_000_000_000

// mostMemory is in bytes.
const mostMemory = 1 << 30

// lately is for how many placements a message that was placed stays, unless nothing else can go, and up to three times as many, by its number;
// where messages choose among paths, and so have more places, longer: two ports a pair then took a phase less of 67 (64 hosts)
// and of 345 (326); 256 was no better. One in harder times that a message is taken out, it gets one harder to take out, up to hardest.
const (
	lately       = 4
	latelyChosen = 64
	harder       = 8
	hardest      = 20
)

// An ejector holds a partial order of phases and improves it. A message that has no phase takes one, and
// those that it meets there on a link lose theirs.
type ejector struct {
	p      *Exchange
	s      *scheduler.Plan
	phases int
	stride int      // words of a row of full
	full   []uint64 // by link and phase, in bytes: what its message weighs if the link has no room
	none   []uint64 // a row without weights, and memory for one
	more   []uint64
	lately int32     // or latelyChosen
	first  []int     // by link: its messages are owner[first+phase·most:], with the most that it carries in a phase
	most   []int     // by link
	room   [][]int32 // by phase and link
	path   []uint8   // by message: its candidate, where it may take another; nil: all have one
	upto   []int32   // by entry: its messages stand in the first phases, so many; nil: in all
	owner  []int32   // messages, -1 for none
	since  []int32   // by message: the placement at which it got its phase
	now    int32
	weight []uint8 // by message: how hard it is to take out, at least 1
	limit  uint8   // of weights
	queue  []int32 // messages without a phase
	head   int
	cost   []uint8 // by phase: the weights at the links of a message
	other  []uint8 // and over another path
	links  []int32
	gone   []int32
	work   int
	random uint64
}

// eject removes the last phases of a schedule one after the other, down to low, and places their
// messages in the others. It returns the shortest schedule with fewer than high phases, or nil.
func (p *Exchange) eject(g *scheduler.Plan, low, high, steps int) *scheduler.Plan {
	if g.Phases <= low || low < 1 || steps < 0 {
		return nil
	}
	steps = cmp.Or(steps, DefaultSteps)
	e := p.ejector(g, slices.Repeat([]float64{1}, g.Phases), slices.Clone(p.path))
	if e == nil {
		return nil
	}
	limit := min(max(leastSteps, steps*p.Messages()), max(mostSteps, steps))
	var best *scheduler.Plan
	for e.phases > low {
		e.drop()
		if !e.settle(limit) {
			break
		}
		if e.phases < high {
			kept := *e.s
			kept.Phase, kept.Path, kept.Phases, kept.Made = slices.Clone(e.s.Phase), slices.Clone(e.path), e.phases, "ejection"
			best = &kept
		}
	}
	return best
}

// ejector holds a schedule with phases of some lengths, over paths that may change unless nil; it is nil where that takes more than mostMemory.
func (p *Exchange) ejector(g *scheduler.Plan, lengths []float64, path []uint8) *ejector {
	e := &ejector{p: p, path: path, lately: lately, phases: g.Phases, stride: (g.Phases + 7) / 8, random: 1, most: make([]int, len(p.Links))}
	if path != nil {
		e.lately = latelyChosen
	}
	rooms, sum := map[float64][]int32{}, 0
	for _, x := range lengths[:g.Phases] {
		if rooms[x] == nil {
			rooms[x] = lists.Tabulate(len(p.Links), func(l int) int32 {
				e.most[l] = max(e.most[l], p.fits(l, x))
				return int32(p.fits(l, x))
			})
		}
		e.room = append(e.room, rooms[x])
	}
	e.first = make([]int, len(p.Links))
	for l, n := range e.most {
		e.first[l] = sum
		sum += n * g.Phases
	}
	if 8*e.stride*len(p.Links)+4*sum > mostMemory {
		return nil
	}
	e.s = &scheduler.Plan{Hosts: g.Hosts, Phase: slices.Clone(g.Phase)}
	e.full, e.none, e.more = make([]uint64, e.stride*len(p.Links)), make([]uint64, e.stride), make([]uint64, e.stride)
	e.cost, e.other = make([]uint8, 8*e.stride), make([]uint8, 8*e.stride)
	e.since, e.weight = make([]int32, len(g.Phase)), make([]uint8, len(g.Phase))
	longest := 0
	p.each(func(entry, src, dst int) {
		e.weight[src*p.Hosts+dst] = 1
		longest = max(longest, 2+len(p.between(entry)))
		for i := range e.count(int32(src*p.Hosts + dst)) {
			longest = max(longest, 2+len(p.candidates.Of(src*p.Hosts+dst, i)))
		}
	})
	e.limit = uint8(max(1, min(hardest, 255/longest))) // so that a sum of them is a byte
	e.owner = slices.Repeat([]int32{-1}, sum)
	for m, k := range e.s.Phase {
		if k != None {
			e.put(int32(m), int(k))
		}
	}
	return e
}

// pass returns the links of a message, until the next call.
func (e *ejector) pass(m int32) []int32 {
	src, dst := int(m)/e.p.Hosts, int(m)%e.p.Hosts
	e.links = append(e.links[:0], int32(src), int32(e.p.Hosts+dst))
	if e.path != nil {
		e.links = append(e.links, e.p.candidates.Of(int(m), int(e.path[m]))...)
	} else {
		e.links = append(e.links, e.p.between(e.p.entry(src, dst))...)
	}
	return e.links
}

// count is how many candidates a message may choose of, 0 where it has its path.
func (e *ejector) count(m int32) int {
	if e.path == nil {
		return 0
	}
	return e.p.candidates.Count(int(m))
}

func (e *ejector) slots(l int32, k int) []int32 {
	at := e.first[l] + k*e.most[l]
	return e.owner[at : at+int(e.room[k][l])]
}

// fill notes that a link has no room in a phase, by a weight, or with 0 that it has.
func (e *ejector) fill(l int32, k int, weight uint8) {
	word, at := &e.full[int(l)*e.stride+k/8], k%8*8
	*word = *word&^(0xff<<at) | uint64(weight)<<at
}

func (e *ejector) filled(l int32, k int) bool {
	return e.full[int(l)*e.stride+k/8]>>(k%8*8)&0xff != 0
}

// put gives a message a phase in which its links have room.
func (e *ejector) put(m int32, k int) {
	for _, l := range e.pass(m) {
		slots, filled := e.slots(l, k), false
		for i, o := range slots {
			if o >= 0 {
				continue
			}
			if !filled {
				slots[i], filled = m, true
				e.fill(l, k, e.weight[m])
			} else {
				e.fill(l, k, 0)
				break
			}
		}
	}
	e.s.Phase[m], e.since[m] = int32(k), e.now
}

// take takes a message out of its phase and puts it at the end of the queue.
func (e *ejector) take(m int32) {
	k := int(e.s.Phase[m])
	for _, l := range e.pass(m) {
		slots := e.slots(l, k)
		for i, o := range slots {
			if o == m {
				slots[i] = -1
				break
			}
		}
		e.fill(l, k, 0)
	}
	if e.weight[m] < e.limit && below(&e.random, harder) == 0 {
		e.weight[m]++
	}
	e.s.Phase[m] = None
	e.queue = append(e.queue, m)
}

// drop takes all messages out of the last phase.
func (e *ejector) drop() {
	e.phases--
	for m, k := range e.s.Phase {
		if int(k) == e.phases {
			e.take(int32(m))
		}
	}
}

// settle places all messages of the queue, with at most so many placements.
func (e *ejector) settle(limit int) bool {
	for ; limit > 0 && e.work < mostWork && e.head < len(e.queue); limit-- {
		m := e.queue[e.head]
		e.head++
		e.now++
		e.insert(m)
		e.work += e.phases * len(e.links)
		if e.head > len(e.queue)/2 && e.head > 1024 {
			e.queue = append(e.queue[:0], e.queue[e.head:]...)
			e.head = 0
		}
	}
	return e.head == len(e.queue)
}

// insert gives a message the phase in which those that it meets on full links weigh least, and takes one
// of each such link out.
func (e *ejector) insert(m int32) {
	k := e.choose(m)
	e.gone = e.gone[:0]
	for _, l := range e.pass(m) {
		if !e.filled(l, k) {
			continue
		}
		slots := e.slots(l, k)
		o, there := slots[below(&e.random, len(slots))], false
		for _, g := range e.gone {
			for _, s := range slots {
				there = there || g == s
			}
		}
		if !there {
			e.gone = append(e.gone, o)
		}
	}
	for _, o := range e.gone {
		e.take(o)
	}
	e.put(m, k)
}

func (e *ejector) choose(m int32) int {
	phases, links := e.phases, e.pass(m)
	if e.upto != nil {
		phases = min(phases, int(e.upto[e.p.entry(int(m)/e.p.Hosts, int(m)%e.p.Hosts)]))
	}
	least := e.weigh(links, phases)
	if n := e.count(m); n > 1 && least > 0 {
		least = e.another(m, n, phases, least)
		links = e.pass(m)
	}
	start := below(&e.random, phases)
	any := -1
	for more := range uint8(2) {
		for _, part := range [2][2]int{{start, phases}, {0, start}} {
			for k := part[0]; ; k++ {
				next := bytes.IndexByte(e.cost[k:part[1]], least+more)
				if next < 0 {
					break
				}
				if k += next; any < 0 {
					any = k
				}
				if least+more == 0 || e.settled(links, k) {
					return k
				}
			}
		}
	}
	return any
}

// settled reports whether no message was placed lately on a full link of a phase.
func (e *ejector) settled(links []int32, k int) bool {
	for _, l := range links {
		if !e.filled(l, k) {
			continue
		}
		for _, o := range e.slots(l, k) {
			if e.now-e.since[o] < e.lately+o&(2*e.lately-1) {
				return false
			}
		}
	}
	return true
}

// another has a message, which is in no phase, take the candidate whose links weigh least in some phase, the present one
// among equals, and returns what they weigh. The weights are set.
func (e *ejector) another(m int32, candidates, phases int, least uint8) uint8 {
	now, best, start := e.path[m], e.path[m], below(&e.random, candidates)
	for i := range candidates {
		c := uint8((start + i) % candidates)
		if c == now || least == 0 {
			continue
		}
		e.path[m] = c
		e.cost, e.other = e.other, e.cost
		if x := e.weigh(e.pass(m), phases); x < least {
			best, least = c, x
		} else {
			e.cost, e.other = e.other, e.cost
		}
	}
	e.path[m] = best
	return least
}

// weigh sets the weights at some links in each phase, eight phases a word, and returns the least: of even and odd phases
// apart, in lanes of 16 bits that do not borrow from each other.
func (e *ejector) weigh(links []int32, phases int) uint8 {
	const lanes, above = 0x00ff00ff00ff00ff, 0x0100010001000100
	words := (phases + 7) / 8
	four := [4][]uint64{2: e.none, 3: e.none}
	for i, l := range links {
		row := e.full[int(l)*e.stride:][:words]
		if i < len(four) {
			four[i] = row
			continue
		}
		for w, x := range four[3][:words] {
			e.more[w] = x + row[w]
		}
		four[3] = e.more
	}
	a, b, c, d := four[0][:words], four[1][:words], four[2][:words], four[3][:words]
	even, odd := uint64(lanes), uint64(lanes)
	for i := range a {
		x := a[i] + b[i] + c[i] + d[i]
		if i == words-1 && phases%8 > 0 {
			x |= ^uint64(0) << (phases % 8 * 8) // no phases
		}
		binary.LittleEndian.PutUint64(e.cost[8*i:], x)
		even, odd = lesser(even, x&lanes, above), lesser(odd, x>>8&lanes, above)
	}
	x := lesser(even, odd, above)
	return min(uint8(x), uint8(x>>16), uint8(x>>32), uint8(x>>48))
}

// lesser are the lesser ones of the bytes in lanes of 16 bits, whose bits above a byte are above.
func lesser(a, b, above uint64) uint64 {
	ge := ((a | above) - b) & above
	return a ^ (a^b)&(ge-ge>>8)
}
