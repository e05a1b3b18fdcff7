package worker

import (
	"context"
	"errors"
	"fmt"

	"evbench/barrier"
	"evbench/controller/wire"
)

// A gate is the worker's barrier. It remembers which rank's signal it awaits, so that the error of
// a stuck barrier names a server.
type gate struct {
	barrier.Peer
	b       *barrier.Barrier // nil: the transport has its own barrier
	own     func(ctx context.Context) error
	waiting int // rank, or -1
}

func newGate(c wire.Configure, conns *Connections) (*gate, error) {
	if conns.Signals == nil {
		return nil, errors.New("barrier: no connections for it were opened")
	}
	if c.Barrier == wire.BarrierMPI {
		if conns.Barrier == nil {
			return nil, fmt.Errorf("barrier: the transport of this case has none of its own; %s needs transport mpi", c.Barrier)
		}
		return &gate{own: conns.Barrier, waiting: -1}, nil
	}
	b, err := barrier.New(c.Barrier, c.Rank, len(c.Peers))
	if err != nil {
		return nil, fmt.Errorf("barrier: %w", err)
	}
	return &gate{b: b, Peer: conns.Signals, waiting: -1}, nil
}

func (g *gate) wait(ctx context.Context) error {
	if g.own != nil {
		return g.own(ctx)
	}
	return g.b.Wait(ctx, g)
}

func (g *gate) awaited() []int {
	if g.waiting < 0 {
		return nil
	}
	return []int{g.waiting}
}

// Await implements barrier.Peer.
func (g *gate) Await(ctx context.Context, from int, seq uint64) error {
	g.waiting = from
	err := g.Peer.Await(ctx, from, seq)
	if err == nil {
		g.waiting = -1
	}
	return err
}
