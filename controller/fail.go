package controller

import (
	"errors"
	"fmt"
	"time"

	"evbench/controller/wire"
)

func (m *machine) gone(now time.Duration, rank int, err error) {
	w := &m.workers[rank]
	if w.lost || m.state == over {
		return
	}
	w.lost = true
	if w.totals != nil { // it had reported everything
		m.maybeOver(now)
		return
	}
	m.note(now, rank, fmt.Errorf("control connection lost: %w", err))
	m.abortAfter(now, grace)
}

// abortAfter aborts the case after wait, which the other workers need to notice the failure and
// report it themselves.
func (m *machine) abortAfter(now, wait time.Duration) {
	if m.state >= aborting || m.all(func(w *worker) bool { return w.lost || w.totals != nil }) {
		m.abort(now, errFailed)
	} else if m.abortAt == 0 {
		m.abortAt = now + wait
	}
}

// grace is how long a case goes on after losing a worker.
const grace = 50 * time.Millisecond

// fail notes that a rank has failed and, the first time, aborts the case.
func (m *machine) fail(now time.Duration, rank int, err error) {
	m.note(now, rank, err)
	m.abort(now, errFailed)
}

func (m *machine) note(now time.Duration, rank int, err error) {
	if len(m.failed) == 0 {
		m.first = now
	}
	if w := &m.workers[rank]; w.failure == nil {
		w.failure = err
		m.failed = append(m.failed, rank)
	}
}

var errFailed = errors.New("case failed")

func (m *machine) cancel(now time.Duration, why error) { m.abort(now, why) }

func (m *machine) abort(now time.Duration, why error) {
	if m.state < aborting {
		m.err, m.during, m.owing = why, m.state, m.change.owing(now, m)
		m.enter(now, aborting)
		m.broadcast(wire.Abort{Run: m.run})
	}
	m.maybeOver(now)
}
