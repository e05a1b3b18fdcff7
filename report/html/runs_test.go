package html_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"evbench/internal/expect"
	"evbench/plan"
	"evbench/report/figure"
	"evbench/results"
	"evbench/topology"
)

// The runs of these tests are made up: cases on a tree of any size, whose samples follow from a
// formula and whose plans are real.

// A Case is what a case is to be.
type Case struct {
	Name, Schedule, Routing string // no schedule: unsynchronised
	Down                    []string
	Repeat                  int
	Events                  []results.LinkEvent

	Policy    string // of fail-over
	Failovers []results.Failover
	Interval  float64                   // of samples, s; 0: half a second
	Share     func(sec float64) float64 // of its usual rate that the case has at a moment; nil: all
}

// start is when every run began.
var start = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

// rate is that of every link, in bit/s.
const rate = 100e6

// Source makes a run of some cases, with so many samples of each server.
func Source(t testing.TB, tree *topology.Tree, samples int, cases ...Case) figure.Source {
	t.Helper()
	run := &results.Run{
		Manifest: results.Manifest{
			Schema: results.ManifestSchema, Name: "made up", Scenario: "topology: " + tree.Notation() + "\n", Seed: 1,
			Started: start, Ended: start.Add(time.Minute), Complete: true, Host: "laptop", CPU: "processor", Cores: 2, Kernel: "6.1",
			Fabric: results.Fabric{Kind: "lab", RateBitPerSec: rate, Factor: 0.95, MTU: 1500}, Transport: "tcp",
			Versions: map[string]string{"evbench": "test"}, Plans: map[string]string{}, Warnings: []string{"the clock of server 3 is off by <1 s>"},
		},
		Summary: results.Summary{Schema: results.SummarySchema, Name: "made up", Complete: true},
	}
	plans := map[string]*plan.Plan{}
	for _, c := range cases {
		p := planOf(t, tree, c)
		if p.Schedule != nil {
			plans[c.Name] = p
		}
		add(run, c, p, samples)
	}
	return figure.Source{Run: run, Plans: plans}
}

func planOf(t testing.TB, tree *topology.Tree, c Case) *plan.Plan {
	t.Helper()
	var dead []topology.Link
	for _, name := range c.Down {
		links := expect.Value(tree.Links(name))(t)
		dead = append(dead, links...)
	}
	view := expect.Value(tree.Without(dead...))(t)
	p, err := plan.Build(view, plan.Options{Schedule: c.Schedule, Routing: c.Routing, Seed: 1})
	expect.Must(t, err, "case %s", c.Name)
	return p
}

// add puts a case into a run.
func add(run *results.Run, c Case, p *plan.Plan, samples int) {
	cost := p.Cost(plan.Equal, 1)
	mode, predicted := "synchronised", cost.Synchronised()
	if p.Schedule == nil {
		mode, predicted = "unsynchronised", cost.Unsynchronised()
	}
	measured := predicted * 0.98
	if c.Interval == 0 {
		c.Interval = 0.5
	}
	var rates []float64
	for rank := range p.Tree.Servers() {
		rates = append(rates, measured*rate*0.95*(1+0.03*math.Sin(float64(rank))))
	}
	x := results.Case{
		Name: c.Name, Repeat: c.Repeat, Mode: mode, Schedule: c.Schedule, Routing: p.Routing, Failures: append([]string{}, c.Down...), Deliver: "buffer",
		PlanHash: p.Hash(), Rates: results.Rates{GoodputBitPerSec: results.NewStat(rates), EventsPerSec: results.NewStat(scaled(rates, 1/75e6)),
			Phases: p.Phases(), Bound: p.Bound.Phases, PredictedEfficiency: predicted, MeasuredEfficiency: measured, RatioToControl: measured / 0.98},
		Counts: results.Counts{Exchanges: 20, MeasuredSec: float64(samples) * c.Interval}, LinkEvents: c.Events, Failover: c.Policy, Failovers: c.Failovers, Complete: true, Valid: true, Reasons: []string{}, Warnings: []string{},
	}
	for _, e := range c.Events {
		if !e.Up {
			x.Failures = append(x.Failures, fmt.Sprintf("%s at %gs", e.Link, e.TSec))
		}
	}
	run.Summary.Cases = append(run.Summary.Cases, x)
	run.Manifest.Plans[c.Name] = p.Hash()
	addSamples(run, c, p, rates, measured, samples)
	addLinks(run, c, p)
}

func addSamples(run *results.Run, c Case, p *plan.Plan, rates []float64, measured float64, samples int) {
	for n := range samples {
		t := float64(n+1) * c.Interval
		for rank, r := range rates {
			r *= 1 + 0.05*math.Cos(float64(n*7+rank))
			if c.Share != nil {
				r *= c.Share(t)
			}
			s := results.Sample{
				Case: c.Name, Repeat: c.Repeat, TSec: t, IntervalSec: c.Interval, Server: p.Tree.Position(rank), Events: 1, EventBytes: 1 << 20,
				PayloadBytes: uint64(r * c.Interval / 8), GoodputBitPerSec: r,
			}
			if p.Schedule != nil {
				s.BarrierWaitSec = c.Interval * (1 - measured)
			}
			run.Samples = append(run.Samples, s)
		}
	}
}

func scaled(values []float64, by float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v * by
	}
	return out
}

// addLinks counts what the links carried: what the plan says, and 1 % more.
func addLinks(run *results.Run, c Case, p *plan.Plan) {
	loads, ok := p.Loads(plan.Equal)
	if !ok {
		return
	}
	for w, n := range loads {
		link, direction := p.Tree.WireName(topology.Wire(w))
		planned := n * 1e6
		run.Links = append(run.Links, results.LinkCount{
			Case: c.Name, Repeat: c.Repeat, Link: link, Direction: direction, Bytes: uint64(planned * 1.01), Packets: uint64(planned / 1500),
			PlannedBytes: uint64(planned), Planned: true,
		})
	}
}

// Small is a run of three cases on FT(2;2,3): healthy, with a dead link, and
// without steps, where a link dies on the way.
func Small(t testing.TB) figure.Source {
	t.Helper()
	return Source(t, newTree(t, topology.Options{Ports: 2, Leaves: 3}), 4,
		Case{Name: "healthy", Schedule: "linear-shift"},
		Case{Name: "one dead", Schedule: "linear-shift", Routing: "minhop", Down: []string{"leaf0-spine0"}},
		Case{Name: "unsync", Routing: "spread", Events: []results.LinkEvent{
			{Link: "leaf1-spine0", TSec: 0.7, SeenSec: 1e-4, RoutesSec: 1e-3, Routes: 3}, {Link: "leaf1-spine0", Up: true, TSec: 1.4},
		}},
	)
}

// Ten is a run of ten cases of 64 servers, FT(2;8,8).
func Ten(t testing.TB) figure.Source {
	t.Helper()
	var cases []Case
	for f := range 5 {
		var down []string
		for l := range f {
			down = append(down, fmt.Sprintf("leaf%d-spine%d", 2*l, l))
		}
		cases = append(cases,
			Case{Name: fmt.Sprintf("FORS, %d dead", f), Schedule: "fors", Down: down},
			Case{Name: fmt.Sprintf("linear shift, %d dead", f), Schedule: "linear-shift", Routing: "minhop", Down: down},
		)
	}
	return Source(t, newTree(t, topology.Options{Ports: 8, Leaves: 8}), 20, cases...)
}

// Large is a run of three cases on the tree of the LHCb event builder: 326
// servers on 18 leaves and 20 spines, nine links dead.
func Large(t testing.TB) figure.Source {
	t.Helper()
	o := topology.Options{Ports: 20, Leaves: 18, Fill: []int{19, 19}}
	for range 16 {
		o.Fill = append(o.Fill, 18)
	}
	tree := newTree(t, o)
	links := expect.Value(tree.Random(9, 1))(t)
	var down []string
	for _, l := range links {
		down = append(down, l.String())
	}
	return Source(t, tree, 20,
		Case{Name: "healthy", Schedule: "fors"},
		Case{Name: "FORS, nine dead", Schedule: "fors", Down: down},
		Case{Name: "linear shift, nine dead", Schedule: "linear-shift", Routing: "minhop", Down: down},
		Case{Name: "unsync, nine dead", Routing: "minhop", Down: down},
	)
}

func newTree(t testing.TB, o topology.Options) *topology.Tree {
	t.Helper()
	tree := expect.Value(topology.New(o))(t)
	return tree
}
