package controller

import (
	"math"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller/wire"
)

// A ledger holds the fate of every assigned event: each must be closed once, by the rank that it
// was assigned to. It costs four bytes an event.
type ledger struct {
	parts []part // by rising ids
	open  int    // assigned and not closed
	sum   check
}

type part struct {
	first uint64
	fate  []fate
}

// begin continues the ids at first, which is above all assigned ids.
func (l *ledger) begin(first uint64) { l.parts = append(l.parts, part{first: first}) }

func (l *ledger) next() uint64 {
	if len(l.parts) == 0 {
		return 0
	}
	p := &l.parts[len(l.parts)-1]
	return p.first + uint64(len(p.fate))
}

func (l *ledger) find(id uint64) *fate {
	for i := len(l.parts) - 1; i >= 0; i-- {
		if p := &l.parts[i]; id >= p.first {
			if id-p.first >= uint64(len(p.fate)) {
				return nil
			}
			return &p.fate[id-p.first]
		}
	}
	return nil
}

// A fate is the rank that has an event, or how the event was closed.
type fate int32

const (
	built    fate = -1
	gaveUp   fate = -2
	reserved fate = -3 // not assigned yet
)

// A check compares the events that workers report with those assigned.
type check struct {
	assigned  uint64
	built     uint64
	lost      uint64 // assigned and not built
	duplicate uint64 // reported a second time
	unknown   uint64 // reported by a server that was not assigned it
}

func (l *ledger) reserve(n int) (first uint64) {
	if len(l.parts) == 0 {
		l.begin(0)
	}
	first = l.next()
	p := &l.parts[len(l.parts)-1]
	for range n {
		p.fate = append(p.fate, reserved)
	}
	return first
}

func (l *ledger) assign(rank int, id uint64) {
	l.open++
	*l.find(id) = fate(rank)
}

func (l *ledger) close(rank int, id uint64, how fate) {
	switch f := l.find(id); {
	case f == nil, *f == reserved:
		l.sum.unknown++
	case *f < 0:
		l.sum.duplicate++
	case *f != fate(rank):
		l.sum.unknown++
	default:
		l.open--
		*f = how
	}
}

// check returns the balance; open events count as lost.
func (l *ledger) check() check {
	c := l.sum
	for _, p := range l.parts {
		for _, f := range p.fate {
			if f != reserved {
				c.assigned++
			}
			if f == built {
				c.built++
			}
		}
	}
	c.lost = c.assigned - c.built
	return c
}

// Short events are assigned in advance: as many as the slowest server builds in inAdvance, beyond
// builder.Lead and credits. A report then covers several events, so that its thread switches do not
// delay the data. There is no advance if an event takes longer, and never more than one in
// smallPart of the events the slowest has built: too few to change the shares at the end.
const (
	inAdvance = 50 * time.Millisecond
	smallPart = 8
)

// spare is how many events of each server are assigned in advance, when the slowest has counted
// counted events since the measurement began.
func spare(counted uint64, took time.Duration) uint64 {
	if took <= 0 {
		return 0
	}
	return min(uint64(float64(counted)*float64(inAdvance)/float64(took)), counted/smallPart)
}

// quota is how many events each server may have been assigned by now, and how many of these beyond
// its credits.
func (m *machine) quota(now time.Duration) (q, extra uint64) {
	switch m.state {
	case warming:
		return m.c.Warmup, 0
	case draining:
		return m.level, 0
	}
	if m.change.bounds() {
		return m.change.from, 0
	}
	slowest := uint64(math.MaxUint64)
	for i := range m.workers {
		if m.workers[i].builds {
			slowest = min(slowest, m.workers[i].done)
		}
	}
	extra = spare(slowest-min(slowest, m.c.Warmup), now-m.since)
	q = builder.Quota(slowest, m.c.inFlight(), extra)
	if m.c.Exchanges > 0 {
		q = min(q, m.c.Warmup+m.c.Exchanges)
	}
	return q, extra
}

// handOut assigns what the quota and the credits allow. A worker with more events than it can have
// in flight gets the next ones in batches of half the advance.
func (m *machine) handOut(now time.Duration) {
	if m.loading != nil {
		if m.state == measuring {
			m.assignHappened(now)
		}
		return
	}
	q, extra := m.quota(now)
	credits := m.c.inFlight()
	for rank := range m.workers {
		w := &m.workers[rank]
		if !w.builds {
			continue
		}
		has := w.assigned - min(w.assigned, w.done)
		n := builder.May(q, w.assigned, w.done, credits+extra)
		if has <= credits || n > extra/2 {
			m.assign(rank, n)
		}
	}
}

func (m *machine) assign(rank int, n uint64) {
	if n == 0 {
		return
	}
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = m.nextFor(rank)
		m.ledger.assign(rank, ids[i])
	}
	m.workers[rank].assigned += n
	m.send(rank, wire.Assign{Run: m.run, Events: ids})
}

// nextFor is the event that a rank builds next: the next id or, if balanced, the next planned for
// the rank.
func (m *machine) nextFor(rank int) uint64 {
	if !m.balances() {
		return m.ledger.reserve(1)
	}
	if id, ok := m.balance.Next(rank); ok {
		return id
	}
	each := m.batch()
	m.balance.Plan(m.ledger.reserve(each*m.roles.Events()), each)
	m.known += uint64(each)
	id, _ := m.balance.Next(rank)
	return id
}

// balances reports whether events are assigned by their sizes.
func (m *machine) balances() bool { return m.c.Balanced() && m.section.mode == modes.Unsync }

// batch is how many events of each server are known at once. The warm-up, and a counted part of a
// given number, end with a batch.
func (m *machine) batch() int {
	each := uint64(builder.Ahead)
	switch {
	case !m.counts:
		each = min(each, m.c.Warmup-m.known)
	case m.c.Exchanges > 0:
		each = min(each, m.c.Warmup+m.c.Exchanges-m.known)
	}
	return int(each)
}

// rebalance starts a new Balancer: each builder has been assigned known events, and no others are
// known.
func (m *machine) rebalance(known uint64) {
	if m.balances() {
		m.known, m.balance = known, builder.NewBalancer(m.roles, m.c.FragmentSizes().Of)
	}
}

// settled is the number of events of each server that must be done before ids can continue.
func (m *machine) settled() uint64 {
	if m.balances() {
		return m.known
	}
	return m.most()
}

// checkRanges does the same for the scheduled exchanges of one server, which must do those in
// granted. granted is rising ranges that touch at most at their ends.
func checkRanges(done, granted []wire.Range) check {
	var c check
	for _, g := range granted {
		c.assigned += g.To - g.From
	}
	next := uint64(0) // all below it are counted
	for _, r := range done {
		if r.From >= r.To {
			continue
		}
		if r.From < next {
			c.duplicate += min(r.To, next) - r.From
			r.From = min(r.To, next)
		}
		in := overlap(r, granted)
		c.built += in
		c.unknown += r.To - r.From - in
		next = max(next, r.To)
	}
	c.lost = c.assigned - min(c.assigned, c.built)
	return c
}

func overlap(r wire.Range, in []wire.Range) (n uint64) {
	for _, g := range in {
		if from, to := max(r.From, g.From), min(r.To, g.To); from < to {
			n += to - from
		}
	}
	return n
}

func (c *check) add(d check) {
	c.assigned += d.assigned
	c.built += d.built
	c.lost += d.lost
	c.duplicate += d.duplicate
	c.unknown += d.unknown
}
