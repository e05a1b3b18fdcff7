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

// A Kinds is the fabrics of this machine by their word in a scenario; main hands them in.
type Kinds map[string]Here

// Of returns the fabric of a scenario on this machine.
func (k Kinds) Of(s *scenario.Scenario) Here { return k[s.Fabric.Kind] }

// Info is what a scenario says of its fabric.
func Info(f scenario.Fabric) results.Fabric {
	return results.Fabric{Kind: f.Kind, RateBitPerSec: int64(f.Rate), MTU: f.MTU, Factor: scenario.Factor(f.MTU)}
}

// LinkCount is the traffic of a direction of a cable, by its name.
func LinkCount(t *topology.Live, w topology.Wire, bytes, packets, drops uint64) results.LinkCount {
	link, direction := t.WireName(w)
	return results.LinkCount{Link: link, Direction: direction, Bytes: bytes, Packets: packets, Drops: drops}
}

// A LinkChange is an observed change of links.
type LinkChange struct {
	Links []topology.Link
	Up    bool
	At    time.Time
}

func (c LinkChange) tell(ctx context.Context, events chan<- failover.LinkEvent) {
	for _, l := range c.Links {
		for _, leaf := range []bool{true, false} {
			select {
			case events <- failover.LinkEvent{Link: l, Leaf: leaf, Up: c.Up, Seen: c.At}:
			case <-ctx.Done():
			}
		}
	}
}

// A SelfHealing network re-routes by itself: it only tells of changes.
type SelfHealing struct{ Changes <-chan LinkChange }

func (n SelfHealing) Watch(ctx context.Context, events chan<- failover.LinkEvent) error {
	for {
		select {
		case c := <-n.Changes:
			c.tell(ctx, events)
		case <-ctx.Done():
			return nil
		}
	}
}

func (SelfHealing) Aid(context.Context, *topology.Tree) (int, error) { return 0, nil }

func (SelfHealing) Install(context.Context, *plan.Plan) (int, error) { return 0, nil }

func (SelfHealing) Clean(context.Context, *plan.Plan) (int, error) { return 0, nil }
