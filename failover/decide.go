package failover

import (
	"evbench/topology"
	"slices"
	"time"
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
	if m.needUpdate() {
		m.updating = m.cur
		out = append(out, Update{m.cur.id})
	}
	return out
}

// routes returns what is to be done about routes now, or nil.
func (m *Machine) routes() Action {
	switch {
	case !m.o.replan && !m.o.Aid && !m.fits():
		m.place.kind = unknown // what the kernel has deleted is missed when the links are back
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

// leads returns what is in place once an action has been done.
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

// fits reports whether the plan in use, or the one that is being changed to, is for what
// is alive.
func (m *Machine) fits() bool {
	if m.updating.id != 0 {
		return slices.Equal(m.cur.dead, m.updating.dead)
	}
	return !m.use.unsure && slices.Equal(m.cur.dead, m.use.dead)
}

// towards leads to the plan for what is alive: first aid, then its routes.
func (m *Machine) towards() Action {
	if m.needAid() {
		return m.aidIf(true)
	}
	if m.hopeless() || !m.cur.planned || m.installedNow() && !m.stale || !m.may(&m.cur.step) {
		return nil
	}
	if !m.installedNow() {
		m.record(m.cur.id).Attempts++
	}
	return Install{m.cur.id}
}

// needAid reports whether the routes in place are no good until a plan comes, or for good
// where none will come. Where links only came back they are: a plan will use those.
func (m *Machine) needAid() bool {
	switch p := m.place; {
	case p.kind == unknown:
		return true // undo what is half there, whatever the options
	case m.hopeless() && p.kind == installed:
		return true
	case !m.o.Aid:
		return false
	case m.hopeless():
		return m.stale || !m.aidedFor()
	case m.installedNow():
		return false // installing again does it
	default:
		return m.stale || p.apart || !m.covered()
	}
}

// keep holds what is in place until the workers have come to the new plan.
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
	if !m.o.replan || m.fits() || m.hopeless() || c.asked || c.planned {
		return false
	}
	return m.may(&c.step) && m.due(c.planAt)
}

// needUpdate reports whether the workers are to be told now. An update cannot be taken
// back, and the next begins when they have come to the plan of the last one.
func (m *Machine) needUpdate() bool {
	ready := m.busy == nil && m.installedNow() && m.updating.id == 0 && m.switching == 0
	return ready && !m.fits() && !m.hopeless() && m.may(&m.cur.step)
}

// hopeless: no plan will come until something happens to a link.
func (m *Machine) hopeless() bool { return m.cur.gaveUp || m.cur.disjoint != "" }

func (m *Machine) installedNow() bool { return m.place.kind == installed && m.place.id == m.cur.id }

func (m *Machine) aidedFor() bool {
	return m.place.kind == aided && slices.Equal(m.place.dead, m.cur.dead)
}

// covered reports whether no route in place leads over a link that is not used.
func (m *Machine) covered() bool { return len(topology.Minus(m.cur.dead, m.place.dead)) == 0 }

// may reports whether another attempt may begin, now.
func (m *Machine) may(t *tries) bool { return t.failed < m.o.attempts && m.due(t.at) }

// due reports whether it is time, and else asks to be woken then.
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
