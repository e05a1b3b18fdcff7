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
	if w.totals != nil { // it had nothing more to say
		m.maybeOver(now)
		return
	}
	m.note(rank, fmt.Errorf("control connection lost: %w", err))
	m.abortAfter(now, grace)
}

// abortAfter aborts the case after a while, which the others have to come to where
// they miss what is missing, and to say so themselves.
func (m *machine) abortAfter(now, wait time.Duration) {
	if m.state >= aborting || m.all(func(w *worker) bool { return w.lost || w.totals != nil }) {
		m.abort(now, errFailed)
	} else if m.abortAt == 0 {
		m.abortAt = now + wait
	}
}

// grace is how long after losing a worker its case goes on.
const grace = 50 * time.Millisecond

// fail notes that a rank has failed and, the first time, aborts the case.
func (m *machine) fail(now time.Duration, rank int, err error) {
	m.note(rank, err)
	m.abort(now, errFailed)
}

func (m *machine) note(rank int, err error) {
	if w := &m.workers[rank]; w.failure == nil {
		w.failure = err
		m.failed = append(m.failed, rank)
	}
}

var errFailed = errors.New("case failed")

func (m *machine) cancel(now time.Duration, why error) { m.abort(now, why) }

func (m *machine) abort(now time.Duration, why error) {
	if m.state < aborting {
		m.err, m.during = why, m.state
		m.enter(now, aborting)
		m.broadcast(wire.Abort{Run: m.run})
	}
	m.maybeOver(now)
}
