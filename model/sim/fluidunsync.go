package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"evbench/builder"
)

// An assigner assigns events by the rules of the controller.
type assigner struct {
	roles          builder.Roles
	next           uint64            // event
	balance        *builder.Balancer // nil: a server gets the next event
	assigned, done []uint64
	credits, level uint64 // level: events of each server in the end, once it is known
	slowest        uint64 // of done
	over           bool
}

func newAssigner(j *Job) *assigner {
	n, roles := j.Plan.Tree.Servers(), builder.RolesOf(j.Plan.Tree)
	a := &assigner{
		roles: roles, next: uint64(roles.Events()) * j.Warmup, credits: uint64(max(1, j.Credits)),
		assigned: make([]uint64, n), done: make([]uint64, n),
	}
	if j.Balanced() {
		a.balance = builder.NewBalancer(roles, j.Size)
	}
	for s := range n {
		if !roles.Builds(s) {
			a.done[s] = math.MaxUint64 // the slowest is one that builds
		}
	}
	return a
}

func (a *assigner) event(s int) uint64 {
	if a.balance == nil {
		a.next++
		return a.next - 1
	}
	id, ok := a.balance.Next(s)
	if !ok {
		a.balance.Plan(a.next, builder.Ahead)
		a.next += uint64(builder.Ahead * a.roles.Events())
		id, _ = a.balance.Next(s)
	}
	return id
}

// all gives events to the servers that may have more, lowest rank first.
func (a *assigner) all(give func(server int, event uint64)) {
	for s := range a.done {
		a.to(s, give)
	}
}

func (a *assigner) to(s int, give func(server int, event uint64)) {
	if !a.roles.Builds(s) {
		return
	}
	quota := a.level
	if !a.over {
		quota = builder.Quota(a.slowest, a.credits, 0)
	}
	for builder.May(quota, a.assigned[s], a.done[s], a.credits) > 0 {
		a.assigned[s]++
		give(s, a.event(s))
	}
}

// built notes a finished event, and assigns the events then allowed.
func (a *assigner) built(s int, give func(server int, event uint64)) {
	a.done[s]++
	before := a.slowest
	if a.done[s] == before+1 {
		a.slowest = slices.Min(a.done)
	}
	if a.slowest == before {
		a.to(s, give)
	} else {
		a.all(give)
	}
}

// end ends the measurement: all servers get as many events as the server with most.
func (a *assigner) end(give func(server int, event uint64)) {
	a.over, a.level = true, slices.Max(a.assigned)
	a.all(give)
}

// receivers build their assigned events: they ask the sources in the order of their ranks.
type receivers struct {
	job      *Job
	assigner *assigner
	n        int
	limit    int
	open     [][]asked // by server, in the order assigned
	busy     []float64 // by server: until when it makes fragments ready
	meets    func(src, dst int) bool
	plan     int // that meets is of; -1: none yet
	stage    *stage
	supply   *supply // nil: the job has no load
	first    uint64  // event that the clock offers
}

type asked struct {
	event uint64
	next  int                     // source to ask
	out   int                     // asked, and not there
	bytes uint64                  // of its payload, the server's own fragment included
	from  float64                 // when it was begun
	came  float64                 // when its last fragment had come
	meets func(src, dst int) bool // of the plan in force when it was begun
}

// The moments of receivers.
const (
	anEnd  = iota // of the duration
	anOpen        // server a asks for its event number x.event
	aDone         // server a has built event x.event
)

func newReceivers(j *Job) *receivers {
	n := j.Plan.Tree.Servers()
	return &receivers{
		job: j, assigner: newAssigner(j), n: n, limit: cmp.Or(j.Sources, n-1), open: make([][]asked, n), busy: make([]float64, n), plan: -1,
	}
}

func (a *receivers) begin(f *stage) {
	a.stage = f
	if f.meter.clock != nil {
		a.first, a.supply = a.assigner.next, newSupply(a.job, f.meter.clock)
		a.supply.assign(f, a.offered)
		return
	}
	f.wake(moment{at: a.job.Duration.Seconds(), kind: anEnd})
	a.assigner.all(a.given)
}

func (a *receivers) due(_ *stage, m moment) {
	switch m.kind {
	case anEnd:
		a.assigner.end(a.given)
	case anOpen:
		a.start(m.a, m.x.event)
	case aDone:
		a.end(m.a, a.find(m.a, m.x.event))
	case aTick:
		a.supply.assign(a.stage, a.offered)
	}
}

// offered begins event i of the clock, from 0.
func (a *receivers) offered(server, i int) { a.given(server, a.first+uint64(i)) }

func (a *receivers) given(server int, event uint64) {
	a.open[server] = append(a.open[server], asked{event: event})
	if d := late(a.job, server, event); d > 0 {
		a.stage.wake(moment{at: a.stage.now + d, kind: anOpen, a: server, x: fragment{event: event}})
		return
	}
	a.start(server, event)
}

func (a *receivers) start(server int, event uint64) {
	if now := a.stage.plans.now; a.plan != now {
		a.plan, a.meets = now, a.stage.plans.meets()
	}
	i := a.find(server, event)
	e := &a.open[server][i]
	e.from, e.meets = a.stage.now, a.meets
	for src := range a.n {
		if e.meets(src, server) {
			e.bytes += uint64(a.job.Size(event, src))
		}
	}
	a.ask(server, i)
}

func (a *receivers) find(server int, event uint64) int {
	i := slices.IndexFunc(a.open[server], func(e asked) bool { return e.event == event })
	if i < 0 {
		panic(fmt.Sprintf("event %d is not in flight on rank %d", event, server))
	}
	return i
}

// ask requests fragments up to the limit, and closes the event if none is missing.
func (a *receivers) ask(server, i int) {
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
	e.came = a.stage.now
	if s := a.supply; s != nil && s.builds != nil {
		a.stage.wake(moment{at: s.work(server, e.event, e.came), kind: aDone, a: server, x: fragment{event: e.event}})
		return
	}
	a.end(server, i)
}

// end counts event i of a server in flight, and has others begin.
func (a *receivers) end(server, i int) {
	e, now := a.open[server][i], a.stage.now
	a.stage.meter.built(now, server, e.bytes)
	a.stage.meter.lasted(now - e.from)
	a.open[server] = slices.Delete(a.open[server], i, i+1)
	s := a.supply
	if s == nil {
		a.assigner.built(server, a.given)
		return
	}
	k := int(e.event - a.first)
	s.count(k, server, s.told[k], e.from, e.came, now)
	s.has[server]--
	s.begin(server, a.offered)
	s.assign(a.stage, a.offered)
}

func (a *receivers) request(src, dst int, event uint64) {
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

func (a *receivers) ended(_ *stage, _ int32, x *fragment) {
	i := a.find(int(x.dst), x.event)
	a.open[x.dst][i].out--
	a.ask(int(x.dst), i)
}

func (a *receivers) idle() string {
	for s := range a.open {
		if len(a.open[s]) > 0 {
			return fmt.Sprintf("rank %d waits for event %d", s, a.open[s][0].event)
		}
	}
	return ""
}
