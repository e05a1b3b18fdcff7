package failover

import (
	"fmt"
	"slices"
	"time"

	"evbench/topology"
)

// A Machine is the state machine. The zero value is not usable.
//
// It is driven by levels, not by edges: after every event it compares what is in place
// with what should be, and asks for the next step (decide.go). So an answer that comes
// late, fails or belongs to a change that is over needs no case of its own.
type Machine struct {
	o       Options
	now     time.Duration
	links   links
	records []Record
	open    int // the first record that is not Done
	over    bool

	cur   change
	use   inUse
	burst burst

	// The routes: what is in place since the last action about them was answered, and
	// the one under way. stale: since it was asked for, links have done what may have
	// cost routes.
	place place
	busy  Action
	then  place // what busy leads to
	stale bool

	looking bool // links are being read before the run ends
	certain bool // they have been, in this call, and servers have no path

	rising []topology.Link // of which an end came up in this call

	// Which dead links messages wait for, in words, and since when.
	waits string
	since time.Duration

	// The workers: which change they are told, and which they have been told but have
	// not come to yet; 0: none.
	updating  change
	switching int

	wake   time.Duration // when the next step is due,
	waking bool          // if one is
}

// A change is the newest change of what is alive, and how far it has come.
type change struct {
	id       int
	dead     []topology.Link
	disjoint string        // no plan is possible
	endAt    time.Duration // when that ends the run, unless it waits
	planAt   time.Duration // end of the debounce
	asked    bool          // a plan is being made
	planned  bool          // and there
	gaveUp   bool
	aid      tries
	step     tries // plan, install, update
	clean    tries
}

// tries count what has failed in a row.
type tries struct {
	failed int
	at     time.Duration // when the next may begin
}

// inUse is the plan that the workers have.
type inUse struct {
	dead   []topology.Link // it is for these
	unsure bool            // some may have another
}

// A burst is a row of changes that are too close for a plan between them.
type burst struct {
	on    bool
	begin time.Duration
}

// longest is how many debounces a burst can put off planning.
const longest = 4

// A place is what the routes are for.
type place struct {
	kind  kind
	id    int             // of the change whose plan is installed
	dead  []topology.Link // no route leads over these
	apart bool            // tables do not connect all servers, for some could not be
}

type kind int

const (
	clean     kind = iota // the routes of the plan in use, and no others
	aided                 // tables and detours
	installed             // those of a plan beside those of the plan in use
	unknown               // an action has failed
)

// New returns the machine for a plan that is in use.
func New(o Options) *Machine {
	o.attempts = max(1, o.attempts)
	dead := o.Tree.Dead()
	m := &Machine{o: o, links: newLinks(o.Tree, o.hold), cur: change{dead: dead}, use: inUse{dead: dead}, place: place{dead: dead}}
	if !o.replan && o.Aid {
		m.place.kind = aided // tables are all there is, and those in place are good
	}
	return m
}

// Handle takes what has happened by now, which is not before the last call, and returns
// what is to be done. Link events that wait together are handed over together where that
// is possible: a switch that dies is then one change, with one first aid.
func (m *Machine) Handle(now time.Duration, events ...Event) []Action {
	m.now = max(m.now, now)
	for _, e := range events {
		m.take(e)
	}
	if !m.over {
		m.halves()
		m.renew()
	}
	var out []Action
	switch {
	case m.over:
	case m.parts() && m.certain:
		m.over = true
		out = []Action{Stop{Reason: m.reason()}}
	default:
		out = append(m.allow(), m.decide()...)
		if m.parts() && !m.looking && m.due(m.cur.endAt) {
			m.looking = true
			out = append(out, Look{})
		}
	}
	m.certain = false
	m.finish()
	return out
}

func (m *Machine) take(e Event) {
	switch e := e.(type) {
	case End:
		m.end(e)
	case Aided:
		m.aided(e)
	case Planned:
		m.planned(e)
	case Installed:
		m.installed(e)
	case Updated:
		m.updated(e)
	case Switched:
		m.switched(e)
	case Cleaned:
		m.cleaned(e)
	case Looked:
		m.looked(e)
	case WorkerLost:
		m.over = true
	case Tick:
	}
}

// end notes what an end of a link says, and what it may mean for the routes in place: the
// kernel deletes a node's routes over an interface that goes down, revives parts of
// routes when one end is up again, and restores none; and both can come after the first
// end has been heard, and routes written.
func (m *Machine) end(e End) {
	if m.over {
		return
	}
	unused := slices.Contains(m.cur.dead, e.Link)
	if !m.links.note(m.now, e) {
		return
	}
	m.cur.hurry(m.now)
	switch calm := m.place.kind == clean && m.busy == nil; {
	case e.Reread:
		m.stale = true
	case unused && calm:
		// No route in place leads over this link.
	case !e.Up:
		m.stale = true
	case unused:
		m.rising = append(m.rising, e.Link)
	}
}

// halves notes which links have come up at one end only.
func (m *Machine) halves() {
	for _, l := range m.rising {
		m.stale = m.stale || m.links.dead(m.links.tree.LinkID(l))
	}
	m.rising = nil
}

func (c *change) hurry(now time.Duration) {
	c.aid, c.clean = tries{at: now}, tries{at: now}
	c.step.at = min(c.step.at, now)
}

// renew begins a new change if what is used is no longer what it was.
func (m *Machine) renew() {
	dead, held := m.links.used(m.now)
	if slices.Equal(dead, m.cur.dead) {
		return
	}
	m.supersede()
	apart := disjoint(m.links.without(dead))
	m.records = append(m.records, Record{
		ID: len(m.records) + 1, Down: topology.Minus(dead, m.cur.dead), Up: topology.Minus(m.cur.dead, dead), Dead: dead, Held: held,
		Seen: m.now, Disjoint: apart,
	})
	endAt := m.now + parted
	if m.o.Wait {
		endAt = m.now + m.o.Limit
	}
	if m.cur.disjoint != "" {
		endAt = m.cur.endAt
	}
	m.cur = change{id: len(m.records), dead: dead, disjoint: apart, endAt: endAt, planAt: m.debounced()}
}

// parted is for how long servers must be without a path before links are read again, and
// that ends a run. Ends of different nodes are not heard in the order of what happened: one
// link may be heard to die before another is heard to be back, which takes the kernel up to
// a second to say.
const parted = 50 * time.Millisecond

// parts reports whether servers have no path to each other, which is to end the run.
func (m *Machine) parts() bool { return m.cur.disjoint != "" && (!m.o.Wait || m.o.Limit > 0) }

// allow says that messages may wait for links: as long as they are dead, and then for as
// long again. TCP tries again after twice as long each time.
func (m *Machine) allow() []Action {
	why, was := m.waitsFor(), m.waits
	if why == was || m.o.Limit == 0 {
		return nil
	}
	if m.waits = why; was == "" {
		m.since = m.now
	}
	if why == "" {
		return []Action{Allow{m.now - m.since, ""}}
	}
	return []Action{Allow{max(0, m.since+m.o.Limit-m.now), why}}
}

func (m *Machine) reason() string {
	if !m.o.Wait {
		return m.cur.disjoint
	}
	return fmt.Sprintf("%s; no way is back after %v", m.cur.disjoint, m.o.Limit)
}

// waitsFor says which links messages wait for now: all ways between some servers are dead, or
// nothing is done about dead links. It is empty where there are others.
func (m *Machine) waitsFor() string {
	switch dead := topology.Minus(m.cur.dead, m.o.Tree.Dead()); {
	case m.cur.disjoint != "":
		return m.cur.disjoint
	case !m.o.Aid && !m.o.replan && len(dead) > 0:
		return fmt.Sprintf("nothing leads around links that are dead: %s", some(m.o.Tree.LinkNames(dead), 16, ", "))
	}
	return ""
}

// debounced returns when planning begins for a change that begins now. A storm of changes
// does not put it off for ever.
func (m *Machine) debounced() time.Duration {
	most := longest * m.o.Debounce
	if !m.burst.on || m.now > m.burst.begin+most {
		m.burst = burst{on: true, begin: m.now}
	}
	return min(m.now+m.o.Debounce, m.burst.begin+most)
}

// Wake returns when the machine wants to see a Tick, if it does.
func (m *Machine) Wake() (at time.Duration, ok bool) {
	if m.over {
		return 0, false
	}
	at, ok = m.links.next(m.now)
	if m.waking && (!ok || m.wake < at) {
		return m.wake, true
	}
	return at, ok
}

// idle reports whether nothing is under way and nothing is due, but for links held out.
// A plan that is being made for a change that is over does not count.
func (m *Machine) idle() bool {
	if m.over {
		return m.busy == nil
	}
	planning := m.cur.asked && !m.fits()
	return m.busy == nil && !planning && m.updating.id == 0 && m.switching == 0 && !m.waking
}

// Records returns what was done so far, by ID. The caller must not change it.
func (m *Machine) Records() []Record { return m.records }
