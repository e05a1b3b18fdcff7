package failover

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evbench/internal/lists"
	"evbench/topology"
)

// A Machine is the state machine. The zero value is not usable.
//
// It is driven by levels, not by edges: after every event it compares the actual state with the
// desired one, and asks for the next step (decide.go). So an answer that is late, failed or for a
// finished change needs no special case.
type Machine struct {
	o       Options
	now     time.Duration
	links   links
	records []Record
	open    int // the first record that is not Done
	over    bool

	tables int // how often the tables of the network have moved

	cur   change
	use   inUse
	burst burst

	// The routes: place is the state after the last answered action, busy the action under way.
	// stale: since busy was asked for, events of links may have cost routes.
	place place
	busy  Action
	then  place // result of busy
	stale bool

	looking bool // links are being read before the run ends
	certain bool // links were read in this call, and servers have no path

	rising []topology.Link // links with an end that came up in this call

	// The dead links that messages wait for, in words, and since when.
	waits string
	since time.Duration

	// The workers: the change being sent to them, and the one sent but not adopted yet; 0: none.
	updating  change
	switching int
	holding   int // the change whose plan they have at hand, see Hold

	wake   time.Duration // when the next step is due
	waking bool          // a next step is due
}

// A change is the newest change of the live links, and its progress.
type change struct {
	id       int
	dead     []topology.Link
	tables   int           // how often the tables had moved
	disjoint string        // no plan is possible
	endAt    time.Duration // when disjoint ends the run, unless it waits
	planAt   time.Duration // end of the debounce
	asked    bool          // a plan is being made
	planned  bool          // the plan is made
	holdBy   time.Duration // when the workers no longer hold for it; 0: they have not
	gaveUp   bool
	aid      tries
	step     tries // plan, install, update
	clean    tries
}

// tries counts failures in a row.
type tries struct {
	failed int
	at     time.Duration // when the next may begin
}

// inUse is the plan that the workers have.
type inUse struct {
	dead   []topology.Link // the dead links that it is for
	tables int             // and the tables, likewise
	unsure bool            // some workers may have another plan
}

// A burst is a series of changes too close together for a plan between them.
type burst struct {
	on    bool
	begin time.Duration
}

// longest is how many debounces a burst can delay planning.
const longest = 4

// longestHold is how long workers hold while routes are written: longer, exchanges on the plan in use are worth
// more than the way to all workers and back that it saves.
const longestHold = time.Second

// A place describes the routes in place.
type place struct {
	kind  kind
	id    int             // of the change whose plan is installed
	dead  []topology.Link // no route leads over them
	apart bool            // tables do not connect all servers, because some could not be
}

type kind int

const (
	clean     kind = iota // the routes of the plan in use, and no others
	aided                 // tables and detours
	installed             // the routes of a plan beside those of the plan in use
	unknown               // an action has failed
)

// New returns the machine for a plan that is in use.
func New(o Options) *Machine {
	o.attempts = max(1, o.attempts)
	dead := o.Tree.Dead()
	m := &Machine{o: o, links: newLinks(o.Tree, o.hold), cur: change{dead: dead}, use: inUse{dead: dead}, place: place{dead: dead}}
	if !o.replan && o.Aid {
		m.place.kind = aided // only tables exist, and those in place are valid
	}
	return m
}

// Handle takes the events up to now, which is not before the last call, and returns the actions to
// take. Pass pending link events together if possible: a dead switch is then one change, with one
// first aid.
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
	case Moved:
		m.tables++
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

// end records a report of an end of a link, and its possible effect on the routes in place. The
// kernel deletes a node's routes over an interface that goes down, revives parts of routes when one
// end is up again, and restores none. Both can happen after the first end has been reported and
// routes have been written.
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

// renew begins a new change if the set of used links, or the tables, have changed.
func (m *Machine) renew() {
	dead, held := m.links.used(m.now)
	if slices.Equal(dead, m.cur.dead) && m.tables == m.cur.tables {
		return
	}
	m.supersede()
	apart := disjoint(&m.links.without(dead).Live)
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
	m.cur = change{id: len(m.records), dead: dead, tables: m.tables, disjoint: apart, endAt: endAt, planAt: m.debounced()}
}

// parted is how long servers must be without a path before links are read again and the run ends.
// Reports of different nodes may arrive out of order: one link may be reported dead before another
// is reported to be back, which takes the kernel up to a second.
const parted = 50 * time.Millisecond

// parts reports whether servers without a path to each other are to end the run.
func (m *Machine) parts() bool { return m.cur.disjoint != "" && (!m.o.Wait || m.o.Limit > 0) }

// allow permits messages to wait for links: as long as the links are dead, and then as long again.
// TCP doubles the time between its retries.
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

// waitsFor names the links that messages wait for now: if all paths between some servers are dead,
// or the policy does nothing about dead links. Otherwise it is empty.
func (m *Machine) waitsFor() string {
	switch dead := topology.Minus(m.cur.dead, m.o.Tree.Dead()); {
	case m.cur.disjoint != "":
		return m.cur.disjoint
	case !m.o.Aid && !m.o.replan && len(dead) > 0:
		return fmt.Sprintf("nothing leads around links that are dead: %s", some(m.o.Tree.LinkNames(dead), 16, ", "))
	}
	return ""
}

// debounced returns when planning begins for a change that begins now. A storm of changes cannot
// delay it forever.
func (m *Machine) debounced() time.Duration {
	most := longest * m.o.Debounce
	if !m.burst.on || m.now > m.burst.begin+most {
		m.burst = burst{on: true, begin: m.now}
	}
	return min(m.now+m.o.Debounce, m.burst.begin+most)
}

// Wake returns when the machine needs a Tick, if it needs one.
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

// idle reports whether no action is under way or due, except for links held out. Planning for a
// finished change does not count.
func (m *Machine) idle() bool {
	if m.over {
		return m.busy == nil
	}
	planning := m.cur.asked && !m.fits()
	return m.busy == nil && !planning && m.updating.id == 0 && m.switching == 0 && !m.waking
}

// Records returns the records so far, by ID. The caller must not change it.
func (m *Machine) Records() []Record { return m.records }

// links knows the state of both ends of every link between switches, and which links are held out.
type links struct {
	tree *topology.Tree // without dead links
	hold time.Duration
	down [][2]bool       // by link ID: the upper end, the lower
	free []time.Duration // when a live link may be used again
}

func newLinks(t *topology.Tree, hold time.Duration) links {
	n := t.AllLinks()
	l := links{tree: t.Healthy(), hold: hold, down: make([][2]bool, n), free: make([]time.Duration, n)}
	for _, d := range t.Dead() {
		l.down[t.LinkID(d)] = [2]bool{true, true}
	}
	return l
}

func (l *links) dead(id int) bool { return l.down[id][0] || l.down[id][1] }

// note records a report of an end and reports whether it is news: about one of the tree's links,
// and either new or read because events were lost.
func (l *links) note(now time.Duration, e End) (news bool) {
	if !l.tree.Has(e.Link) {
		return false
	}
	id, side := l.tree.LinkID(e.Link), 0
	if e.Leaf {
		side = 1
	}
	was, changed := l.dead(id), l.down[id][side] == e.Up
	l.down[id][side] = !e.Up
	if was && !l.dead(id) {
		l.free[id] = now + l.hold
	}
	return changed || e.Reread
}

// heard returns the links that are dead by the reports of their ends.
func (l *links) heard() (dead []topology.Link) {
	for id := range l.down {
		if l.dead(id) {
			dead = append(dead, l.tree.LinkOf(id))
		}
	}
	return dead
}

// used returns the unused links, and those of them that are up but held out, by leaf and spine. A
// link that servers need to reach each other is never held out.
func (l *links) used(now time.Duration) (dead, held []topology.Link) {
	for id := range l.down {
		link := l.tree.LinkOf(id)
		switch {
		case l.dead(id):
			dead = append(dead, link)
		case now < l.free[id]:
			dead, held = append(dead, link), append(held, link)
		}
	}
	if len(held) > 0 && l.without(dead).Connected() != nil {
		clear(l.free)
		return l.used(now)
	}
	return dead, held
}

func (l *links) next(now time.Duration) (at time.Duration, ok bool) {
	for id, free := range l.free {
		if !l.dead(id) && now < free && (!ok || free < at) {
			at, ok = free, true
		}
	}
	return at, ok
}

func (l *links) without(dead []topology.Link) *topology.Tree {
	t, err := l.tree.Without(dead...)
	if err != nil {
		panic(err) // note admits no others
	}
	return t
}

// disjoint names the servers of a tree that cannot reach each other, and the dead links that cause
// it; it is empty if all can.
func disjoint(t *topology.Live) string {
	if t.Connected() == nil {
		return ""
	}
	pairs := lists.Map(t.Unreachable(), func(p [2]int) string { return fmt.Sprintf("%s and %s", servers(t.Shape, p[0]), servers(t.Shape, p[1])) })
	return fmt.Sprintf("no path between %s: dead are %s", some(pairs, 3, " or "), some(t.DownNames(), 16, ", "))
}

func servers(t *topology.Shape, leaf int) string {
	first, last := t.First(leaf), t.First(leaf+1)-1
	if first == last {
		return fmt.Sprintf("leaf%d (%s)", leaf, t.ServerName(first))
	}
	return fmt.Sprintf("leaf%d (%s to %s)", leaf, t.ServerName(first), t.ServerName(last))
}

// some joins the first names, and adds how many more there are.
func some(names []string, n int, by string) string {
	if len(names) <= n {
		return strings.Join(names, by)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], by), len(names)-n)
}
