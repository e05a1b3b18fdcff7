package sim

import (
	"fmt"

	"evbench/builder"
)

// A calendar assigns plans to exchanges. An exchange gets its plan when the first server comes to
// it.
type calendar struct {
	job   *Job
	roles builder.Roles
	table [][][]int32 // [plan][phase][server]: to whom it sends; nil: not made yet
	plan  []int32     // by exchange, as far as they are granted
	byEnd float64
	shut  bool
}

func newCalendar(j *Job) *calendar {
	return &calendar{job: j, roles: builder.RolesOf(j.Plan.Tree), table: make([][][]int32, 1+len(j.Changes)), byEnd: j.Duration.Seconds()}
}

// grant reports whether an exchange may run. After the duration no new exchange may, except the
// very first.
func (c *calendar) grant(f *stage, exchange int) bool {
	if exchange < len(c.plan) {
		return true
	}
	if clock := f.meter.clock; clock != nil {
		if !clock.ready(f, exchange) {
			return false
		}
	} else if c.shut || exchange > 0 && f.now+f.same >= c.byEnd {
		c.shut = true
		return false
	}
	c.plan = append(c.plan, int32(f.plans.now))
	return true
}

func (c *calendar) rows(f *stage, exchange int) [][]int32 {
	p := c.plan[exchange]
	if c.table[p] == nil {
		c.table[p] = sends(f.plans.plans[p])
	}
	return c.table[p]
}

func (c *calendar) event(exchange, server int) uint64 {
	return c.roles.Event(c.job.Warmup+uint64(exchange), server)
}

func (c *calendar) fragment(exchange, src, dst int) fragment {
	return fragmentOf(c.job, c.event(exchange, dst), src, dst, int(c.plan[exchange]))
}

// built counts the event of a server, whose exchange began for it, and whose last fragment came, at these times.
func (c *calendar) built(f *stage, exchange, server int, got uint64, begun, came float64) {
	if clock := f.meter.clock; clock != nil {
		clock.run(f.now)
		clock.built(exchange, server, begun, came, came)
	}
	f.meter.built(f.now, server, got+c.job.own(&c.roles, c.event(exchange, server), server))
}

// Lockstep is synchronised event building: all servers send one fragment, and a
// barrier ends the phase.
type lockstep struct {
	*calendar
	rounds          int
	exchange, phase int
	moving          int       // fragments of the phase under way
	arrived         []float64 // by server: when it came to the barrier
	left            []int     // by server: fragments that it has to do with
	got             []uint64  // by server: payload of its event
	onPhase         uint64    // phases so far, for jitter
	opened          float64   // when the exchange was
	busy            bool      // an exchange is under way
}

// The moments of schedules.
const (
	aPhase = iota // a phase begins
	aSend         // server a sends
)

func newLockstep(j *Job) (*lockstep, error) {
	n := j.Plan.Tree.Servers()
	r, err := rounds(j.Timing.Barrier, n)
	return &lockstep{
		calendar: newCalendar(j), rounds: r,
		arrived: make([]float64, n), left: make([]int, n), got: make([]uint64, n),
	}, err
}

func (l *lockstep) begin(f *stage) { l.open(f) }

func (l *lockstep) open(f *stage) {
	if l.grant(f, l.exchange) {
		l.phase, l.opened, l.busy = 0, f.now, true
		l.start(f)
	}
}

// start begins a phase, or ends the exchange after its last phase.
func (l *lockstep) start(f *stage) {
	rows := l.rows(f, l.exchange)
	if l.phase == len(rows) {
		for s := range l.got {
			if !l.roles.Builds(s) {
				continue
			}
			l.calendar.built(f, l.exchange, s, l.got[s], l.opened, l.arrived[s])
			f.meter.lasted(f.now - l.opened)
			l.got[s] = 0
		}
		l.exchange++
		l.busy = false
		if len(rows) > 0 {
			l.open(f)
		}
		return
	}
	for s := range l.left {
		l.left[s], l.arrived[s] = 0, f.now
	}
	l.onPhase++
	for s, to := range rows[l.phase] {
		if to < 0 {
			continue
		}
		l.left[s]++
		l.left[to]++
		l.moving++
		f.begin(l.job, s, l.onPhase, l.calendar.fragment(l.exchange, s, int(to)))
	}
}

func (l *lockstep) ended(f *stage, _ int32, x *fragment) {
	l.got[x.dst] += x.payload
	for _, s := range []int32{x.src, x.dst} {
		if l.left[s]--; l.left[s] == 0 {
			l.arrived[s] = f.now
		}
	}
	if l.moving--; l.moving > 0 {
		return
	}
	l.phase++
	open := f.now
	if l.rounds > 0 {
		open += float64(l.rounds) * l.job.Timing.Round.Seconds()
		for s, at := range l.arrived {
			f.meter.waits(open, s, open-at)
		}
	}
	f.wake(moment{at: open, kind: aPhase})
}

func (l *lockstep) due(f *stage, m moment) {
	switch {
	case m.kind != aTick:
		l.start(f)
	case !l.busy:
		l.open(f)
	}
}

func (l *lockstep) idle() string {
	if l.moving > 0 {
		return fmt.Sprintf("phase %d of exchange %d", l.phase, l.exchange)
	}
	return ""
}

// Runners are free-running: each sends in the order of the schedule when its last fragment has
// arrived and the receiver has opened the exchange.
type runners struct {
	*calendar
	credits int
	at      []stand
	closed  []int       // by server: exchanges whose events are whole, in order
	missing [][]int     // by server: fragments that its open exchanges miss
	got     [][]uint64  // likewise: payload
	opened  [][]float64 // likewise: when
	waiting [][]int     // by server: who waits to send to it
}

type stand struct {
	exchange, phase int
	busy            bool
	step            uint64 // sends so far, for jitter
}

func newRunners(j *Job) *runners {
	n := j.Plan.Tree.Servers()
	return &runners{
		calendar: newCalendar(j), credits: max(1, j.Credits), at: make([]stand, n), closed: make([]int, n),
		missing: make([][]int, n), got: make([][]uint64, n), opened: make([][]float64, n), waiting: make([][]int, n),
	}
}

func (r *runners) begin(f *stage) {
	for s := range r.at {
		if r.roles.Builds(s) {
			r.open(f, s)
		}
	}
	for s := range r.at {
		r.send(f, s)
	}
}

func (r *runners) open(f *stage, s int) {
	opened := r.closed[s] + len(r.missing[s])
	for ; len(r.missing[s]) < r.credits && opened < len(r.plan); opened++ {
		r.missing[s] = append(r.missing[s], r.senders(f, opened, s))
		r.got[s] = append(r.got[s], 0)
		r.opened[s] = append(r.opened[s], f.now)
	}
}

func (r *runners) senders(f *stage, exchange, server int) int {
	n := r.roles.Others(server)
	if meets := f.plans.plans[r.plan[exchange]].Unreachable; len(meets) == 0 {
		return n
	}
	n = 0
	for _, phase := range r.rows(f, exchange) {
		for _, to := range phase {
			if int(to) == server {
				n++
			}
		}
	}
	return n
}

// send starts the next fragment of a server, if its last has arrived.
func (r *runners) send(f *stage, s int) {
	t := &r.at[s]
	for r.roles.Reads(s) && !t.busy && r.grant(f, t.exchange) {
		rows := r.rows(f, t.exchange)
		if t.phase == len(rows) {
			if len(rows) == 0 {
				return
			}
			t.phase = 0
			t.exchange++
			continue
		}
		to := int(rows[t.phase][s])
		if to < 0 {
			t.phase++
			continue
		}
		if t.exchange >= r.closed[to]+len(r.missing[to]) {
			r.open(f, to)
		}
		if t.exchange >= r.closed[to]+len(r.missing[to]) {
			t.busy = true
			r.waiting[to] = append(r.waiting[to], s)
			return
		}
		t.phase++
		t.busy = true
		t.step++
		f.begin(r.job, s, t.step, r.calendar.fragment(t.exchange, s, to))
	}
}

func (r *runners) ended(f *stage, _ int32, x *fragment) {
	exchange := int(x.event)/r.roles.Events() - int(r.job.Warmup)
	d := int(x.dst)
	i := exchange - r.closed[d]
	r.missing[d][i]--
	r.got[d][i] += x.payload
	for len(r.missing[d]) > 0 && r.missing[d][0] == 0 {
		r.calendar.built(f, r.closed[d], d, r.got[d][0], r.opened[d][0], f.now)
		f.meter.lasted(f.now - r.opened[d][0])
		r.missing[d], r.got[d], r.opened[d] = r.missing[d][1:], r.got[d][1:], r.opened[d][1:]
		r.closed[d]++
	}
	r.open(f, d)
	waiting := r.waiting[d]
	r.waiting[d] = nil
	for _, s := range waiting {
		r.at[s].busy = false
		r.send(f, s)
	}
	if !f.buffered {
		r.gone(f, int(x.src))
	}
}

// gone goes on with the next fragment of a server.
func (r *runners) gone(f *stage, s int) {
	r.at[s].busy = false
	r.send(f, s)
}

func (r *runners) due(f *stage, m moment) {
	if m.kind != aTick {
		r.gone(f, m.a)
		return
	}
	for s := range r.at {
		r.send(f, s)
	}
}

func (r *runners) idle() string {
	for s := range r.missing {
		for i, n := range r.missing[s] {
			if n > 0 {
				return fmt.Sprintf("rank %d misses %d fragments of exchange %d", s, n, r.closed[s]+i)
			}
		}
	}
	return ""
}
