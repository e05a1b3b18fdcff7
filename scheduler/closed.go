package scheduler

import (
	"fmt"

	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/phases"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// ForsClosed returns a contention-free schedule with a spine for every message between leaves, in
// closed form, for a full tree whose failures reduce the bandwidth of every leaf alike (uniform);
// any other is an error. With q = M1-1 and w the spines that are alive at every leaf, at most M0,
// it has max(S-1, ⌈M0²·q/w⌉) phases, the fewest possible. It completes thesis 6.3: all servers
// shift at the same place of one line (see Published). O(S²), with lift O(S²·log S).
//
// The messages of a leaf stand in that line, n = 0..M0²·q-1; each phase takes the next w:
//
//	phase       ⌊n/w⌋
//	source      slot n mod M0
//	destination slot (n + ⌊n/(M0·q)⌋) mod M0, on the leaf that is
//	            1 + (n + [g>1]·⌊n/L⌋) mod q leaves further on
//	spine       the one at n mod w of those that are alive everywhere
//
// with L = lcm(M0, q) and g = gcd(M0, q). Messages within a leaf, missing in the thesis,
// go where both ends are idle (f = M0-w > ⌊M0/M1⌋), or in M0-1 phases at the end
// (f = 0). Between the two the leaves, phases and spines are kept and the servers chosen by
// two edge colourings, as FORS does.
func ForsClosed(t *topology.Tree, o Options) (*Schedule, error) {
	const name = schedules.FORSClosed
	live, err := uniform(&t.Live)
	if err != nil {
		return nil, fmt.Errorf("schedule %s: %w", name, err)
	}
	p := newPattern(t.Shape, len(live))
	if err := p.check(t); err != nil {
		return nil, fmt.Errorf("schedule %s: %w", name, err)
	}
	p.fillLine()
	if !p.within() {
		return p.filled(name, t, live, o), nil
	}
	return p.schedule(name, t.Shape, func(_ int, h transfer) int { return live[h.line] }), nil
}

// fillLine fills the pattern with the line of a leaf's messages for other leaves.
func (p *pattern) fillLine() {
	part := p.m0 * p.q
	p.transfers = make([]transfer, 0, p.m0*part+p.m0*p.m0)
	for n := range p.m0 * part {
		at := n
		if p.g() > 1 {
			at += n / p.cycle()
		}
		p.transfers = append(p.transfers, transfer{phase: n / p.w, src: n % p.m0, step: 1 + at%p.q, dst: (n + n/part) % p.m0, line: n % p.w})
	}
}

// within adds the messages within a leaf to a line, or reports that they do not fit.
func (p *pattern) within() bool {
	switch {
	case p.f() == 0:
		for d := 1; d < p.m0; d++ {
			for a := range p.m0 {
				p.transfers = append(p.transfers, transfer{phase: p.phases, src: a, dst: (a + d) % p.m0})
			}
			p.phases++
		}
		return true
	case p.roomy():
		return p.shifts(p.idle())
	}
	return false
}

// shifts gives each message from slot α to slot α+δ the first phase in part δ of the line in which
// both are idle. All f > ⌊M0/M1⌋ with M0 and M1 in 2..24 have such a phase; a proof is missing.
func (p *pattern) shifts(s *occupied) bool {
	part := p.m0 * p.q
	for d := 1; d < p.m0; d++ {
		last := ((d+1)*part - 1) / p.w
		for a := range p.m0 {
			b, phase := (a+d)%p.m0, d*part/p.w
			for phase <= last && !s.free(phase, a, b) {
				phase++
			}
			if phase > last {
				return false
			}
			s.put(phase, a, b)
			p.transfers = append(p.transfers, transfer{phase: phase, src: a, dst: b})
		}
	}
	return true
}

// An occupied says which slots of a leaf send and receive in which phase: 0 is idle, busy is a message
// between leaves, and m+1 the message within the leaf from slot m/M0 to slot m mod M0.
type occupied struct {
	m0         int
	send, recv []int32 // by phase·m0 + slot
}

const busy = -1

func (p *pattern) idle() *occupied {
	s := &occupied{p.m0, make([]int32, p.phases*p.m0), make([]int32, p.phases*p.m0)}
	for _, h := range p.transfers {
		s.send[h.phase*p.m0+h.src], s.recv[h.phase*p.m0+h.dst] = busy, busy
	}
	return s
}

func (s *occupied) free(phase, a, b int) bool {
	return s.send[phase*s.m0+a] == 0 && s.recv[phase*s.m0+b] == 0
}

func (s *occupied) put(phase, a, b int) {
	m := int32(a*s.m0+b) + 1
	s.send[phase*s.m0+a], s.recv[phase*s.m0+b] = m, m
}

// filled keeps the leaves, phases and spines of a line. It fills every phase up with messages
// within each leaf and chooses the servers anew. It needs max(S-1, phases of the line): S-1 phases
// have n(n-1) places for messages within a leaf, and lift removes the self messages.
func (p *pattern) filled(name string, t *topology.Tree, live []int, o Options) *Schedule {
	f := fattree.New(t)
	f.Part()
	out := slots.New(t.Servers(), max(t.Servers()-1, p.phases))
	b := phases.NewBlocks(f, out.Phases, out.Slots)
	for leaf := range f.Leaves {
		next := make([]int, f.Leaves) // slot of the block of each destination leaf
		for to := range next {
			next[to] = b.Block(leaf, to)
		}
		for _, h := range p.transfers {
			to := (leaf + h.step) % f.Leaves
			out.Slots[next[to]] = slots.Make(h.phase, live[h.line])
			next[to]++
		}
		p.rest(b, leaf)
	}
	b.Lift(o)
	return newSchedule(name, out, true)
}

// rest fills the block of a leaf with itself: the idle places of all phases, and the phase that
// lift adds for self messages.
func (p *pattern) rest(t *phases.Blocks, leaf int) {
	leaving := make([]int, t.Phases+1)
	for _, h := range p.transfers {
		leaving[h.phase]++
	}
	if t.Selves(leaf) == 0 {
		leaving[t.Phases] = p.m0 // no such phase
	}
	at, end := t.Block(leaf, leaf), t.Block(leaf, leaf)+p.m0*p.m0
	for phase, n := range leaving {
		for range min(p.m0-n, end-at) {
			t.Slots[at] = slots.Make(phase, None)
			at++
		}
	}
}
