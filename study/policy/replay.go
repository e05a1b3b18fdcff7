// Package policy answers: how much does a policy of fail-over build and lose over a log of
// failures? It sends months of failures through the state machine of package failover in virtual
// time, and carries its actions out after stated times. A state is the dead links, the plan in use,
// the links that the tables avoid and whether messages arrive. The models of package sim give the
// rate of each state; sums over time give the result of a policy.
//
// The data flow: FromFailures (a Log) → replay (a Timeline, no rates) → Rates (the rate of each
// distinct state, computed once and several at a time) → AddUp (a Result).
//
// Assumptions:
//
//   - A dead link stops all event building until the tables lead around it: an exchange
//     in phases ends for no server while one message is missing, and without phases every
//     event needs all sources. It goes on when TCP next tries again: Times.retransmit
//     after the link died, then twice as long after that, and so on, two minutes apart at
//     most. So a short gap may cost as much as a long one.
//   - The same holds while servers have no path to each other.
//   - A link that comes back does no harm; what is done to use it again stops nothing.
//   - Between first aid and the new plan the old one goes on, its pinned paths over
//     detours. Between two plans nothing waits: the exchange under way ends on the old one.
//   - The first try of everything succeeds, and no worker is lost.
//
// Package policy reads no clock and opens no file. All its random numbers come from a seed.
package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evbench/failover"
	"evbench/internal/heap"
	"evbench/internal/lists"
	"evbench/topology"
)

// A State is everything that decides how fast events are built.
type State struct {
	stopped bool // nothing gets through to somebody
	plan    Dead // what is dead in the plan in use
	tables  Dead // what tables and detours avoid
}

// A Interval is a time during which the state is the same.
type Interval struct {
	at, lasts time.Duration
	state     State
}

// A Timeline is the actions of one policy over a log, without rates yet.
type Timeline struct {
	Policy    failover.Policy
	Intervals []Interval // they cover the log without a gap
	switches  int        // changes of plan
	unused    unused
}

// unused is the time of links that were up and not used: held out, or not yet back in use.
type unused struct {
	links   map[topology.Link]bool // that it happened to
	times   int                    // it began
	total   time.Duration          // added up over links
	longest time.Duration          // of one
}

// A due is an event at a moment: a function that may schedule later ones.
type due struct {
	at    time.Duration
	order int // of two at the same moment, which was planned first
	do    func() error
}

// Before orders what is due.
func (d due) Before(e due) bool { return d.at < e.at || d.at == e.at && d.order < e.order }

type replayer struct {
	o        options
	m        *failover.Machine
	timeline *Timeline
	now      time.Duration
	schedule heap.Heap[due]
	planned  int // that were ever on the schedule

	down   counts // in truth
	apart  bool   // servers have no path to each other
	tables set    // what tables and detours avoid
	plan   set    // what is dead in the plan in use
	made   map[int]set

	stopped bool
	since   time.Duration // the first message was lost then
	turn    *turn
	begun   time.Duration // of the interval that lasts
	state   State
	unused  map[topology.Link]time.Duration // links that are up but avoided: since when
}

type set struct {
	has  map[topology.Link]bool
	name Dead
}

func setOf(links []topology.Link) set {
	s := set{map[topology.Link]bool{}, deadOf(links)}
	for _, l := range links {
		s.has[l] = true
	}
	return s
}

// A turn is a change of plan that all workers know of.
type turn struct {
	id      int
	lastOld time.Duration // 0 while the exchange under way lasts
	due     int           // the entry of the schedule that counts; others are old
}

// replay plays a log to the machine of a policy. O(changes · log).
func replay(p failover.Policy, l Log, o options) (*Timeline, error) {
	r := &replayer{
		o: o, m: failover.New(o.machine(p)), timeline: &Timeline{Policy: p, unused: unused{links: map[topology.Link]bool{}}},
		down: counts{}, tables: setOf(nil), plan: setOf(nil), made: map[int]set{}, unused: map[topology.Link]time.Duration{},
	}
	for _, c := range l.changes {
		r.at(c.at, func() error { return r.change(c) })
	}
	if err := r.play(l.Span); err != nil {
		return nil, fmt.Errorf("policy %s, %s into the log: %w", p, r.now, err)
	}
	return r.timeline, nil
}

func (r *replayer) at(when time.Duration, do func() error) int {
	r.planned++
	r.schedule.Push(due{when, r.planned, do})
	return r.planned
}

func (r *replayer) after(d time.Duration, do func() error) int { return r.at(r.now+d, do) }

func (r *replayer) play(span time.Duration) error {
	for {
		wake, wakes := r.m.Wake()
		tick := wakes && (len(r.schedule) == 0 || wake < r.schedule[0].at)
		switch {
		case tick && max(wake, r.now) < span:
			r.now = max(wake, r.now)
			if err := r.tell(failover.Tick{}); err != nil {
				return err
			}
		case !tick && len(r.schedule) > 0 && r.schedule[0].at < span:
			next := r.schedule.Pop()
			r.now = next.at
			if err := next.do(); err != nil {
				return err
			}
		default:
			r.now = span
			r.cut()
			for l, since := range r.unused {
				r.timeline.unused.add(l, span-since)
			}
			return nil
		}
		r.look()
	}
}

// change takes a link down or up in truth. One end reports it; a report of the other at the same
// moment would add nothing.
func (r *replayer) change(c change) error {
	if !r.down.change(c) {
		return nil
	}
	alive, err := r.o.Tree.Without(r.down.links()...)
	if err != nil {
		return err
	}
	r.apart = alive.Connected() != nil
	r.after(r.o.Times.Seen, func() error { return r.tell(failover.End{Link: c.link, Leaf: true, Up: c.up}) })
	return nil
}

func (r *replayer) tell(e failover.Event) error {
	for _, a := range r.m.Handle(r.now, e) {
		if err := r.do(a); err != nil {
			return err
		}
	}
	return nil
}

func (r *replayer) do(a failover.Action) error {
	t := r.o.Times
	switch a := a.(type) {
	case failover.Aid:
		r.after(t.Aid, func() error {
			r.tables = setOf(a.Dead)
			return r.tell(failover.Aided{ID: a.ID})
		})
	case failover.MakePlan:
		return r.makePlan(a)
	case failover.Install:
		r.after(t.Install, func() error {
			r.tables = r.made[a.ID]
			return r.tell(failover.Installed{ID: a.ID})
		})
	case failover.Update:
		r.after(t.Update, func() error {
			r.turn = &turn{id: a.ID}
			r.exchange()
			return r.tell(failover.Updated{ID: a.ID})
		})
	case failover.Clean:
		r.after(t.Clean, func() error {
			r.tables = r.plan
			return r.tell(failover.Cleaned{ID: a.ID})
		})
	case failover.Look:
		return r.tell(failover.Looked{Dead: r.down.links()})
	case failover.Stop:
		return fmt.Errorf("the machine ends the run: %s", a.Reason)
	}
	return nil
}

func (r *replayer) makePlan(a failover.MakePlan) error {
	alive, err := r.o.Tree.Without(a.Dead...)
	if err != nil {
		return err
	}
	r.made[a.ID] = setOf(a.Dead)
	e := failover.Planned{ID: a.ID, Source: failover.Computed, Plan: r.o.Times.Plan, Verify: r.o.Times.Verify}
	if err := alive.Connected(); err != nil {
		e.Disjoint = err.Error()
	}
	r.after(e.Plan+e.Verify, func() error { return r.tell(e) })
	return nil
}

// exchange makes the turn continue when an exchange that begins now has ended.
func (r *replayer) exchange() {
	if !r.stopped {
		r.turn.due = r.after(r.o.Times.Exchange, r.ended(r.turn, r.planned+1))
	}
}

// ended is the end of an exchange of a turn: the last on the old plan, or the first on the new one.
func (r *replayer) ended(t *turn, number int) func() error {
	return func() error {
		if r.turn != t || t.due != number {
			return nil // it stood still in between
		}
		if t.lastOld == 0 {
			t.lastOld, r.plan = r.now, r.made[t.id]
			r.exchange()
			return nil
		}
		r.turn = nil
		r.timeline.switches++
		return r.tell(failover.Switched{ID: t.id, Switch: failover.Switch{LastOld: t.lastOld, FirstNew: r.now}})
	}
}

// look starts a new interval where the state has changed.
func (r *replayer) look() {
	switch hole := r.hole(); {
	case hole && !r.stopped:
		r.stopped, r.since = true, r.now
		if r.turn != nil {
			r.turn.due = 0
		}
	case r.stopped && !hole:
		if again := r.retry(); again == r.now {
			r.stopped = false
			if r.turn != nil {
				r.exchange()
			}
		} else {
			r.at(again, func() error { return nil }) // to look again
		}
	}
	if s := (State{r.stopped, r.plan.name, r.tables.name}); s != r.state {
		r.cut()
		r.state = s
	}
	r.watch()
}

func (r *replayer) watch() {
	avoided := func(l topology.Link) bool { return r.down[l] == 0 && (r.tables.has[l] || r.plan.has[l]) }
	for l, since := range r.unused {
		if !avoided(l) {
			r.timeline.unused.add(l, r.now-since)
			delete(r.unused, l)
		}
	}
	for _, s := range []set{r.tables, r.plan} {
		for l := range s.has {
			if _, known := r.unused[l]; !known && avoided(l) {
				r.unused[l] = r.now
			}
		}
	}
}

func (u *unused) add(l topology.Link, d time.Duration) {
	u.links[l] = true
	u.times++
	u.total += d
	u.longest = max(u.longest, d)
}

func (r *replayer) cut() {
	if r.now > r.begun {
		r.timeline.Intervals = append(r.timeline.Intervals, Interval{r.begun, r.now - r.begun, r.state})
	}
	r.begun = r.now
}

// hole reports whether messages are lost: over a dead link that the tables do not avoid, or without
// any path.
func (r *replayer) hole() bool {
	if r.apart {
		return true
	}
	for l := range r.down {
		if !r.tables.has[l] {
			return true
		}
	}
	return false
}

// longestRetry is TCP's longest wait between two attempts.
const longestRetry = 2 * time.Minute

func (r *replayer) retry() time.Duration {
	at, wait := r.since, r.o.Times.retransmit
	if wait <= 0 {
		return r.now
	}
	for at < r.now || at == r.since {
		at += wait
		wait = min(2*wait, longestRetry)
	}
	return at
}

type options struct {
	Tree  *topology.Tree // without dead links
	Times Times
	// Hold is how long a link must have stayed up before it is used again, for the holding policy.
	// 0 means failover.DefaultHold.
	Hold time.Duration
}

func (o options) machine(p failover.Policy) failover.Options {
	m := p.Options(o.Tree, o.Hold)
	m.Debounce, m.Wait = o.Times.Debounce, true
	return m
}

// A Dead is a set of links, their names in order of leaf and spine, separated by spaces.
type Dead string

func deadOf(links []topology.Link) Dead {
	sorted := slices.Clone(links)
	slices.SortFunc(sorted, topology.Link.Compare)
	return Dead(strings.Join(lists.Map(slices.Compact(sorted), topology.Link.String), " "))
}

// Without returns the tree without the links of the set.
func (d Dead) Without(t *topology.Tree) (*topology.Tree, error) {
	var dead []topology.Link
	for _, name := range strings.Fields(string(d)) {
		links, err := t.Links(name)
		if err != nil {
			return nil, err
		}
		dead = append(dead, links...)
	}
	return t.Without(dead...)
}

func subset(a, b Dead) bool {
	if a == "" || a == b {
		return true
	}
	other := strings.Fields(string(b))
	return !slices.ContainsFunc(strings.Fields(string(a)), func(name string) bool { return !slices.Contains(other, name) })
}
