package survey

import (
	"evbench/scheduler"
	"evbench/topology"
)

// A counter holds how many messages of each phase leave and enter each leaf, or each
// subtree of another level, whichever is more: all that the count model asks of a
// schedule.
type counter struct {
	subtrees int
	external []uint16 // [phase·subtrees + subtree]
	busy     []bool   // by phase: a message leaves some leaf
}

// newCounter counts the messages between n subtrees, of which it is given that of each
// rank, and the leaf. O(S²).
func newCounter(s *scheduler.Schedule, leaf, subtree []int, n int) *counter {
	c := &counter{subtrees: n, external: make([]uint16, s.Phases*n), busy: make([]bool, s.Phases)}
	in := make([]uint16, s.Phases*n)
	for src, a := range subtree {
		for dst, b := range subtree {
			if leaf[src] == leaf[dst] || !s.Meets(src, dst) {
				continue
			}
			p, _ := s.At(src, dst)
			if c.busy[p] = true; a != b {
				c.external[p*n+a]++
				in[p*n+b]++
			}
		}
	}
	for i, n := range in {
		c.external[i] = max(c.external[i], n)
	}
	return c
}

// duration returns the duration of the exchange in message times by thesis 5.3,
// Algorithm 2: a phase lasts as long as the leaf that has the most messages for
// each of its live links, live being those of each leaf,
//
//	Σ over phases of max over leaves l of ⌈external(p,l) / live(l)⌉.
//
// Of other levels the same is said of subtrees, and a phase whose messages only leave
// leaves costs 1: below, all links are alive.
//
// The listing prints ⌊ ⌋, the text ⌈ ⌉; only the latter makes sense. A phase in
// which all talk within their leaf costs nothing. It is the best that any routing
// could do at the leaves; what meets inside the spines it does not see.
func (c *counter) duration(live []int) int {
	sum := 0
	for p, busy := range c.busy {
		most := 0
		if busy {
			most = 1
		}
		for l, n := range c.external[p*c.subtrees:][:c.subtrees] {
			most = max(most, ceilDiv(int(n), live[l]))
		}
		sum += most
	}
	return sum
}

func liveLinks(t *topology.Tree) []int {
	live := make([]int, t.Leaves())
	for l := range live {
		live[l] = max(1, len(t.AliveSpines(l)))
	}
	return live
}

// FaultAdaptivePhases returns the phases, and so the duration, that the thesis
// gives its fault-adaptive schedule (5.4.1, equation 5.1): the larger of S and
// ⌈n·(S-n)/live⌉ over the leaves. With full leaves and a reduction f the latter
// is ⌈M0·(S-M0)/(M0-f)⌉.
func FaultAdaptivePhases(t *topology.Tree) int {
	s := t.Servers()
	most := s
	for l := range t.Leaves() {
		n := t.On(l)
		most = max(most, ceilDiv(n*(s-n), max(1, len(t.AliveSpines(l)))))
	}
	return most
}
