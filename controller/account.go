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

// account accepts the totals of a worker unless they are impossible; then it discards all its
// counts.
func (m *machine) account(now time.Duration, rank int, t wire.Totals, whole bool) *wire.Totals {
	w, r := &m.workers[rank], m.roomBeside(now, rank)
	for _, err := range []error{
		checkTook(t.Took), checkLoad(t), m.checkSources(t), r.check(t), m.agree(w, t, whole), m.builtNone(w, t),
	} {
		if err != nil {
			m.fail(now, rank, err)
			return &wire.Totals{Done: slices.DeleteFunc(t.Done, r.beyond)} // the ledger looks at these
		}
	}
	return &t
}

// room bounds what a worker can have done in the counted part, or since the case began if there was
// no counted part.
type room struct {
	events   uint64        // exchanges, or events of its own, granted to it
	granted  uint64        // exchanges, warm-up included
	peers    float64       // number of other servers
	fragment float64       // bytes of the largest fragment
	time     time.Duration // elapsed
}

// A worker's clock may run faster than ours by clockShare, and start at another time.
const (
	clockShare = 0.01
	clockSlack = time.Second
)

// room returns the room of one worker by itself: granted is left out.
func (m *machine) room(now time.Duration, rank int) room {
	began := m.began
	if m.counts {
		began = m.counting
	}
	took := now - began
	return room{
		events: m.counted(rank), peers: float64(len(m.workers) - 1), fragment: m.largest,
		time: took + time.Duration(clockShare*float64(took)) + clockSlack,
	}
}

// roomBeside is room with granted. It costs O(workers).
func (m *machine) roomBeside(now time.Duration, rank int) room {
	r := m.room(now, rank)
	for i := range m.workers {
		r.granted = max(r.granted, m.mayDo(i))
	}
	return r
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

// check returns an error if the totals of a worker exceed the room.
func (r room) check(t wire.Totals) error {
	for _, x := range []struct {
		is   uint64
		what string
		most float64
	}{
		{t.Exchanges, "exchanges", float64(r.events)},
		{t.Events, "events", float64(r.events)},
		{t.Took.Events, "durations of events", float64(r.events)},
		{t.Lost, "lost events", float64(r.granted)},
		{t.ReceivedBytes, "bytes received", float64(r.events) * r.peers * r.fragment},
		{t.Tokens, "tokens sent", mostTokens * float64(r.events) * r.peers},
		{t.EventBytes, "bytes of events", float64(r.events) * (r.peers + 1) * r.fragment},
	} {
		if float64(x.is) > x.most {
			return fmt.Errorf("reports %d %s, %.0f were granted", x.is, x.what, x.most)
		}
	}
	if i := slices.IndexFunc(t.Done, r.beyond); i >= 0 {
		return fmt.Errorf("reports exchange %d, %d were granted", t.Done[i].To-1, r.granted)
	}
	return r.checkTimes(t)
}

// mostTokens is the most tokens that the receiver of a fragment sends: one for each resource except
// the send port.
const mostTokens = 3

// beyond reports whether exchanges exceed those granted.
func (r room) beyond(done wire.Range) bool { return done.To > r.granted }

func (r room) checkTimes(t wire.Totals) error {
	var took time.Duration
	for _, d := range t.Took.Durations {
		took = min(took, r.time) + min(d, r.time+1) // avoids an overflow of the sum
	}
	for _, x := range []struct {
		is   time.Duration
		what string
	}{
		{t.FirstSend, "its first send after"}, {t.LastReceive, "its last receive after"}, {t.EventMin, "an event of"},
		{t.EventMean, "events of"}, {t.EventMax, "an event of"}, {took, "events of, together,"},
	} {
		if x.is < 0 || x.is > r.time {
			return fmt.Errorf("reports %s %v, when %v had passed", x.what, x.is, r.time)
		}
	}
	if t.BarrierWait < 0 || t.BarrierWait > r.time {
		return fmt.Errorf("reports that it waited %v in barriers, when %v had passed", t.BarrierWait, r.time)
	}
	return nil
}

// checkSample returns an error if a sample of a worker, with those before it, exceeds the room.
func (r room) checkSample(s results.Sample, before sampled) error {
	events, bytes := float64(s.Events)+float64(before.events), float64(s.PayloadBytes)+float64(before.bytes)
	seconds := r.time.Seconds()
	switch {
	case events > float64(r.events):
		return fmt.Errorf("reports %d events in a sample, %d were granted in all", s.Events, r.events)
	case bytes > float64(r.events)*r.peers*r.fragment || float64(s.EventBytes) > (r.peers+1)*r.fragment:
		return fmt.Errorf("reports %d bytes in a sample, in events of %d; %d events were granted in all", s.PayloadBytes, s.EventBytes, r.events)
	case !(0 <= s.TSec && s.TSec <= seconds && 0 <= s.IntervalSec && s.IntervalSec <= seconds && 0 <= s.BarrierWaitSec && s.BarrierWaitSec <= seconds):
		return fmt.Errorf("reports a sample of %g s at %g s, %g s of it in barriers, when %v had passed", s.IntervalSec, s.TSec, s.BarrierWaitSec, r.time)
	}
	return nil
}

type sampled struct {
	any           bool
	events, bytes uint64
}

// agree returns an error if totals contradict the samples before them or, for a whole case, the
// exchanges done.
func (m *machine) agree(w *worker, t wire.Totals, whole bool) error {
	// No sample includes work completed at the moment of the last sample.
	rest := float64(m.c.inFlight() + 1)
	bytes := rest * float64(len(m.workers)-1) * m.largest
	if s := w.sampled; s.any && !(within(s.events, t.Events, rest) && within(s.bytes, t.ReceivedBytes, bytes)) {
		return fmt.Errorf("reports %d events and %d bytes received, its samples add up to %d and %d", t.Events, t.ReceivedBytes, s.events, s.bytes)
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
		if t == nil || t.Lost > 0 {
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

// builtNone returns an error if a worker that only reads reports built events.
func (m *machine) builtNone(w *worker, t wire.Totals) error {
	if n := t.Events + t.ReceivedBytes + uint64(len(t.Done)); !w.builds && n > 0 {
		return fmt.Errorf("reports %d events and %d bytes received, and builds none", t.Events, t.ReceivedBytes)
	}
	return nil
}

func within(part, total uint64, rest float64) bool {
	return part <= total && float64(total-part) <= rest
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
		if s.Bytes > left || s.Took < 0 {
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
