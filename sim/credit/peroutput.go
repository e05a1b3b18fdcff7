package credit

// perOutput is a switch whose input buffers have a queue for each output in common space.
// A packet crosses to the queue of its output when that has room, when the next buffer has
// room for all of it, and when few enough packets leave its input buffer; from there the
// link takes it. Packets are never interleaved, so that each is three events at a hop:
// its head comes, it has left the buffer, its room is known to the sender.
type perOutput struct {
	out     []output // by link
	reads   []int32  // packets that leave the buffer at the end of a link
	blocked [][]int32
	room    []int32 // credits, by link · lanes + lane
	gen     []Time  // host: when its generator began the packet at hand
}

// An output is a port that sends.
type output struct {
	waiting []deque[int32] // packets by lane, by when their heads came
	cross   Time           // the crossbar's way to it is free at
	end     Time           // the link has sent all that crossed at
	begun   deque[Time]    // ends of packets on the link and in its queue
	try     Time
	turn    int32
}

func newPerOutput(e *Engine) *perOutput {
	m := &perOutput{
		out: make([]output, len(e.w.To)), reads: make([]int32, len(e.w.To)),
		blocked: make([][]int32, len(e.w.To)), room: make([]int32, len(e.w.To)*e.p.Lanes),
		gen: make([]Time, e.w.Hosts),
	}
	for i := range m.out {
		m.out[i].waiting = make([]deque[int32], e.p.Lanes)
		m.out[i].try = never
	}
	for i := range m.room {
		m.room[i] = int32(e.p.Buffer)
	}
	return m
}

// offer has a host's generator begin a packet.
func (m *perOutput) offer(e *Engine, h int32, pkt int32, at Time) {
	m.gen[h] = at
	p := &e.pk[pkt]
	p.from = -1
	p.head, p.tail = at, at
	e.at(at+e.p.Host.Before, evHead, pkt, 0)
}

func (m *perOutput) handle(e *Engine, ev event) {
	switch ev.kind() {
	case evHead:
		m.head(e, ev.a())
	case evTry:
		if o := &m.out[ev.a()]; o.try == e.now {
			o.try = never
			m.try(e, ev.a())
		}
	case evCrossed:
		m.crossed(e, ev.a(), ev.b())
	case evCredit:
		ch := ev.a()
		m.room[ch] += ev.b()
		m.tryAt(e, ch/int32(e.p.Lanes), e.now)
	}
}

func (m *perOutput) tryAt(e *Engine, l int32, at Time) {
	o := &m.out[l]
	if at = max(at, e.now, o.cross); o.try <= at {
		return
	}
	o.try = at
	e.at(at, evTry, l, 0)
}

// node returns where the head of a packet is.
func (m *perOutput) node(e *Engine, p *packet) int32 {
	if p.from < 0 {
		return p.src
	}
	return e.w.To[p.from]
}

// head queues a packet for its output.
func (m *perOutput) head(e *Engine, pkt int32) {
	p := &e.pk[pkt]
	node := m.node(e, p)
	l := e.route(node, p)
	if l < 0 {
		e.unreachable(node, p)
		return
	}
	lane := int(max(0, p.lane))
	m.out[l].waiting[lane].push(pkt)
	m.tryAt(e, l, e.now)
}

// try has the next packet of an output cross.
func (m *perOutput) try(e *Engine, l int32) {
	o := &m.out[l]
	if o.cross > e.now {
		m.tryAt(e, l, o.cross)
		return
	}
	lanes := int32(e.p.Lanes)
	for i := range lanes {
		lane := (o.turn + i) % lanes
		if o.waiting[lane].size == 0 || !m.may(e, l, lane) {
			continue
		}
		o.turn = (lane + 1) % lanes
		m.grant(e, l, lane, o.waiting[lane].pop())
		return
	}
}

// may reports whether the oldest packet of a lane may cross; else the output is tried
// again when it may.
func (m *perOutput) may(e *Engine, l, lane int32) bool {
	o := &m.out[l]
	p := &e.pk[*o.waiting[lane].at(0)]
	if !m.endless(e, l) && m.room[l*int32(e.p.Lanes)+lane] < p.flits {
		return false // evCredit tries again
	}
	queue := e.p.OutputQueue
	if p.from < 0 {
		queue = e.p.Host.Queue
	}
	if at := o.end - Time(queue-int(p.flits)-1)*e.w.Flit[l]; at > e.now {
		m.tryAt(e, l, at)
		return false
	}
	if p.from >= 0 && e.p.Reads > 0 && int(m.reads[p.from]) >= e.p.Reads {
		m.blocked[p.from] = append(m.blocked[p.from], l)
		return false
	}
	return true
}

func (m *perOutput) endless(e *Engine, l int32) bool {
	return e.p.Host.Take == 0 && int(e.w.To[l]) < e.w.Hosts
}

// grant has a packet cross now, and works out when its link takes it.
func (m *perOutput) grant(e *Engine, l, lane, pkt int32) {
	o := &m.out[l]
	p := &e.pk[pkt]
	n := Time(p.flits)
	crossed := e.now + n*e.p.Cross
	after := e.p.After
	from := p.from
	if from < 0 {
		crossed = e.now + n*e.p.Host.Cross
		after = 0
	} else {
		crossed = max(crossed, p.tail+e.p.Delay-e.p.After)
	}
	o.cross = crossed
	flit := e.w.Flit[l]
	for o.begun.size > 0 && *o.begun.at(0) <= e.now {
		o.begun.pop()
	}
	start := max(o.end, e.now+after)
	o.end = max(start+n*flit+e.p.Overhead, crossed+after+flit)
	o.begun.push(o.end)
	if o.waiting[lane].size > 0 {
		m.tryAt(e, l, crossed)
	}
	if from < 0 {
		m.generated(e, pkt, start)
	} else {
		m.reads[from]++
		e.at(crossed, evCrossed, from, n32(lane, p.flits))
	}
	e.ln[l].carried += int64(p.flits)
	p.from, p.hops = l, p.hops+1
	p.tail = o.end + e.w.Wire[l]
	if to := e.w.To[l]; int(to) < e.w.Hosts {
		e.Meter.flits(to, start+flit, flit, int64(p.flits))
		e.arrived(pkt, p.tail+e.p.Host.Behind)
		return
	}
	m.room[l*int32(e.p.Lanes)+lane] -= p.flits
	p.head = start + e.w.Wire[l] + flit
	e.at(p.head+e.p.Delay-e.p.After, evHead, pkt, 0)
}

// n32 packs a lane and a number of flits.
func n32(lane, flits int32) int32 { return flits<<4 | lane }

// generated works out when the generator has made a packet that crosses now: it is a few
// flits ahead of the way to the link.
func (m *perOutput) generated(e *Engine, pkt int32, start Time) {
	p := &e.pk[pkt]
	h := p.src
	n := Time(p.flits)
	rest := max(0, n-Time(e.p.Host.Ahead))
	made := max(m.gen[h]+n*e.p.Host.Generate, e.now+rest*e.p.Host.Cross)
	p.sent = made
	e.at(made, evSource, h, 0)
}

// crossed frees the room of a packet that has left its buffer.
func (m *perOutput) crossed(e *Engine, l, packed int32) {
	lane, flits := packed&15, packed>>4
	m.reads[l]--
	for _, o := range m.blocked[l] {
		m.tryAt(e, o, e.now)
	}
	m.blocked[l] = m.blocked[l][:0]
	at := e.now
	if e.p.CreditAtEnds {
		at = m.boundary(e, e.w.Back[l])
	}
	e.at(at+e.p.Credit+e.w.Wire[l], evCredit, l*int32(e.p.Lanes)+lane, flits)
}

// boundary returns when the packet on a link ends.
func (m *perOutput) boundary(e *Engine, l int32) Time {
	o := &m.out[l]
	for i := range o.begun.size {
		if t := *o.begun.at(i); t > e.now {
			return t
		}
	}
	return e.now
}

// reroute has the packets that wait for a link ask again.
func (m *perOutput) reroute(e *Engine, l int32) {
	for lane := range m.out[l].waiting {
		waiting := m.out[l].waiting[lane]
		m.out[l].waiting[lane] = deque[int32]{}
		for i := range waiting.size {
			pkt := *waiting.at(i)
			e.pk[pkt].via = 0
			e.at(e.now, evHead, pkt, 0)
		}
	}
}

func (m *perOutput) used(e *Engine, ch int32) int64 { return int64(e.p.Buffer) - int64(m.room[ch]) }
