package scheduler

// A podPlacer places the messages that a podTable leaves without a top switch: on any plane in any
// phase where their leaves, links and top switches are free, and in added phases.
type podPlacer struct {
	f        *fabric
	t        *podTable
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
func (t *podTable) place() bool {
	t.write()
	if t.bad() == 0 {
		return true
	}
	p := t.occupy()
	left := p.takeOut()
	if len(left) > 0 && t.b.phases < t.f.busiest() {
		return false
	}
	for _, m := range left {
		p.settleIn(m)
	}
	return true
}

func (t *podTable) write() {
	for phase := range t.b.phases {
		for _, e := range t.out[phase*t.nodes : (phase+1)*t.nodes] {
			if t.slot[e] != none {
				t.b.slots[t.slot[e]] = t.b.slots[t.slot[e]].in(int32(phase))
			}
		}
	}
}

func (t *podTable) occupy() *podPlacer {
	p := &podPlacer{f: t.f, t: t}
	for range t.b.phases {
		p.grow()
	}
	for phase := range t.b.phases {
		for u := range t.nodes {
			e := t.out[phase*t.nodes+u]
			if t.slot[e] == none {
				continue
			}
			l, m := t.linkOf[t.from[e]], t.linkOf[t.to[e]]
			if a, b := int(l)/t.f.spines, int(m)/t.f.spines; a != b {
				p.occupyLink(phase, a, b, int(l)%t.f.spines)
			}
		}
	}
	for a, n := range t.f.n {
		for _, x := range t.b.slots[t.b.block(a, a):][:n*n] {
			if x.phase() < t.b.phases {
				p.sends[x.phase()*t.f.leaves+a]++
				p.receives[x.phase()*t.f.leaves+a]++
			}
		}
	}
	return p
}

func (p *podPlacer) grow() {
	for range len(p.f.alive) {
		p.dest, p.origin = append(p.dest, none), append(p.origin, none)
	}
	for range p.f.leaves {
		p.sends, p.receives = append(p.sends, 0), append(p.receives, 0)
	}
}

func (p *podPlacer) occupyLink(phase, a, b, k int) {
	p.dest[phase*len(p.f.alive)+p.f.link(a, k)] = int32(b)
	p.origin[phase*len(p.f.alive)+p.f.link(b, k)] = int32(a)
	p.sends[phase*p.f.leaves+a]++
	p.receives[phase*p.f.leaves+b]++
}

func (p *podPlacer) vacate(phase, a, b, k int) {
	p.dest[phase*len(p.f.alive)+p.f.link(a, k)] = none
	p.origin[phase*len(p.f.alive)+p.f.link(b, k)] = none
	p.sends[phase*p.f.leaves+a]--
	p.receives[phase*p.f.leaves+b]--
}

// paint colours a phase of a plane with top switches, from the occupied links, and
// returns how many messages are left without.
func (p *podPlacer) paint(phase, k, steps int) int {
	f := p.f
	p.t.colorer.Start(f.pods, f.pods, f.tops)
	for a := range p.f.leaves {
		if b := p.dest[phase*len(p.f.alive)+p.f.link(a, k)]; b != none && f.pod[a] != f.pod[b] {
			p.t.colorer.Add(f.pod[a], f.pod[b], f.shared[f.between(f.pod[a], f.pod[b], k)])
		}
	}
	return p.t.colorer.Run(steps)
}

// topSteps is the effort of the last look at a phase and plane. Writing the top switches down
// colours the same graph with the same effort.
const topSteps = 300

// takeOut takes messages out of phases and planes whose top switches do not suffice until they do.
func (p *podPlacer) takeOut() []unplaced {
	var out []unplaced
	for phase := range p.t.b.phases {
		for k, need := range p.t.need {
			for need && p.t.cost[phase*p.f.spines+k] > 0 && p.paint(phase, k, topSteps) > 0 {
				out = append(out, p.takeOutFrom(phase, k)...)
			}
		}
	}
	return out
}

// takeOutFrom removes the messages that the last paint left uncoloured.
func (p *podPlacer) takeOutFrom(phase, k int) []unplaced {
	var out []unplaced
	e := int32(0)
	for a := range p.f.leaves {
		b := p.dest[phase*len(p.f.alive)+p.f.link(a, k)]
		if b == none || p.f.pod[a] == p.f.pod[b] {
			continue
		}
		if p.t.colorer.Color(e) == none {
			out = append(out, unplaced{p.t.slot[p.t.out[phase*p.t.nodes+int(p.t.node[p.f.link(a, k)])]], a, int(b)})
			p.vacate(phase, a, int(b), k)
		}
		e++
	}
	return out
}

// settleIn finds a place for a message. An empty added phase takes every message, as each has a
// path.
func (p *podPlacer) settleIn(m unplaced) {
	for phase := 0; ; phase++ {
		if phase == p.t.b.phases {
			p.t.b.phases++
			p.grow()
		}
		if int(p.sends[phase*p.f.leaves+m.a]) == p.f.n[m.a] || int(p.receives[phase*p.f.leaves+m.b]) == p.f.n[m.b] {
			continue
		}
		for k := range p.f.spines {
			if p.try(phase, m, k) {
				return
			}
		}
	}
}

func (p *podPlacer) try(phase int, m unplaced, k int) bool {
	at := phase * len(p.f.alive)
	if !p.f.usable(m.a, m.b, k) || p.dest[at+p.f.link(m.a, k)] != none || p.origin[at+p.f.link(m.b, k)] != none {
		return false
	}
	p.occupyLink(phase, m.a, m.b, k)
	if p.f.pod[m.a] != p.f.pod[m.b] && p.paint(phase, k, 0) > 0 {
		p.vacate(phase, m.a, m.b, k)
		return false
	}
	p.t.b.slots[m.slot] = makeSlot(phase, k)
	return true
}
