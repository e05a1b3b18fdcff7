// Package open opens the fabric of a scenario, and says how its workers start and join: as threads
// or processes of this machine, as ranks started by mpirun or srun, on hosts reached by ssh, or by
// other means. Of ranks, one is the controller and the others are the servers, in order of rank. A
// lab may also be kept up without a run, one for each user.
//
// A fabric is opened last, after all checks of the input.
package open

import (
	"context"
	"time"

	"evbench/fabric"
	"evbench/failover"
	"evbench/plan"
	"evbench/results"
	"evbench/scenario"
	"evbench/topology"
)

// An Opener makes the fabric of a run.
type Opener func(ctx context.Context, s *scenario.Scenario) (fabric.Fabric, error)

// Here is what a run knows of a kind of fabric that it opens itself, on this machine.
type Here struct {
	Open Opener
	// Check refuses what the fabric cannot do for the servers of this machine; nil: nothing.
	Check func(*scenario.Scenario) error
	// Namespaces says that the process enters namespaces of its own first.
	Namespaces bool
	// Workers is the launcher of a scenario's workers, before the fabric is open; Joining: they have limits of their own.
	Workers func(*scenario.Scenario) fabric.Launcher
}

// here are the fabrics of this machine by their word in a scenario. Each registers itself where it stands.
var here = map[string]Here{}

// Of returns the fabric of a scenario on this machine.
func Of(s *scenario.Scenario) Here { return here[s.Fabric.Kind] }

func info(f scenario.Fabric) results.Fabric {
	return results.Fabric{Kind: f.Kind, RateBitPerSec: int64(f.Rate), MTU: f.MTU, Factor: scenario.Factor(f.MTU)}
}

func linkCount(t *topology.Tree, w topology.Wire, bytes, packets, drops uint64) results.LinkCount {
	link, direction := t.WireName(w)
	return results.LinkCount{Link: link, Direction: direction, Bytes: bytes, Packets: packets, Drops: drops}
}

// A linkChange is an observed change of links.
type linkChange struct {
	links []topology.Link
	up    bool
	at    time.Time
}

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

type selfHealing struct{ changes <-chan linkChange }

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

func (selfHealing) Aid(context.Context, *topology.Tree) (int, error) { return 0, nil }

func (selfHealing) Install(context.Context, *plan.Plan) (int, error) { return 0, nil }

func (selfHealing) Clean(context.Context, *plan.Plan) (int, error) { return 0, nil }
