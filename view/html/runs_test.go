package html_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"evbench/builder/modes"
	"evbench/plan"
	"evbench/results"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/topology"
	"evbench/view/figure"
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
	p, err := plan.Build(view, plan.Options{Schedule: c.Schedule, Routing: c.Routing, Engines: engines.Trees(), Seed: 1})
	expect.Must(t, err, "case %s", c.Name)
	return p
}

// add puts a case into a run.
func add(run *results.Run, c Case, p *plan.Plan, samples int) {
	cost := p.Cost(plan.Equal, 1)
	mode, predicted := modes.Sync, cost.Synchronised()
	if p.Schedule == nil {
		mode, predicted = modes.Unsync, cost.Unsynchronised()
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

// Parallel is a run on a tree with two cables from each leaf to each spine, one of them dead.
func Parallel(t testing.TB) figure.Source {
	t.Helper()
	down := []string{"leaf0-spine1/0"}
	return Source(t, newTree(t, topology.Options{Ports: 4, Leaves: 4, Spines: 2, Cables: 2}), 4,
		Case{Name: "fors", Schedule: "fors", Down: down}, Case{Name: "shift", Schedule: "linear-shift", Routing: "minhop", Down: down})
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

// FailedOver is a run of six cases of 16 servers in which one link dies after 5 s and
// comes back after 11 s, each under another policy, and of one in which it flaps.
func FailedOver(t testing.TB) figure.Source {
	t.Helper()
	during := func(share float64) func(float64) float64 {
		return func(sec float64) float64 {
			if sec > 5 && sec <= 11 {
				return share
			}
			return 1
		}
	}
	one := func(name, schedule, routing string, share float64, records ...results.Failover) Case {
		return Case{
			Name: "link dies " + name, Schedule: schedule, Routing: routing, Policy: name, Failovers: records, Interval: 0.1, Share: during(share),
			Events: []results.LinkEvent{{Link: link, TSec: 5}, {Link: link, TSec: 11, Up: true}},
		}
	}
	flapping := Case{Name: "flapping", Schedule: "fors", Policy: "fors", Interval: 0.1, Share: func(sec float64) float64 { return 0.9 }}
	for i := range 14 {
		at := 1 + float64(i)
		flapping.Failovers = append(flapping.Failovers, Replanned(i+1, i%2 == 1, at, 30+float64(i)))
	}
	return Source(t, newTree(t, topology.Options{Ports: 4, Leaves: 4}), 160,
		one("none", "linear-shift", "ftree", 0, seen(1, false, 5), seen(2, true, 11)),
		one("minhop", "linear-shift", "minhop", 0.58, aided(1, false, 5), aided(2, true, 11)),
		one("spread", "linear-shift", "spread", 0.58, aided(1, false, 5), aided(2, true, 11)),
		one("unsync", "linear-shift", "spread", 0.88, Replanned(1, false, 5, 40), Replanned(2, true, 11, 350)),
		one("fors", "fors", "", 0.94, Replanned(1, false, 5, 320), overtaken(2, 9), Replanned(3, true, 11, 350)),
		one("fors+hold", "fors", "", 0.94, Replanned(1, false, 5, 330)),
		flapping,
	)
}

const link = "leaf0-spine0"

// seen is a fail-over in which nothing is done but to restore routes.
func seen(id int, up bool, at float64) results.Failover {
	f := results.Failover{ID: id, Down: []string{link}, Dead: []string{link}, FailoverTimes: results.FailoverTimes{SetSec: sec(at), SeenSec: sec(at + 3e-4)}}
	if up {
		f.Down, f.Up, f.Dead = nil, f.Down, []string{}
		f.CleanedSec = sec(at + 2e-3)
	}
	return f
}

func aided(id int, up bool, at float64) results.Failover {
	f := seen(id, up, at)
	f.AidedSec, f.Routes = sec(at+1.4e-3), 18
	f.BeforeEventsPerSec, f.AfterEventsPerSec = sec(53), sec(31)
	return f
}

// Replanned is a fail-over that went through, the first exchange on the new plan done
// after so many ms.
func Replanned(id int, up bool, at, ms float64) results.Failover {
	f := aided(id, up, at)
	after := func(ms float64) *float64 { return sec(at + ms/1e3) }
	f.PlannedSec, f.VerifiedSec, f.InstalledSec, f.UpdatedSec = after(3.1), after(3.6), after(8.2), after(12)
	f.LastOldSec, f.FirstNewSec, f.CleanedSec = after(ms/2), after(ms), after(ms+6)
	f.Source, f.Phases, f.Attempts, f.From = "computed", 16, 1, uint64(at*3)
	return f
}

func overtaken(id int, at float64) results.Failover {
	f := aided(id, false, at)
	f.Down, f.PlannedSec, f.Superseded = []string{"leaf1-spine1"}, sec(at+3e-3), true
	return f
}

func sec(x float64) *float64 { return &x }

// Rounds say how a run was measured in rounds of slices.
type Rounds struct {
	Count int
	// Noise is by how much of itself a slice is off, from -1 to 1 for the n-th case in a round.
	Noise func(n, round int) float64
	// Rejected tells whether the machine disturbed the slice; it is then measured once more, but in the last round.
	Rejected func(n, round int) bool
}

// rejection is what a rejected slice says.
const rejection = "servers waited for a processor for more than 10 % of the time, and 1.5 times what was usual in this run"

// InRounds gives a run the slices that make it up, and what follows from them: ratios,
// estimates, verdicts and the answer. Its first case is the control.
func InRounds(s figure.Source, cables int, r Rounds) figure.Source {
	sum := &s.Run.Summary
	cases := sum.Cases
	cases[0].Control = true
	sum.Rounds = r.Count
	repeats := make([]int, len(cases))
	for round := range r.Count {
		for n, c := range cases {
			x := sliceOf(c, round, r)
			x.Efficiency *= 1 + r.Noise(n, round)
			if r.Rejected(n, round) {
				bad := x
				bad.Efficiency, bad.Rejected, bad.Repeat = 0.8*x.Efficiency, rejection, repeats[n]
				repeats[n]++
				sum.Slices = append(sum.Slices, bad)
				if round == r.Count-1 {
					continue
				}
			}
			x.Repeat = repeats[n]
			repeats[n]++
			sum.Slices = append(sum.Slices, x)
		}
	}
	for i := range cases {
		cases[i].PredictedRatio = cases[i].PredictedEfficiency / cases[0].PredictedEfficiency
	}
	compared := results.Compare(cases, nil)
	results.Assess(cases, sum.Slices, compared)
	sum.Answer = results.NewAnswer(results.Setting{Cables: cables}, cases, sum.Slices, compared)
	return s
}

func sliceOf(c results.Case, round int, r Rounds) results.Slice {
	return results.Slice{
		Case: c.Name, Round: round, Control: c.Control, Efficiency: c.MeasuredEfficiency, EventsPerSec: c.EventsPerSec.Mean,
		GoodputBitPerSec: c.GoodputBitPerSec.Mean, Exchanges: c.Exchanges / uint64(r.Count), MeasuredSec: c.MeasuredSec / float64(r.Count), Complete: true,
	}
}

// Resolved is a run of 16 servers in eight rounds on a quiet machine: every case is resolved.
func Resolved(t testing.TB) figure.Source {
	t.Helper()
	s := InRounds(oneDead(t), 16, Rounds{
		Count:    8,
		Noise:    func(n, round int) float64 { return 0.012 * math.Sin(float64(5*n+3*round)) },
		Rejected: func(n, round int) bool { return n == 2 && round == 4 },
	})
	equal(s.Run)
	return s
}

// Noisy is the same on a machine that others use: what is compared is not resolved, and two
// cases are wrong, both for one reason and one for another, too.
func Noisy(t testing.TB) figure.Source {
	t.Helper()
	s := InRounds(oneDead(t), 16, Rounds{
		Count: 8,
		Noise: func(n, round int) float64 {
			return []float64{0.02, 0.5, 0.15, 0.3, 0.5}[n] * math.Sin(float64(5*n+3*round))
		},
		Rejected: func(n, round int) bool { return (3*n+round)%4 == 1 },
	})
	const off = "link leaf0-spine1 up carried 106.00 MB, the plan puts 100.00 MB there (+6.0 %)"
	cases := s.Run.Summary.Cases
	for _, i := range []int{2, 3} {
		cases[i].Valid, cases[i].EventsLost, cases[i].Reasons = false, 3, []string{"3 events lost"}
	}
	cases[3].Reasons = append(cases[3].Reasons, off)
	cases[0].Warnings = []string{"processors busy more than 90 % of the time, by this run or by others"}
	cases[1].Warnings = cases[0].Warnings
	return s
}

// oneDead is what the quick start measures: one dead cable of 16.
func oneDead(t testing.TB) figure.Source {
	t.Helper()
	dead := []string{"leaf0-spine0"}
	return Source(t, newTree(t, topology.Options{Ports: 4, Leaves: 4}), 20,
		Case{Name: "healthy", Schedule: "linear-shift"},
		Case{Name: "linear shift", Schedule: "linear-shift", Routing: "minhop", Down: dead},
		Case{Name: "unsync minhop", Routing: "minhop", Down: dead},
		Case{Name: "unsync spread", Routing: "spread", Down: dead},
		Case{Name: "FORS", Schedule: "fors", Down: dead},
	)
}

// equal has all servers build as many events as each other, as they do by design.
func equal(run *results.Run) {
	for i := range run.Summary.Cases {
		c := &run.Summary.Cases[i]
		c.EventsPerSec = results.NewStat([]float64{c.EventsPerSec.Mean})
	}
}
