package sim

import (
	"fmt"

	"evbench/scheduler/assign"
)

// lead is how many events a server may be ahead of the slowest beyond its credits;
// the controller's number.
const lead = 2

// A dealer hands out events as the controller does.
type dealer struct {
	next           uint64           // event
	balance        *assign.Balancer // nil: a server gets the next event
	assigned, done []uint64
	credits, level uint64 // level: events of each server in the end, once it is known
	slowest        uint64 // of done
	over           bool
}

func newDealer(j *Job) *dealer {
	n := j.Plan.Tree.Servers()
	d := &dealer{
		next: uint64(n) * uint64(j.Warmup), credits: uint64(max(1, j.Credits)),
		assigned: make([]uint64, n), done: make([]uint64, n),
	}
	if j.Balanced {
		d.balance = assign.New(n, j.Size)
	}
	return d
}

// event takes the one that a server builds next.
func (d *dealer) event(s int) uint64 {
	if d.balance == nil {
		d.next++
		return d.next - 1
	}
	id, ok := d.balance.Next(s)
	if !ok {
		d.balance.Plan(d.next, assign.Ahead)
		d.next += uint64(assign.Ahead * len(d.done))
		id, _ = d.balance.Next(s)
	}
	return id
}

// quota is how many events each server may have been given by now.
func (d *dealer) quota() uint64 {
	if d.over {
		return d.level
	}
	return d.slowest + d.credits + lead
}

// deal gives events to the servers that may have more, lowest rank first.
func (d *dealer) deal(give func(server int, event uint64)) {
	q := d.quota()
	for s := range d.done {
		d.dealTo(s, q, give)
	}
}

func (d *dealer) dealTo(s int, quota uint64, give func(server int, event uint64)) {
	for d.assigned[s] < min(quota, d.done[s]+d.credits) {
		d.assigned[s]++
		give(s, d.event(s))
	}
}

// built takes an event back, and deals what may be dealt then.
func (d *dealer) built(s int, give func(server int, event uint64)) {
	d.done[s]++
	if d.done[s] != d.slowest+1 {
		d.dealTo(s, d.quota(), give)
		return
	}
	before := d.slowest
	d.slowest = d.done[s]
	for _, x := range d.done {
		d.slowest = min(d.slowest, x)
	}
	if d.slowest == before {
		d.dealTo(s, d.quota(), give)
		return
	}
	d.deal(give)
}

// end ends the measurement: all come up to the one that was given most.
func (d *dealer) end(give func(server int, event uint64)) {
	d.over = true
	for _, x := range d.assigned {
		d.level = max(d.level, x)
	}
	d.deal(give)
}

// askers build the events that they are dealt: they ask the sources in the order of
// their ranks.
type askers struct {
	job    *Job
	dealer *dealer
	n      int
	limit  int
	open   [][]asked // by server, in the order dealt
	busy   []float64 // by server: until when it makes fragments ready
	meets  func(src, dst int) bool
	plan   int // that meets is of; -1: none yet
	stage  *stage
}

// asked is an event in flight.
type asked struct {
	event uint64
	next  int // source to ask
	out   int // asked, and not there
	bytes uint64
	begun bool
	from  float64                 // when it was begun
	meets func(src, dst int) bool // of the plan in force when it was begun
}

// The moments of askers.
const (
	anEnd  = iota // of the duration
	anOpen        // server a asks for its event number x.event
)

func newAskers(j *Job) *askers {
	n := j.Plan.Tree.Servers()
	a := &askers{
		job: j, dealer: newDealer(j), n: n, limit: j.Sources, open: make([][]asked, n), busy: make([]float64, n), plan: -1,
	}
	if a.limit == 0 {
		a.limit = n - 1
	}
	return a
}

func (a *askers) begin(f *stage) {
	a.stage = f
	f.wake(moment{at: a.job.Duration.Seconds(), kind: anEnd})
	a.dealer.deal(a.given)
}

func (a *askers) due(_ *stage, m moment) {
	switch m.kind {
	case anEnd:
		a.dealer.end(a.given)
	case anOpen:
		a.start(m.a, m.x.event)
	}
}

// given takes an event.
func (a *askers) given(server int, event uint64) {
	a.open[server] = append(a.open[server], asked{event: event})
	if d := late(a.job, server, event); d > 0 {
		a.stage.wake(moment{at: a.stage.now + d, kind: anOpen, a: server, x: fragment{event: event}})
		return
	}
	a.start(server, event)
}

// start begins to ask for the fragments of an event.
func (a *askers) start(server int, event uint64) {
	if now := a.stage.plans.now; a.plan != now {
		a.plan, a.meets = now, a.stage.plans.meets()
	}
	i := a.find(server, event)
	e := &a.open[server][i]
	e.begun, e.from, e.meets = true, a.stage.now, a.meets
	e.bytes = eventBytes(a.job, event, func(src int) bool { return e.meets(src, server) }, a.n)
	a.ask(server, i)
}

func (a *askers) find(server int, event uint64) int {
	for i := range a.open[server] {
		if a.open[server][i].event == event {
			return i
		}
	}
	panic(fmt.Sprintf("event %d is not in flight on rank %d", event, server))
}

// ask requests fragments as far as the limit allows, and closes the event if none is
// missing.
func (a *askers) ask(server, i int) {
	e := &a.open[server][i]
	for ; e.out < a.limit && e.next < a.n; e.next++ {
		if e.next == server || !e.meets(e.next, server) {
			continue
		}
		e.out++
		a.request(e.next, server, e.event)
	}
	if e.out > 0 {
		return
	}
	a.stage.meter.built(a.stage.now, server, e.bytes)
	a.stage.meter.lasted(a.stage.now - e.from)
	a.open[server] = append(a.open[server][:i], a.open[server][i+1:]...)
	a.dealer.built(server, a.given)
}

// request lets a source send its fragment as soon as it has made it ready.
func (a *askers) request(src, dst int, event uint64) {
	f := a.stage
	stream := dst*a.n + src
	x := fragmentOf(a.job, event, src, dst, f.plans.now)
	if a.job.Timing.Overhead == 0 {
		f.send(int32(stream), x)
		return
	}
	a.busy[src] = max(a.busy[src], f.now) + a.job.Timing.Overhead.Seconds()
	f.meter.first = min(f.meter.first, f.now)
	f.wake(moment{at: a.busy[src], kind: aStart, a: stream, x: x})
}

func (a *askers) ended(_ *stage, _ int32, x *fragment) {
	i := a.find(int(x.dst), x.event)
	a.open[x.dst][i].out--
	a.ask(int(x.dst), i)
}

func (a *askers) idle() string {
	for s := range a.open {
		if len(a.open[s]) > 0 {
			return fmt.Sprintf("rank %d waits for event %d", s, a.open[s][0].event)
		}
	}
	return ""
}
