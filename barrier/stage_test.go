package barrier_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"evbench/barrier"
	"evbench/testing/expect"
)

// A stage plays a series of barriers by hand: the test chooses which rank enters and which signal is delivered
// next. Signals of one ordered pair keep their order; nothing else does.
type stage struct {
	t      *testing.T
	kind   string
	rounds int
	script [][]barrier.Step // of one barrier, by rank

	in     []int    // barriers entered, by rank
	pc     []int    // steps done, over all barriers
	flying [][]byte // [src·n+dst] the barriers whose signals are under way
	landed [][]byte // … delivered and not yet awaited
}

func newStage(t *testing.T, kind string, n, rounds int) *stage {
	t.Helper()
	s := &stage{t: t, kind: kind, rounds: rounds, in: make([]int, n), pc: make([]int, n)}
	for r := range n {
		s.script = append(s.script, steps(t, kind, r, n))
	}
	s.flying, s.landed = make([][]byte, n*n), make([][]byte, n*n)
	return s
}

func (s *stage) n() int { return len(s.in) }

// left returns how many barriers a rank has been through.
func (s *stage) left(r int) int {
	if len(s.script[r]) == 0 {
		return s.in[r]
	}
	return s.pc[r] / len(s.script[r])
}

// A move is a rank entering its next barrier, or, from n on, the delivery of the next signal of a pair.
func (s *stage) moves() []int {
	var out []int
	for r := range s.n() {
		if s.in[r] < s.rounds && s.left(r) == s.in[r] {
			out = append(out, r)
		}
	}
	for pair, q := range s.flying {
		if len(q) > 0 {
			out = append(out, s.n()+pair)
		}
	}
	return out
}

func (s *stage) do(m int) {
	if m < s.n() {
		s.in[m]++
		s.run(m)
		return
	}
	pair := m - s.n()
	s.landed[pair] = append(slices.Clone(s.landed[pair]), s.flying[pair][0])
	s.flying[pair] = s.flying[pair][1:]
	s.run(pair % s.n())
}

// run takes a rank as far as it can go, and holds what it does against the
// promise: nobody leaves before all have entered.
func (s *stage) run(r int) {
	n, script := s.n(), s.script[r]
	for s.left(r) < s.in[r] {
		step, seq := script[s.pc[r]%len(script)], byte(s.left(r)+1)
		if step.Send {
			pair := r*n + step.Peer
			s.flying[pair] = append(slices.Clone(s.flying[pair]), seq)
		} else {
			pair := step.Peer*n + r
			if len(s.landed[pair]) == 0 {
				return
			}
			got := s.landed[pair][0]
			expect.MustTrue(s.t, got == seq, "%s n=%d: rank %d in barrier %d got a signal of %d", s.kind, n, r, seq, got)
			s.landed[pair] = s.landed[pair][1:]
		}
		s.pc[r]++
	}
	for other := range n {
		if s.in[other] < s.left(r) {
			s.t.Fatalf("%s n=%d: rank %d left barrier %d before rank %d came", s.kind, n, r, s.left(r), other)
		}
	}
}

// checkEnd wants everybody through and no signal left over.
func (s *stage) checkEnd() {
	for r := range s.n() {
		if s.left(r) != s.rounds {
			s.t.Fatalf("%s n=%d: rank %d is stuck after %d of %d barriers", s.kind, s.n(), r, s.left(r), s.rounds)
		}
	}
	for pair := range s.landed {
		if len(s.landed[pair])+len(s.flying[pair]) > 0 {
			s.t.Fatalf("%s n=%d: a signal from %d to %d is left over", s.kind, s.n(), pair/s.n(), pair%s.n())
		}
	}
}

func (s *stage) clone() *stage {
	c := *s
	c.in, c.pc = slices.Clone(s.in), slices.Clone(s.pc)
	c.flying, c.landed = slices.Clone(s.flying), slices.Clone(s.landed)
	return &c
}

func (s *stage) key() string {
	var b bytes.Buffer
	fmt.Fprint(&b, s.in, s.pc, s.flying, s.landed)
	return b.String()
}

// chain returns the longest chain of signals when all enter at once and every signal takes as long as any other.
func (s *stage) chain() int {
	for r := range s.n() {
		s.in[r]++
	}
	for r := range s.n() {
		s.run(r)
	}
	for ticks := 0; ; ticks++ {
		moves := s.moves()
		if len(moves) == 0 {
			return ticks
		}
		for _, m := range moves {
			s.do(m)
		}
	}
}
