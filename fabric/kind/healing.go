package kind

import (
	"context"
	"time"

	"evbench/failover"
	"evbench/plan"
	"evbench/topology"
)

// A linkChange is what has happened to links, whoever has watched it.
type linkChange struct {
	links []topology.Link
	up    bool
	at    time.Time
}

// tell sends what both ends of the links say.
func (c linkChange) tell(ctx context.Context, events chan<- failover.LinkEvent) {
	for _, l := range c.links {
		for _, leaf := range []bool{true, false} {
			select {
			case events <- failover.LinkEvent{Link: l, Leaf: leaf, Up: c.up, Seen: c.at}:
			case <-ctx.Done():
			}
		}
	}
}

// selfHealing is a network that needs nobody to change its routes.
type selfHealing struct{ changes <-chan linkChange }

// Watch implements loop.Network.
func (n selfHealing) Watch(ctx context.Context, events chan<- failover.LinkEvent) error {
	for {
		select {
		case c := <-n.changes:
			c.tell(ctx, events)
		case <-ctx.Done():
			return nil
		}
	}
}

// Aid implements loop.Network.
func (selfHealing) Aid(context.Context, *topology.Tree) (int, error) { return 0, nil }

// Install implements loop.Network.
func (selfHealing) Install(context.Context, *plan.Plan) (int, error) { return 0, nil }

// Clean implements loop.Network.
func (selfHealing) Clean(context.Context, *plan.Plan) (int, error) { return 0, nil }
