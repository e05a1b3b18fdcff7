// Package barrier answers: in which order do ranks signal each other, so that
// nobody leaves a phase before all have reached its end?
//
// Steps is the plain machine: for a kind, a rank and a number of ranks, the
// list of signals to send and to await. Barrier walks that list over a Peer,
// which carries the signals; the package owns no socket, clock or goroutine.
// Ranks are 0..n-1, and n is any number from 1 on.
//
// The thesis (4.3.1) compares the central and the tournament barrier and uses
// the tournament.
package barrier

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// The kinds of barrier.
const (
	Tournament    = "tournament"
	Central       = "central"
	Dissemination = "dissemination"
	MPI           = "mpi" // MPI_Barrier: the transport's own, not made of signals, and none of Kinds
)

// Kinds returns the names of all kinds, the default first.
func Kinds() []string { return []string{Tournament, Central, Dissemination} }

// A Step is one signal to send to Peer, or to await from it, before the next.
type Step struct {
	Send bool
	Peer int
}

// Steps returns what a rank does in one barrier, in order. Between an ordered
// pair of ranks there is at most one signal. The longest chain of signals is
// at most 2·⌈log2 n⌉ for the tournament, 2 for central (but n-1 signals meet at rank 0
// twice), and ⌈log2 n⌉ for dissemination, which sends n signals in each round.
func Steps(kind string, rank, n int) ([]Step, error) {
	if n < 1 || rank < 0 || rank >= n {
		return nil, fmt.Errorf("barrier of %d ranks has no rank %d", n, rank)
	}
	switch kind {
	case Tournament:
		return tournament(rank, n), nil
	case Central:
		return central(rank, n), nil
	case Dissemination:
		return dissemination(rank, n), nil
	}
	return nil, fmt.Errorf("no barrier %q; there are %s", kind, strings.Join(Kinds(), ", "))
}

// tournament is that of Hensgen, Finkel and Manber (1988), with the winners
// known beforehand: in round k the rank that is a multiple of 2^(k+1) wins over
// the one 2^k above it. A loser signals its winner and waits; the champion,
// rank 0, knows that all have come, and the word goes back down the same tree.
// Ranks without an opponent in a round (n is not a power of two) go on.
func tournament(rank, n int) []Step {
	var up, down []Step
	for d := 1; d < n; d *= 2 {
		if rank%(2*d) != 0 {
			winner := Step{Peer: rank - d}
			up = append(up, Step{true, winner.Peer}, winner)
			break
		}
		if loser := rank + d; loser < n {
			up = append(up, Step{false, loser})
			down = append(down, Step{true, loser})
		}
	}
	slices.Reverse(down) // the widest subtree first: it has the longest way to go
	return append(up, down...)
}

// central has rank 0 count everybody in and then send everybody on.
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

// dissemination has, in round k, each rank signal the one 2^k above it and hear
// from the one 2^k below, around the ring.
func dissemination(rank, n int) []Step {
	var steps []Step
	for d := 1; d < n; d *= 2 {
		steps = append(steps, Step{true, (rank + d) % n}, Step{false, (rank + n - d) % n})
	}
	return steps
}

// Partners returns the ranks that a rank exchanges signals with, rising. Being
// partners is mutual, so each pair can open one connection beforehand.
func Partners(kind string, rank, n int) ([]int, error) {
	steps, err := Steps(kind, rank, n)
	if err != nil {
		return nil, err
	}
	var out []int
	for _, s := range steps {
		out = append(out, s.Peer)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// A Peer carries the signals of one rank. Signals between an ordered pair of
// ranks arrive in the order sent, each once. Both methods return when ctx ends.
type Peer interface {
	// Signal sends seq to a rank. It does not wait for that rank.
	Signal(ctx context.Context, to int, seq uint64) error
	// Await takes the next signal from a rank; it is an error if it is not seq.
	Await(ctx context.Context, from int, seq uint64) error
}

// A Barrier is one rank's part in a series of barriers.
type Barrier struct {
	steps []Step
	seq   uint64
}

// New returns the part of a rank.
func New(kind string, rank, n int) (*Barrier, error) {
	steps, err := Steps(kind, rank, n)
	if err != nil {
		return nil, err
	}
	return &Barrier{steps: steps}, nil
}

// Wait returns once all n ranks have called it as often as this one has. After
// an error the series is over: how far the others have come is not known.
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
