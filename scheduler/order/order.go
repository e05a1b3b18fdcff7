// Package order answers: in which order of its messages is an exchange shortest whose messages have a path each?
//
// The network has any shape, and paths stay as they are: only the phase of each message is
// chosen. In one phase no link carries more messages than it has room for, so none waits for another. Where links are
// slower than a message, phases have lengths: one lasts as long as its slowest link needs for what it carries, and in
// a long one messages share links (lengths.go). A bound holds for every order: the messages whose path has a link
// cannot take less than that link needs (Bound). To colour messages such that those with a common link
// differ is NP-hard where paths are given (path colouring), but one or a few links mostly decide, and
// then a simple rule attains the bound. Best takes the best of
//
//   - closed forms, exact where all links are equally full: linear shift, shift by port, xor
//     (formulas.go);
//   - a greedy rule: phase by phase, messages over the fullest links first (greedy.go), also with the messages
//     kept by the two fullest links of their paths (pairs.go), which serves exchanges of thousands of hosts;
//   - ejection: the greedy phases up to the bound, and a tabu search on partial colourings for the
//     messages that are left (Blöchliger and Zufferey 2008; eject.go). It ends after a number of
//     steps, and then adds a phase.
//
// Equal input gives equal output.
package order

import (
	"cmp"
	"math"
	"slices"

	"evbench/internal/lists"
	"evbench/scheduler"
)

// None is the phase of a pair without a message.
const None = scheduler.None

// An Exchange is a problem laid out for searches, with one path a message.
type Exchange struct {
	Hosts int
	Links []scheduler.Link // by number, as in the problem

	host  []int     // the machine of each host where some machines have several, else nil
	block []int32   // of each host
	place []int32   // of each host in its block
	from  [][]int32 // hosts of a block: at most 64, which are alike
	begin []int32   // by entry, block·Hosts + dst: its links between switches are over[begin:begin of the next]
	over  []int32
	sends []uint64 // by entry: which hosts of the block send to dst

	// Where messages have several candidates: these, and which each takes; a search may take another.
	candidates *scheduler.Candidates
	path       []uint8
}

// New lays a problem out, in which each message takes a candidate path: path's, by src·Hosts + dst, or with nil the first. It asks
// for the path of one of the hosts that are alike. O(blocks · hosts · hops).
func New(of *scheduler.Problem, path []uint8) *Exchange {
	n := of.Hosts
	p := &Exchange{Hosts: n, Links: of.Links, host: of.Owner, block: make([]int32, n), place: make([]int32, n)}
	if path == nil {
		p.blocks(of.Alike)
	} else { // hosts that are alike choose differently
		p.blocks(nil)
		p.candidates, p.path = of.Lay(), path
	}
	p.begin = make([]int32, 1, len(p.from)*n+1)
	p.sends = make([]uint64, len(p.from)*n)
	for b, hosts := range p.from {
		for dst := range n {
			mask, first := uint64(0), -1
			for at, src := range hosts {
				if int(src) != dst && (of.Meets == nil || of.Meets(int(src), dst)) {
					mask |= 1 << at
					if first < 0 {
						first = int(src)
					}
				}
			}
			if mask != 0 {
				which := 0
				if path != nil {
					which = int(path[first*n+dst])
				}
				p.over = of.Paths.Append(p.over, first, dst, which)
			}
			p.sends[b*n+dst] = mask
			p.begin = append(p.begin, int32(len(p.over)))
		}
	}
	return p
}

// blocks divides hosts that are alike.
func (p *Exchange) blocks(alike []int) {
	last := map[int]int32{}
	for i := range p.Hosts {
		k := i
		if alike != nil {
			k = alike[i]
		}
		b, there := last[k]
		if !there || len(p.from[b]) == 64 {
			b = int32(len(p.from))
			last[k], p.from = b, append(p.from, nil)
		}
		p.block[i], p.place[i], p.from[b] = b, int32(len(p.from[b])), append(p.from[b], int32(i))
	}
}

// Shorter returns a schedule that takes less time than one given, if one is found, or the one given, whose messages share
// no links unless some are slow. With negative steps it only fills steps of
// several lengths, in a large exchange once.
func (p *Exchange) Shorter(s *scheduler.Plan, steps int) *scheduler.Plan {
	b := p.Bound()
	if p.Time(s) <= b.Steps*(1+round) {
		return s
	}
	if !p.slow() {
		return cmp.Or(p.eject(s, int(b.Time), s.Phases, steps), s)
	}
	if work := b.Time * float64(len(p.sends)); steps >= 0 && (work <= much || work > 4*budget) {
		if g := p.fill(b.Time); p.Time(g) < p.Time(s)*(1-round) {
			s = g
		}
	}
	return p.inLengths(s, steps)
}

func (p *Exchange) entry(src, dst int) int { return int(p.block[src])*p.Hosts + dst }

// between are the links between switches that the messages of an entry pass.
func (p *Exchange) between(entry int) []int32 { return p.over[p.begin[entry]:p.begin[entry+1]] }

// Between are the links between switches that the message from src to dst passes, in their order.
func (p *Exchange) Between(src, dst int) []int32 { return p.between(p.entry(src, dst)) }

// Meets reports whether there is a message from src to dst.
func (p *Exchange) Meets(src, dst int) bool { return p.sends[p.entry(src, dst)]>>p.place[src]&1 != 0 }

// Messages returns the number of messages.
func (p *Exchange) Messages() (n int) {
	p.each(func(_, _, _ int) { n++ })
	return n
}

// each calls f for all messages, by block, destination and source.
func (p *Exchange) each(f func(entry, src, dst int)) {
	for b, hosts := range p.from {
		for dst := range p.Hosts {
			entry := b*p.Hosts + dst
			for at, src := range hosts {
				if p.sends[entry]>>at&1 != 0 {
					f(entry, int(src), dst)
				}
			}
		}
	}
}

// Loads returns the number of messages that pass each link.
func (p *Exchange) Loads() []int32 {
	loads := make([]int32, len(p.Links))
	p.each(func(entry, src, dst int) {
		loads[src]++
		loads[p.Hosts+dst]++
		for _, l := range p.between(entry) {
			loads[l]++
		}
	})
	return loads
}

// A Bound says how long every order takes at least.
type Bound struct {
	Time float64 // in message times
	Link int     // the witness, -1 without messages
	Load int     // its messages
	// Steps is how long every order in steps takes at least, where slow messages need long ones: Time, or more.
	Steps float64
	// Host is the witness of Steps, a link, and HostLoad its messages.
	Host, HostLoad int
}

// Bound returns the most time that one link needs; of several such links, one between switches. Where steps have
// lengths, the messages of one link need no whole number of them.
func (p *Exchange) Bound() (b Bound) {
	b.Link = -1
	slow, loads := p.slow(), p.Loads()
	for l, load := range loads {
		time := float64((load + p.Links[l].Room - 1) / p.Links[l].Room)
		if p.Links[l].Share < 1 || slow {
			time = float64(load) / float64(p.Links[l].Room) / p.Links[l].Share
		}
		if time > b.Time || time == b.Time && time > 0 && l >= 2*p.Hosts && b.Link < 2*p.Hosts {
			b.Time, b.Link, b.Load = time, l, int(load)
		}
	}
	b.Steps, b.Host, b.HostLoad = b.Time, b.Link, b.Load
	if slow {
		if time, link := p.inSteps(loads); time > b.Time*(1+round) {
			b.Steps, b.Host, b.HostLoad = time, link, int(loads[link])
		}
	}
	return b
}

// Time returns how long a schedule takes, in message times, where the messages of a phase begin
// together and share links evenly: the sum over the phases of the most that one link needs.
func (p *Exchange) Time(s *scheduler.Plan) float64 {
	time, _ := p.walk(s, false)
	return time
}

// walk returns the Time of a schedule, and whether it is free of contention: no link needs longer than 1 for the
// messages of a phase. With only free it ends at the first that does.
func (p *Exchange) walk(s *scheduler.Plan, onlyFree bool) (time float64, free bool) {
	first, in := s.ByPhase()
	on := &counted{used: make([]int32, len(p.Links))}
	free = true
	for k := 0; k < s.Phases && (free || !onlyFree); k++ {
		longest := p.lasts(s, on, in[first[k]:first[k+1]])
		time += longest
		free = free && longest <= 1
	}
	return time, free
}

// A counted is the messages of a phase on each link.
type counted struct{ used, touched []int32 }

// lasts is how long a phase of these messages does: what the link needs that is the last.
func (p *Exchange) lasts(s *scheduler.Plan, on *counted, messages ...[]int32) (longest float64) {
	add := func(l int32) {
		if on.used[l]++; on.used[l] == 1 {
			on.touched = append(on.touched, l)
		}
		longest = max(longest, p.need(l, on.used[l]))
	}
	for _, list := range messages {
		for _, m := range list {
			src, dst := int(m)/s.Hosts, int(m)%s.Hosts
			add(int32(src))
			add(int32(p.Hosts + dst))
			for _, l := range p.way(s, src, dst) {
				add(l)
			}
		}
	}
	for _, l := range on.touched {
		on.used[l] = 0
	}
	on.touched = on.touched[:0]
	return longest
}

// way are the links between switches that a message passes in a plan.
func (p *Exchange) way(s *scheduler.Plan, src, dst int) []int32 {
	if s.Path == nil {
		return p.Between(src, dst)
	}
	m := src*p.Hosts + dst
	return p.candidates.Of(m, int(s.Path[m]))
}

// slow reports whether a link is slower than a message.
func (p *Exchange) slow() bool {
	return slices.ContainsFunc(p.Links, func(l scheduler.Link) bool { return l.Share < 1 })
}

// whole is the problem as if no link were slow, whose orders are near the shortest where few messages pass slow ones.
func (p *Exchange) whole() *Exchange {
	out := *p
	out.Links = lists.Map(p.Links, func(l scheduler.Link) scheduler.Link { return scheduler.Link{Room: l.Room, Share: 1} })
	return &out
}

// need is how long a link takes for so many messages that begin together.
func (p *Exchange) need(link, messages int32) float64 {
	if p.Links[link].Share < 1 {
		return float64(messages) / p.Links[link].Share
	}
	return max(1, float64(messages)/float64(p.Links[link].Room))
}

// Best returns the shortest order found. steps bound ejection: placements for each message of the exchange. 0 means DefaultSteps, below 0 none.
func Best(p *Exchange, steps int) *scheduler.Plan {
	best := p.best(steps)
	if p.slow() && best.Phases <= fewSteps {
		best = p.joined(best)
	}
	if best.Path == nil {
		best.Path = p.path
	}
	return best
}

func (p *Exchange) best(steps int) *scheduler.Plan {
	b, slow := p.Bound(), p.slow()
	best, least := (*scheduler.Plan)(nil), math.Inf(1)
	for s := range p.Formulas() {
		if t, free := p.walk(s, !slow); (free || slow) && t < least {
			best, least = s, t
		}
	}
	if best != nil && least <= b.Steps {
		return best
	}
	if slow && best != nil {
		best = p.Shorter(best, steps)
		if whole := p.whole().best(steps); p.Time(whole) < p.Time(best)*(1-round) {
			best = whole
		}
		return best
	}
	g := p.fill(b.Time)
	high, time := g.Phases, p.Time(g)
	if best != nil {
		high = min(high, int(least))
	}
	if s := p.eject(g, int(b.Time), high, steps); s != nil {
		g, time = s, float64(s.Phases)
	}
	if best == nil || time < least {
		best = g
	}
	return best
}
