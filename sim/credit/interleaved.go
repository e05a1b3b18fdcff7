package credit

import (
	"fmt"
	"math/bits"
)

// interleaved is a switch with one queue for each input port and lane, whose lanes share
// a link flit by flit. It works in cycles of one flit. In each, heads ask for the lanes
// of their output and flits for the crossbar; both are decided by one round of iSLIP: an
// output grants one of those that ask, an input accepts one of its grants, in turn, and
// turns move only with what is accepted. Without Idle a head asks for a lane and for the
// crossbar at once; the crossbar's cycle is lost if it gets no lane.
type interleaved struct {
	cycle  Time
	lanes  int32
	early  bool  // a head asks for lane and crossbar at once
	choosy bool  // packets may not use each lane that is free
	ahead  int64 // cycles from a head's being first in its buffer to its asking for a lane
	back   int64 // cycles of a credit's way

	vc    []buffer // link · lanes + lane
	links []joint
	sw    []crossbar
	hosts []sender

	arrive, credit, heads wheel
	busy, ready           set // switches with something to decide; hosts that may send
	moved                 []turning
	given                 [][2]int32 // buffers, and the lanes they have been given
	grants                []int32    // buffers that have the crossbar
	next, done            Time       // the cycle to come, and the last one
	active                bool       // something moved in this cycle
}

// A buffer is one lane of one direction of a link, with the buffer at its end.
type buffer struct {
	flits  int32 // that have arrived and not left
	left   int32 // flits of the first packet that have not left; 0: none has come
	size   int32 // of the first packet
	pkt    int32 // the first packet
	to     int32 // lane that it has, -1: none
	out    int32 // port that it wants
	credit int32 // that the sender has
	holder int32 // buffer whose packet has this lane, -1: none
	link   int32
	bit    uint16 // of this lane
	lane   int8   // that the first packet must use, -1: any

	packets deque[int32] // whose heads have been sent, and whose tails have not left
}

// A joint says where a link begins and ends.
type joint struct {
	from, to int32 // switch, or ^host
	out, in  int32 // ports there
	lag      int64 // cycles from a flit's leaving one buffer to its leaving the next
	takes    Time  // host: when it took the last flit
}

// A crossbar is the state of a switch. Ports and lanes are bits.
type crossbar struct {
	waitOut, readyOut uint64 // outputs that somebody waits for, or has a flit for
	freeOut           uint64 // outputs with a free lane

	in    []inPort
	out   []outPort
	pairs []pair // by input · ports + output

	// Whose turn it is: by output lane an input lane, by input lane an output lane. A lane
	// here is port · 16 + lane.
	asks, acquires []int32
	first          int32 // link from the first port
}

// An inPort is the input of a port.
type inPort struct {
	got          uint64 // outputs that grant it the crossbar
	accept, turn int32  // output and lane whose turn it is
	base         int32  // its first buffer
}

// An outPort is the output of a port.
type outPort struct {
	wait, ready uint64 // inputs whose heads wait for a lane of it, or that have a flit for it
	free, room  uint16 // lanes that no packet has, and that have credit
	grant       int32  // input whose turn it is
}

// A pair is an input's lanes that wait for an output, and that have a flit for it.
type pair struct{ wait, ready uint16 }

// A sender is a host's adapter.
type sender struct {
	pkt, left int32
	to        int32 // lane that the packet has, -1: none
	last      int32 // lane of the packet before
	ready     Time
}

// A turning is a packet that decides on its output at a switch.
type turning struct{ pkt, node int32 }

func newInterleaved(e *Engine) (*interleaved, error) {
	f := &interleaved{cycle: e.w.Flit[0], lanes: int32(e.p.Lanes), early: e.p.Idle == 0, next: never,
		choosy: e.r.Lane != nil || e.p.CutThrough}
	for _, t := range e.w.Flit {
		if t != f.cycle {
			return nil, fmt.Errorf("flits that interleave need links of one speed")
		}
	}
	if e.p.Idle > f.cycle || e.p.Gap < e.p.Idle || e.p.Gap > e.p.Delay {
		return nil, fmt.Errorf("flits that interleave: idle %d, gap %d, delay %d: idle is at most a flit, gap no less and delay no less than gap", e.p.Idle, e.p.Gap, e.p.Delay)
	}
	f.done = -f.cycle
	f.ahead = f.cycles(e.p.Gap - e.p.Idle)
	f.back = max(1, f.cycles(e.p.Credit))
	f.vc = make([]buffer, len(e.w.To)*e.p.Lanes)
	for i := range f.vc {
		f.vc[i] = buffer{
			to: -1, holder: -1, credit: int32(e.p.Buffer),
			link: int32(i / e.p.Lanes), bit: 1 << (i % e.p.Lanes),
		}
	}
	longest, err := f.join(e)
	f.arrive, f.credit, f.heads = newWheel(longest), newWheel(max(longest, f.back)), newWheel(f.ahead+1)
	f.busy, f.ready = newSet(e.w.switches()), newSet(e.w.Hosts)
	f.hosts = make([]sender, e.w.Hosts)
	for h := range f.hosts {
		f.hosts[h] = sender{pkt: -1, last: -1}
	}
	return f, err
}

// cycles returns a time in cycles, rounded up.
func (f *interleaved) cycles(t Time) int64 { return (t + f.cycle - 1) / f.cycle }

// sink returns the cycles from a flit's leaving for a host to when its room there may be
// used.
func (f *interleaved) sink(e *Engine, l int32) int64 {
	return max(1, f.cycles(e.w.Wire[l]+e.p.Host.Behind+e.p.Credit))
}

// join sets up links and switches; it returns the longest lag.
func (f *interleaved) join(e *Engine) (longest int64, err error) {
	w := e.w
	place := func(node int32) int32 {
		if int(node) < w.Hosts {
			return ^node
		}
		return node - int32(w.Hosts)
	}
	f.sw = make([]crossbar, w.switches())
	for i := range f.sw {
		first := w.First[w.Hosts+i]
		ports := w.First[w.Hosts+i+1] - first
		if ports > 64 {
			return 0, fmt.Errorf("flits that interleave: a switch of %d ports; there may be 64", ports)
		}
		f.sw[i].init(w, first, ports, f.lanes)
	}
	f.links = make([]joint, len(w.To))
	for l := range f.links {
		if w.To[l] < 0 {
			continue
		}
		lag := max(1, f.cycles(w.Wire[l]+e.p.Delay-e.p.Gap))
		longest = max(longest, lag, f.sink(e, int32(l)))
		f.links[l] = joint{
			from: place(w.From[l]), to: place(w.To[l]), lag: lag,
			out: int32(l) - w.First[w.From[l]], in: w.Back[l] - w.First[w.To[l]],
		}
	}
	return longest, nil
}

func (c *crossbar) init(w *Wires, first, ports, lanes int32) {
	c.first = first
	c.in, c.out, c.pairs = make([]inPort, ports), make([]outPort, ports), make([]pair, ports*ports)
	for i := range c.out {
		c.in[i].base = w.Back[first+int32(i)] * lanes
		c.out[i].free, c.out[i].room = 1<<lanes-1, 1<<lanes-1
	}
	c.freeOut = 1<<ports - 1
	c.asks, c.acquires = make([]int32, ports<<4), make([]int32, ports<<4)
}

// offer gives a packet to its host's adapter.
func (f *interleaved) offer(e *Engine, h int32, pkt int32, at Time) {
	s := &f.hosts[h]
	s.pkt, s.left, s.to = pkt, e.pk.at[pkt].flits, -1
	s.ready = at + e.p.Host.Before
	if s.ready > e.now+f.cycle {
		e.at(s.ready, evFront, h, 0)
		return
	}
	f.ready.add(h)
	f.tickAt(e, s.ready)
}

func (f *interleaved) handle(e *Engine, ev event) {
	switch ev.kind() {
	case evTry:
		if e.now == f.next {
			f.tick(e)
		}
	case evCredit:
		f.credited(ev.a())
		f.tickAt(e, e.now)
	case evFront:
		f.ready.add(ev.a())
		f.tickAt(e, e.now)
	}
}

// tickAt has a cycle done, not before a time.
func (f *interleaved) tickAt(e *Engine, at Time) {
	at = max(f.cycles(max(at, e.now))*f.cycle, f.done+f.cycle)
	if at < f.next {
		f.next = at
		e.at(at, evTry, 0, 0)
	}
}

// tick does a cycle: what has arrived asks, hosts send, switches decide, and heads that
// have been sent decide on their next output.
func (f *interleaved) tick(e *Engine) {
	f.next, f.done, f.active = never, e.now, false
	k := e.now / f.cycle
	for _, x := range f.arrive.take(k) {
		f.arrived(e, k, x)
	}
	for _, x := range f.heads.take(k) {
		f.ask(e, x)
	}
	for _, x := range f.credit.take(k) {
		f.credited(x)
	}
	for i, word := range f.ready {
		for ; word != 0; word &= word - 1 {
			f.inject(e, k, int32(i<<6+bits.TrailingZeros64(word)))
		}
	}
	f.decide(e)
	for i, word := range f.busy {
		for ; word != 0; word &= word - 1 {
			f.step(e, k, int32(i<<6+bits.TrailingZeros64(word)))
		}
	}
	f.decide(e)
	if f.active || f.arrive.n+f.credit.n+f.heads.n > 0 {
		f.tickAt(e, e.now+f.cycle)
	}
}

// decide routes the packets whose heads have been sent to a switch.
func (f *interleaved) decide(e *Engine) {
	for _, m := range f.moved {
		p := &e.pk.at[m.pkt]
		p.next = e.route(m.node, p)
	}
	f.moved = f.moved[:0]
}

// arrived puts a flit into a buffer.
func (f *interleaved) arrived(e *Engine, k int64, x int32) {
	b := &f.vc[x]
	b.flits++
	switch {
	case b.left == 0:
		f.first(e, k, x)
	case b.flits == 1 && b.to >= 0 && f.vc[b.to].credit > 0:
		f.may(x)
	}
}

// first has the head that came to the front of a buffer ask for a lane.
func (f *interleaved) first(e *Engine, k int64, x int32) {
	b := &f.vc[x]
	b.pkt = *b.packets.at(0)
	p := &e.pk.at[b.pkt]
	b.left, b.size, b.lane = p.flits, p.flits, p.lane
	if f.ahead > 0 {
		f.heads.push(k+f.ahead, x)
		return
	}
	f.ask(e, x)
}

// ask notes that the head at the front of a buffer waits for a lane of its output.
func (f *interleaved) ask(e *Engine, x int32) {
	b := &f.vc[x]
	p := &e.pk.at[b.pkt]
	j := &f.links[b.link]
	node := j.to + int32(e.w.Hosts)
	l := p.next
	if !e.p.RouteAhead {
		l = e.route(node, p)
	}
	if l < 0 {
		e.unreachable(node, p)
		return
	}
	c := &f.sw[j.to]
	b.out = l - e.w.First[node]
	c.pairs[int(j.in)*len(c.in)+int(b.out)].wait |= b.bit
	c.out[b.out].wait |= 1 << (j.in & 63)
	c.waitOut |= 1 << (b.out & 63)
	f.busy.add(j.to)
}

// may notes that the first flit of a buffer has an output lane with room.
func (f *interleaved) may(x int32) {
	b := &f.vc[x]
	j := &f.links[b.link]
	c := &f.sw[j.to]
	c.pairs[int(j.in)*len(c.in)+int(b.out)].ready |= b.bit
	c.out[b.out].ready |= 1 << (j.in & 63)
	c.readyOut |= 1 << (b.out & 63)
	f.busy.add(j.to)
}

// credited gives the sender of a lane room for one more flit.
func (f *interleaved) credited(y int32) {
	d := &f.vc[y]
	d.credit++
	j := &f.links[d.link]
	if j.from < 0 {
		if f.hosts[^j.from].pkt >= 0 {
			f.ready.add(^j.from)
		}
		return
	}
	if d.credit > 1 {
		return
	}
	f.sw[j.from].out[j.out].room |= d.bit
	if d.holder >= 0 && f.vc[d.holder].flits > 0 {
		f.may(d.holder)
	}
}

// used returns the credit of a lane that is in use.
func (f *interleaved) used(e *Engine, y int32) int64 {
	return int64(e.p.Buffer) - int64(f.vc[y].credit)
}

// A wheel holds what is to be done in a cycle to come.
type wheel struct {
	slots [][]int32
	n     int
}

func newWheel(longest int64) wheel {
	return wheel{slots: make([][]int32, 1<<bits.Len64(uint64(longest)))}
}

func (w *wheel) push(k int64, x int32) {
	s := &w.slots[k&int64(len(w.slots)-1)]
	*s = append(*s, x)
	w.n++
}

// take empties the slot of a cycle; the result is good until its turn comes again.
func (w *wheel) take(k int64) []int32 {
	s := &w.slots[k&int64(len(w.slots)-1)]
	xs := *s
	*s = xs[:0]
	w.n -= len(xs)
	return xs
}

// A set is a set of small numbers.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) add(i int32)    { s[i>>6] |= 1 << (i & 63) }
func (s set) remove(i int32) { s[i>>6] &^= 1 << (i & 63) }

// after64 returns the first bit of a mask that is not zero, from one on in a ring.
func after64(mask uint64, from int32) int32 {
	if high := mask >> (from & 63) << (from & 63); high != 0 {
		mask = high
	}
	return int32(bits.TrailingZeros64(mask))
}
