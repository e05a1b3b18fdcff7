package credit

import (
	"fmt"
	"math/bits"
	"slices"

	"evbench/internal/splitmix"
)

// A Message goes from a source to one destination.
type Message struct {
	Dst   int32
	Flits int64
	Start Time // created at; not before
	Tag   int32
	// Via are the links by which the packets leave the first two switches that have a choice, plus
	// one; 0 leaves the choice to the routes.
	Via [2]int32
}

// A Source gives hosts their messages. A host has one message at a time: it asks for the next when
// the last flit of the one before has left the generator.
type Source interface {
	// Next returns the next message of a host. ok is false when there is none until Wake.
	Next(host int32, now Time) (m Message, ok bool)
}

// A Listener is a Source that hears of events: workers that build events.
type Listener interface {
	Source
	// Received is called when all of a message has been received.
	Received(e *Engine, src, dst int32, m Message, now Time)
	// Called answers Engine.Call.
	Called(e *Engine, now Time)
}

type packet struct {
	src, dst int32
	flits    int32
	msg      int32
	number   uint32 // of this source and destination, for the order
	lane     int8   // -1: any
	on       int8   // lane of the buffer that its head came to
	via      [2]int32
	from     int32 // channel by which its head came
	next     int32 // link that it takes, where that is decided ahead
	created  Time
	sent     Time // its head left the host, or its tail the generator
	head     Time // its head came to where it is
	tail     Time // its tail will have come there
}

type message struct {
	Message
	left, sent int64 // flits not received, and handed to packets
	began      Time
}

// A line is one direction of a link: the state that its lanes share.
type line struct {
	next    Time // a flit may begin at
	read    Time // the receiving port may read its next flit at
	carried int64
	try     Time // when evTry is due
	waiting []int32
	turn    int32 // lane to begin with
}

type host struct {
	msg  int32 // -1: none
	busy bool  // a packet of it has not left
}

type model interface {
	offer(e *Engine, h int32, pkt int32, at Time) // a host has a packet
	handle(e *Engine, ev event)
	used(e *Engine, ch int32) int64
	reroute(e *Engine, l int32) // packets that wait for a link ask again
}

// An Engine runs a network from a time to a time.
type Engine struct {
	p    Params
	w    *Wires
	r    *Routes
	src  Source
	ear  Listener // or nil
	seed uint64
	rand splitmix.Random
	turn []uint32

	q    queue
	now  Time
	ln   []line
	pk   pool[packet]
	ms   pool[message]
	hs   []host
	sw   model
	sort *order // nil: packets of a flow keep their order
	err  error

	Meter Meter
}

// New returns an engine at time 0. The window of the meter is [from, until).
func New(p Params, w *Wires, r *Routes, src Source, seed uint64) (*Engine, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	e := &Engine{p: p, w: w, r: r, src: src, seed: seed, rand: splitmix.Random(splitmix.Mix(seed + 1))}
	e.ear, _ = src.(Listener)
	e.turn = make([]uint32, w.switches())
	e.ln = slices.Repeat([]line{{try: never}}, len(w.To))
	e.hs = slices.Repeat([]host{{msg: -1}}, w.Hosts)
	e.Meter.init(w.Hosts)
	e.q.shift = shiftFor(w)
	if r.Choice != First && r.Choice != Hash || p.Lanes > 1 && r.Lane == nil {
		e.sort = newOrder(w.Hosts)
	}
	if p.Organisation == FIFO {
		e.sw = newFIFO(e)
	} else {
		e.sw = newPerOutput(e)
	}
	return e, nil
}

// shiftFor returns the width of a bucket of the calendar, as a power of two: about a flit in a
// small network, less in a large one, so that few events share a bucket. The calendar must still
// reach some flits ahead.
func shiftFor(w *Wires) uint {
	flit := uint64(w.Flit[0])
	width := max(flit/uint64(1+len(w.To)/linksABucket), flit*reach/buckets)
	return uint(max(bits.Len64(width), 1) - 1)
}

const (
	linksABucket = 64
	reach        = 64 // flits
)

// Run handles events until a time, or until none is left.
func (e *Engine) Run(until Time) error {
	if e.now == 0 {
		for h := range e.hs {
			e.Wake(int32(h))
		}
	}
	for e.err == nil {
		ev, ok := e.q.pop()
		if !ok {
			break
		}
		if ev.at >= until {
			e.q.push(ev)
			break
		}
		e.now = ev.at
		e.handle(ev)
	}
	return e.err
}

func (e *Engine) handle(ev event) {
	switch ev.kind() {
	case evSource:
		e.more(ev.a(), e.now)
	case evDeliver:
		e.deliver(ev.a())
	case evCall:
		e.ear.Called(e, e.now)
	default:
		e.sw.handle(e, ev)
	}
}

func (e *Engine) at(t Time, kind int, a, b int32) { e.q.push(event{max(t, e.now), id(kind, a, b)}) }

// Call makes the engine call the listener at a time.
func (e *Engine) Call(t Time) { e.at(t, evCall, 0, 0) }

// Wake makes a host without messages ask again.
func (e *Engine) Wake(h int32) {
	if s := &e.hs[h]; s.msg < 0 && !s.busy {
		e.more(h, e.now)
	}
}

// Carried returns the flits that have been sent on a link.
func (e *Engine) Carried(l int32) int64 { return e.ln[l].carried }

// Reroute changes the routes from now on. Packets that wait for one of the dead links get new
// routes. Packets whose new routes do not lead to the end, and flits on the dead links, still cross
// them.
func (e *Engine) Reroute(r *Routes, dead []int32) {
	e.r = r
	for _, l := range dead {
		e.sw.reroute(e, l)
	}
}

// Done reports whether no event is left.
func (e *Engine) Done() bool { return e.q.n == 0 }

// more makes a host produce its next packet, at a time that may lie ahead.
func (e *Engine) more(h int32, at Time) {
	s := &e.hs[h]
	s.busy = false
	if s.msg < 0 {
		m, ok := e.src.Next(h, at)
		if !ok {
			return
		}
		s.msg = e.ms.add(message{Message: m, left: m.Flits})
		if m.Start > at {
			at = m.Start
		}
		e.ms.at[s.msg].began = at
	}
	m := &e.ms.at[s.msg]
	flits := min(int64(e.p.Packet), m.Flits-m.sent)
	m.sent += flits
	p := packet{src: h, dst: m.Dst, flits: int32(flits), msg: s.msg, lane: -1, via: m.Via, created: m.Start, from: -1}
	if e.r.Lane != nil {
		p.lane = int8(e.r.Lane[int(h)*e.w.Hosts+int(m.Dst)])
	}
	if e.sort != nil {
		p.number = e.sort.number(h, m.Dst)
	}
	if m.sent == m.Flits {
		s.msg = -1
	}
	s.busy = true
	e.sw.offer(e, h, e.pk.add(p), max(at, m.Start))
}

// A pool holds things by number, and reuses the numbers of dropped things.
type pool[T any] struct {
	at    []T
	spare []int32
}

func (p *pool[T]) add(v T) int32 {
	if n := len(p.spare); n > 0 {
		i := p.spare[n-1]
		p.spare = p.spare[:n-1]
		p.at[i] = v
		return i
	}
	p.at = append(p.at, v)
	return int32(len(p.at) - 1)
}

func (p *pool[T]) drop(i int32) { p.spare = append(p.spare, i) }

// arrived notes when the tail of a packet will have been received.
func (e *Engine) arrived(pkt int32, at Time) {
	e.pk.at[pkt].tail = at
	if e.ear != nil {
		e.at(at, evDeliver, pkt, 0)
		return
	}
	e.deliver(pkt)
}

func (e *Engine) deliver(pkt int32) {
	p := &e.pk.at[pkt]
	m := &e.ms.at[p.msg]
	m.left -= int64(p.flits)
	e.Meter.packet(p)
	if e.sort != nil {
		e.sort.received(&e.Meter, p)
	}
	if m.left == 0 {
		msg, whole := p.msg, m.Message
		e.Meter.message(m, p.tail)
		e.ms.drop(msg)
		if e.ear != nil {
			e.ear.Received(e, p.src, p.dst, whole, e.now)
		}
	}
	e.pk.drop(pkt)
}

func (e *Engine) unreachable(node int32, p *packet) {
	e.err = fmt.Errorf("a packet from host %d to host %d: switch %d has no link for it", p.src, p.dst, int(node)-e.w.Hosts)
}
