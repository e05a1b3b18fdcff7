package bench

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"evbench/barrier"
	"evbench/builder"
	"evbench/failover"
	"evbench/results"
	"evbench/routing"
	"evbench/scenario"
	"evbench/sim"
	"evbench/study/policy"
	"evbench/topology"
)

var errNoRate = errors.New("fabric.rate: a simulation needs the rate of the links: write it, or give --rate")

// SimCases turns planned cases into jobs of a simulation: all repeats of each. An empty model
// selects the fitting model for each case.
func SimCases(s *scenario.Scenario, planned []Planned, model string, quantum time.Duration) ([]*sim.Case, error) {
	if s.Fabric.Rate == 0 {
		return nil, errNoRate
	}
	var out []*sim.Case
	for repeat := range max(1, s.Rounds.Count) {
		for _, p := range planned {
			c, err := simCase(s, p, repeat)
			if err != nil {
				return nil, fmt.Errorf("case %q: %w", p.Name, err)
			}
			c.Model, c.Quantum = cmp.Or(model, simModel(s, p)), quantum
			out = append(out, c)
		}
	}
	return out, nil
}

func simModel(s *scenario.Scenario, p Planned) string {
	switch {
	case s.Fabric.Lossless.On && (p.Mode == scenario.Unsync || routing.PerPacket(p.Plan.Routing)):
		return sim.CreditModel
	case p.Mode == scenario.Sync || p.Mode == scenario.Ordered:
		return sim.PhaseModel
	}
	return sim.FluidModel
}

// LosslessOf converts the network settings for the packet model.
func LosslessOf(x scenario.Lossless) sim.Lossless {
	return sim.Lossless{
		Packet: int(x.Packet), Buffer: int(x.Buffer), Lanes: x.Lanes, Reads: x.Reads, Delay: x.Delay, Cable: x.Cable,
		PerOutput: x.Queues == scenario.QueuesPerOutput, InOrder: x.Order == scenario.OrderFirst,
	}
}

// Simulable returns the cases that a model can simulate; an empty model selects the fitting one for
// each case. For each reason to skip others there is a line, with their names.
func Simulable(s *scenario.Scenario, model string, planned []Planned) (fit []Planned, skipped []string) {
	names := map[string][]string{} // by reason
	for _, p := range planned {
		if why := unfit(cmp.Or(model, simModel(s, p)), p); why != "" {
			names[why] = append(names[why], fmt.Sprintf("%q", p.Name))
		} else {
			fit = append(fit, p)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(names)) {
		skipped = append(skipped, why+": "+strings.Join(names[why], ", "))
	}
	return fit, skipped
}

// unfit returns why a model cannot simulate a case, or "".
func unfit(model string, p Planned) string {
	switch f := p.Failover; {
	case routing.PerPacket(p.Plan.Routing) && model != sim.CreditModel:
		return "under routing " + p.Plan.Routing + " each packet takes a path of its own, and only the model " + sim.CreditModel +
			" knows packets (fabric.lossless, or --model " + sim.CreditModel + ")"
	case model == sim.PhaseModel && p.Mode != scenario.Sync && p.Mode != scenario.Ordered:
		return "only synchronised cases have phases"
	case f != nil && len(p.Timed) > 0 && (f.Policy == string(failover.None) || f.Policy == string(failover.Unsync)):
		return "a simulated case does not stand still, nor give up its phases (evbench sim --log reckons what such a policy costs)"
	}
	return ""
}

// SimManifest describes a simulated run, without program and machine.
func SimManifest(s *scenario.Scenario, planned []Planned, quantum time.Duration) results.Manifest {
	m := results.Manifest{
		Name: s.Name, Scenario: string(s.Text), Seed: s.Seed, Plans: map[string]string{}, Warnings: []string{},
		Fabric: results.Fabric{
			Kind: sim.FabricKind, RateBitPerSec: int64(s.Fabric.Rate), MTU: s.Fabric.MTU, Factor: scenario.Factor(s.Fabric.MTU),
		},
		Simulation: &results.Simulation{
			RoundSec: s.Sim.Round.Seconds(), OverheadSec: s.Sim.Overhead.Seconds(), JitterSec: s.Sim.Jitter.Seconds(), QuantumSec: quantum.Seconds(),
		},
	}
	for _, p := range planned {
		m.Plans[p.Name] = p.Prediction.PlanHash
		m.Predictions = append(m.Predictions, p.Prediction)
	}
	return m
}

// simCase turns one planned case into a job. Repeats differ in their random draws: the paths under
// ecmp, and jitter.
func simCase(s *scenario.Scenario, p Planned, repeat int) (*sim.Case, error) {
	changes, err := simChanges(s, p)
	if err != nil {
		return nil, err
	}
	j := simJob(s, p.Case, p.Plan, p.Window)
	j.Repeat, j.Changes, j.Interval, j.Timing = repeat, changes, s.Interval, simTiming(s, p.Barrier)
	j.Lossless, j.Seed = LosslessOf(s.Fabric.Lossless), s.Seed+uint64(repeat)
	return &sim.Case{
		Ordered: p.Ordered, Job: j,
		Case: results.Case{
			Schedule: p.Schedule, Routing: p.Plan.Routing, Failures: p.FailureTexts(p.Plan.Tree), Control: p.Control,
			Deliver: s.Deliver, Check: s.Check, PlanHash: p.Prediction.PlanHash, Sizes: s.Sizes(p.Case).String(),
			Rates: results.Rates{Phases: p.Prediction.Phases, Bound: p.Prediction.Bound, PredictedEfficiency: p.Prediction.Efficiency},
		},
	}, nil
}

// simChanges makes a new plan for each moment from which other links are used. The new plan and its
// routes are in place at once.
func simChanges(s *scenario.Scenario, p Planned) ([]sim.Change, error) {
	unused := Unused(p.Case)
	var moments []time.Duration
	for _, t := range unused {
		moments = append(moments, t.At)
		if t.For > 0 && t.At+t.For < p.Duration {
			moments = append(moments, t.At+t.For)
		}
	}
	slices.Sort(moments)
	var out []sim.Change
	for i, at := range slices.Compact(moments) {
		tree, err := s.Tree.Without(append(slices.Clone(p.Failures), deadAt(unused, at)...)...)
		if err != nil {
			return nil, err
		}
		q, err := PlanFor(s, p.Case, tree)
		if err != nil {
			return nil, fmt.Errorf("at %s: %w", at, err)
		}
		q.Epoch = uint32(i + 1)
		out = append(out, sim.Change{At: at, Plan: q})
	}
	return out, nil
}

func deadAt(unused []scenario.Timed, at time.Duration) (dead []topology.Link) {
	for _, t := range unused {
		if t.At <= at && (t.For == 0 || at < t.At+t.For) {
			dead = append(dead, t.Links...)
		}
	}
	return dead
}

// LogSetting is the network of a scenario, without dead links, for a log of failures. The rate of
// its servers is not limited.
func LogSetting(s *scenario.Scenario, planned []Planned) (*policy.Setting, error) {
	switch {
	case s.Fabric.Rate == 0:
		return nil, errNoRate
	case s.Tree == nil || s.Tree.Levels() == 3 || s.Tree.Healthy().Connected() != nil:
		return nil, errors.New("topology: a log is replayed on trees of two levels")
	}
	if err := s.Tree.OneCable("logs are replayed on trees"); err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	timing := simTiming(s, barrier.Tournament)
	if i := slices.IndexFunc(planned, func(p Planned) bool { return p.Mode == scenario.Sync }); i >= 0 {
		timing = simTiming(s, planned[i].Barrier)
	}
	return &policy.Setting{
		Tree: s.Tree.Healthy(), BitPerSec: s.Fabric.BitPerSec(), Fragment: int(s.Event.Fragment),
		Header: builder.HeaderSize, Timing: timing, Seed: s.Seed,
	}, nil
}

// simTiming is the cost of events beside the bytes on the wires. MPI's own barrier counts as
// dissemination, which has as many successive rounds.
func simTiming(s *scenario.Scenario, kind string) sim.Timing {
	if kind == barrier.MPI {
		kind = barrier.Dissemination
	}
	return sim.Timing{Barrier: kind, Round: s.Sim.Round, Overhead: s.Sim.Overhead, Jitter: s.Sim.Jitter}
}
