package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"evbench/bench"
	"evbench/builder"
	"evbench/results"
	"evbench/scenario"
	"evbench/sim"
	"evbench/topology"
)

// simCases turns planned cases into what a simulation works out: all repeats of each.
// model names the model of a case.
func simCases(s *scenario.Scenario, planned []bench.Planned, model func(bench.Planned) string, quantum time.Duration) ([]*sim.Case, error) {
	if s.Fabric.Rate == 0 {
		return nil, errors.New("fabric.rate: a simulation needs the rate of the links: write it, or give --rate")
	}
	var out []*sim.Case
	for repeat := range max(1, s.Rounds.Count) {
		for _, p := range planned {
			c, err := simCase(s, p, repeat)
			if err != nil {
				return nil, fmt.Errorf("case %q: %w", p.Name, err)
			}
			c.Model, c.Quantum = model(p), quantum
			out = append(out, c)
		}
	}
	return out, nil
}

// simCase turns one planned case into a job. Repeats differ in what is drawn: the paths
// under ecmp, and jitter. MPI's own barrier counts as dissemination, in which as many
// rounds follow each other.
func simCase(s *scenario.Scenario, p bench.Planned, repeat int) (*sim.Case, error) {
	changes, err := simChanges(s, p)
	if err != nil {
		return nil, err
	}
	sizes := builder.Sizes{Mean: int(s.Event.Fragment), Spread: s.Event.Spread, Seed: s.Seed}
	c := &sim.Case{
		Job: sim.Job{
			Name: p.Name, Repeat: repeat, Mode: p.Mode, Plan: p.Plan, Changes: changes,
			Size: sizes.Of, Header: builder.HeaderSize, Equal: s.Event.Spread == 0,
			Sources: p.Sources, Credits: p.Credits, Duration: p.Duration, Interval: s.Interval, Warmup: s.Warmup,
			BitPerSec: float64(s.Fabric.Rate) * scenario.Factor(s.Fabric.MTU),
			Timing:    sim.Timing{Barrier: p.Barrier, Round: s.Sim.Round, Overhead: s.Sim.Overhead, Jitter: s.Sim.Jitter},
			Seed:      s.Seed + uint64(repeat),
		},
		Case: results.Case{
			Schedule: p.Schedule, Routing: p.Plan.Routing, Failures: p.FailureTexts(), Control: p.Control,
			Deliver: s.Deliver, Check: s.Check, PlanHash: p.Prediction.PlanHash, Phases: p.Prediction.Phases,
			Bound: p.Prediction.Bound, PredictedEfficiency: p.Prediction.Efficiency,
		},
	}
	if c.Timing.Barrier == scenario.MPIBarrier {
		c.Timing.Barrier = scenario.Dissemination
	}
	return c, nil
}

// simChanges plans anew for each moment from which other links are used. The new plan and
// its routes are there at once.
func simChanges(s *scenario.Scenario, p bench.Planned) ([]sim.Change, error) {
	unused := bench.Unused(p.Case)
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
		q, err := bench.PlanFor(s, p.Case, tree)
		if err != nil {
			return nil, fmt.Errorf("at %s: %w", at, err)
		}
		q.Epoch = uint32(i + 1)
		out = append(out, sim.Change{At: at, Plan: q})
	}
	return out, nil
}

// deadAt returns the links that are not used at a moment.
func deadAt(unused []scenario.Timed, at time.Duration) (dead []topology.Link) {
	for _, t := range unused {
		if t.At <= at && (t.For == 0 || at < t.At+t.For) {
			dead = append(dead, t.Links...)
		}
	}
	return dead
}
