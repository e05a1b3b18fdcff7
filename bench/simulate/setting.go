package simulate

import (
	"errors"
	"slices"

	"evbench/bench"
	"evbench/builder"
	"evbench/scenario"
	"evbench/sim"
	"evbench/study/policy"
)

// Setting is the network of a scenario, without dead links, for a log of failures. What its
// servers can take is not limited.
func Setting(s *scenario.Scenario, planned []bench.Planned) (*policy.Setting, error) {
	switch {
	case s.Fabric.Rate == 0:
		return nil, errNoRate
	case s.Tree == nil || s.Tree.Healthy().Connected() != nil:
		return nil, errors.New("topology: a log is replayed on trees of two levels")
	}
	timing := timingOf(s, scenario.Tournament)
	if i := slices.IndexFunc(planned, func(p bench.Planned) bool { return p.Mode == scenario.Sync }); i >= 0 {
		timing = timingOf(s, planned[i].Barrier)
	}
	return &policy.Setting{
		Tree: s.Tree.Healthy(), BitPerSec: float64(s.Fabric.Rate) * scenario.Factor(s.Fabric.MTU), Fragment: int(s.Event.Fragment),
		Header: builder.HeaderSize, Timing: timing, Seed: s.Seed,
	}, nil
}

// timingOf is what events cost beside the bytes on the wires. MPI's own barrier counts as
// dissemination, in which as many rounds follow each other.
func timingOf(s *scenario.Scenario, barrier string) sim.Timing {
	if barrier == scenario.MPIBarrier {
		barrier = scenario.Dissemination
	}
	return sim.Timing{Barrier: barrier, Round: s.Sim.Round, Overhead: s.Sim.Overhead, Jitter: s.Sim.Jitter}
}
