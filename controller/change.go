package controller

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/failover"
)

// A PlanChange is a plan for the case under way, in place of the one in use.
type PlanChange struct {
	Epoch uint32
	// Mode is the mode from then on: Unsync, or Sync again, in a synchronised case with
	// AsyncCredits. "" means as before.
	Mode modes.Mode
	// Rows are the steps of each rank. An unsynchronised case may have none: routing tables then
	// choose the path. An ordered case has Windows instead.
	Rows    [][]wire.Step
	Windows Windows
}

// A section is a part of a case with one mode.
type section struct {
	mode modes.Mode
	from uint64 // its first exchange
}

// A change is a plan update under way. The controller takes back exchanges that no worker has
// begun, sends every worker the plan, and only then lets workers go on beyond from.
//
//	holding -> placing -> placed (all old exchanges done -> begun) -> new one done
//
// A worker gets the plan with the order to hold. If its connections are open, it is then in place once
// all hold: one way to all workers and back, where 64 processes share few processors. That may begin
// before the network is ready, and is taken back if it never will be.
//
// A section without schedule has no exchanges to take back. The controller assigns every server as
// many events as the server farthest ahead has (balanced: as many as are known) and awaits the last
// of them. from is that number.
type change struct {
	PlanChange
	stage changeStage
	ready bool          // the network is: the plan may be used
	from  uint64        // set after holding
	since time.Duration // of the stage
	left  bool          // all exchanges below from are done
	begun bool          // exchanges from from on are granted or assigned
	when  failover.Switch
}

type changeStage int

const (
	holding changeStage = iota // until every worker has reported its last begun exchange
	placing                    // until every worker has the plan
	inPlace                    // until the first exchange on it is done
)

// ErrCaseOver reports that a case ended before the first exchange on a new plan was done.
var ErrCaseOver = errors.New("the case is over")

// ErrNoCase reports that no case is under way, before the first or after another.
var ErrNoCase = errors.New("no case is under way")

// holds reports whether the last begun exchange of some worker is still unknown.
func (c *change) holds() bool { return c != nil && c.stage == holding }

// hold begins a change whose network is not ready, in place of one begun before; nil: of none. Where there
// are no exchanges to take back, the change begins with changePlan.
func (m *machine) hold(now time.Duration, p *PlanChange) {
	if m.change != nil && !m.change.ready {
		m.change = nil
		if p == nil && m.state <= draining {
			m.broadcast(wire.Grant{Run: m.run, Until: m.pace.until})
			m.advance(now)
		}
	}
	if p != nil && m.section.mode.Phases() && m.mayChangePlan(*p) == nil {
		m.takeBack(now, *p)
	}
}

// takeBack begins a change: no worker begins an exchange until the next Grant.
func (m *machine) takeBack(now time.Duration, p PlanChange) {
	if m.state == draining {
		m.state = measuring // exchanges taken back are granted again; m.since stays
	}
	m.change = &change{PlanChange: p, since: now}
	for rank := range m.workers {
		w := &m.workers[rank]
		w.held, w.updated = false, false
		if m.section.mode != modes.Unsync {
			w.asked++
			m.send(rank, wire.Hold{Run: m.run, Epoch: p.Epoch, Mode: p.Mode, Row: p.row(rank)})
		}
	}
	m.planning = nil
}

// bounds reports whether no work beyond from is allowed yet.
func (c *change) bounds() bool { return c != nil && c.stage != holding && !c.begun }

func (m *machine) changePlan(now time.Duration, p PlanChange) error {
	if c := m.change; c == nil || c.ready || c.Epoch != p.Epoch {
		m.hold(now, nil)
		if err := m.mayChangePlan(p); err != nil {
			return fmt.Errorf("plan update: %w", err)
		}
		m.takeBack(now, p)
	}
	m.change.ready, m.change.since = true, now
	if m.section.mode != modes.Unsync {
		m.release(now)
		return nil
	}
	m.place(now, m.settled())
	m.handOut(now)
	m.follow(now)
	return nil
}

func (m *machine) mayChangePlan(p PlanChange) error {
	to := p.mode(m.section.mode)
	switch {
	case m.state > draining || m.state == draining && !m.exact():
		return ErrCaseOver
	case m.state < measuring:
		return fmt.Errorf("not possible in the %v", m.state)
	case m.change != nil:
		return fmt.Errorf("epoch %d is not in use yet", m.change.Epoch)
	case to != m.c.Mode && (m.c.AsyncCredits == 0 || to != modes.Unsync):
		return fmt.Errorf("mode %q: not possible in this case, which is %s", p.Mode, m.c.Mode)
	case to == modes.Ordered && p.Windows == nil:
		return errors.New("the windows have no planner")
	case to != modes.Ordered && len(p.Rows) != len(m.workers) && (to != modes.Unsync || len(p.Rows) != 0):
		return fmt.Errorf("%d rows for %d servers", len(p.Rows), len(m.workers))
	}
	return nil
}

// exact reports whether a given number of exchanges is to be done; all may have been granted.
func (m *machine) exact() bool { return m.c.Exchanges > 0 && m.section.mode != modes.Unsync }

// row returns the steps of a rank; nil where the change has none.
func (p PlanChange) row(rank int) wire.Steps {
	if len(p.Rows) == 0 {
		return nil
	}
	return p.Rows[rank]
}

func (p PlanChange) mode(now modes.Mode) modes.Mode { return cmp.Or(p.Mode, now) }

// owing are the ranks that a change has awaited for most of the time-out: the others may stand still for want of
// them, and wait for each other.
func (c *change) owing(now time.Duration, m *machine) []int {
	if c == nil || c.stage == inPlace || now-c.since < m.c.Timeout/2 {
		return nil
	}
	return m.ranks(func(_ int, w *worker) bool { return c.stage == holding && !w.held || c.stage == placing && !w.updated })
}

// held notes from which exchange on a worker begins none, and whether it has the plan.
func (m *machine) held(now time.Duration, rank int, msg wire.Held) {
	w := &m.workers[rank]
	w.asked = max(0, w.asked-1)
	if !m.change.holds() || w.asked > 0 { // the answer to an earlier order
		return
	}
	if msg.Begun > m.pace.until {
		m.fail(now, rank, fmt.Errorf("has begun %d exchanges, %d are granted", msg.Begun, m.pace.until))
		return
	}
	w.held, w.updated, w.begun, m.moved = true, msg.Has && m.change.row(rank) != nil, msg.Begun, now
	m.release(now)
}

// release places the plan once all workers hold and the network is ready.
func (m *machine) release(now time.Duration) {
	if !m.change.ready || !m.all(func(w *worker) bool { return w.held }) {
		return
	}
	from := m.section.from
	for i := range m.workers {
		from = max(from, m.workers[i].begun)
	}
	m.pace.until = from
	m.quiet = true
	m.place(now, from)
	m.broadcast(wire.Grant{Run: m.run, Until: from})
	m.advance(now)
}

// place sends the plan, valid from an exchange on; a worker that has it gets to know from which.
func (m *machine) place(now time.Duration, from uint64) {
	c := m.change
	c.stage, c.since, c.from = placing, now, from
	c.when.Held, c.when.From = now, from
	for rank := range m.workers {
		u := wire.PlanUpdate{Run: m.run, Epoch: c.Epoch, From: from, Mode: c.Mode}
		if !m.workers[rank].updated {
			u.Row = c.row(rank)
		}
		m.send(rank, u)
	}
}

func (m *machine) updated(now time.Duration, w *worker, epoch uint32) {
	if m.change == nil || m.change.stage != placing || epoch != m.change.Epoch {
		return
	}
	w.updated, m.moved = true, now
	m.advance(now)
}

// follow advances a change as far as possible.
func (m *machine) follow(now time.Duration) {
	c := m.change
	if c == nil || c.stage == holding {
		return
	}
	if !c.left && m.allDo(func(w *worker) bool { return w.done >= c.from }) {
		c.left, c.when.LastOld = true, now
	}
	if c.stage == placing && m.all(func(w *worker) bool { return w.updated }) {
		c.stage, c.when.InPlace = inPlace, now
		m.acts = append(m.acts, placed{c.from})
	}
	if c.stage == inPlace && !c.begun && m.state == measuring && (c.left || m.scheduled(c)) {
		c.begun = true
		m.begin(now, c)
	}
	if c.begun && m.allDo(func(w *worker) bool { return w.done > c.from }) {
		c.when.FirstNew = now
		m.change = nil
		m.acts = append(m.acts, ended{sw: c.when})
	}
}

// scheduled reports whether a change leads from exchanges to exchanges. Then no worker has to wait
// for the last old exchange: the schedule keeps them apart. In ordered mode that fails, because no
// token leads from one plan to the other.
func (m *machine) scheduled(c *change) bool {
	return m.section.mode.Phases() && c.mode(m.section.mode) != modes.Unsync
}

// begin lets the workers continue on the new plan.
func (m *machine) begin(now time.Duration, c *change) {
	was := m.section
	if was.mode != modes.Unsync {
		m.granted = append(m.granted, wire.Range{From: was.from, To: c.from})
	}
	m.section = section{mode: c.mode(was.mode), from: c.from}
	m.windows, m.epoch = c.Windows, c.Epoch
	for i := range m.workers {
		if was.mode == modes.Unsync && !m.workers[i].builds {
			m.workers[i].done = c.from // it reports no events
		}
	}
	if m.section.mode != modes.Unsync {
		m.pace.resume(now, c.from)
		m.grant(now)
		return
	}
	if was.mode == modes.Unsync {
		m.broadcast(wire.Grant{Run: m.run, Until: c.from + 1}) // the next section
	}
	m.ledger.begin(c.from * uint64(m.roles.Events()))
	for i := range m.workers {
		m.workers[i].assigned = c.from
	}
	m.rebalance(c.from)
	m.handOut(now)
	m.maybeLast(now)
}

func (m *machine) giveUp() {
	if c := m.change; c != nil && (m.state > draining || m.state == draining && !c.begun) {
		m.change = nil
		if !c.ready {
			return // nobody waits for it
		}
		m.acts = append(m.acts, ended{err: fmt.Errorf("plan update: %w", ErrCaseOver)})
	}
}
