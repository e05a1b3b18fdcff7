// Package barrier says in which order ranks signal each other, so that no rank leaves a phase
// before all ranks have reached its end.
//
// Steps is a pure function: for a kind, a rank and a number of ranks, it lists the signals to send
// and to await. Barrier walks that list over a Peer, which carries the signals. The package owns no
// socket, clock or goroutine. Ranks are 0..n-1, and n is 1 or more.
//
// The thesis (4.3.1) compares the central and the tournament barrier and uses
// the tournament.
package barrier

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"evbench/internal/lists"
)

// The kinds of barrier.
const (
	Tournament    = "tournament"
	Central       = "central"
	Dissemination = "dissemination"
	MPI           = "mpi" // MPI_Barrier of the transport: it has no Steps and is not in Kinds
)

// The forms of the tournament in which the last two tell each other, and their word takes a wider tree
// than the signals up, or reaches all of a half from one of them.
const (
	Wide   = "tournament-wide"
	Direct = "tournament-direct"
)

// Kinds returns the names of all kinds, the default first.
func Kinds() []string { return []string{Tournament, Central, Dissemination} }

// Forms returns all that Steps knows: the kinds and the forms of the tournament.
func Forms() []string { return append(Kinds(), Wide, Direct) }

// FormOf returns the form of a kind for ranks that have a processor each, or share processors. Where
// they share, a signal costs as much as its sender's processor time, and the tree up serves down. A
// rank with a processor of its own sends its next signal while the last one is on its way.
func FormOf(kind string, own bool) string {
	if kind == Tournament && own {
		return Wide
	}
	return kind
}

// A Step is one signal: sent to Peer if Send is set, else awaited from Peer.
type Step struct {
	Send bool
	Peer int
}

// Steps returns the signals of a rank in one barrier, in order. An ordered pair of ranks has at
// most one signal. The longest chain of signals is at most 2·⌈log2 n⌉ for the tournament, ⌈log2 n⌉ + 1
// for its direct form (1 for two ranks), between these for the wide one, 2 for central (but n-1 signals meet at rank 0
// twice), and ⌈log2 n⌉ for dissemination, which sends n signals in each round.
func Steps(kind string, rank, n int) ([]Step, error) {
	if n < 1 || rank < 0 || rank >= n {
		return nil, fmt.Errorf("barrier of %d ranks has no rank %d", n, rank)
	}
	switch kind {
	case Tournament:
		return tournament(rank, n, 1), nil
	case Wide:
		return tournament(rank, n, wideLag), nil
	case Direct:
		return tournament(rank, n, n), nil
	case Central:
		return central(rank, n), nil
	case Dissemination:
		return dissemination(rank, n), nil
	}
	return nil, fmt.Errorf("no barrier %q; there are %s", kind, strings.Join(Forms(), ", "))
}

// tournament implements Hensgen, Finkel and Manber (1988), with fixed winners: in round k the rank
// that is a multiple of 2^(k+1) wins over the rank 2^k above it. A loser signals its winner and
// waits. The champion, rank 0, knows that all ranks have arrived, and releases them down the same
// tree. A rank without an opponent in a round (n is not a power of two) skips that round. Where lag is
// above 1, the two ranks of the last round signal each other at once, and each releases its own half
// down the tree of release: a step less in a row, and as many signals.
func tournament(rank, n, lag int) []Step {
	var up, down []Step
	half := 0 // the lower rank of the upper half, which loses the last round
	for d := 1; d < n; d *= 2 {
		half = d
		if rank%(2*d) == d {
			up = append(up, Step{true, rank - d}, Step{false, rank - d})
		} else if loser := rank + d; rank%d == 0 && loser < n {
			up = append(up, Step{false, loser})
			down = append(down, Step{true, loser})
		}
	}
	if lag == 1 || n == 1 {
		slices.Reverse(down) // the widest subtree first: its release takes the most steps
		return append(up, down...)
	}
	base, size := 0, half
	if rank >= half {
		base, size = half, n-half
	}
	from, to := release(rank-base, size, lag)
	switch rank {
	case 0:
		up = slices.Insert(up, len(up)-1, Step{true, half})
	case half:
	default:
		up[len(up)-1].Peer = base + from
	}
	for _, r := range to {
		up = append(up, Step{true, base + r})
	}
	return up
}

// wideLag is the lag of the wide form, a low one: where signals are really slower, it is still better
// than the binary tree, and where they are not, hardly worse.
const wideLag = 2

// release returns who tells a rank that all have arrived, and whom the rank tells, so that the last of
// n ranks hears first if a rank sends one signal a step and each is on its way for lag steps: the
// postal model of Bar-Noy and Kipnis (1992). With lag n-1 or more, rank 0 tells all. O(n²).
func release(rank, n, lag int) (from int, to []int) {
	arrives := []int{lag} // by rank that has heard: when its next signal arrives
	for r := 1; r < n; r++ {
		teller := slices.Index(arrives, slices.Min(arrives))
		if r == rank {
			from = teller
		}
		if teller == rank {
			to = append(to, r)
		}
		arrives = append(arrives, arrives[teller]+lag)
		arrives[teller]++
	}
	return from, to
}

// central has rank 0 wait for a signal from every other rank and then signal every other rank.
func central(rank, n int) []Step {
	if rank != 0 {
		return []Step{{true, 0}, {false, 0}}
	}
	var steps []Step
	for r := 1; r < n; r++ {
		steps = append(steps, Step{false, r})
	}
	for r := 1; r < n; r++ {
		steps = append(steps, Step{true, r})
	}
	return steps
}

// In round k of dissemination each rank signals the rank 2^k above it and awaits the rank 2^k below
// it, modulo n.
func dissemination(rank, n int) []Step {
	var steps []Step
	for d := 1; d < n; d *= 2 {
		steps = append(steps, Step{true, (rank + d) % n}, Step{false, (rank + n - d) % n})
	}
	return steps
}

// Partners returns the ranks that a rank exchanges signals with, rising. The relation is symmetric,
// so each pair can open one connection beforehand.
func Partners(kind string, rank, n int) ([]int, error) {
	steps, err := Steps(kind, rank, n)
	if err != nil {
		return nil, err
	}
	out := lists.Map(steps, func(s Step) int { return s.Peer })
	slices.Sort(out)
	return slices.Compact(out), nil
}

// A Peer carries the signals of one rank. Signals between an ordered pair of
// ranks arrive in the order sent, each once. Both methods return when ctx ends.
type Peer interface {
	// Signal sends seq to a rank. It does not wait for that rank.
	Signal(ctx context.Context, to int, seq uint64) error
	// Await takes the next signal from a rank. A signal other than seq is an error.
	Await(ctx context.Context, from int, seq uint64) error
}

// A Barrier is one rank's part in a series of barriers.
type Barrier struct {
	steps []Step
	seq   uint64
}

func New(kind string, rank, n int) (*Barrier, error) {
	steps, err := Steps(kind, rank, n)
	if err != nil {
		return nil, err
	}
	return &Barrier{steps: steps}, nil
}

// Wait returns once all n ranks have called it equally often. After an error the series is over,
// because the progress of the other ranks is unknown.
func (b *Barrier) Wait(ctx context.Context, p Peer) error {
	b.seq++
	for _, s := range b.steps {
		if s.Send {
			if err := p.Signal(ctx, s.Peer, b.seq); err != nil {
				return fmt.Errorf("barrier %d: signal rank %d: %w", b.seq, s.Peer, err)
			}
		} else if err := p.Await(ctx, s.Peer, b.seq); err != nil {
			return fmt.Errorf("barrier %d: await rank %d: %w", b.seq, s.Peer, err)
		}
	}
	return nil
}
