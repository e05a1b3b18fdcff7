package controller

import (
	"fmt"
	"time"

	"evbench/builder/load"
	"evbench/controller/wire"
)

// Windows plans the work of the workers in ordered mode.
type Windows interface {
	// Next plans count exchanges from one on, and returns the part of each rank. Windows follow one
	// another, unless the network is quiet before this one. One goroutine at a time calls it, in
	// parallel with the case. The caller fills in Run and Epoch. Before, it calls Skip(gaps []load.Gap), where there is
	// such a method, if events of a trace were refused.
	Next(from uint64, count int, quiet bool) ([]wire.Window, error)
}

// planning is the window being planned. The controller plans one or two windows ahead of the
// workers.
type planning struct {
	windows Windows
	id      int
	from    uint64
	count   int
	quiet   bool
	gaps    []load.Gap // of the sizes; the machine only appends to them
}

// ahead is how many granted windows no worker has finished. For short exchanges pacer.count decides
// instead.
const ahead = 2

// grantWindow requests the next window if it is due.
func (m *machine) grantWindow(now time.Duration, slowest, fastest uint64) {
	if m.planning != nil || m.change.bounds() {
		return
	}
	most := uint64(m.c.Credits)
	if m.change != nil && m.quiet {
		most = 1 // the first exchange on another plan completes earlier in a window of its own
	}
	end, last := m.pace.end(now, slowest, &fastest)
	if m.loading != nil {
		end, last = m.happened(now)
	}
	count := m.pace.window(fastest, most, end)
	if last && m.pace.until >= end {
		m.enter(now, draining)
		m.drained(now)
	} else if count > 0 {
		m.plan(count)
	}
}

func (m *machine) plan(count uint64) {
	m.plans++
	m.planning = &planning{windows: m.windows, id: m.plans, from: m.pace.until, count: int(count), quiet: m.quiet}
	if m.loading != nil {
		m.planning.gaps = m.loading.gaps
	}
	m.acts = append(m.acts, *m.planning)
}

// planned distributes a window. It drops an outdated one: its grant has been taken back, or the
// case is over.
func (m *machine) planned(now time.Duration, id int, windows []wire.Window, err error) {
	p := m.planning
	if p == nil || p.id != id || m.state >= aborting {
		return
	}
	m.planning = nil
	switch {
	case err != nil:
		m.abort(now, fmt.Errorf("plan of exchanges %d to %d: %w", p.from, p.from+uint64(p.count)-1, err))
		return
	case len(windows) != len(m.workers):
		m.abort(now, fmt.Errorf("plan of exchange %d: %d parts for %d servers", p.from, len(windows), len(m.workers)))
		return
	}
	m.quiet = false
	m.pace.until = p.from + uint64(p.count)
	for rank, w := range windows {
		w.Run, w.Epoch, w.From, w.Count, w.Quiet = m.run, m.epoch, p.from, p.count, p.quiet
		m.send(rank, w)
	}
	m.grantUntil(m.pace.until)
	switch {
	case m.state == warming && m.pace.until < m.c.Warmup:
		m.plan(min(m.c.Warmup-m.pace.until, uint64(m.c.Credits)))
	case m.state == measuring:
		m.grant(now)
	}
}
