package controller

import (
	"fmt"
	"time"

	"evbench/builder/modes"
	"evbench/controller/wire"
)

// tick checks all time-outs. It is called a few times per smallest time-out.
func (m *machine) tick(now time.Duration) {
	if m.abortAt > 0 && now >= m.abortAt {
		m.abortAt = 0
		m.abort(now, errFailed)
	}
	switch m.state {
	case configuring:
		if limit := m.c.openTime(); now-m.moved >= limit {
			m.overdue(now, limit, func(w *worker) bool { return w.ready }, "has not opened its connections")
		}
	case measuring:
		if m.section.mode == modes.Unsync {
			m.maybeLast(now)
		} else {
			m.grant(now)
		}
	case aborting:
		if now-m.since >= min(abortWait, m.c.Timeout/8) {
			m.end(now)
		}
	}
	m.late(now)
	m.silent(now)
	m.standstill(now)
}

// overdue fails the workers that have not done what they were asked within limit.
func (m *machine) overdue(now, limit time.Duration, done func(*worker) bool, what string) {
	for rank := range m.workers {
		if !done(&m.workers[rank]) {
			m.fail(now, rank, fmt.Errorf("%s for %v", what, limit))
		}
	}
}

// silent fails the workers that have sent nothing for too long. In the pause the caller holds the
// loop, so silence means nothing.
func (m *machine) silent(now time.Duration) {
	if m.state >= aborting || m.state == quiet {
		return
	}
	for rank := range m.workers {
		w := &m.workers[rank]
		if w.totals == nil && now-w.heard >= m.c.Timeout {
			w.stuck = w.stuck || m.c.Load.GoesOn
			m.fail(now, rank, fmt.Errorf("no sign of life for %v", m.c.Timeout))
		}
	}
}

// standstill ends a case in which no server has made progress for the time-out although some have
// work. A builder detects that earlier by itself; a worker that does not may still answer pings.
func (m *machine) standstill(now time.Duration) {
	if m.change.holds() && !m.change.ready && m.all(func(w *worker) bool { return w.held }) {
		m.moved = now // they were told to stand still
	}
	if m.awaitsClock() {
		m.moved = now
	}
	if m.state >= aborting || m.state <= configuring || m.state == quiet || now-max(m.moved, m.allowed) < m.c.standstill() {
		return
	}
	for i := range m.workers {
		m.workers[i].stuck = m.workers[i].failure == nil
	}
	m.overdue(now, m.c.standstill(), func(w *worker) bool { return !m.owes(w) }, "answers, but has reported no progress")
}

// owes reports whether a worker is the next to do its work: of the workers with work, those that
// have done least.
func (m *machine) owes(w *worker) bool {
	switch {
	case m.state == finishing:
		return w.totals == nil
	case m.section.mode == modes.Unsync:
		return w.builds && w.done < w.assigned && m.fewest(w)
	}
	return w.done < m.pace.until && m.fewest(w)
}

func (m *machine) fewest(w *worker) bool {
	return m.allDo(func(other *worker) bool { return w.done <= other.done })
}

// allow permits a standstill for d from now: links are dead, or were until now.
func (m *machine) allow(now, d time.Duration) {
	m.allowed = now + d
	m.broadcast(wire.Patience{Run: m.run, For: d})
}

// reassure tells workers that wait for others in a schedule that bytes still move somewhere: they
// cannot know. It does so only where exchanges take long.
func (m *machine) reassure(now time.Duration) {
	if m.state > configuring && m.section.mode != modes.Unsync && now >= m.allowed && now-m.stepped >= m.c.Timeout/2 && now-m.soothed >= m.c.Timeout/8 {
		m.soothed = now
		m.broadcast(wire.Patience{Run: m.run})
	}
}

// away tells the machine that it was not run for gap: the process or the computer was stopped.
// Running deadlines move by gap.
func (m *machine) away(now, gap time.Duration) {
	later := func(t *time.Duration) { *t = min(now, *t+gap) }
	for i := range m.workers {
		later(&m.workers[i].heard)
	}
	later(&m.moved)
	if m.change != nil {
		later(&m.change.since)
	}
	if m.state == configuring || m.state == aborting {
		later(&m.since)
	}
	if m.abortAt > 0 {
		m.abortAt += gap
	}
}

func (m *machine) late(now time.Duration) {
	limit := m.c.Timeout
	if c := m.change; c == nil || m.state != measuring || now-max(c.since, m.allowed) < limit {
		return
	}
	switch m.change.stage {
	case holding:
		m.overdue(now, limit, func(w *worker) bool { return w.held }, "has not reported its progress")
	case placing:
		m.overdue(now, limit, func(w *worker) bool { return w.updated }, "has not taken the plan update")
	}
}
