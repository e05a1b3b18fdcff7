package failover

import (
	"fmt"
	"slices"
	"time"

	"evbench/topology"
)

// record returns the record of an ID. What concerns no change is noted nowhere.
func (m *Machine) record(id int) *Record {
	if id < 1 || id > len(m.records) {
		return &Record{}
	}
	return &m.records[id-1]
}

// free takes the answer to the action about routes that is under way, if it is that, and
// notes what is in place now.
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
func (m *Machine) first(t *time.Duration) {
	if *t == 0 {
		*t = m.now
	}
}

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

// count counts what came of an attempt for the present change, and notes a failure of any.
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
	case m.fits(): // by what the workers have said meanwhile
	case e.Disjoint != "":
		if !m.o.Wait {
			m.cur.endAt = m.now // waiting changes nothing, only other links do
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

// looked ends the run where the links are as they were heard, or servers have no path by what
// has been read. Otherwise what is still to be heard mends it.
func (m *Machine) looked(e Looked) {
	m.looking = false
	slices.SortFunc(e.Dead, topology.Link.Compare)
	if e.Err == nil && !slices.Equal(e.Dead, m.links.heard()) && disjoint(m.links.without(e.Dead)) == "" {
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
		// They had it, and nobody knows what became of it.
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
	m.use, m.switching = inUse{dead: told.dead}, e.ID
	r.Updated, r.Switch.From = m.now, e.From
}

func (m *Machine) switched(e Switched) {
	if e.ID == 0 || e.ID != m.switching {
		return
	}
	m.switching = 0
	m.record(e.ID).Switch = e.Switch
}

// supersede marks the record before a new change, unless its plan is in use or on its way.
func (m *Machine) supersede() {
	r := m.record(m.cur.id)
	r.Superseded = !r.Done && !m.came(*r) && m.updating.id != r.ID
}

// came reports whether what a change asks for is in use.
func (m *Machine) came(r Record) bool {
	return r.Updated > 0 || r.Cleaned > 0 || !m.o.replan && r.Aided > 0
}

func (m *Machine) finish() {
	for ; m.open < len(m.records); m.open++ {
		r := &m.records[m.open]
		if m.over && m.busy == nil || !m.over && m.through(r.ID) {
			r.Done = true
			continue
		}
		return
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
