// Package kind answers which fabric a scenario runs on: the lab, the emulated one or plain
// hosts, each behind the interface that a run asks for.
//
// A fabric is opened last, when everything that can be wrong with the input has been checked.
// Hosts are those of this machine, those that ssh reaches, or those whose workers somebody
// else starts; an injector takes down links of a network that evbench does not control.
package kind

import (
	"context"

	"evbench/fabric"
	"evbench/results"
	"evbench/scenario"
	"evbench/topology"
)

// An Opener makes the fabric of a run.
type Opener func(ctx context.Context, s *scenario.Scenario) (fabric.Fabric, error)

// info is what is known of a fabric from its scenario.
func info(f scenario.Fabric) results.Fabric {
	return results.Fabric{Kind: f.Kind, RateBitPerSec: int64(f.Rate), MTU: f.MTU, Factor: scenario.Factor(f.MTU)}
}

func linkCount(t *topology.Tree, w topology.Wire, bytes, packets, drops uint64) results.LinkCount {
	link, direction := t.WireName(w)
	return results.LinkCount{Link: link, Direction: direction, Bytes: bytes, Packets: packets, Drops: drops}
}
