package worker

import (
	"runtime"
	"sync/atomic"
	"time"

	"evbench/controller/wire"
	"evbench/results"
)

// A meter holds the loop's counters, which another goroutine samples. Only the loop writes it.
type meter struct {
	version     atomic.Uint64 // odd while events and eventBytes are inconsistent
	events      atomic.Uint64 // complete
	eventBytes  atomic.Uint64 // their payload
	payload     atomic.Uint64 // received over the network
	barrierWait atomic.Int64  // ns
	late        atomic.Uint64
	duplicate   atomic.Uint64
	corrupt     atomic.Uint64 // includes stray: everything unexpected
	retransmits atomic.Uint64
	aged        atomic.Uint64 // events of a clock that are built
	latency     atomic.Int64  // ns, of these together

	// moves grows with every step forward; busy is false while the loop waits for the controller.
	// The watchdog compares them.
	moves atomic.Uint64
	busy  atomic.Bool

	// refresh asks the loop to read the transport's retransmit counter: only one goroutine at a
	// time may use an endpoint.
	refresh atomic.Bool
}

// add increments a counter. With one writer it needs no locked instruction.
func add(c *atomic.Uint64, n uint64) { c.Store(c.Load() + n) }

// complete counts an event and its bytes.
func (m *meter) complete(bytes uint64) {
	add(&m.version, 1)
	add(&m.events, 1)
	add(&m.eventBytes, bytes)
	add(&m.version, 1)
}

// built returns a consistent pair: events and their bytes at one moment.
func (m *meter) built() (events, bytes uint64) {
	for {
		v := m.version.Load()
		events, bytes = m.events.Load(), m.eventBytes.Load()
		if v%2 == 0 && m.version.Load() == v {
			return events, bytes
		}
		runtime.Gosched() // the loop is between the two updates
	}
}

type reading struct {
	at                                    time.Duration
	events, eventBytes, payload           uint64
	barrierWait                           time.Duration
	late, duplicate, corrupt, retransmits uint64
	aged                                  uint64
	latency                               time.Duration
}

func (m *meter) read(at time.Duration) reading {
	events, bytes := m.built()
	return reading{
		at: at, events: events, eventBytes: bytes, payload: m.payload.Load(),
		barrierWait: time.Duration(m.barrierWait.Load()), late: m.late.Load(), duplicate: m.duplicate.Load(),
		corrupt: m.corrupt.Load(), retransmits: m.retransmits.Load(), aged: m.aged.Load(), latency: time.Duration(m.latency.Load()),
	}
}

func (r reading) addTo(t *wire.Totals, before reading) {
	t.Events, t.EventBytes = r.events-before.events, r.eventBytes-before.eventBytes
	t.ReceivedBytes = r.payload - before.payload
	t.BarrierWait, t.Retransmits = r.barrierWait-before.barrierWait, r.retransmits-before.retransmits
}

func sample(from, to reading, began time.Duration) results.Sample {
	s := results.Sample{
		TSec: (to.at - began).Seconds(), IntervalSec: (to.at - from.at).Seconds(),
		Events: to.events - from.events, PayloadBytes: to.payload - from.payload,
		BarrierWaitSec: (to.barrierWait - from.barrierWait).Seconds(),
		Late:           to.late - from.late, Duplicate: to.duplicate - from.duplicate,
		Corrupt: to.corrupt - from.corrupt, Retransmits: to.retransmits - from.retransmits,
	}
	if n := to.aged - from.aged; n > 0 {
		s.LatencySec = (to.latency - from.latency).Seconds() / float64(n)
	}
	if s.Events > 0 {
		s.EventBytes = (to.eventBytes - from.eventBytes) / s.Events
	}
	if s.IntervalSec > 0 {
		s.GoodputBitPerSec = 8 * float64(s.PayloadBytes) / s.IntervalSec
	}
	return s
}

// A tally is the loop's record of those totals that the meter does not have.
type tally struct {
	t            wire.Totals
	began        time.Duration // of the counted part
	sent         bool          // FirstSend is set
	spans        uint64
	span, lo, hi time.Duration

	each  durations     // of the counted events
	ended time.Duration // when the last of them was complete

	counts bool     // the counted part has begun
	first  uint64   // the first counted event
	early  []served // before the counted part
}

type served struct {
	event uint64
	bytes int
}

// start resets all counters except those of errors and Done. Other servers may have begun earlier
// and have received fragments that count already.
func (t *tally) start(now time.Duration, first uint64) {
	early := t.early
	*t = tally{began: now, t: wire.Totals{Done: t.t.Done}, counts: true, first: first}
	for _, s := range early {
		t.served(s.event, s.bytes)
	}
}

// served notes that a fragment of an event has been sent on request.
func (t *tally) served(event uint64, bytes int) {
	switch {
	case !t.counts:
		t.early = append(t.early, served{event, bytes})
	case event >= t.first:
		t.t.SentBytes += uint64(bytes)
	}
}

func (t *tally) token() {
	if t.counts {
		t.t.Tokens++
	}
}

func (t *tally) firstSend(now time.Duration) {
	if !t.sent {
		t.sent, t.t.FirstSend = true, now-t.began
	}
}

func (t *tally) built(now time.Duration) {
	if !t.counts {
		return
	}
	if t.each.used == 0 {
		t.ended = t.began + t.t.FirstSend
	}
	t.each.add(max(now-t.ended, 0))
	t.ended = now
}

func (t *tally) lastReceive(now time.Duration) { t.t.LastReceive = now - t.began }

func (t *tally) took(d time.Duration) {
	if t.spans == 0 || d < t.lo {
		t.lo = d
	}
	t.hi = max(t.hi, d)
	t.span += d
	t.spans++
}

// complete notes that the event of an exchange is complete. Exchanges complete in order, so Done
// gets a new range only after a gap.
func (t *tally) complete(exchange uint64) {
	if n := len(t.t.Done); n > 0 && t.t.Done[n-1].To == exchange {
		t.t.Done[n-1].To++
		return
	}
	t.t.Done = append(t.t.Done, wire.Range{From: exchange, To: exchange + 1})
}

func (t *tally) totals() wire.Totals {
	out := t.t
	if t.spans > 0 {
		out.EventMin, out.EventMax = t.lo, t.hi
		out.EventMean = t.span / time.Duration(t.spans)
	}
	out.Took = t.each.took()
	return out
}

// durations keeps how long each event took in fixed space, without allocating. When it is full, it
// adds up neighbours: an entry then stands for twice as many events. The sum stays exact, and the
// times stay in order.
type durations struct {
	entries [wire.MaxTook]time.Duration
	used    int    // entries in use
	shift   uint   // an entry stands for 1<<shift events
	last    uint64 // number of events in the last entry
}

func (d *durations) add(t time.Duration) {
	if d.used == 0 || d.last == 1<<d.shift {
		if d.used == len(d.entries) {
			d.halve()
		}
		d.entries[d.used], d.last = 0, 0
		d.used++
	}
	d.entries[d.used-1] += t
	d.last++
}

// halve adds up neighbours. Then all entries stand for equally many events.
func (d *durations) halve() {
	d.used /= 2
	for i := range d.used {
		d.entries[i] = d.entries[2*i] + d.entries[2*i+1]
	}
	d.shift++
}

// took returns the durations kept, or a zero Took if there are none.
func (d *durations) took() wire.Took {
	if d.used == 0 {
		return wire.Took{}
	}
	return wire.Took{
		Stride: 1 << d.shift, Events: uint64(d.used-1)<<d.shift + d.last,
		Durations: append([]time.Duration(nil), d.entries[:d.used]...),
	}
}
