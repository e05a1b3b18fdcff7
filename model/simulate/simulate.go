// Package simulate turns the cases of a scenario into jobs for the models of package sim: evbench sim
// runs them, and runs and comparisons predict with them.
package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"evbench/barrier"
	"evbench/bench"
	"evbench/builder/modes"
	"evbench/fabric/lab"
	"evbench/failover"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/internal/unit"
	"evbench/model/ordered"
	"evbench/model/sim"
	"evbench/results"
	"evbench/routing"
	"evbench/scenario"
	"evbench/topology"
)

// ErrNoRate is the error where a simulation lacks the rate.
var ErrNoRate = errors.New("fabric.rate: a simulation needs the rate of the links: write it, or give --rate")

// Cases turns planned cases into jobs of a simulation: all repeats of each. An empty model
// selects the fitting model for each case.
func Cases(s *scenario.Scenario, planned []bench.Planned, model string) ([]*sim.Case, error) {
	if s.Fabric.Rate == 0 {
		return nil, ErrNoRate
	}
	var out []*sim.Case
	for repeat := range max(1, s.Rounds.Count) {
		for _, p := range planned {
			c, err := caseOf(s, p, repeat)
			if err != nil {
				return nil, fmt.Errorf("case %q: %w", p.Name, err)
			}
			c.Model = cmp.Or(model, modelOf(s, p))
			out = append(out, c)
		}
	}
	return out, nil
}

func modelOf(s *scenario.Scenario, p bench.Planned) string {
	switch {
	case s.Fabric.Lossless.On && (p.Mode == modes.Unsync || routing.PerPacket(p.Plan.Routing)):
		return sim.CreditModel
	case p.Mode == modes.Sync || p.Mode == modes.Ordered:
		return sim.PhaseModel
	case s.Fabric.Kind == scenario.Lab:
		return sim.TCPModel
	}
	return sim.FluidModel
}

// Lossless converts the network settings for the packet model.
func Lossless(x scenario.Lossless) sim.Lossless {
	return sim.Lossless{
		Packet: int(x.Packet), Buffer: int(x.Buffer), Lanes: x.Lanes, Reads: x.Reads, Delay: x.Delay, Cable: x.Cable,
		PerOutput: x.Queues == scenario.QueuesPerOutput, InOrder: x.Order == scenario.OrderFirst,
	}
}

// leastSegments is how many segments Linux puts into a packet of a connection with less than that
// many in a millisecond (net.ipv4.tcp_min_tso_segs).
const leastSegments = 2

// ack is how many bytes of a link a packet without payload takes: the headers of Ethernet, IP and TCP.
const ack = 14 + 20 + 32

// tcpOf returns how connections send in the lab. The kernel doubles a socket's buffer, and a window is
// at most that.
func tcpOf(s *scenario.Scenario) sim.TCP {
	return sim.TCP{
		Packet: leastSegments * scenario.Segment(s.Fabric.MTU), Window: 2 * lab.SockBuf,
		Ack:   ack,
		Burst: int(scenario.Factor(s.Fabric.MTU) * float64(lab.Burst(s.Fabric.Rate, s.Event.Phase))),
	}
}

// Fit returns the cases that a model can simulate; an empty model selects the fitting one for
// each case. For each reason to skip others there is a line, with their names.
func Fit(s *scenario.Scenario, model string, planned []bench.Planned) (fit []bench.Planned, skipped []string) {
	names := map[string][]string{} // by reason
	for _, p := range planned {
		if why := unfit(cmp.Or(model, modelOf(s, p)), p); why != "" {
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
func unfit(model string, p bench.Planned) string {
	switch f := p.Failover; {
	case routing.PerPacket(p.Plan.Routing) && model != sim.CreditModel:
		return "under routing " + p.Plan.Routing + " each packet takes a path of its own, and only the model " + sim.CreditModel +
			" knows packets (fabric.lossless, or --model " + sim.CreditModel + ")"
	case p.Plan.Over != nil && model == sim.CreditModel:
		return "the model " + sim.CreditModel + " has trees only"
	case model == sim.PhaseModel && p.Mode != modes.Sync && p.Mode != modes.Ordered:
		return "only synchronised cases have phases"
	case p.Load.On() && model == sim.CreditModel:
		return "the model " + sim.CreditModel + " has no clock that offers events"
	case len(p.Lost) > 0:
		return "a simulated server does not end"
	case f != nil && len(p.Timed) > 0 && (f.Policy == string(failover.None) || f.Policy == string(failover.Unsync)):
		return "a simulated case does not stand still, nor give up its phases (evbench sim --log reckons what such a policy costs)"
	}
	return ""
}

// Manifest describes a simulated run, without program and machine.
func Manifest(s *scenario.Scenario, planned []bench.Planned) results.Manifest {
	m := results.Manifest{
		Name: s.Name, Scenario: string(s.Text), Seed: s.Seed, Plans: map[string]string{}, Warnings: []string{},
		Fabric: results.Fabric{
			Kind: sim.FabricKind, RateBitPerSec: int64(s.Fabric.Rate), MTU: s.Fabric.MTU, Factor: scenario.Factor(s.Fabric.MTU),
		},
		Simulation: &results.Simulation{
			RoundSec: s.Sim.Round.Seconds(), OverheadSec: s.Sim.Overhead.Seconds(), JitterSec: s.Sim.Jitter.Seconds(),
		},
	}
	for _, p := range planned {
		m.Plans[p.Name] = p.Prediction.PlanHash
		m.Predictions = append(m.Predictions, p.Prediction)
	}
	return m
}

// caseOf turns one planned case into a job. Repeats differ in their random draws: the paths under
// ecmp, and jitter.
func caseOf(s *scenario.Scenario, p bench.Planned, repeat int) (*sim.Case, error) {
	moves, err := changes(s, p)
	if err != nil {
		return nil, err
	}
	j := ordered.Job(s, p.Case, p.Plan, p.Window)
	j.Repeat, j.Changes, j.Timing = repeat, moves, Timing(s, p.Barrier)
	j.Lossless, j.Seed = Lossless(s.Fabric.Lossless), s.Seed+uint64(repeat)
	j.TCP = tcpOf(s)
	facts := p.Facts(s)
	facts.PredictedEfficiency = p.Prediction.Efficiency
	c := &sim.Case{Job: j, File: p.File(), Case: facts}
	if p.Load.On() {
		_, c.Share = s.Offers(p.Case)
	}
	return c, nil
}

// changes makes a new plan for each moment from which other links are used. The new plan and its
// routes are in place at once.
func changes(s *scenario.Scenario, p bench.Planned) ([]sim.Change, error) {
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
		q, err := p.PlanFor(s, tree)
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

// Timing is the cost of events beside the bytes on the wires. MPI's own barrier counts as
// dissemination, which has as many successive rounds, and auto as the default.
func Timing(s *scenario.Scenario, kind string) sim.Timing {
	switch kind {
	case barrier.MPI:
		kind = barrier.Dissemination
	case scenario.Auto:
		kind = barrier.Tournament
	}
	return sim.Timing{Barrier: kind, Round: s.Sim.Round, Overhead: s.Sim.Overhead, Jitter: s.Sim.Jitter}
}

// WriteSize prints how much there is to simulate.
func WriteSize(w io.Writer, cases []*sim.Case) {
	virtual := lists.Sum(cases, func(c *sim.Case) time.Duration { return c.Duration })
	fmt.Fprintf(w, "cases: %d, %s of virtual time, at most about %s of memory\n", len(cases), virtual, unit.Bytes(max(sim.Memory(cases)>>20, 1)<<20))
}

// ModelNames lists the models of cases, after a noun in the right number.
func ModelNames(cases []results.Case) string {
	used := map[string]bool{}
	for _, c := range cases {
		used[c.Simulated] = true
	}
	names := slices.Sorted(maps.Keys(used))
	if len(names) > 1 {
		return "s " + show.And(names)
	}
	return " " + names[0]
}
