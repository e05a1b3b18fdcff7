package credit

import "slices"

// A passage is a packet that leaves an input buffer. Of its n flits all but left have passed. The
// rest pass one a step from at on, but not before they have come.
type passage struct {
	pkt, in, out  int32 // links; out is -1 where a host takes the packet
	next          int32 // passage of the same packet farther on
	lane          int32
	n, left, told int32 // told: reported to the sender
	at, step      Time
	tail, lag     Time // last flit received at; from there to the earliest it may pass
	end           Time // its link has sent it, if its tail does not hold it back
	done          Time // the last flit passes at
}

func (m *perOutput) cross(e *Engine, l, pkt int32, start Time) {
	o, p := &m.out[l], &e.pk.at[pkt]
	flit := e.w.Flit[l]
	i := &m.in[p.from]
	second := max(e.now, m.ready(p)+e.w.Flit[p.from], i.back)
	s := passage{
		pkt: pkt, in: p.from, out: l, next: -1, lane: int32(p.on), n: p.flits, left: p.flits,
		at: e.now, step: e.p.Cross, tail: p.tail, lag: m.lag,
		end: max(start+Time(p.flits)*flit, second+e.p.After+Time(p.flits-1)*flit),
	}
	if i.back > e.now+s.step && s.n > 1 {
		s.at, s.left = i.back, s.n-1
	}
	i.reads++
	o.from = e.w.Back[p.from] - e.w.First[e.w.To[p.from]]
	m.last[pkt] = m.enter(e, s)
}

func (m *perOutput) take(e *Engine, l, lane, pkt int32) {
	if e.p.Host.Take == 0 {
		return
	}
	p, step := &e.pk.at[pkt], max(e.w.Flit[l], e.p.Host.Take)
	s := passage{
		pkt: pkt, in: l, out: -1, next: -1, lane: lane, n: p.flits, left: p.flits,
		at: p.head - e.w.Flit[l] + e.p.Host.Take, step: step,
		tail: p.tail, lag: e.p.Host.Take - e.w.Flit[l],
	}
	if busy := m.in[l].active; len(busy) > 0 {
		s.at = max(s.at, m.pass.at[busy[len(busy)-1]].done+step)
	}
	m.enter(e, s)
}

func (m *perOutput) enter(e *Engine, s passage) int32 {
	id := m.pass.add(s)
	if before := m.last[s.pkt]; before >= 0 {
		m.pass.at[before].next = id
	}
	i := &m.in[s.in]
	i.active = append(i.active, id)
	m.settle(e, id)
	e.at(m.pass.at[id].done, evCrossed, id, 0)
	if e.p.Update > 0 && i.due == never {
		m.reportAt(e, s.in, m.nextReport(e, s.in))
	}
	return id
}

// passed returns how many flits have passed at a time. flit is the ticks between arriving flits.
func (s *passage) passed(t, flit Time) int32 {
	n := s.n - s.left
	if t >= s.at {
		n += int32(min(Time(s.left), (t-s.at)/s.step+1))
	}
	if wait := s.tail + s.lag - t; wait > 0 {
		n = min(n, s.n-int32((wait+flit-1)/flit))
	}
	return max(0, n)
}

// settle computes when a passage, and later passages of the same packet, end.
func (m *perOutput) settle(e *Engine, id int32) {
	for id >= 0 {
		s := &m.pass.at[id]
		come := s.tail + s.lag
		last := s.at + Time(s.left-1)*s.step
		s.done = max(last, come)
		if s.out < 0 {
			return
		}
		o := &m.out[s.out]
		o.cross = s.done + e.p.Cross
		o.queued = max(last-s.step, come) + e.p.After
		o.end = max(s.end, come+e.p.After+e.w.Flit[s.out])
		o.sending.last().end = o.end
		tail := o.end + e.w.Wire[s.out]
		e.pk.at[s.pkt].tail = tail
		if id = s.next; id >= 0 {
			m.pass.at[id].tail = tail
		}
	}
}

// holdBack makes packets that leave an input buffer wait until a time: a head that came to an idle
// queue is on the way to the crossbar, on which flits keep their order.
func (m *perOutput) holdBack(e *Engine, in int32, until Time) {
	i := &m.in[in]
	for _, id := range i.active {
		s := &m.pass.at[id]
		if s.out < 0 {
			continue
		}
		left := s.n - s.passed(e.now, e.w.Flit[in]) - 1 // one is on its way already
		if left <= 0 {
			continue
		}
		s.left, s.at = left, until
		s.end = max(s.end, until+e.p.After+Time(left)*e.w.Flit[s.out])
		m.settle(e, id)
	}
	i.back = until
}

func (m *perOutput) crossed(e *Engine, id int32) {
	s := m.pass.at[id]
	if s.done > e.now {
		e.at(s.done, evCrossed, id, 0)
		return
	}
	i := &m.in[s.in]
	at := slices.Index(i.active, id)
	i.active = slices.Delete(i.active, at, at+1)
	m.pass.drop(id)
	ch := s.in*int32(e.p.Lanes) + s.lane
	if e.p.Update > 0 {
		m.gone[ch] += s.n - s.told
	} else {
		at := e.now
		if e.p.CreditAtEnds {
			at = m.boundary(e, e.w.Back[s.in])
		}
		e.at(at+e.p.Credit+e.w.Wire[s.in], evCredit, ch, s.n)
	}
	if s.out >= 0 {
		m.left(e, i, id, &s)
	}
}

func (m *perOutput) left(e *Engine, i *input, id int32, s *passage) {
	i.reads--
	*m.pair(e, s.in, s.out)--
	for _, o := range i.blocked {
		m.tryAt(e, o, e.now)
	}
	i.blocked = i.blocked[:0]
	if m.last[s.pkt] == id {
		m.last[s.pkt] = -1
	}
	if int(e.w.To[s.out]) < e.w.Hosts {
		e.arrived(s.pkt, e.pk.at[s.pkt].tail+e.p.Host.Behind)
	}
}

func (o *output) sends(t Time) (span, bool) {
	for i := range o.sending.size {
		if s := *o.sending.at(i); s.start <= t && t < s.end {
			return s, true
		}
	}
	return span{}, false
}

func (m *perOutput) boundary(e *Engine, l int32) Time {
	if s, ok := m.out[l].sends(e.now); ok {
		return s.end
	}
	return e.now
}

// nextReport returns when the sender of a link next hears of the room in the buffer at its end: at
// the first end of a packet on the link back after each beginning of a period.
func (m *perOutput) nextReport(e *Engine, l int32) Time {
	o := &m.out[e.w.Back[l]]
	tick := e.now / e.p.Update * e.p.Update
	if s, ok := o.sends(e.now); ok && s.start <= tick {
		return s.end
	}
	tick += e.p.Update
	if s, ok := o.sends(tick); ok {
		return s.end
	}
	return tick
}

func (m *perOutput) reportAt(e *Engine, l int32, at Time) {
	m.in[l].due = at
	e.at(at, evReport, l, 0)
}

// report tells the sender of a link the free room, unless a packet on the link back must end first.
func (m *perOutput) report(e *Engine, l int32) {
	i := &m.in[l]
	tick := e.now / e.p.Update * e.p.Update
	if s, ok := m.out[e.w.Back[l]].sends(e.now); ok && s.start <= tick {
		m.reportAt(e, l, s.end)
		return
	}
	lanes := int32(e.p.Lanes)
	for _, id := range i.active {
		s := &m.pass.at[id]
		n := s.passed(e.now, e.w.Flit[l])
		if n > s.told {
			m.gone[l*lanes+s.lane] += n - s.told
			s.told = n
		}
	}
	for ch := l * lanes; ch < (l+1)*lanes; ch++ {
		if m.gone[ch] > 0 {
			e.at(e.now+e.p.Credit+e.w.Wire[l], evCredit, ch, m.gone[ch])
			m.gone[ch] = 0
		}
	}
	i.due = never
	if len(i.active) > 0 {
		m.reportAt(e, l, m.nextReport(e, l))
	}
}
