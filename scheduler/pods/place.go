package pods

import (
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/slots"
)

// A placer places the messages that a table leaves without a top switch: on any plane in any
// phase where their leaves, links and top switches are free, and in added phases.
type placer struct {
	f        *fattree.Tree
	t        *table
	dest     []int32 // leaf to which a link carries a message, or none, by phase·links + link
	origin   []int32 // likewise, from which
	sends    []int32 // slots by phase·leaves + leaf that leave it, those within included
	receives []int32
}

// An unplaced is a slot of the table whose message has no place.
type unplaced struct {
	slot int32
	a, b int
}

// place writes the phases into the slots of the table and places the messages that do not fit. It
// returns false where messages are left and no phase can be added, because a phase for messages to
// self comes last.
func (t *table) place() bool {
	t.write()
	if t.bad() == 0 {
		return true
	}
	p := t.occupy()
	left := p.takeOut()
	if len(left) > 0 && t.b.Phases < t.f.Busiest() {
		return false
	}
	for _, m := range left {
		p.settleIn(m)
	}
	return true
}

func (t *table) write() {
	for phase := range t.b.Phases {
		for _, e := range t.out[phase*t.nodes : (phase+1)*t.nodes] {
			if t.slot[e] != none {
				t.b.Slots[t.slot[e]] = t.b.Slots[t.slot[e]].In(int32(phase))
			}
		}
	}
}

func (t *table) occupy() *placer {
	p := &placer{f: t.f, t: t}
	for range t.b.Phases {
		p.grow()
	}
	for phase := range t.b.Phases {
		for u := range t.nodes {
			e := t.out[phase*t.nodes+u]
			if t.slot[e] == none {
				continue
			}
			l, m := t.linkOf[t.from[e]], t.linkOf[t.to[e]]
			if a, b := int(l)/t.f.Spines, int(m)/t.f.Spines; a != b {
				p.occupyLink(phase, a, b, int(l)%t.f.Spines)
			}
		}
	}
	for a, n := range t.f.N {
		for _, x := range t.b.Slots[t.b.Block(a, a):][:n*n] {
			if x.Phase() < t.b.Phases {
				p.sends[x.Phase()*t.f.Leaves+a]++
				p.receives[x.Phase()*t.f.Leaves+a]++
			}
		}
	}
	return p
}

func (p *placer) grow() {
	for range len(p.f.Alive) {
		p.dest, p.origin = append(p.dest, none), append(p.origin, none)
	}
	for range p.f.Leaves {
		p.sends, p.receives = append(p.sends, 0), append(p.receives, 0)
	}
}

func (p *placer) occupyLink(phase, a, b, k int) {
	p.dest[phase*len(p.f.Alive)+p.f.Link(a, k)] = int32(b)
	p.origin[phase*len(p.f.Alive)+p.f.Link(b, k)] = int32(a)
	p.sends[phase*p.f.Leaves+a]++
	p.receives[phase*p.f.Leaves+b]++
}

func (p *placer) vacate(phase, a, b, k int) {
	p.dest[phase*len(p.f.Alive)+p.f.Link(a, k)] = none
	p.origin[phase*len(p.f.Alive)+p.f.Link(b, k)] = none
	p.sends[phase*p.f.Leaves+a]--
	p.receives[phase*p.f.Leaves+b]--
}

// paint colours a phase of a plane with top switches, from the occupied links, and
// returns how many messages are left without.
func (p *placer) paint(phase, k, steps int) int {
	f := p.f
	p.t.colorer.Start(f.Pods, f.Pods, f.Tops)
	for a := range p.f.Leaves {
		if b := p.dest[phase*len(p.f.Alive)+p.f.Link(a, k)]; b != none && f.Pod[a] != f.Pod[b] {
			p.t.colorer.Add(f.Pod[a], f.Pod[b], f.Shared[f.Between(f.Pod[a], f.Pod[b], k)])
		}
	}
	return p.t.colorer.Run(steps)
}

// topSteps is the effort of the last look at a phase and plane. Writing the top switches down
// colours the same graph with the same effort.
const topSteps = 300

// takeOut takes messages out of phases and planes whose top switches do not suffice until they do.
func (p *placer) takeOut() []unplaced {
	var out []unplaced
	for phase := range p.t.b.Phases {
		for k, need := range p.t.need {
			for need && p.t.cost[phase*p.f.Spines+k] > 0 && p.paint(phase, k, topSteps) > 0 {
				out = append(out, p.takeOutFrom(phase, k)...)
			}
		}
	}
	return out
}

// takeOutFrom removes the messages that the last paint left uncoloured.
func (p *placer) takeOutFrom(phase, k int) []unplaced {
	var out []unplaced
	e := int32(0)
	for a := range p.f.Leaves {
		b := p.dest[phase*len(p.f.Alive)+p.f.Link(a, k)]
		if b == none || p.f.Pod[a] == p.f.Pod[b] {
			continue
		}
		if p.t.colorer.Color(e) == none {
			out = append(out, unplaced{p.t.slot[p.t.out[phase*p.t.nodes+int(p.t.node[p.f.Link(a, k)])]], a, int(b)})
			p.vacate(phase, a, int(b), k)
		}
		e++
	}
	return out
}

// settleIn finds a place for a message. An empty added phase takes every message, as each has a
// path.
func (p *placer) settleIn(m unplaced) {
	for phase := 0; ; phase++ {
		if phase == p.t.b.Phases {
			p.t.b.Phases++
			p.grow()
		}
		if int(p.sends[phase*p.f.Leaves+m.a]) == p.f.N[m.a] || int(p.receives[phase*p.f.Leaves+m.b]) == p.f.N[m.b] {
			continue
		}
		for k := range p.f.Spines {
			if p.try(phase, m, k) {
				return
			}
		}
	}
}

func (p *placer) try(phase int, m unplaced, k int) bool {
	at := phase * len(p.f.Alive)
	if !p.f.Usable(m.a, m.b, k) || p.dest[at+p.f.Link(m.a, k)] != none || p.origin[at+p.f.Link(m.b, k)] != none {
		return false
	}
	p.occupyLink(phase, m.a, m.b, k)
	if p.f.Pod[m.a] != p.f.Pod[m.b] && p.paint(phase, k, 0) > 0 {
		p.vacate(phase, m.a, m.b, k)
		return false
	}
	p.t.b.Slots[m.slot] = slots.Make(phase, k)
	return true
}
