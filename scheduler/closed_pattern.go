package scheduler

import (
	"fmt"

	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/internal/slots"
	"evbench/topology"
)

// A transfer is one message of a pattern: in a phase, the server in slot src of a
// leaf sends to slot dst of the leaf that is step leaves further on, cyclically.
// Step 0 stays on the leaf. The line is its place among the messages that leave
// the leaf in the phase, modulo w; it decides the spine.
type transfer struct{ phase, src, step, dst, line int }

// A pattern is a schedule of a full tree that looks the same from every leaf: M0 servers on a
// leaf, q = M1-1 other leaves, and w messages that may leave and enter a leaf in a phase, which
// are the spines left, at most M0. As every leaf sends each transfer, the receivers in slot β of
// all leaves are busy in the same phases, and a leaf receives as many messages as it sends.
type pattern struct {
	m0, q, w  int
	phases    int        // of the messages between leaves
	transfers []transfer // by phase, then src
}

// newPattern returns a pattern without hops, for that many spines alive at every
// leaf, at least one unless there is only one leaf.
func newPattern(t *topology.Shape, live int) *pattern {
	p := &pattern{m0: t.Ports(), q: t.Leaves() - 1, w: min(live, t.Ports())}
	if p.q == 0 {
		p.w = p.m0 // a single leaf needs no spine
	}
	p.phases = fattree.CeilDiv(p.m0*p.m0*p.q, p.w)
	return p
}

// f returns the links by which the bandwidth of a leaf is reduced.
func (p *pattern) f() int { return p.m0 - p.w }

// g returns gcd(M0, q), which is M0 for a single leaf.
func (p *pattern) g() int { return gcd(p.m0, p.q) }

// cycle returns lcm(M0, q), after which slots and leaves counted side by side repeat.
func (p *pattern) cycle() int { return p.m0 / p.g() * p.q }

// roomy reports whether f > ⌊M0/M1⌋. Servers are then idle so often that messages within their leaf
// need no phases of their own (thesis 6.3).
func (p *pattern) roomy() bool { return p.f() > p.m0/(p.q+1) }

// schedule writes the pattern down for every leaf of a tree. The spine of a transfer
// between leaves is spine(leaf, transfer). O(S²).
func (p *pattern) schedule(name string, t *topology.Shape, spine func(leaf int, h transfer) int) *Schedule {
	table := slots.New(t.Servers(), p.phases)
	for _, h := range p.transfers {
		for leaf := range t.Leaves() {
			k := None
			if h.step > 0 {
				k = spine(leaf, h)
			}
			src, dst := p.ends(leaf, h)
			table.Slots[src*table.Ranks+dst] = slots.Make(h.phase, k)
		}
	}
	return newSchedule(name, table, true)
}

func (p *pattern) ends(leaf int, h transfer) (src, dst int) {
	return leaf*p.m0 + h.src, (leaf+h.step)%(p.q+1)*p.m0 + h.dst
}

func (p *pattern) check(t *topology.Tree) error {
	if err := fattree.New(t).Check(); err != nil {
		return err
	}
	if most := p.phases + p.m0; most >= slots.MaxPhase {
		return fmt.Errorf("up to %d phases, more than %d", most, slots.MaxPhase)
	}
	return nil
}

// uniform returns the spines that are alive at every leaf of a full tree on which failures cost
// every leaf alike: without each spine that any failure touches, the servers of a leaf keep at
// least the bandwidth of the worst leaf (thesis 6.2). Otherwise the error says why not.
func uniform(t *topology.Live) ([]int, error) {
	if err := t.Connected(); err != nil {
		return nil, err
	}
	if t.Cables() > 1 {
		return nil, fmt.Errorf("needs one cable from a leaf to a spine; %s has %d: use fors", t.Notation(), t.Cables())
	}
	if !t.Full() {
		return nil, fmt.Errorf("needs a server on every port; here are %d of %d: use fors", t.Servers(), t.Ports()*t.Leaves())
	}
	live, least := untouched(t)
	if m0 := t.Ports(); t.Leaves() > 1 && min(len(live), m0) < min(least, m0) {
		return nil, fmt.Errorf("needs a uniform reduction; %d spines have no dead link, but every leaf has %d alive: use fors", len(live), least)
	}
	return live, nil
}

// untouched returns the spines without a dead link, and the fewest live links of a leaf.
func untouched(t *topology.Live) (live []int, least int) {
	dead := make([]int, t.Spines()) // links lost, by spine
	least = t.Spines()
	for l := range t.Leaves() {
		left := 0
		for k := range dead {
			if t.Alive(l, k) {
				left++
			} else {
				dead[k]++
			}
		}
		least = min(least, left)
	}
	for k, n := range dead {
		if n == 0 {
			live = append(live, k)
		}
	}
	return live, least
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
