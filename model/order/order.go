// Package order answers: in which order of its messages is an all-to-all exchange shortest over the
// forwarding tables that a network has?
//
// The network has any shape, and its tables stay as they are: only the phase of each message is
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
	"fmt"
	"math"
	"math/bits"
	"slices"

	"evbench/internal/lists"
	"evbench/scheduler/schedules"
	"evbench/site/lft"
	"evbench/site/network"
)

// Name is the schedule's name.
const Name = schedules.PathColoring

// None is the phase of a pair without a message.
const None = -1

// A Link is one direction of a cable: the port by which messages leave a node.
type Link = network.End

// A Problem is the messages of an exchange, and the links that each passes. Hosts have the numbers
// 0..Hosts-1, in the order of ranks.
//
// Links have dense numbers: host s sends over link s and receives over link Hosts+s; those between
// switches follow.
type Problem struct {
	Hosts int
	Links []Link  // by number
	Room  []int32 // messages that a link carries at once, at least 1
	// Share is the rate of a link as a part of that of a message, for slower ones; 1 else.
	Share []float64
	// Missing are pairs whose messages the tables do not deliver, if they are left out.
	Missing [][2]int32

	host  []int     // of each adapter where some hosts have several, else nil
	block []int32   // of each host
	place []int32   // of each host in its block
	from  [][]int32 // hosts of a block: at most 64, on one switch, with one share and the same path bits
	begin []int32   // by entry, block·Hosts + dst: its links between switches are passed[begin:begin of the next]
	over  []int32
	sends []uint64 // by entry: which hosts of the block send to dst
}

// Options say which messages there are.
type Options struct {
	Nodes []network.Node // hosts, by rank
	// Host is the host of each node where some have several, its adapters, which follow one another; nil: each is a
	// host. Messages between adapters of one host pass no link, and are none here.
	Host []int
	// Reads and Builds say which hosts send and receive; nil: all.
	Reads, Builds []bool
	// Skip says which of their messages there are not; nil: none.
	Skip func(src, dst int) bool
	// Drop leaves out messages that the tables do not deliver. Otherwise they are a *LostError.
	Drop bool
	// Steps bound ejection: placements for each message of the exchange. 0 means DefaultSteps, below 0
	// none.
	Steps int
}

func (o *Options) meets(src, dst int) bool {
	return !network.OneHost(o.Host, src, dst) && (o.Reads == nil || o.Reads[src]) && (o.Builds == nil || o.Builds[dst]) && (o.Skip == nil || !o.Skip(src, dst))
}

// A LostError is a message that the tables do not deliver.
type LostError struct {
	From, To string
	LID      int
	Fault    lft.Fault
	At       string // where its route ends
}

// Apart says that no plan has all messages.
func (e *LostError) Apart() {}

func (e *LostError) Error() string {
	return fmt.Sprintf("no message is taken from %s to %s (LID %d): %s at %s", e.From, e.To, e.LID, e.Fault, e.At)
}

// NewProblem follows the tables for all messages: O(leaves · hosts · hops).
func NewProblem(t *lft.Tables, o Options) (*Problem, error) {
	n := len(o.Nodes)
	p := &Problem{Hosts: n, host: o.Host, Links: make([]Link, 2*n), block: make([]int32, n), place: make([]int32, n)}
	for i, v := range o.Nodes {
		p.Links[i], p.Links[n+i] = Link{Node: v, Port: 1}, t.Net.Leaf(v)
	}
	rate := t.Net.MessageRate(o.Nodes)
	p.blocks(t, o.Nodes, rate)
	if err := p.follow(t, o); err != nil {
		return nil, err
	}
	p.rooms(t.Net, rate)
	return p, nil
}

// blocks divides the hosts of each switch, those with one rate and the same path bits together.
func (p *Problem) blocks(t *lft.Tables, nodes []network.Node, rate float64) {
	type key struct {
		leaf network.Node
		rate float64
		bits uint8
	}
	last := map[key]int32{}
	for i, v := range nodes {
		k := key{t.Net.Leaf(v).Node, min(rate, t.Net.Rate(Link{Node: v, Port: 1})), 0}
		if t.Bits != nil {
			k.bits = t.Bits[v]
		}
		b, there := last[k]
		if !there || len(p.from[b]) == 64 {
			b = int32(len(p.from))
			last[k], p.from = b, append(p.from, nil)
		}
		p.block[i], p.place[i], p.from[b] = b, int32(len(p.from[b])), append(p.from[b], int32(i))
	}
}

func (p *Problem) follow(t *lft.Tables, o Options) error {
	number := map[Link]int32{}
	p.begin = make([]int32, 1, len(p.from)*p.Hosts+1)
	p.sends = make([]uint64, len(p.from)*p.Hosts)
	for b, hosts := range p.from {
		for dst, to := range o.Nodes {
			var mask uint64
			for at, src := range hosts {
				if o.meets(int(src), dst) {
					mask |= 1 << at
				}
			}
			if mask != 0 {
				way, err := p.way(t, o.Nodes[hosts[bits.TrailingZeros64(mask)]], to)
				switch {
				case err == nil:
					for _, e := range way[:len(way)-1] { // the last leads to the host
						id, there := number[e]
						if !there {
							id = int32(len(p.Links))
							number[e], p.Links = id, append(p.Links, e)
						}
						p.over = append(p.over, id)
					}
				case !o.Drop:
					return err
				default:
					for at, src := range hosts {
						if mask>>at&1 != 0 {
							p.Missing = append(p.Missing, [2]int32{src, int32(dst)})
						}
					}
					mask = 0
				}
			}
			p.sends[b*p.Hosts+dst] = mask
			p.begin = append(p.begin, int32(len(p.over)))
		}
	}
	return nil
}

func (p *Problem) way(t *lft.Tables, src, dst network.Node) ([]Link, error) {
	lid := t.LID(src, dst)
	way, fault := t.Route(src, lid)
	if fault == lft.NoFault {
		return way, nil
	}
	at := t.Net.Name(src)
	if leaf := t.Net.Leaf(src).Node; leaf != network.NoNode {
		at = t.Net.Name(leaf)
	}
	if k := len(way); k > 0 {
		at = t.Net.EndName(way[k-1])
		if next := t.Net.At(way[k-1].Node, int(way[k-1].Port)).Node; fault == lft.NoEntry && next != network.NoNode {
			at = t.Net.Name(next)
		}
	}
	return nil, &LostError{t.Net.Name(src), t.Net.Name(dst), lid, fault, at}
}

// rooms sets the capacity of each link. A link that is 5 % short of several messages still has room for
// them all: rates in files are rounded.
func (p *Problem) rooms(net *network.Network, rate float64) {
	p.rates(func(i int) float64 {
		if r := net.Rate(p.Links[i]); rate > 0 && r > 0 {
			return r / rate
		}
		return 1
	})
}

// rates sets the capacity of each link, by its rate over that of a message.
func (p *Problem) rates(rate func(link int) float64) {
	p.Room, p.Share = make([]int32, len(p.Links)), make([]float64, len(p.Links))
	for i := range p.Links {
		p.Room[i], p.Share[i] = 1, 1
		if r := rate(i); r < 1 {
			p.Share[i] = r
		} else if i >= 2*p.Hosts { // a host has one message at a time
			p.Room[i] = int32(min(r+0.05, math.MaxInt16))
		}
	}
}

// Along returns the problem of messages whose paths are known: way appends the links between switches, by number. rate is
// what a link carries, in messages at once; links begin with those by which hosts send, then those by which they receive.
func Along(hosts, links int, meets func(src, dst int) bool, way func(to []int32, src, dst int) []int32, rate func(link int) float64) *Problem {
	p := &Problem{Hosts: hosts, Links: make([]Link, 2*hosts+links), block: lists.Count[int32](hosts), place: make([]int32, hosts), begin: []int32{0}}
	for src := range hosts {
		p.from = append(p.from, []int32{int32(src)})
		for dst := range hosts {
			mask, at := uint64(0), len(p.over)
			if meets(src, dst) {
				mask, p.over = 1, way(p.over, src, dst)
			}
			for i := at; i < len(p.over); i++ {
				p.over[i] += int32(2 * hosts)
			}
			p.sends, p.begin = append(p.sends, mask), append(p.begin, int32(len(p.over)))
		}
	}
	p.rates(rate)
	return p
}

// Phased returns a schedule of so many phases.
func (p *Problem) Phased(made string, phases int, phase func(src, dst int) int) *Schedule {
	s := newSchedule(p.Hosts, made)
	s.Phases = phases
	p.each(func(_, src, dst int) { s.phase[src*p.Hosts+dst] = int32(phase(src, dst)) })
	return s
}

// Shorter returns a schedule that takes less time than one given, if one is found, or the one given, whose messages share
// no links unless some are slow.
func (p *Problem) Shorter(s *Schedule, steps int) *Schedule {
	b := p.Bound()
	if p.Time(s) <= b.Steps*(1+round) {
		return s
	}
	if !p.slow() {
		return cmp.Or(p.eject(s, int(b.Time), s.Phases, steps), s)
	}
	if work := b.Time * float64(len(p.sends)); work <= much || work > 4*budget {
		if g := p.fill(b.Time); p.Time(g) < p.Time(s)*(1-round) {
			s = g
		}
	}
	return p.inLengths(s, steps)
}

func (p *Problem) entry(src, dst int) int { return int(p.block[src])*p.Hosts + dst }

// between are the links between switches that the messages of an entry pass.
func (p *Problem) between(entry int) []int32 { return p.over[p.begin[entry]:p.begin[entry+1]] }

// Between are the links between switches that the message from src to dst passes, in their order.
func (p *Problem) Between(src, dst int) []int32 { return p.between(p.entry(src, dst)) }

// Meets reports whether there is a message from src to dst.
func (p *Problem) Meets(src, dst int) bool { return p.sends[p.entry(src, dst)]>>p.place[src]&1 != 0 }

// Messages returns the number of messages.
func (p *Problem) Messages() (n int) {
	p.each(func(_, _, _ int) { n++ })
	return n
}

// each calls f for all messages, by block, destination and source.
func (p *Problem) each(f func(entry, src, dst int)) {
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
func (p *Problem) Loads() []int32 {
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
func (p *Problem) Bound() (b Bound) {
	b.Link = -1
	slow, loads := p.slow(), p.Loads()
	for l, load := range loads {
		time := float64((load + p.Room[l] - 1) / p.Room[l])
		if p.Share[l] < 1 || slow {
			time = float64(load) / float64(p.Room[l]) / p.Share[l]
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

// A Schedule gives each message a phase.
type Schedule struct {
	Phases int
	Made   string  // by which rule: linear-shift, shift-by-port, xor, greedy or ejection
	phase  []int32 // by src·hosts + dst, or None
	hosts  int
}

// At returns the phase of the message from src to dst, or None.
func (s *Schedule) At(src, dst int) int { return int(s.phase[src*s.hosts+dst]) }

func newSchedule(hosts int, made string) *Schedule {
	s := &Schedule{Made: made, hosts: hosts, phase: make([]int32, hosts*hosts)}
	for i := range s.phase {
		s.phase[i] = None
	}
	return s
}

// Time returns how long a schedule takes, in message times, where the messages of a phase begin
// together and share links evenly: the sum over the phases of the most that one link needs.
func (p *Problem) Time(s *Schedule) float64 {
	time, _ := p.walk(s, false)
	return time
}

// walk returns the Time of a schedule, and whether it is free of contention: no link needs longer than 1 for the
// messages of a phase. With only free it ends at the first that does.
func (p *Problem) walk(s *Schedule, onlyFree bool) (time float64, free bool) {
	first, in := s.byPhase()
	used, touched := make([]int32, len(p.Links)), []int32(nil)
	free = true
	for k := 0; k < s.Phases && (free || !onlyFree); k++ {
		longest := 0.0
		add := func(l int32) {
			if used[l]++; used[l] == 1 {
				touched = append(touched, l)
			}
			longest = max(longest, p.need(l, used[l]))
		}
		for _, m := range in[first[k]:first[k+1]] {
			src, dst := int(m)/s.hosts, int(m)%s.hosts
			add(int32(src))
			add(int32(p.Hosts + dst))
			for _, l := range p.Between(src, dst) {
				add(l)
			}
		}
		for _, l := range touched {
			used[l] = 0
		}
		touched = touched[:0]
		time += longest
		free = free && longest <= 1
	}
	return time, free
}

// slow reports whether a link is slower than a message.
func (p *Problem) slow() bool {
	return slices.ContainsFunc(p.Share, func(x float64) bool { return x < 1 })
}

// need is how long a link takes for so many messages that begin together.
func (p *Problem) need(link, messages int32) float64 {
	if p.Share[link] < 1 {
		return float64(messages) / p.Share[link]
	}
	return max(1, float64(messages)/float64(p.Room[link]))
}

// byPhase returns the messages by phase: those of phase k are in[first[k]:first[k+1]], rising.
func (s *Schedule) byPhase() (first, in []int32) {
	first = make([]int32, s.Phases+2)
	for _, k := range s.phase {
		if k != None {
			first[k+2]++
		}
	}
	for k := 2; k < len(first); k++ {
		first[k] += first[k-1]
	}
	in = make([]int32, first[s.Phases+1])
	for m, k := range s.phase {
		if k != None {
			in[first[k+1]] = int32(m)
			first[k+1]++
		}
	}
	return first[:s.Phases+1], in
}

// Best returns the shortest order found. steps are those of Options.
func Best(p *Problem, steps int) *Schedule {
	b, slow := p.Bound(), p.slow()
	best, least := (*Schedule)(nil), math.Inf(1)
	for s := range p.Formulas() {
		if t, free := p.walk(s, !slow); (free || slow) && t < least {
			best, least = s, t
		}
	}
	if best != nil && least <= b.Steps {
		return best
	}
	if slow && best != nil {
		return p.Shorter(best, steps)
	}
	g := p.fill(b.Time)
	high := g.Phases
	if best != nil {
		high = min(high, int(least))
	}
	if s := p.eject(g, int(b.Time), high, steps); s != nil {
		g = s
	}
	if best == nil || p.Time(g) < least {
		best = g
	}
	return best
}
