package failover

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"evbench/topology"
)

func (m *Machine) decide() []Action {
	m.waking = false
	var out []Action
	if m.busy == nil {
		if a := m.routes(); a != nil {
			m.busy, m.then, m.stale = a, m.leads(a), false
			out = append(out, a)
		}
	}
	if m.needPlan() {
		m.cur.asked, m.burst.on = true, false
		out = append(out, MakePlan{m.cur.id, slices.Clone(m.cur.dead)})
	}
	if id := m.holds(); id != m.holding {
		m.holding = id
		out = append(out, Hold{id})
	}
	if m.needUpdate() {
		m.updating, m.holding = m.cur, 0
		out = append(out, Update{m.cur.id})
	}
	return out
}

// routes returns the action about routes that is due now, or nil.
func (m *Machine) routes() Action {
	switch {
	case !m.o.replan && !m.o.Aid && !m.fits():
		m.place.kind = unknown // routes deleted by the kernel are missing when the links are back
		return nil
	case !m.o.replan && m.o.Aid:
		return m.aidIf(m.stale || !m.aidedFor())
	case !m.fits():
		return m.towards()
	case m.updating.id != 0 || m.switching != 0:
		return m.keep()
	default:
		return m.cleanUp()
	}
}

// leads returns the routes in place once an action has been done.
func (m *Machine) leads(a Action) place {
	switch a.(type) {
	case Aid:
		return place{kind: aided, dead: m.cur.dead, apart: m.cur.disjoint != ""}
	case Install:
		return place{kind: installed, id: m.cur.id, dead: m.cur.dead}
	default:
		return place{kind: clean, dead: m.use.dead}
	}
}

// fits reports whether the plan in use, or the one being changed to, is for the links alive now.
func (m *Machine) fits() bool {
	if m.updating.id != 0 {
		return slices.Equal(m.cur.dead, m.updating.dead) && m.cur.tables == m.updating.tables
	}
	return !m.use.unsure && slices.Equal(m.cur.dead, m.use.dead) && m.cur.tables == m.use.tables
}

// towards leads to the plan for the links alive now: first aid, then its routes.
func (m *Machine) towards() Action {
	if m.needAid() {
		return m.aidIf(true)
	}
	if m.installedNow() && !m.stale || !m.mayInstall() {
		return nil
	}
	if !m.installedNow() {
		m.record(m.cur.id).Attempts++
	}
	return Install{m.cur.id}
}

// mayInstall reports whether the routes of the plan may be written now. That repairs what is missing, too.
func (m *Machine) mayInstall() bool { return !m.hopeless() && m.cur.planned && m.may(&m.cur.step) }

// needAid reports whether the routes in place are unusable until a plan arrives, or for good if
// none will. If links only came back the routes are usable: a plan will use those links.
func (m *Machine) needAid() bool {
	switch p := m.place; {
	case p.kind == unknown:
		return true // undo a half-done action, whatever the options
	case m.hopeless() && p.kind == installed:
		return true
	case !m.o.Aid:
		return false
	case m.hopeless():
		return m.stale || !m.aidedFor()
	case m.installedNow():
		return false // another Install repairs it
	default:
		return m.stale && (m.cur.step.failed > 0 || !m.mayInstall()) || p.apart || !m.covered()
	}
}

// keep maintains the routes in place until the workers have adopted the new plan.
func (m *Machine) keep() Action {
	if m.installedNow() && m.stale && m.may(&m.cur.step) {
		return Install{m.cur.id}
	}
	return m.aidIf(m.place.kind == unknown || m.o.Aid && (m.stale || m.place.apart || !m.covered()))
}

func (m *Machine) cleanUp() Action {
	if m.place.kind == clean && !m.stale || !m.may(&m.cur.clean) {
		return nil
	}
	return Clean{m.cur.id}
}

func (m *Machine) aidIf(needed bool) Action {
	if !needed || !m.may(&m.cur.aid) {
		return nil
	}
	return Aid{m.cur.id, slices.Clone(m.cur.dead)}
}

func (m *Machine) needPlan() bool {
	c := &m.cur
	return m.o.replan && !m.fits() && !m.hopeless() && !c.asked && !c.planned && m.may(&c.step) && m.due(c.planAt)
}

// needUpdate reports whether to update the workers now. An update cannot be taken back; the next
// begins when the workers have adopted the plan of the last one.
func (m *Machine) needUpdate() bool {
	ready := m.busy == nil && m.installedNow() && m.updating.id == 0 && m.switching == 0
	return ready && !m.fits() && !m.hopeless() && m.may(&m.cur.step)
}

// holds returns the change whose plan the workers are to have at hand, or 0. First aid, for messages
// under way, comes before that. After a failed attempt, or too long, they go on until its routes are there.
func (m *Machine) holds() int {
	_, aiding := m.busy.(Aid)
	if aiding && m.holding != m.cur.id || m.updating.id != 0 || m.switching != 0 || m.fits() || m.hopeless() || !m.cur.planned || m.cur.step.failed > 0 {
		return 0
	}
	m.cur.holdBy = cmp.Or(m.cur.holdBy, m.now+longestHold)
	if m.due(m.cur.holdBy) {
		return 0
	}
	return m.cur.id
}

// hopeless: no plan will arrive until the state of a link changes.
func (m *Machine) hopeless() bool { return m.cur.gaveUp || m.cur.disjoint != "" }

func (m *Machine) installedNow() bool { return m.place.kind == installed && m.place.id == m.cur.id }

func (m *Machine) aidedFor() bool {
	return m.place.kind == aided && slices.Equal(m.place.dead, m.cur.dead)
}

// covered reports whether no route in place leads over an unused link.
func (m *Machine) covered() bool { return len(topology.Minus(m.cur.dead, m.place.dead)) == 0 }

// may reports whether another attempt may begin, now.
func (m *Machine) may(t *tries) bool { return t.failed < m.o.attempts && m.due(t.at) }

// due reports whether at has passed, and otherwise schedules a wake-up.
func (m *Machine) due(at time.Duration) bool {
	if at <= m.now {
		return true
	}
	if !m.waking || at < m.wake {
		m.wake, m.waking = at, true
	}
	return false
}

// fail counts a failure, and reports whether it was the last attempt.
func (t *tries) fail(now time.Duration, o Options) (last bool) {
	t.failed++
	t.at = now + o.retry
	return t.failed >= o.attempts
}

// record returns the record of an ID; other IDs get a scratch record.
func (m *Machine) record(id int) *Record {
	if id < 1 || id > len(m.records) {
		return &Record{}
	}
	return &m.records[id-1]
}

// free handles the answer to the current action about routes, if it is that, and records the routes
// in place now.
func (m *Machine) free(asked bool, err error) bool {
	if !asked {
		return false
	}
	m.busy, m.place = nil, m.then
	if err != nil {
		m.place = place{kind: unknown}
	}
	return true
}

// first sets a time of a record, unless it happened before.
func (m *Machine) first(t *time.Duration) { *t = cmp.Or(*t, m.now) }

func (m *Machine) aided(e Aided) {
	a, ok := m.busy.(Aid)
	if !m.free(ok && a.ID == e.ID, e.Err) {
		return
	}
	r := m.record(e.ID)
	r.AidRoutes += e.Changed
	if e.Err == nil {
		m.first(&r.Aided)
	}
	m.count(&m.cur.aid, e.ID, "first aid", e.Err)
}

func (m *Machine) installed(e Installed) {
	a, ok := m.busy.(Install)
	if !m.free(ok && a.ID == e.ID, e.Err) {
		return
	}
	r := m.record(e.ID)
	r.InstallRoutes += e.Changed
	if e.Err == nil {
		m.first(&r.Installed)
		return
	}
	m.count(&m.cur.step, e.ID, "install", e.Err)
}

func (m *Machine) cleaned(e Cleaned) {
	a, ok := m.busy.(Clean)
	if !m.free(ok && a.ID == e.ID, e.Err) {
		return
	}
	if e.Err == nil {
		m.first(&m.record(e.ID).Cleaned)
	}
	m.count(&m.cur.clean, e.ID, "clean", e.Err)
}

// count counts the result of an attempt for the present change, and notes a failure of any change.
func (m *Machine) count(t *tries, id int, what string, err error) {
	if err != nil {
		m.record(id).Err = fmt.Sprintf("%s: %v", what, err)
	}
	switch {
	case id != m.cur.id:
	case err == nil:
		*t = tries{}
	case t.fail(m.now, m.o):
		m.cur.gaveUp = true
	}
}

func (m *Machine) planned(e Planned) {
	if m.over || e.ID != m.cur.id || !m.cur.asked {
		return
	}
	m.cur.asked = false
	r := m.record(e.ID)
	switch {
	case m.fits(): // by the workers' reports meanwhile
	case e.Disjoint != "":
		if !m.o.Wait {
			m.cur.endAt = m.now // waiting is useless: only other links can help
		} else if m.cur.disjoint == "" {
			m.cur.endAt = m.now + m.o.Limit
		}
		m.cur.disjoint, r.Disjoint = e.Disjoint, e.Disjoint
	case e.Err != nil:
		m.count(&m.cur.step, e.ID, "plan", e.Err)
	default:
		m.cur.planned = true
		r.Planned, r.Verified = max(r.Seen, m.now-e.Verify), m.now
		r.Source, r.Phases, r.Hash = e.Source, e.Phases, e.Hash
	}
}

// looked ends the run if the links read are as reported, or leave servers without a path. Otherwise
// reports still to arrive resolve it.
func (m *Machine) looked(e Looked) {
	m.looking = false
	slices.SortFunc(e.Dead, topology.Link.Compare)
	if e.Err == nil && !slices.Equal(e.Dead, m.links.heard()) && disjoint(&m.links.without(e.Dead).Live) == "" {
		m.cur.endAt = max(m.cur.endAt, m.now+parted)
		return
	}
	m.certain = true
}

func (m *Machine) updated(e Updated) {
	switch {
	case e.ID != 0 && e.ID == m.updating.id:
		m.toldWorkers(e)
	case e.ID != 0 && e.ID == m.switching && e.Err != nil:
		// They had it, and its state is unknown.
		m.switching, m.use.unsure = 0, true
		m.count(&m.cur.step, e.ID, "update", e.Err)
	}
}

func (m *Machine) toldWorkers(e Updated) {
	told := m.updating
	m.updating = change{}
	r := m.record(e.ID)
	if e.Err != nil {
		r.Superseded = e.ID != m.cur.id
		m.count(&m.cur.step, e.ID, "update", e.Err)
		return
	}
	m.use, m.switching = inUse{dead: told.dead, tables: told.tables}, e.ID
	r.Updated, r.Switch.From = m.now, e.From
}

func (m *Machine) switched(e Switched) {
	if e.ID == 0 || e.ID != m.switching {
		return
	}
	m.switching = 0
	m.record(e.ID).Switch = e.Switch
}

// supersede marks the record before a new change, unless its plan is in use or about to be.
func (m *Machine) supersede() {
	r := m.record(m.cur.id)
	r.Superseded = !r.Done && !m.came(*r) && m.updating.id != r.ID
}

// came reports whether the plan for a change is in use.
func (m *Machine) came(r Record) bool {
	return r.Updated > 0 || r.Cleaned > 0 || !m.o.replan && r.Aided > 0
}

func (m *Machine) finish() {
	over := func(r *Record) bool { return m.over && m.busy == nil || !m.over && m.through(r.ID) }
	for ; m.open < len(m.records) && over(&m.records[m.open]); m.open++ {
		m.records[m.open].Done = true
	}
}

func (m *Machine) through(id int) bool {
	if id == m.cur.id {
		return m.idle()
	}
	return id != m.updating.id && id != m.switching && !m.works(id)
}

func (m *Machine) works(id int) bool {
	switch a := m.busy.(type) {
	case Aid:
		return a.ID == id
	case Install:
		return a.ID == id
	case Clean:
		return a.ID == id
	}
	return false
}
