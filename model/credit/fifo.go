package credit

import (
	"math"
	"slices"
)

// fifo is a switch with one queue for each input port and lane. A stream is a packet on its way
// from a buffer to the next. The times of its flits follow from their arrival, the room in the next
// buffer and the link, and are computed ahead as far as these are known. Only arbitration needs
// events.
type fifo struct {
	ch   []channel // link · lanes + lane; then one a host, for its source
	real int32     // channels of links
	work []int32   // streams that may go on
}

// A run is consecutive flits, one a step.
type run struct {
	from int64 // number of the first flit
	at   Time
	step Time
	n    int64
}

func (r run) end() int64           { return r.from + r.n }
func (r run) time(flit int64) Time { return r.at + Time(flit-r.from)*r.step }

type entry struct {
	pkt  int32
	head Time // sent
}

// A channel is one lane of one direction of a link, with the buffer at its end.
type channel struct {
	sent deque[run] // by the sender
	left deque[run] // out of the buffer
	in   int64      // flits sent
	out  int64      // flits that have left

	packets deque[entry] // whose heads have been sent, and that have not left
	asked   bool         // the first waits for an output or has it

	to    int32 // channel that the first packet has, -1: none
	done  int64 // flits of it that have left
	begin Time  // not before

	holder int32 // channel whose packet has this one, -1: none
	freeAt Time
	turn   int32 // input served last

	needsData, needsRoom bool // the stream out of the buffer; the one into it
	roomTry              bool // the line into it waits for room to begin a packet
}

func newFIFO(e *Engine) *fifo {
	f := &fifo{real: int32(len(e.ln) * e.p.Lanes)}
	f.ch = slices.Repeat([]channel{{to: -1, holder: -1, turn: -1}}, int(f.real)+e.w.Hosts)
	return f
}

func (f *fifo) offer(e *Engine, h int32, pkt int32, at Time) {
	x := f.real + h
	c := &f.ch[x]
	p := &e.pk.at[pkt]
	// The source has all flits at once; they may leave Delay later.
	ready := at + e.p.Host.Before - e.p.Delay
	c.sent.push(run{c.in, ready, 0, int64(p.flits)})
	c.in += int64(p.flits)
	c.packets.push(entry{pkt, ready})
	f.front(e, x)
}

func (f *fifo) front(e *Engine, x int32) {
	c := &f.ch[x]
	if c.asked || c.packets.size == 0 {
		return
	}
	c.asked = true
	e.at(max(c.begin, c.packets.at(0).head+f.wire(e, x)+e.p.Delay), evFront, x, 0)
}

func (f *fifo) wire(e *Engine, x int32) Time {
	if x >= f.real {
		return 0
	}
	return e.w.Wire[x/int32(e.p.Lanes)]
}

func (f *fifo) node(e *Engine, x int32) int32 {
	if x >= f.real {
		return x - f.real
	}
	return e.w.To[x/int32(e.p.Lanes)]
}

func (f *fifo) handle(e *Engine, ev event) {
	switch ev.kind() {
	case evTry:
		f.try(e, ev.a())
		return
	case evRoute:
		p := &e.pk.at[ev.a()]
		p.next = e.route(ev.b(), p)
		return
	}
	x := ev.a()
	p := &e.pk.at[f.ch[x].packets.at(0).pkt]
	node := f.node(e, x)
	l := p.next
	if !e.p.RouteAhead || x >= f.real {
		l = e.route(node, p)
	}
	if l < 0 {
		e.unreachable(node, p)
		return
	}
	e.ln[l].waiting = append(e.ln[l].waiting, x)
	f.tryAt(e, l, e.now)
}

// tryAt makes a line decide at a time, or earlier.
func (f *fifo) tryAt(e *Engine, l int32, at Time) {
	n := &e.ln[l]
	if at = max(at, e.now); n.try <= at {
		return
	}
	n.try = at
	e.at(at, evTry, l, 0)
}

func (f *fifo) try(e *Engine, l int32) {
	n := &e.ln[l]
	if n.try != e.now {
		return
	}
	n.try = never
	lanes := int32(e.p.Lanes)
	for i := int32(0); i < lanes && len(n.waiting) > 0; i++ {
		lane := (n.turn + i) % lanes
		y := l*lanes + lane
		d := &f.ch[y]
		if d.holder >= 0 {
			continue
		}
		if d.freeAt > e.now {
			f.tryAt(e, l, d.freeAt)
			continue
		}
		if n.next > e.now {
			f.tryAt(e, l, n.next)
			break
		}
		k := f.next(e, n, y, int8(lane))
		if k < 0 || !f.room(e, l, y, n.waiting[k]) {
			continue
		}
		x := n.waiting[k]
		n.waiting[k] = n.waiting[len(n.waiting)-1]
		n.waiting = n.waiting[:len(n.waiting)-1]
		d.turn = f.input(e, x)
		f.grant(e, x, y)
	}
	n.turn = (n.turn + 1) % lanes
}

func (f *fifo) reroute(e *Engine, l int32) {
	waiting := e.ln[l].waiting
	e.ln[l].waiting = nil
	for _, x := range waiting {
		p := &e.pk.at[f.ch[x].packets.at(0).pkt]
		p.via, p.next = [2]int32{}, e.route(f.node(e, x), p)
		e.at(e.now, evFront, x, 0)
	}
}

// input returns the number of an input at its switch, for taking turns.
func (f *fifo) input(e *Engine, x int32) int32 {
	if x >= f.real {
		return 0
	}
	lanes := int32(e.p.Lanes)
	l := x / lanes
	return (e.w.Back[l]-e.w.First[e.w.To[l]])*lanes + x%lanes
}

// next returns the next of the waiting inputs on a lane, -1 if none may use it.
func (f *fifo) next(e *Engine, n *line, y int32, lane int8) int {
	d := &f.ch[y]
	best, key := -1, int64(math.MaxInt64)
	for k, x := range n.waiting {
		first := f.ch[x].packets.at(0)
		if p := &e.pk.at[first.pkt]; p.lane >= 0 && p.lane != lane {
			continue
		}
		if x < f.real {
			if l := x / int32(e.p.Lanes); e.ln[l].read > e.now {
				f.tryAt(e, y/int32(e.p.Lanes), e.ln[l].read)
				continue
			}
		}
		in := int64(f.input(e, x))
		v := in - int64(d.turn) - 1
		if v < 0 {
			v += 1 << 20
		}
		if e.p.Arbitration == Oldest {
			v = int64(first.head)<<12 + in
		}
		if v < key {
			best, key = k, v
		}
	}
	return best
}

// room reports whether a packet may begin. If not, the line tries again when it may.
func (f *fifo) room(e *Engine, l, y, x int32) bool {
	if !e.p.CutThrough || f.endless(e, y) {
		return true
	}
	d := &f.ch[y]
	flits := int64(e.pk.at[f.ch[x].packets.at(0).pkt].flits)
	at := f.roomAt(e, d, d.in+flits-1)
	switch {
	case at == never:
		d.roomTry = true
	case at > e.now:
		f.tryAt(e, l, at)
	default:
		return true
	}
	return false
}

func (f *fifo) endless(e *Engine, y int32) bool {
	return e.p.Host.Take == 0 && int(f.node(e, y)) < e.w.Hosts
}

// roomAt returns when there is room for a flit, by its number on the channel; never if not known
// yet.
func (f *fifo) roomAt(e *Engine, d *channel, flit int64) Time {
	m := flit - int64(e.p.Buffer)
	if m < 0 {
		return 0
	}
	if m >= d.out {
		return never
	}
	return find(&d.left, m).time(m) + e.p.Credit
}

func (f *fifo) grant(e *Engine, x, y int32) {
	c := &f.ch[x]
	c.to, c.done, c.begin = y, 0, max(c.begin, e.now)
	f.ch[y].holder = x
	f.work = append(f.work, x)
	for len(f.work) > 0 {
		x := f.work[len(f.work)-1]
		f.work = f.work[:len(f.work)-1]
		for f.advance(e, x) {
		}
	}
}

// advance computes the next run of the stream out of a buffer. It returns false when the stream has
// ended or its needs are not known yet.
func (f *fifo) advance(e *Engine, x int32) bool {
	c := &f.ch[x]
	if c.to < 0 {
		return false
	}
	y := c.to
	d := &f.ch[y]
	pkt := c.packets.at(0).pkt
	p := &e.pk.at[pkt]
	if c.out >= c.in {
		c.needsData = true
		return false
	}
	lanes := int32(e.p.Lanes)
	out := &e.ln[y/lanes]
	step := e.w.Flit[y/lanes]
	start := max(c.begin, out.next)
	if x < f.real {
		start = max(start, e.ln[x/lanes].read)
	}
	n := int64(p.flits) - c.done

	f.trim(e, c, d)
	data := find(&c.sent, c.out)
	start = max(start, data.time(c.out)+f.wire(e, x)+e.p.Delay)
	n = min(n, data.end()-c.out)
	step = max(step, data.step)
	if !f.endless(e, y) {
		if m := d.in - int64(e.p.Buffer); m >= 0 {
			if m >= d.out {
				d.needsRoom = true
				return false
			}
			room := find(&d.left, m)
			start = max(start, room.time(m)+e.p.Credit)
			n = min(n, room.end()-m)
			step = max(step, room.step)
		} else {
			n = min(n, -m)
		}
	}
	f.send(e, x, y, run{d.in, start, step, n})
	return true
}

func (f *fifo) send(e *Engine, x, y int32, r run) {
	c, d := &f.ch[x], &f.ch[y]
	lanes := int32(e.p.Lanes)
	last := r.time(r.end() - 1)
	first := c.packets.at(0)
	p := &e.pk.at[first.pkt]

	e.ln[y/lanes].next = last + e.w.Flit[y/lanes]
	if x < f.real {
		e.ln[x/lanes].read = last + e.w.Flit[y/lanes]
	}
	e.ln[y/lanes].carried += r.n
	push(&c.left, run{c.out, r.at, r.step, r.n})
	c.out += r.n
	push(&d.sent, r)
	d.in += r.n
	head := c.done == 0
	c.done += r.n

	host := f.node(e, y)
	sink := int(host) < e.w.Hosts
	if head {
		if x >= f.real {
			p.sent = r.at
		}
		if !sink {
			d.packets.push(entry{first.pkt, r.at})
			if e.p.RouteAhead {
				e.at(r.at, evRoute, first.pkt, host)
			}
			f.front(e, y)
		}
	}
	if sink {
		e.Meter.flits(host, r.at+e.w.Wire[y/lanes]+e.p.Host.Behind, r.step, r.n)
		if e.p.Host.Take > 0 {
			f.take(e, y, r)
		}
	}
	if d.needsData {
		d.needsData = false
		f.work = append(f.work, y)
	}
	f.freed(e, x)
	if c.done == int64(p.flits) {
		f.finish(e, x, y, last)
	}
}

// freed notifies the stream into a buffer, and the line, that flits leave the buffer.
func (f *fifo) freed(e *Engine, x int32) {
	c := &f.ch[x]
	if c.needsRoom {
		c.needsRoom = false
		f.work = append(f.work, c.holder)
	}
	if c.roomTry {
		c.roomTry = false
		f.tryAt(e, x/int32(e.p.Lanes), e.now)
	}
}

func (f *fifo) finish(e *Engine, x, y int32, last Time) {
	c, d := &f.ch[x], &f.ch[y]
	step := e.w.Flit[y/int32(e.p.Lanes)]
	pkt := c.packets.pop().pkt
	c.to, c.asked = -1, false
	c.begin = last + step
	d.holder, d.freeAt = -1, last+step
	if x < f.real { // a host needs no time to choose
		c.begin += e.p.Gap
		d.freeAt += e.p.Idle
	}
	if l := y / int32(e.p.Lanes); len(e.ln[l].waiting) > 0 {
		f.tryAt(e, l, d.freeAt)
	}
	if int(f.node(e, y)) < e.w.Hosts {
		e.arrived(pkt, last+f.wire(e, y)+e.p.Host.Behind)
	}
	if x >= f.real {
		e.at(last+step, evSource, x-f.real, 0)
		return
	}
	f.front(e, x)
}

func (f *fifo) take(e *Engine, y int32, r run) {
	d := &f.ch[y]
	step := max(r.step, e.p.Host.Take)
	at := r.at + f.wire(e, y) + e.p.Host.Behind
	if d.left.size > 0 {
		at = max(at, d.left.last().time(d.left.last().end()-1)+e.p.Host.Take)
	}
	push(&d.left, run{d.out, at, step, r.n})
	d.out += r.n
	f.freed(e, y)
}

// push adds a run, or extends the last one.
func push(d *deque[run], r run) {
	if d.size > 0 {
		if l := d.last(); l.step == r.step && l.time(r.from) == r.at {
			l.n += r.n
			return
		}
	}
	d.push(r)
}

func find(d *deque[run], flit int64) run {
	for i := d.size - 1; i >= 0; i-- {
		if r := d.at(i); flit >= r.from {
			return *r
		}
	}
	return *d.at(0)
}

// trim forgets runs that are no longer needed: all their flits were sent, or their room used,
// before now.
func (f *fifo) trim(e *Engine, c, d *channel) {
	for c.sent.size > 1 {
		if r := c.sent.at(0); r.end() > c.out || r.time(r.end()) >= e.now {
			break
		}
		c.sent.pop()
	}
	for d.left.size > 1 {
		if r := d.left.at(0); r.end() > d.in-int64(e.p.Buffer) || r.time(r.end())+e.p.Credit >= e.now {
			break
		}
		d.left.pop()
	}
}

// used returns the credit of a channel in use now: flits sent, less flits whose room is known to be
// free again.
func (f *fifo) used(e *Engine, y int32) int64 {
	d := &f.ch[y]
	n := d.in - d.out
	for i := d.sent.size - 1; i >= 0; i-- { // sent later than now
		r := d.sent.at(i)
		k := later(r, e.now)
		n -= k
		if k < r.n {
			break
		}
	}
	for i := d.left.size - 1; i >= 0; i-- { // room known later than now
		r := d.left.at(i)
		k := later(r, e.now-e.p.Credit)
		n += k
		if k < r.n {
			break
		}
	}
	return n
}

// later returns how many flits of a run are later than a time.
func later(r *run, t Time) int64 {
	switch {
	case r.at > t:
		return r.n
	case r.step == 0:
		return 0
	}
	return max(0, r.n-1-int64((t-r.at)/r.step))
}
