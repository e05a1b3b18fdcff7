package controller

import (
	"fmt"
	"math"
	"slices"
	"time"

	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/results"
)

// account accepts the totals of a worker unless they contradict themselves or what was granted; then
// it discards all its counts. Workers hold the session's secret (docs/do/security.md): this finds
// faults, not forgery.
func (m *machine) account(now time.Duration, rank int, t wire.Totals, whole bool) *wire.Totals {
	most := m.mostGranted()
	for _, err := range []error{checkTook(t.Took), checkLoad(t), m.checkSources(t), m.checkLatency(t, m.counted(rank)), m.agree(rank, t, now-m.began, most, whole)} {
		if err != nil {
			m.fail(now, rank, err)
			return &wire.Totals{Done: slices.DeleteFunc(t.Done, func(r wire.Range) bool { return r.To > most })} // the ledger looks at these
		}
	}
	return &t
}

// mostGranted is the most that was granted to a worker, warm-up included.
func (m *machine) mostGranted() uint64 {
	most := uint64(0)
	for i := range m.workers {
		most = max(most, m.mayDo(i))
	}
	return most
}

// mayDo is how many exchanges, or events of its own, were granted to a worker, warm-up included.
func (m *machine) mayDo(rank int) uint64 {
	if m.section.mode == modes.Unsync {
		return m.workers[rank].assigned
	}
	return m.pace.until
}

// counted is mayDo without the warm-up, once the counted part has begun.
func (m *machine) counted(rank int) uint64 {
	n := m.mayDo(rank)
	if m.counts {
		n -= min(n, m.c.Warmup)
	}
	return n
}

// clockSlack is what a worker's clock may be ahead of ours within a case.
const clockSlack = time.Second

// agree returns an error if totals contradict what was granted or, for a whole case, the exchanges
// done; passed is how long the case has run, most was granted to a worker, warm-up included.
func (m *machine) agree(rank int, t wire.Totals, passed time.Duration, most uint64, whole bool) error {
	events := m.counted(rank)
	switch n := t.Events + t.ReceivedBytes + uint64(len(t.Done)); {
	case !m.workers[rank].builds && n > 0:
		return fmt.Errorf("reports %d events and %d bytes received, and builds none", t.Events, t.ReceivedBytes)
	case max(t.Events, t.Exchanges, t.Took.Events) > events:
		return fmt.Errorf("reports %d events, %d exchanges and %d durations, %d were granted", t.Events, t.Exchanges, t.Took.Events, events)
	case float64(t.ReceivedBytes) > float64(events)*float64(len(m.workers)-1)*m.largest:
		return fmt.Errorf("reports %d bytes received, in %d events", t.ReceivedBytes, events)
	case t.LastReceive > passed+clockSlack:
		return fmt.Errorf("reports its last receive after %v, when %v had passed", t.LastReceive, passed)
	case t.Lost > most:
		return fmt.Errorf("reports %d lost events, %d were granted", t.Lost, most)
	case t.Incomplete > events-t.Events || t.Incomplete > 0 && m.c.Load.After == 0 || len(t.Absent) > len(m.workers):
		return fmt.Errorf("reports %d incomplete events and %d complete ones, %d were granted", t.Incomplete, t.Events, events)
	}
	for _, done := range t.Done {
		if done.To > most {
			return fmt.Errorf("reports exchange %d, %d were granted", done.To-1, most)
		}
	}
	if !whole || m.c.Mode == modes.Unsync || m.c.AsyncCredits > 0 {
		return nil
	}
	counted := []wire.Range{{From: m.c.Warmup, To: m.pace.until}}
	if done := checkRanges(t.Done, counted).built; t.Events != done {
		return fmt.Errorf("reports %d events, and %d exchanges with theirs complete", t.Events, done)
	}
	return nil
}

// sent returns an error if all together say that they have sent more or less than was received, and
// the rank farthest from its share: of each source as the receivers counted it, else in proportion
// to the events of others.
func (m *machine) sent() (culprit int, err error) {
	var sent, received, events uint64
	for i := range m.workers {
		t := m.workers[i].totals
		if t == nil || t.Lost > 0 || t.Incomplete > 0 { // fragments that came too late are not counted
			return 0, nil
		}
		sent, received, events = sent+t.SentBytes, received+t.ReceivedBytes, events+t.Events
	}
	if sent == received {
		return 0, nil
	}
	share, all := make([]float64, len(m.workers)), 0.0
	for i := range m.workers {
		t := m.workers[i].totals
		for src := range t.Sources {
			share[src] += float64(t.Sources[src].Bytes)
		}
		if !m.c.Pairs && m.roles.Reads(i) {
			share[i] = float64(events - t.Events)
		}
	}
	for _, x := range share {
		all += x
	}
	worst := -1.0
	for i, x := range share {
		if d := math.Abs(float64(m.workers[i].totals.SentBytes) - float64(received)*x/max(all, 1)); d > worst {
			culprit, worst = i, d
		}
	}
	return culprit, fmt.Errorf("reports %d bytes sent, about %.0f were received of it; all: %d and %d",
		m.workers[culprit].totals.SentBytes, float64(received)*share[culprit]/max(all, 1), sent, received)
}

// checkSources returns an error if the counts by source are incomplete or differ from the totals.
func (m *machine) checkSources(t wire.Totals) error {
	n := len(t.Sources)
	if n == 0 {
		return nil
	}
	if want := len(m.workers); n != want || !m.c.Pairs {
		if !m.c.Pairs {
			want = 0
		}
		return fmt.Errorf("counts %d sources of %d", n, want)
	}
	left := t.ReceivedBytes
	for _, s := range t.Sources {
		if s.Bytes > left || s.Took < 0 || s.Longest < 0 || s.Longest > s.Took || s.LongestAt < 0 || s.Soonest < 0 || s.Soonest > s.Took ||
			s.Bucket < 0 || len(s.Course) > results.MaxCourse {
			return fmt.Errorf("counts %d bytes of one source and %v, %d of all", s.Bytes, s.Took, t.ReceivedBytes)
		}
		left -= s.Bytes
	}
	if left > 0 {
		return fmt.Errorf("counts %d bytes of its sources, %d of all", t.ReceivedBytes-left, t.ReceivedBytes)
	}
	return nil
}

func checkLoad(t wire.Totals) error {
	if t.Load == nil {
		return nil
	}
	if err := t.Load.Check(); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	return nil
}
