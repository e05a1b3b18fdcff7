package worker

import (
	"context"

	"evbench/internal/wire"
)

// modeSwitch runs a case that may change the way of building events, or the plan of a way
// without schedule: one loop takes over where another has ended. All share the events
// under construction, the account and the connections.
type modeSwitch struct {
	*loop
	sync   *synchronised // nil: the case is never synchronised
	unsync *unsynchronised
	under  mode // way
}

func newModeSwitch(l *loop) (*modeSwitch, error) {
	g := &modeSwitch{loop: l, unsync: newUnsynchronised(l)}
	if g.under = g.unsync; l.c.Mode == wire.Unsync {
		return g, nil
	}
	var err error
	if g.sync, err = newSynchronised(l); err != nil {
		return nil, err
	}
	g.under = g.sync
	return g, nil
}

func (g *modeSwitch) run(ctx context.Context) error {
	for !g.finish {
		g.under = g.unsync
		if g.plans.at(g.done).mode == wire.Sync {
			g.under = g.sync
		}
		if err := g.under.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (g *modeSwitch) position(err error) wire.Position { return g.under.position(err) }
