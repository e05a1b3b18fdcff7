package controller

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/failover"
	"evbench/results"
)

// A machine takes all decisions about one case: it gets events with their times and answers with
// actions. It has no clock, no socket and no goroutine; time is the duration since any fixed
// moment.
//
//	configuring -> warming -> quiet -> measuring -> draining -> finishing -> over
//	     \____________\_________\_________\___________\___________\-> aborting -> over
type machine struct {
	c        Case
	largest  float64 // bytes of the largest fragment
	roles    builder.Roles
	run      uint32
	state    state
	workers  []worker  // by rank
	pace     pacer     // scheduled modes
	windows  Windows   // of the plan in use; nil unless ordered
	epoch    uint32    // of that plan
	planning *planning // of a window, under way
	plans    int       // of windows, so far
	quiet    bool      // no fragment is under way when the next window begins
	ledger   ledger    // unsynchronised mode
	balance  *builder.Balancer
	known    uint64        // events of each server that balance has planned
	section  section       // how events are built now
	granted  []wire.Range  // exchanges of the earlier sections
	level    uint64        // final events of each server; set when draining
	change   *change       // of the plan, under way
	loading  *loading      // of the counted part of a case with a load
	before   *earlier      // of the parts of the case before this one
	shift    time.Duration // of the counted part, since the clock began
	parting  bool          // this part of the case ends with the events that have happened: see part
	zero     time.Time     // when the time of the machine was 0
	samples  int
	acts     []action
	times
	failing
}

// Times are when a machine and its servers made progress.
type times struct {
	since   time.Duration // of the state
	began   time.Duration // of the case
	counts  bool          // the counted part has begun
	moved   time.Duration // last known progress of a server
	soothed time.Duration // last reassurance
	stepped time.Duration // last end of an exchange anywhere
	allowed time.Duration // until then no progress is expected, see allow
}

// A failing is the reason for which a case is given up.
type failing struct {
	err     error         // errFailed, or why the caller cancelled
	during  state         // at the failure
	abortAt time.Duration // when to abort a failed case, see abortAfter; 0: it has not failed
	failed  []int         // ranks in the order of failure
	first   time.Duration // when the first of them did
	owing   []int         // ranks whose answer to an order was overdue then
}

type state int

const (
	configuring state = iota // until every worker is ready
	warming                  // until every worker has done the warm-up
	quiet                    // until the caller of OnMeasure has returned
	measuring                // until the duration is over
	draining                 // until all granted or assigned work is done
	finishing                // until every worker has reported its totals
	aborting                 // until every live worker has reported
	over
)

func (s state) String() string {
	return [...]string{"set-up", "warm-up", "pause before measuring", "measurement", "end of measurement", "closing down", "abort", "end"}[s]
}

type worker struct {
	server   int
	builds   bool // builds events
	heard    time.Duration
	moves    uint64 // its last reported progress
	ready    bool
	io       string // how its transport moves payload
	held     bool
	asked    int    // orders to hold that it has not answered
	begun    uint64 // exchanges begun when it was held
	updated  bool
	done     uint64        // exchanges, or events closed
	assigned uint64        // events
	totals   *wire.Totals  // once it has finished or failed
	at       wire.Position // its position when it failed or was aborted
	stuck    bool          // it failed by standing still
	failure  error         // its own report, or how it was lost
	lost     bool

	offset, way int64 // ns: how far its clock is ahead, and the error of that; way 0: not known
}

type action interface{}

type (
	send struct { // a message to a rank
		rank int
		m    wire.Message
	}
	pause  struct{}                   // call OnMeasure, then measured
	record struct{ s results.Sample } // pass a sample on
	placed struct{ from uint64 }      // every worker has the new plan
	ended  struct {                   // the change of the plan is over
		sw  failover.Switch
		err error
	}
)

const abortWait = time.Second

func newMachine(c Case, run uint32) *machine {
	m := &machine{
		c: c, largest: float64(c.FragmentSizes().Max()), run: run, workers: make([]worker, len(c.Peers)), section: section{mode: c.Mode},
		windows: c.Windows, epoch: c.Epoch, quiet: true, roles: c.Roles(),
	}
	for i, p := range c.Peers {
		m.workers[i].server, m.workers[i].builds = p.Server, m.roles.Builds(i)
	}
	return m
}

func (m *machine) take() []action {
	acts := m.acts
	m.acts = nil
	return acts
}

func (m *machine) send(rank int, msg wire.Message) {
	if !m.workers[rank].lost {
		m.acts = append(m.acts, send{rank, msg})
	}
}

func (m *machine) broadcast(msg wire.Message) {
	for rank := range m.workers {
		m.send(rank, msg)
	}
}

func (m *machine) enter(now time.Duration, s state) {
	m.state, m.since, m.moved, m.stepped = s, now, now, now
	m.giveUp()
}

func (m *machine) start(now time.Duration) {
	m.enter(now, configuring)
	m.began = now
	for rank := range m.workers {
		m.workers[rank].heard = now
		m.send(rank, m.c.configure(m.run, rank))
	}
}

func (m *machine) receive(now time.Duration, rank int, msg wire.Message) {
	w := &m.workers[rank]
	w.heard = now
	if reply, ok := msg.(wire.Reply); m.state == over || ok && reply.RunNumber() != m.run {
		return // the message is of a case that is over
	}
	switch msg := msg.(type) {
	case wire.Pong:
		w.ponged(m.zero.UnixNano()+int64(now), msg)
		if msg.Moves != w.moves {
			w.moves, m.moved = msg.Moves, now
			m.reassure(now)
		}
	case wire.Ready:
		m.moved = now
		w.ready, w.io = true, msg.IO
		m.maybeWarm(now)
	case wire.Progress:
		m.progress(now, rank, msg.Exchange)
	case wire.Completed:
		m.completed(now, rank, msg)
	case wire.Held:
		m.held(now, rank, msg)
	case wire.Updated:
		m.updated(now, w, msg.Epoch)
	case wire.Samples:
		m.sample(now, rank, msg.Sample)
	case wire.Finished:
		m.finished(now, rank, msg)
	case wire.Error:
		w.totals, w.at = m.account(now, rank, msg.Totals, false), m.placed(msg.At)
		if msg.Stuck {
			w.stuck = w.failure == nil
			m.note(now, rank, errors.New(msg.Text))
			m.abortAfter(now, max(grace, m.c.Timeout/8)) // workers check eight times a time-out
		} else {
			m.fail(now, rank, errors.New(msg.Text))
		}
		w.failure = errors.New(msg.Text) // its own report replaces earlier conclusions
	default:
		m.fail(now, rank, fmt.Errorf("sent %T, which only a controller sends", msg))
	}
}

// sample passes a sample on.
func (m *machine) sample(now time.Duration, rank int, s results.Sample) {
	w := &m.workers[rank]
	s.GoodputBitPerSec = 0
	if s.IntervalSec > 0 {
		s.GoodputBitPerSec = 8 * float64(s.PayloadBytes) / s.IntervalSec
	}
	if s.Events+s.PayloadBytes > 0 {
		m.moved = now
	}
	s.TSec += m.shift.Seconds()
	s.Server, s.Case, s.Repeat = w.server, m.c.Name, m.c.Repeat
	s.LatencySec, s.Buffers = max(0, s.LatencySec), m.buffers()
	m.samples++
	m.acts = append(m.acts, record{s})
}

func (m *machine) all(is func(*worker) bool) bool {
	for i := range m.workers {
		if !is(&m.workers[i]) {
			return false
		}
	}
	return true
}

// allDo is all, over the workers that have work: where events are assigned, the builders.
func (m *machine) allDo(is func(*worker) bool) bool {
	return m.all(func(w *worker) bool { return !w.builds && m.section.mode == modes.Unsync || is(w) })
}

func (m *machine) maybeWarm(now time.Duration) {
	if m.state != configuring || !m.all(func(w *worker) bool { return w.ready }) {
		return
	}
	m.enter(now, warming)
	m.pace = newPacer(now, m.c)
	m.rebalance(0)
	switch {
	case m.c.Warmup == 0:
		m.calm(now)
	case m.c.Mode == modes.Unsync:
		m.handOut(now)
	case m.c.Mode == modes.Ordered:
		m.pace.until = 0
		m.plan(min(m.c.Warmup, uint64(m.c.Credits)))
	default:
		m.broadcast(wire.Grant{Run: m.run, Until: m.c.Warmup})
	}
}

// calm is called during the warm-up. Once all workers have done it, the case pauses until the
// caller's work between warm-up and measurement is done.
func (m *machine) calm(now time.Duration) {
	if m.allDo(func(w *worker) bool { return w.done >= m.c.Warmup }) {
		m.enter(now, quiet)
		m.acts = append(m.acts, pause{})
	}
}

func (m *machine) measured(now time.Duration) {
	if m.state != quiet {
		return
	}
	m.quiet = true
	warm := m.since
	m.enter(now, measuring)
	for i := range m.workers { // no messages were read during OnMeasure
		m.workers[i].heard = now
	}
	m.counts = true
	m.startClock(now)
	m.broadcast(wire.Measure{Run: m.run, First: m.ledger.next()})
	if m.c.Mode != modes.Unsync {
		m.pace.measure(warm, now)
		m.grant(now)
		return
	}
	m.rebalance(m.c.Warmup)
	m.handOut(now)
	m.maybeLast(now)
}

func (m *machine) progress(now time.Duration, rank int, exchange uint64) {
	if exchange > m.pace.until {
		m.fail(now, rank, fmt.Errorf("claims %d exchanges, %d are granted", exchange, m.pace.until))
		return
	}
	m.clock(now)
	w := &m.workers[rank]
	if exchange > w.done {
		w.done, m.moved, m.stepped = exchange, now, now
	}
	m.advance(now)
}

// advance takes the steps that a worker's progress makes possible.
func (m *machine) advance(now time.Duration) {
	m.follow(now)
	unsync := m.section.mode == modes.Unsync
	if unsync && (m.state == warming || m.state == measuring || m.state == draining) {
		m.handOut(now)
	}
	switch {
	case m.state == warming:
		m.calm(now)
	case m.state == measuring && unsync:
		m.maybeLast(now)
	case m.state == measuring:
		m.grant(now)
	case m.state == draining:
		m.drained(now)
	}
}

// drained ends the case on the workers once all work is done: until then each worker may be needed
// as a source.
func (m *machine) drained(now time.Duration) {
	idle := m.ledger.open == 0 && m.allDo(func(w *worker) bool { return w.assigned >= m.level })
	if m.section.mode != modes.Unsync {
		idle = m.all(func(w *worker) bool { return w.done >= m.pace.until })
	}
	if idle {
		m.enter(now, finishing)
		m.broadcast(wire.Finish{Run: m.run})
	}
}

// grant extends the granted exchanges, as far as the pace and a plan change allow.
func (m *machine) grant(now time.Duration) {
	if m.change.holds() {
		return // the last begun exchange is unknown
	}
	slowest, fastest := uint64(math.MaxUint64), uint64(0)
	for i := range m.workers {
		slowest, fastest = min(slowest, m.workers[i].done), max(fastest, m.workers[i].done)
	}
	if m.change != nil {
		m.pace.skip(now, slowest)
	}
	if m.section.mode == modes.Ordered {
		m.grantWindow(now, slowest, fastest)
		return
	}
	until, last := m.extend(now, slowest, fastest)
	if m.change.bounds() && until > m.change.from {
		return
	}
	if until > m.pace.until {
		m.pace.until = until
		m.grantUntil(until)
	}
	if last {
		m.enter(now, draining)
		m.drained(now)
	}
}

// extend is the limit of exchanges that may run now, and whether it is the last.
func (m *machine) extend(now time.Duration, slowest, fastest uint64) (until uint64, last bool) {
	if m.loading != nil {
		return m.happened(now)
	}
	return m.pace.extend(now, slowest, fastest)
}

func (m *machine) completed(now time.Duration, rank int, msg wire.Completed) {
	if m.section.mode != modes.Unsync {
		m.fail(now, rank, errors.New("reports events by ID, but was assigned none"))
		return
	}
	m.clock(now)
	w := &m.workers[rank]
	for _, id := range msg.Built {
		m.ledger.close(rank, id, built)
	}
	for _, id := range msg.Lost {
		m.ledger.close(rank, id, gaveUp)
	}
	if n := uint64(len(msg.Built) + len(msg.Lost)); n > 0 {
		w.done, m.moved = w.done+n, now
	}
	m.advance(now)
}

func (m *machine) most() (n uint64) {
	for i := range m.workers {
		n = max(n, m.workers[i].assigned)
	}
	return n
}

// maybeLast stops the assigning when the time is over or enough is assigned: all servers are
// levelled with the one that has been assigned most.
func (m *machine) maybeLast(now time.Duration) {
	enough := now-m.since >= m.c.Duration
	if m.loading != nil {
		enough = (m.parting || m.loading.trigger.Over()) && m.loading.trigger.Waiting() <= m.loading.later()
	} else if m.c.Exchanges > 0 {
		enough = m.allDo(func(w *worker) bool { return w.assigned >= m.c.Warmup+m.c.Exchanges })
	}
	if !enough {
		return
	}
	if m.loading == nil { // a clock's events go where there is room
		m.level = m.most()
	}
	m.enter(now, draining)
	m.handOut(now)
	m.drained(now)
}

func (m *machine) finished(now time.Duration, rank int, msg wire.Finished) {
	w := &m.workers[rank]
	m.moved = now
	w.totals, w.at = m.account(now, rank, msg.Totals, !msg.Aborted), m.placed(msg.At)
	if m.state == aborting {
		m.since = now
	}
	if m.state != finishing && m.state != aborting {
		m.fail(now, rank, fmt.Errorf("finished without being told to, during the %v", m.state))
		return
	}
	m.maybeOver(now)
}

// placed drops invalid ranks from a worker's reported position.
func (m *machine) placed(at wire.Position) wire.Position {
	none := func(r int) bool { return r < 0 || r >= len(m.workers) }
	at.Peers = slices.DeleteFunc(at.Peers, none)
	at.Awaits = slices.DeleteFunc(at.Awaits, func(x wire.Token) bool { return none(x.Rank) })
	return at
}

func (m *machine) maybeOver(now time.Duration) {
	if m.all(func(w *worker) bool { return w.lost || w.totals != nil }) {
		if culprit, err := m.sent(); err != nil && m.state < aborting {
			m.fail(now, culprit, err) // which comes here again
			return
		}
		m.end(now)
	}
}

func (m *machine) end(now time.Duration) {
	m.enter(now, over)
	m.broadcast(wire.Release{Run: m.run})
}
