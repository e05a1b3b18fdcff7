package survey

import (
	"evbench/scheduler"
	"evbench/topology"
)

// A counter holds how many messages of each phase leave and enter each leaf,
// whichever is more: all that the count model asks of a schedule.
type counter struct {
	leaves   int
	external []uint8 // [phase·leaves + leaf]
}

// newCounter counts the messages between leaves. O(S²).
func newCounter(s *scheduler.Schedule, t *topology.Tree) *counter {
	n := t.Leaves()
	c := &counter{leaves: n, external: make([]uint8, s.Phases*n)}
	in := make([]uint8, s.Phases*n) // at most M0 ≤ 254 of each in a phase
	leaf := t.LeafOfRanks()
	for src, a := range leaf {
		for dst, b := range leaf {
			if a != b && s.Meets(src, dst) {
				p, _ := s.At(src, dst)
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
// each of its live links,
//
//	Σ over phases of max over leaves l of ⌈external(p,l) / live(l)⌉.
//
// The listing prints ⌊ ⌋, the text ⌈ ⌉; only the latter makes sense. A phase in
// which all talk within their leaf costs nothing. It is the best that any routing
// could do at the leaves; what meets inside the spines it does not see.
func (c *counter) duration(t *topology.Tree) int {
	live := make([]int, c.leaves)
	for l := range live {
		live[l] = max(1, len(t.AliveSpines(l)))
	}
	sum, most := 0, 0
	for i, n := range c.external {
		l := i % c.leaves
		if l == 0 {
			sum, most = sum+most, 0
		}
		most = max(most, ceilDiv(int(n), live[l]))
	}
	return sum + most
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
