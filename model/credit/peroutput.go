package credit

import "slices"

// perOutput is a switch whose input buffers have a queue for each output in common space. A packet
// crosses to the queue of its output when that queue has room, the next buffer has room for all of
// it, and few enough packets leave its input buffer. From there the link takes it. Packets never
// interleave, so each is a few events at a hop: its head comes, it crosses, its last flit has
// crossed, its sender hears of the room. If a packet's flits are delayed later, the times that
// follow are computed anew, for all switches over which it extends.
type perOutput struct {
	out   []output // by link
	in    []input  // by link: the buffer at its end
	room  []int32  // credits, by link · lanes + lane
	gone  []int32  // flits that have left a buffer for good, not reported; as room
	gen   []Time   // host: when its generator began the packet at hand
	pass  pool[passage]
	last  []int32 // by packet: the passage that its tail has not completed; -1: none
	held  []int16 // packets of an input that have not all crossed to an output
	first []int32 // by link: where the input at its end begins in held
	lag   Time    // from a flit's reception to the earliest it may cross
}

type output struct {
	waiting []deque[int32] // packets by lane, by when their heads came
	cross   Time           // the crossbar's way to it is free at
	queued  Time           // the last flit that crossed is in the queue at
	end     Time           // the link has sent all that crossed at
	tick    Time           // the last period of reports that has had its report
	sending deque[span]    // packets on the link and in its queue
	try     Time
	turn    int32 // lane to begin with
	from    int32 // port that the packet before came by
}

type span struct{ start, end Time }

type input struct {
	reads   int32   // packets that leave it
	back    Time    // until when heads hold back what else leaves it
	active  []int32 // passages
	blocked []int32 // outputs that wait for a read to end
	due     Time    // when evReport is due
}

func newPerOutput(e *Engine) *perOutput {
	links := len(e.w.To)
	for _, cross := range []*Time{&e.p.Cross, &e.p.Host.Cross} {
		if *cross == 0 {
			*cross = e.w.Flit[0]
		}
	}
	m := &perOutput{
		out: make([]output, links), in: make([]input, links), first: make([]int32, links),
		room: slices.Repeat([]int32{int32(e.p.Buffer)}, links*e.p.Lanes), gone: make([]int32, links*e.p.Lanes),
		gen: make([]Time, e.w.Hosts), lag: e.p.Delay - e.p.After,
	}
	pairs := int32(0)
	for i := range m.out {
		m.out[i].waiting = make([]deque[int32], e.p.Lanes)
		m.out[i].try, m.in[i].due = never, never
		m.first[i] = pairs
		if to := e.w.To[i]; to >= 0 {
			pairs += e.w.First[to+1] - e.w.First[to]
		}
	}
	m.held = make([]int16, pairs)
	return m
}

func (m *perOutput) offer(e *Engine, h int32, pkt int32, at Time) {
	m.gen[h] = at
	p := &e.pk.at[pkt]
	p.from = -1
	p.head = at + e.p.Host.Before
	p.tail = p.head
	for int(pkt) >= len(m.last) {
		m.last = append(m.last, -1)
	}
	m.last[pkt] = -1
	if of := &e.ms.at[p.msg]; of.sent == int64(p.flits) {
		of.began = max(at, m.out[e.w.First[h]].cross-e.p.Host.Cross)
	}
	e.at(p.head, evRoute, pkt, 0)
}

func (m *perOutput) handle(e *Engine, ev event) {
	switch ev.kind() {
	case evRoute:
		m.head(e, ev.a())
	case evTry:
		if o := &m.out[ev.a()]; o.try == e.now {
			o.try = never
			m.try(e, ev.a())
		}
	case evCrossed:
		m.crossed(e, ev.a())
	case evReport:
		if m.in[ev.a()].due == e.now {
			m.report(e, ev.a())
		}
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

func (m *perOutput) node(e *Engine, p *packet) int32 {
	if p.from < 0 {
		return p.src
	}
	return e.w.To[p.from]
}

// pair returns how many packets of an input have not all crossed to an output.
func (m *perOutput) pair(e *Engine, in, out int32) *int16 {
	return &m.held[m.first[in]+out-e.w.First[e.w.To[in]]]
}

func (m *perOutput) ready(p *packet) Time {
	if p.from < 0 {
		return p.head
	}
	return p.head + m.lag
}

func (m *perOutput) head(e *Engine, pkt int32) {
	p := &e.pk.at[pkt]
	node := m.node(e, p)
	l := e.route(node, p)
	if l < 0 {
		e.unreachable(node, p)
		return
	}
	if p.from >= 0 {
		held := m.pair(e, p.from, l)
		*held++
		if at := m.ready(p); *held == 1 && e.p.InOrder && at > e.now {
			m.holdBack(e, p.from, at)
		}
	}
	m.out[l].waiting[m.lane(e, l, p)].push(pkt)
	m.tryAt(e, l, m.ready(p))
}

// lane returns the lane of a packet: its own, or the lane with the fewest waiting packets; among
// these the one with the most room in the next buffer.
func (m *perOutput) lane(e *Engine, l int32, p *packet) (best int) {
	if p.lane >= 0 {
		return int(p.lane)
	}
	o, room := &m.out[l], m.room[int(l)*e.p.Lanes:][:e.p.Lanes]
	for v := range room {
		switch fewer := o.waiting[v].size - o.waiting[best].size; {
		case fewer < 0, fewer == 0 && room[v] > room[best]:
			best = v
		}
	}
	return best
}

func (m *perOutput) try(e *Engine, l int32) {
	o := &m.out[l]
	if o.cross > e.now {
		m.tryAt(e, l, o.cross)
		return
	}
	lanes := int32(e.p.Lanes)
	for i := range lanes {
		lane := (o.turn + i) % lanes
		if o.waiting[lane].size == 0 {
			continue
		}
		m.eldest(e, o, lane)
		if !m.may(e, l, lane) {
			continue
		}
		o.turn = (lane + 1) % lanes
		m.grant(e, l, lane, o.waiting[lane].pop())
		return
	}
}

// eldest puts first, among packets whose heads came at the same time, the packet of the port after
// the port served last.
func (m *perOutput) eldest(e *Engine, o *output, lane int32) {
	q := &o.waiting[lane]
	first := q.at(0)
	p := &e.pk.at[*first]
	if p.from < 0 || q.size == 1 || e.pk.at[*q.at(1)].head != p.head {
		return
	}
	node := e.w.To[p.from]
	ports := e.w.First[node+1] - e.w.First[node]
	rank := func(pkt int32) int32 {
		return (e.w.Back[e.pk.at[pkt].from] - e.w.First[node] - o.from - 1 + ports) % ports
	}
	for i := 1; i < q.size && e.pk.at[*q.at(i)].head == p.head; i++ {
		if other := q.at(i); rank(*other) < rank(*first) {
			*first, *other = *other, *first
		}
	}
}

// may reports whether the oldest packet of a lane may cross. If not, the output tries again when it
// may.
func (m *perOutput) may(e *Engine, l, lane int32) bool {
	o := &m.out[l]
	p := &e.pk.at[*o.waiting[lane].at(0)]
	if at := m.ready(p); at > e.now {
		m.tryAt(e, l, at)
		return false
	}
	if !m.endless(e, l) && m.room[l*int32(e.p.Lanes)+lane] < p.flits {
		return false // evCredit tries again
	}
	queue, cross := e.p.OutputQueue, e.p.Cross
	if p.from < 0 {
		queue, cross = e.p.Host.Queue, e.p.Host.Cross
	}
	if at := o.roomAt(e.now, Time(queue-int(p.flits)), e.w.Flit[l], cross); at > e.now {
		m.tryAt(e, l, at)
		return false
	}
	if p.from >= 0 && e.p.Reads > 0 && int(m.in[p.from].reads) >= e.p.Reads {
		m.in[p.from].blocked = append(m.in[p.from].blocked, l)
		return false
	}
	return true
}

// roomAt returns when fewer than n flits wait in the queue of an output, now if they already do.
// Flits that the link sends and flits that have not come do not wait.
func (o *output) roomAt(now, n, flit, cross Time) Time {
	under := func(t Time) Time { return max(0, o.queued-t+cross-1) / cross }
	k := under(now)
	for ; k > 0; k-- {
		if at := max(now, o.end-(n+k)*flit); under(at) >= k {
			return at
		}
	}
	return max(now, o.end-n*flit)
}

func (m *perOutput) endless(e *Engine, l int32) bool {
	return e.p.Host.Take == 0 && int(e.w.To[l]) < e.w.Hosts
}

// free returns when a link may begin a packet: reports of credits come first.
func (o *output) free(e *Engine) Time {
	if e.p.Update > 0 && o.end/e.p.Update == o.tick {
		return o.end
	}
	return o.end + e.p.Overhead
}

func (o *output) begin(e *Engine, start Time) {
	for o.sending.size > 0 && o.sending.at(0).end <= e.now {
		o.sending.pop()
	}
	o.sending.push(span{start, start})
	if e.p.Update > 0 {
		o.tick = start / e.p.Update
	}
}

// grant lets a packet cross now, and computes when its link sends it.
func (m *perOutput) grant(e *Engine, l, lane, pkt int32) {
	o, p := &m.out[l], &e.pk.at[pkt]
	from := p.from
	flit, wire := e.w.Flit[l], e.w.Wire[l]
	start := max(o.free(e), e.now)
	if from < 0 {
		o.begin(e, start)
		m.generated(e, o, p, start, flit)
		p.tail = o.end + wire
	} else {
		start = max(start, m.ready(p)+e.p.After)
		o.begin(e, start)
		m.cross(e, l, pkt, start)
	}
	for v := range o.waiting {
		if o.waiting[v].size > 0 {
			m.tryAt(e, l, o.cross)
			break
		}
	}
	e.ln[l].carried += int64(p.flits)
	p.from, p.on = l, int8(lane)
	p.head = start + wire + flit
	if !m.endless(e, l) {
		m.room[l*int32(e.p.Lanes)+lane] -= p.flits
	}
	if to := e.w.To[l]; int(to) >= e.w.Hosts {
		e.at(start+wire, evRoute, pkt, 0)
	} else {
		e.Meter.flits(to, p.tail-Time(p.flits-1)*flit, flit, int64(p.flits))
		m.take(e, l, lane, pkt)
	}
}

// generated computes when a host's generator has made a packet that crosses now. The generator is a
// few flits ahead of the way to the link.
func (m *perOutput) generated(e *Engine, o *output, p *packet, start, flit Time) {
	h, n := &e.p.Host, Time(p.flits)
	made := m.gen[p.src] + (n-1)*h.Generate
	last := max(e.now+(n-1)*h.Cross, made)
	o.cross, o.queued = last+h.Cross, last
	o.end = max(start+n*flit, last+flit)
	o.sending.last().end = o.end
	p.sent = max(e.now+max(0, n-2)*h.Cross, made)
	rest := max(0, n-1-Time(h.Ahead))
	e.at(max(made, e.now+rest*h.Cross)+h.Generate, evSource, p.src, 0)
}

func (m *perOutput) reroute(e *Engine, l int32) {
	for lane := range m.out[l].waiting {
		waiting := m.out[l].waiting[lane]
		m.out[l].waiting[lane] = deque[int32]{}
		for i := range waiting.size {
			pkt := *waiting.at(i)
			p := &e.pk.at[pkt]
			p.via = [2]int32{}
			if p.from >= 0 {
				*m.pair(e, p.from, l)--
			}
			e.at(e.now, evRoute, pkt, 0)
		}
	}
}

func (m *perOutput) used(e *Engine, ch int32) int64 { return int64(e.p.Buffer) - int64(m.room[ch]) }
