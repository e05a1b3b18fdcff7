package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"evbench/controller/wire"

	"evbench/transport"
)

// The least time between two reports, except near the end of what is granted or assigned. For short
// events the controller assigns more in advance than are built in eventsEvery.
const (
	reportEvery = 10 * time.Millisecond
	eventsEvery = 20 * time.Millisecond
	clockEvery  = time.Millisecond
)

// A reporter tells the controller about progress, so that the loop never waits for the control
// connection.
type reporter struct {
	conn  wire.Conn
	run   uint32
	often bool // reports decide what a clock's events find: none waits longer than clockEvery

	bell   chan struct{}
	urgent chan struct{}
	done   atomic.Uint64
	told   uint64 // last reported done; only the sender uses it

	mu          sync.Mutex
	built, lost []uint64
}

func newReporter(conn wire.Conn, c wire.Configure) *reporter {
	return &reporter{
		conn: conn, run: c.Run, often: c.Load.On(),
		bell: make(chan struct{}, 1), urgent: make(chan struct{}, 1),
		built: make([]uint64, 0, 2*max(c.Credits, c.AsyncCredits)), lost: make([]uint64, 0, 2*max(c.Credits, c.AsyncCredits)),
	}
}

func (r *reporter) progress(done uint64, urgent bool) {
	r.done.Store(done)
	r.ring(urgent)
}

// closed reports an event as built or given up. It is urgent if hardly any assigned event remains:
// only the report makes the controller assign more.
func (r *reporter) closed(id uint64, lost, urgent bool) {
	r.mu.Lock()
	if lost {
		r.lost = append(r.lost, id)
	} else {
		r.built = append(r.built, id)
	}
	r.mu.Unlock()
	r.ring(urgent)
}

func (r *reporter) ring(urgent bool) {
	transport.Ring(r.bell)
	if urgent {
		transport.Ring(r.urgent)
	}
}

// hurry triggers a report at once, if anything is unreported.
func (r *reporter) hurry() { transport.Ring(r.urgent) }

// serve reports until ctx ends, and then reports the rest. That holds for a failed case too: no
// built event may count as lost.
func (r *reporter) serve(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-r.bell:
		case <-ctx.Done():
			_, _ = r.send() // the session's reader sees the broken connection and ends the session
			return
		}
		every, err := r.send()
		if err != nil {
			return // the session's reader sees the broken connection too
		}
		if r.often {
			every = clockEvery
		}
		pause.Reset(every)
		select {
		case <-pause.C:
		case <-r.urgent:
		case <-ctx.Done():
			_, _ = r.send()
			return
		}
	}
}

// send reports new exchanges or events, and returns the least time to the next report.
func (r *reporter) send() (every time.Duration, err error) {
	if done := r.done.Load(); done != r.told {
		r.told = done
		if err := r.conn.Send(wire.Progress{Run: r.run, Exchange: done}); err != nil {
			return 0, err
		}
	}
	m := r.completed()
	if len(m.Built)+len(m.Lost) == 0 {
		return reportEvery, nil
	}
	return eventsEvery, r.conn.Send(m)
}

func (r *reporter) completed() wire.Completed {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := wire.Completed{Run: r.run, Built: append([]uint64(nil), r.built...), Lost: append([]uint64(nil), r.lost...)}
	r.built, r.lost = r.built[:0], r.lost[:0]
	return m
}

// sampler waits for the counted part, then sends a sample each interval and one for the rest at the
// end. Meanwhile it has the load of the machine recorded.
func (j *job) sampler(ctx context.Context) {
	last, counting := j.begun(ctx)
	if !counting {
		return
	}
	m, began := &j.loop.meter, last.at
	end := j.watchLoad()
	tick := time.NewTicker(j.c.Interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			end()
			j.sample(&last, began)
			return
		}
		j.sample(&last, began)
		m.refresh.Store(true)
	}
}

// begun waits for the counted part and returns the meter as it was at its start: this goroutine may
// run later. It returns false if nothing was counted.
func (j *job) begun(ctx context.Context) (reading, bool) {
	select {
	case r := <-j.loop.counting:
		return r, true
	case <-ctx.Done():
	}
	select {
	case r := <-j.loop.counting: // a short part may be over already
		return r, true
	default:
		return reading{}, false
	}
}

func (j *job) watchLoad() (end func()) {
	if j.o.Load == nil {
		return func() {}
	}
	since := j.o.Load()
	return func() {
		l := since()
		j.load = &l
	}
}

func (j *job) sample(last *reading, began time.Duration) {
	r := j.loop.meter.read(j.loop.now())
	if r.at <= last.at {
		return
	}
	s := sample(*last, r, began)
	s.Case, s.Repeat, s.Server = j.c.Name, j.c.Repeat, j.o.Server
	*last = r
	_ = j.o.Conn.Send(wire.Samples{Run: j.c.Run, Sample: s}) // the session's reader sees the broken connection and ends the session
}
