package sim

import (
	"context"
	"fmt"
	"math"
	"slices"

	"evbench/internal/heap"
	"evbench/model/maxmin"
)

// A fragment is payload of an event on its way from a source. Bytes include its header.
type fragment struct {
	event    uint64
	src, dst int32
	route    int32 // the plan that it was scheduled by, 0 for the first
	by       int32 // its path (topology.Tree.PathOf) plus one; 0: that of the plan, or none
	payload  uint64
	bytes    float64
}

// A rule decides when to send which fragment: a mode of event building.
type rule interface {
	// begin starts the first fragments.
	begin(f *stage)
	// ended handles a fragment that has arrived. Its stream is free again.
	ended(f *stage, stream int32, x *fragment)
	// due handles a moment that the rule requested with wake.
	due(f *stage, what moment)
	// idle names what the rule still waits for, "" for nothing.
	idle() string
}

// A stage is a rule's view of a model: the time, the plans, the counts, and the streams for its
// fragments. A stream carries fragments one after another, like the one connection between two
// servers. Times are seconds.
type stage struct {
	plans *routes
	meter *meter
	now   float64
	same  float64 // ends no further apart than this are one
	// send queues a fragment on a stream, behind the others.
	send func(stream int32, x fragment)

	// buffered: a sender goes on when its socket has room, and is told so by a moment of that server.
	buffered bool

	moments heap.Heap[moment]
	number  uint64
	fail    error // of the rule, which ends the run
}

func newStage(j *Job) stage {
	plans := newRoutes(j)
	t := stage{plans: plans, meter: newMeter(j, plans.wires)}
	for i, c := range j.Changes {
		t.wake(moment{at: c.At.Seconds(), kind: aChange, a: i + 1})
	}
	return t
}

// wake requests a moment, now or later.
func (t *stage) wake(m moment) {
	t.number++
	m.at, m.number = max(m.at, t.now), t.number
	t.moments.Push(m)
}

// begin sends a fragment on a stream once its sender has been late and made it ready.
func (t *stage) begin(j *Job, stream int, step uint64, x fragment) (at float64) {
	at = t.now + late(j, stream, step) + j.Timing.Overhead.Seconds()
	t.meter.first = min(t.meter.first, at)
	if at == t.now {
		t.send(int32(stream), x)
	} else {
		t.wake(moment{at: at, kind: aStart, a: stream, x: x})
	}
	return at
}

// dispatch handles the moments due until a time.
func (t *stage) dispatch(until float64, r rule, change func(plan int)) {
	for len(t.moments) > 0 && t.moments[0].at <= until {
		m := t.moments.Pop()
		switch m.kind {
		case aChange:
			change(m.a)
		case aStart:
			t.send(int32(m.a), m.x)
		default:
			r.due(t, m)
		}
	}
}

func (t *stage) over(r rule) error {
	if who := r.idle(); who != "" {
		return fmt.Errorf("event building stands still at %v: %s", seconds(t.now), who)
	}
	return nil
}

// Flows are the fragments under way in exact virtual time, which jumps to the next end of a
// fragment or the next moment that a rule requested. Rates are computed anew when the set of
// streams under way has changed. Bytes are float.
type flows struct {
	stage
	job    *Job
	rule   rule
	shares *maxmin.Shares

	current []fragment   // by stream; bytes 0: none
	queue   [][]fragment // by stream, behind the current one
	told    []float64    // by stream, bytes that its wires have been told of
	rem     []float64    // by stream that has stalled, bytes left
	active  []int32
	at      []int32 // by stream: its place in active, or -1
	stalled []int32
	dirty   bool // the streams under way have changed since the last fill
}

type moment struct {
	at     float64
	number uint64 // breaks ties: first asked, first told
	kind   int
	a      int
	x      fragment
}

// The kinds of moments that belong to no rule.
const (
	aChange = -1 - iota
	aStart  // fragment x starts on stream a
	aTick   // the clock of a load has an event
)

// Before orders moments.
func (m moment) Before(n moment) bool { return m.at < n.at || m.at == n.at && m.number < n.number }

func newFlows(j *Job, r rule, streams int) *flows {
	f := &flows{
		stage: newStage(j), job: j, rule: r,
		current: make([]fragment, streams), queue: make([][]fragment, streams),
		told: make([]float64, streams), rem: make([]float64, streams), at: slices.Repeat([]int32{-1}, streams),
	}
	f.shares = maxmin.New(streams, f.plans.wires, f.plans.stride, j.BitPerSec/8)
	for w := range int32(f.plans.wires) {
		f.shares.SetCapacity(w, f.plans.nets[0].rate(w)*j.BitPerSec/8)
	}
	f.same = same(j)
	f.stage.send = f.put
	return f
}

// same is the greatest distance between things that happen at one moment, in seconds.
func same(j *Job) float64 { return 1e-8 * 8 * float64(max(1, j.Size(0, 0)+j.Header)) / j.BitPerSec }

func (f *flows) run(ctx context.Context, progress Progress) error {
	f.rule.begin(&f.stage)
	for step := 0; ; step++ {
		if step%16 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			f.tell(progress)
		}
		f.share()
		if !f.step() || f.fail != nil {
			break
		}
	}
	if f.fail != nil {
		return f.fail
	}
	f.tell(progress)
	if len(f.stalled) > 0 {
		x := &f.current[slices.Min(f.stalled)]
		return noPath(f.job, x)
	}
	return f.over(f.rule)
}

func noPath(j *Job, x *fragment) error {
	return fmt.Errorf("event %d: the fragment from %s to %s waits for ever: no path is alive between them after the last change of plan",
		x.event, j.Plan.Tree.ServerName(int(x.src)), j.Plan.Tree.ServerName(int(x.dst)))
}

func (f *flows) tell(progress Progress) {
	if progress != nil {
		progress(min(seconds(f.now), f.job.Duration), f.job.Duration)
	}
}

func (f *flows) share() {
	if f.dirty {
		f.dirty = false
		f.shares.Refill()
	}
}

// step handles the next moment at which something happens. It returns false without one.
func (f *flows) step() bool {
	next := f.shares.Soonest()
	if len(f.moments) > 0 {
		next = min(next, f.moments[0].at)
	}
	if math.IsInf(next, 1) {
		return false
	}
	f.now = max(f.now, next)
	f.shares.Now = f.now
	over := f.shares.Ending(next + f.same)
	slices.Sort(over)
	for _, s := range over {
		f.finish(s)
	}
	f.dispatch(f.now+f.same, f.rule, f.change)
	return true
}

func (f *flows) finish(s int32) {
	x := f.current[s]
	f.count(s, x.bytes)
	f.meter.arrived(f.now, int(x.src), int(x.dst), x.payload)
	f.current[s].bytes = 0
	if q := f.queue[s]; len(q) > 0 {
		next := q[0]
		f.queue[s] = append(q[:0], q[1:]...)
		f.start(s, next)
	}
	f.rule.ended(&f.stage, s, &x)
	if f.current[s].bytes == 0 && f.at[s] >= 0 {
		f.leave(s)
	}
}

func (f *flows) put(s int32, x fragment) {
	if f.current[s].bytes > 0 {
		f.queue[s] = append(f.queue[s], x)
		return
	}
	f.start(s, x)
}

// start gives a fragment the path of the plan by which it was scheduled if that path is alive, else
// the path of the plan in force. Without either it waits for a change.
func (f *flows) start(s int32, x fragment) {
	f.meter.first = min(f.meter.first, f.now)
	f.current[s], f.told[s] = x, 0
	f.rem[s] = x.bytes
	path, under := f.plans.way(&x), f.at[s] >= 0
	if under && path != nil && slices.Equal(path, f.shares.Wires(s)) {
		f.shares.Again(s, x.bytes) // as the fragment before it
		return
	}
	if under {
		f.leave(s)
	}
	f.resume(s, path)
}

// resume puts a fragment on its path, or lets it wait where there is none.
func (f *flows) resume(s int32, path []int32) {
	if path == nil {
		f.stalled = append(f.stalled, s)
		return
	}
	f.shares.Route(s, path)
	f.shares.Add(s, f.rem[s])
	f.at[s] = int32(len(f.active))
	f.active = append(f.active, s)
	f.dirty = true
}

func (f *flows) leave(s int32) {
	f.shares.Remove(s)
	i, last := f.at[s], f.active[len(f.active)-1]
	f.active[i], f.at[last] = last, i
	f.active = f.active[:len(f.active)-1]
	f.at[s], f.dirty = -1, true
}

func (f *flows) count(s int32, moved float64) {
	for _, w := range f.shares.Wires(s) {
		f.meter.wire[w] += moved - f.told[s]
	}
	f.told[s] = moved
}

// change puts a plan in force. Fragments whose path has died go on over a new one, or wait for the
// next change if they have none.
func (f *flows) change(plan int) {
	f.plans.now = plan
	waiting := f.stalled
	f.stalled = nil
	for _, s := range slices.Sorted(slices.Values(f.active)) {
		if f.plans.alive(f.shares.Wires(s)) {
			continue
		}
		f.rem[s] = f.shares.Left(s)
		f.count(s, f.current[s].bytes-f.rem[s])
		f.leave(s)
		waiting = append(waiting, s)
	}
	for _, s := range waiting {
		x := &f.current[s]
		f.resume(s, f.plans.choose(plan, int(x.src), int(x.dst)))
	}
}
