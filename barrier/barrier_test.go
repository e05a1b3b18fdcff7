package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"evbench/barrier"
	"evbench/testing/expect"
)

func TestStepsOfTournament(t *testing.T) {
	send := func(p int) barrier.Step { return barrier.Step{Send: true, Peer: p} }
	await := func(p int) barrier.Step { return barrier.Step{Peer: p} }
	// Six ranks: 0 beats 1, 2 beats 3, 4 beats 5; 0 beats 2; 0 beats 4.
	want := [][]barrier.Step{
		{await(1), await(2), await(4), send(4), send(2), send(1)},
		{send(0), await(0)},
		{await(3), send(0), await(0), send(3)},
		{send(2), await(2)},
		{await(5), send(0), await(0), send(5)},
		{send(4), await(4)},
	}
	for r, w := range want {
		expect.Equal(t, steps(t, barrier.Tournament, r, 6), w, "rank %d", r)
	}
}

func TestPartnersAreMutual(t *testing.T) {
	for _, kind := range barrier.Forms() {
		for n := 1; n <= 40; n++ {
			for r := range n {
				ps := expect.Value(barrier.Partners(kind, r, n))(t)
				expect.True(t, !slices.Contains(ps, r) && slices.IsSorted(ps), "%s n=%d: partners of %d are %v", kind, n, r, ps)
				for _, p := range ps {
					back, _ := barrier.Partners(kind, p, n)
					expect.True(t, slices.Contains(back, r), "%s n=%d: %d has partner %d, but not the other way", kind, n, r, p)
				}
			}
		}
	}
}

func TestBadArguments(t *testing.T) {
	for _, c := range []struct {
		kind    string
		rank, n int
	}{{"knockout", 0, 2}, {barrier.Central, 2, 2}, {barrier.Central, -1, 2}, {barrier.Central, 0, 0}} {
		expect.True(t, expect.Err(barrier.New(c.kind, c.rank, c.n)) != nil, "New(%q, %d, %d) gave no error", c.kind, c.rank, c.n)
		expect.True(t, expect.Err(barrier.Partners(c.kind, c.rank, c.n)) != nil, "Partners(%q, %d, %d) gave no error", c.kind, c.rank, c.n)
	}
}

// TestEveryOrder delivers the signals of two barriers in a row in every order that the network could choose.
func TestEveryOrder(t *testing.T) {
	for _, kind := range barrier.Forms() {
		for n := 1; n <= 5; n++ {
			s := newStage(t, kind, n, 1+min(1, 4/n)) // five ranks: one barrier
			seen := map[string]bool{}
			var explore func(*stage)
			explore = func(s *stage) {
				if key := s.key(); seen[key] {
					return
				} else {
					seen[key] = true
				}
				moves := s.moves()
				if len(moves) == 0 {
					s.checkEnd()
				}
				for _, m := range moves {
					next := s.clone()
					next.do(m)
					explore(next)
				}
			}
			explore(s)
		}
	}
}

// TestManyOrders takes seeded random orders where all are too many.
func TestManyOrders(t *testing.T) {
	for _, kind := range barrier.Forms() {
		for _, n := range []int{6, 7, 8, 9, 13, 16, 17, 24, 33} {
			for seed := range uint64(5) {
				rng := rand.New(rand.NewPCG(seed, uint64(n)))
				s := newStage(t, kind, n, 3)
				for {
					moves := s.moves()
					if len(moves) == 0 {
						break
					}
					s.do(moves[rng.IntN(len(moves))])
				}
				s.checkEnd()
			}
		}
	}
}

// TestChain compares the longest chain of signals with the formulas. A tournament of other sizes than
// powers of two may lack its last loser's losers.
func TestChain(t *testing.T) {
	for n := 1; n <= 70; n++ {
		rounds := bits.Len(uint(n - 1))
		for kind, want := range map[string]int{
			barrier.Tournament: 2 * rounds, barrier.Direct: rounds + min(1, rounds/2), barrier.Central: min(2, 2*rounds), barrier.Dissemination: rounds,
		} {
			got := newStage(t, kind, n, 1).chain()
			exact := kind == barrier.Central || kind == barrier.Dissemination || n&(n-1) == 0
			expect.False(t, got > want || exact && got != want, "%s n=%d: a chain of %d signals, want %d", kind, n, got, want)
		}
		wide := newStage(t, barrier.Wide, n, 1).chain()
		expect.True(t, rounds <= wide && wide <= max(0, 2*rounds-1), "n=%d: a chain of %d signals where the tree down is wide", n, wide)
	}
}

// TestReleaseIsFastest holds each form's tree down, for all n from 1 to 70, against the postal model: n ranks (of the wide and the
// direct form: those of the larger half) can have heard
// after t steps where heard(t) ≥ n, heard(t) = heard(t-1) + heard(t-lag), and 1 before the first signal arrives.
func TestReleaseIsFastest(t *testing.T) {
	for n := 1; n <= 70; n++ {
		for form, lag := range map[string]int{barrier.Tournament: 1, barrier.Wide: 2, barrier.Direct: n} {
			var heard func(t int) int
			known := map[int]int{}
			heard = func(t int) int {
				if t < lag {
					return 1
				}
				if known[t] == 0 {
					known[t] = heard(t-1) + heard(t-lag)
				}
				return known[t]
			}
			want, tellers := 0, map[int]int{0: 0}
			if form == barrier.Tournament {
				for heard(want) < n {
					want++
				}
			} else { // the last two know at once
				half := 1 << max(0, bits.Len(uint(n-1))-1)
				if tellers[half%n] = 0; n > 1 {
					for heard(want) < half {
						want++
					}
				}
			}
			got := released(t, form, n, lag, tellers)
			exact := form != barrier.Tournament || n&(n-1) == 0
			expect.False(t, got < want || exact && got != want, "%s n=%d: the last rank hears after %d steps, the first possible is %d", form, n, got, want)
		}
	}
}

// released plays the signals down, which are those from a rank to a higher one, step by step and returns when the last rank hears.
// The ranks of at have heard from the start.
func released(t *testing.T, form string, n, lag int, at map[int]int) (last int) {
	first := maps.Clone(at)
	for again := true; again; {
		again = false
		for r := range n {
			now, has := at[r]
			if !has {
				continue
			}
			for _, s := range steps(t, form, r, n) {
				if _, knows := first[s.Peer]; knows || !s.Send || s.Peer < r {
					continue
				}
				if _, told := at[s.Peer]; !told {
					at[s.Peer], again = now+lag, true
					last = max(last, now+lag)
				}
				now++
			}
		}
	}
	expect.MustTrue(t, len(at) == n, "%s n=%d: only %d ranks hear", form, n, len(at))
	return last
}

func TestFormOf(t *testing.T) {
	for _, own := range []bool{false, true} {
		for _, kind := range append(barrier.Kinds(), barrier.MPI) {
			want := kind
			if own && kind == barrier.Tournament {
				want = barrier.Wide
			}
			expect.Equal(t, barrier.FormOf(kind, own), want, "form of %s, own processors %v", kind, own)
		}
	}
}

// wires is a Peer over channels that remembers who has entered.
type wires struct {
	rank, n int
	c       [][]chan uint64
}

func (w wires) Signal(ctx context.Context, to int, seq uint64) error {
	select {
	case w.c[w.rank][to] <- seq:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errSeq = errors.New("out of step")

func (w wires) Await(ctx context.Context, from int, seq uint64) error {
	select {
	case got := <-w.c[from][w.rank]:
		if got != seq {
			return fmt.Errorf("%w: got %d, want %d", errSeq, got, seq)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newWires(n int) [][]chan uint64 {
	c := make([][]chan uint64, n)
	for i := range c {
		for range n {
			c[i] = append(c[i], make(chan uint64, 2))
		}
	}
	return c
}

// TestWaitHoldsBack: while one rank is missing, and all that can run has run, nobody has left.
func TestWaitHoldsBack(t *testing.T) {
	for _, kind := range barrier.Forms() {
		for _, n := range []int{2, 3, 7, 8} {
			for missing := range n {
				synctest.Test(t, func(t *testing.T) { holdsBack(t, kind, n, missing) })
			}
		}
	}
}

func holdsBack(t *testing.T, kind string, n, missing int) {
	c := newWires(n)
	left := make(chan error, n)
	enter := func(r int) {
		b, err := barrier.New(kind, r, n)
		if err == nil {
			err = b.Wait(t.Context(), wires{r, n, c})
		}
		left <- err
	}
	for r := range n {
		if r != missing {
			go enter(r)
		}
	}
	synctest.Wait()
	expect.True(t, len(left) == 0, "%s: %d of %d left before rank %d came", kind, len(left), n, missing)
	enter(missing)
	for range n {
		expect.OK(t, <-left, "%s", kind)
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	b := expect.Value(barrier.New(barrier.Tournament, 1, 2))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := newWires(2)
	c[1][0] = nil // not even the signal can go
	expect.Is(t, b.Wait(ctx, wires{1, 2, c}), context.Canceled)
}

func TestWaitReportsAStrangeSignal(t *testing.T) {
	b := expect.Value(barrier.New(barrier.Central, 1, 2))(t)
	c := newWires(2)
	c[0][1] <- 7
	expect.Is(t, b.Wait(t.Context(), wires{1, 2, c}), errSeq)
}

func steps(t *testing.T, kind string, rank, n int) []barrier.Step {
	t.Helper()
	s := expect.Value(barrier.Steps(kind, rank, n))(t)
	return s
}
