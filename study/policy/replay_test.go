package policy

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"evbench/builder"
	"evbench/failover"
	"evbench/model/sim"
	"evbench/plan"
	"evbench/routing"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

const sec = time.Second

// slow are times that are easy to add up.
func slow() Times {
	return Times{Aid: sec, Plan: 2 * sec, Install: sec, Update: sec, Clean: sec, Exchange: 10 * sec}
}

func small(t *testing.T) *topology.Tree {
	t.Helper()
	tree := expect.Value(topology.New(topology.Options{Ports: 4, Leaves: 4}))(t)
	return tree
}

// flat are rates of 10 Tbit/s when nothing is dead, 8 with another plan and 5 while paths
// that the plan counts on are avoided; nothing depends on which.
func flat() *Rates {
	return &Rates{Work: func(_ context.Context, _ failover.Policy, planned Dead, avoided []Dead) ([]float64, error) {
		out := make([]float64, len(avoided))
		for i, d := range avoided {
			switch (State{plan: planned, tables: d}).phase() {
			case healthyPhase:
				out[i] = 10e12
			case replannedPhase:
				out[i] = 8e12
			default:
				out[i] = 5e12
			}
		}
		return out, nil
	}}
}

// handMade is a log of failures of a link, each from a second to another.
func handMade(span int, ends ...[2]int) Log {
	l := Log{Span: time.Duration(span) * sec, Failures: len(ends)}
	for _, e := range ends {
		l.changes = append(l.changes,
			change{time.Duration(e[0]) * sec, topology.Link{Leaf: 1, Spine: 2}, false},
			change{time.Duration(e[1]) * sec, topology.Link{Leaf: 1, Spine: 2}, true})
	}
	return l
}

func result(t *testing.T, p failover.Policy, l Log, o options, rates *Rates) (*Timeline, *Result) {
	t.Helper()
	s := expect.Value(replay(p, l, o))(t)
	expect.Must(t, rates.Learn(context.Background(), s))
	return s, AddUp(s, rates)
}

// TestOneHour is a link that is dead for an hour.
func TestOneHour(t *testing.T) {
	t.Parallel()
	l := handMade(10_000, [2]int{1000, 4600})
	for _, tt := range []struct {
		name                         string
		policy                       failover.Policy
		retransmit                   time.Duration
		stopped, rerouted, replanned float64
		lost                         float64
		switches                     int
		unused                       float64
	}{
		{"none", failover.None, 0, 3600, 0, 0, 36_000, 0, 0},
		// TCP tries again after 3, 9, 21, 45, 93, 189 s, and from there every 120 s.
		{"none, and TCP waits", failover.None, 3 * sec, 3669, 0, 0, 36_690, 0, 0},
		{"minhop", failover.MinHop, 0, 1, 3600, 0, 10 + 18_000, 0, 1},
		{"spread", failover.Spread, 0, 1, 3600, 0, 10 + 18_000, 0, 1},
		// Planned after 2 s, installed after 3, with all workers after 4, and in use when
		// the exchange under way has ended, 10 s later. The same on the way back.
		{"fors", failover.FORS, 0, 1, 13, 3600, 10 + 65 + 7200, 2, 14},
		{"fors, and TCP waits", failover.FORS, 3 * sec, 3, 11, 3600, 30 + 55 + 7200, 2, 14},
		// The tables lead over the link again 3 s after it came back, phases begin 11 s later.
		{"unsync", failover.Unsync, 0, 1, 13, 3600, 10 + 5*3602, 2, 14},
		{"fors+hold", failover.FORSHold, 0, 1, 13, 4200, 10 + 65 + 8400, 2, 614},
	} {
		o := options{Tree: small(t), Times: slow()}
		o.Times.retransmit = tt.retransmit
		rates := flat()
		if tt.policy == failover.Unsync {
			// Its state is told by the tables alone: 5 while they avoid anything.
			rates.Work = func(_ context.Context, _ failover.Policy, _ Dead, avoided []Dead) ([]float64, error) {
				out := make([]float64, len(avoided))
				for i, d := range avoided {
					if out[i] = 5e12; d == "" {
						out[i] = 10e12
					}
				}
				return out, nil
			}
		}
		_, r := result(t, tt.policy, l, o, rates)
		got := []float64{r.StandingSec, r.FirstAidSec, r.ReplannedSec, r.Lost, float64(r.Switches), r.UnusedSec}
		want := []float64{tt.stopped, tt.rerouted, tt.replanned, tt.lost, float64(tt.switches), tt.unused}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-6 {
				t.Errorf("%s: standing, re-routed, re-planned, lost, switches, unused: %v, want %v", tt.name, got, want)
				break
			}
		}
		expect.False(t, r.Built+r.Lost != 100_000 || r.WorstHour != 0 && r.WorstHour != 1, "%s: %+v", tt.name, r)
	}
}

// TestFlapping is a link that dies every minute for five seconds, thirty times.
func TestFlapping(t *testing.T) {
	t.Parallel()
	var ends [][2]int
	for i := range 30 {
		ends = append(ends, [2]int{60 * (i + 1), 60*(i+1) + 5})
	}
	l := handMade(4000, ends...)
	o := options{Tree: small(t), Times: slow()}
	o.Times.Exchange = sec
	for _, tt := range []struct {
		policy                 failover.Policy
		hold                   time.Duration
		stops, switches, times int
		healthy                float64
	}{
		{failover.None, 0, 30, 0, 0, 4000 - 30*5},
		{failover.MinHop, 0, 30, 0, 30, 4000 - 30*6},
		{failover.FORS, 0, 30, 60, 30, 4000 - 30*10},
		// Out from the first failure to 10 minutes after the last, and 5 s more to change.
		{failover.FORSHold, 0, 1, 2, 30, 4000 - (1805 - 60) - 600 - 5},
		{failover.FORSHold, 30 * sec, 30, 60, 30, 4000 - 30*40},
	} {
		o.Hold = tt.hold
		_, r := result(t, tt.policy, l, o, flat())
		expect.True(t, r.Stops == tt.stops && r.Switches == tt.switches && r.UnusedTimes == tt.times && math.Abs(r.HealthySec-tt.healthy) <= 1e-6,
			"%s, hold %s: %d stops, %d switches, unused %d times, healthy for %g s; want %+v",
			tt.policy, tt.hold, r.Stops, r.Switches, r.UnusedTimes, r.HealthySec, tt)
	}
}

// TestApart: while servers have no path to each other nothing is built, whatever is done.
func TestApart(t *testing.T) {
	t.Parallel()
	l := Log{Span: 1000 * sec}
	for k := range 4 {
		l.changes = append(l.changes, change{at: 100 * sec, link: topology.Link{Leaf: 0, Spine: k}})
	}
	l.changes = append(l.changes, change{400 * sec, topology.Link{Leaf: 0, Spine: 3}, true})
	for _, p := range failover.Policies()[1:] {
		_, r := result(t, p, l, options{Tree: small(t), Times: slow()}, flat())
		expect.True(t, r.StandingSec >= 300 && r.StandingSec <= 303, "%s: stands still for %g s", p, r.StandingSec)
	}
}

// randomLog draws failures of few links, which overlap and flap.
func randomLog(rng *rand.Rand, tree *topology.Shape) Log {
	l := Log{Span: time.Duration(1000+rng.IntN(20_000)) * sec}
	for range rng.IntN(6) {
		link := topology.Link{Leaf: rng.IntN(tree.Leaves()), Spine: rng.IntN(tree.Spines())}
		for at := time.Duration(rng.Int64N(int64(l.Span))); at < l.Span; {
			long := time.Duration(1+rng.IntN(300)) * sec / 2
			l.changes = append(l.changes, change{at, link, false}, change{at + long, link, true})
			l.Failures++
			at += long + time.Duration(1+rng.IntN(3000))*sec/2
		}
	}
	slices.SortStableFunc(l.changes, func(a, b change) int { return int(a.at - b.at) })
	return l
}

// TestRandomLogs holds what is true of every policy over every log.
func TestRandomLogs(t *testing.T) {
	t.Parallel()
	tree := small(t)
	rates := flat()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 7))
		l := randomLog(rng, tree.Shape)
		o := options{Tree: tree, Times: slow()}
		o.Times.Exchange = time.Duration(rng.IntN(30)) * sec
		if rng.IntN(2) == 0 {
			o.Times = Stated()
			o.Times.retransmit = 0
		}
		var none float64
		for _, p := range failover.Policies() {
			s, r := result(t, p, l, o, rates)
			at := time.Duration(0)
			for _, x := range s.Intervals {
				expect.MustTrue(t, x.at == at && x.lasts > 0, "seed %d, %s: interval %+v begins at %s", seed, p, x, at)
				at += x.lasts
			}
			all := r.HealthySec + r.ReplannedSec + r.FirstAidSec + r.StandingSec
			expect.True(t, at == l.Span && math.Abs(all-l.Span.Seconds()) <= 1e-6 && math.Abs(r.Built+r.Lost-10*l.Span.Seconds()) <= 1e-3,
				"seed %d, %s: intervals end at %s, times add up to %g s, built and lost to %g Tb; the log has %s",
				seed, p, at, all, r.Built+r.Lost, l.Span)
			if p == failover.None {
				none = r.StandingSec
			} else if r.StandingSec > none+1e-6 {
				t.Errorf("seed %d, %s: stands still for %g s, with none %g s", seed, p, r.StandingSec, none)
			}
			expect.False(t, len(l.changes) == 0 && r.Lost != 0, "seed %d, %s: loses %g Tb without a failure", seed, p, r.Lost)
		}
	}
}

// TestInstant: fail-over that takes no time is what Instant says.
func TestInstant(t *testing.T) {
	t.Parallel()
	tree := small(t)
	rates := flat()
	for seed := range uint64(40) {
		l := randomLog(rand.New(rand.NewPCG(seed, 8)), tree.Shape)
		_, r := result(t, failover.FORS, l, options{Tree: tree}, rates)
		s := expect.Value(Instant(failover.FORS, l, tree))(t)
		expect.Must(t, rates.Learn(context.Background(), s))
		want := AddUp(s, rates)
		expect.True(t, math.Abs(r.Lost-want.Lost) <= 1e-6 && math.Abs(r.HealthySec-want.HealthySec) <= 1e-6, "seed %d: %+v, want %+v", seed, r, want)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	times := Stated()
	if err := times.set("aid", "3ms"); err != nil || times.Aid != 3*ms {
		t.Errorf("aid %s, %v", times.Aid, err)
	}
	for _, bad := range [][2]string{{"aid", "3"}, {"aid", "-1s"}, {"aid", "2h"}, {"flight", "1s"}} {
		expect.True(t, times.set(bad[0], bad[1]) != nil, "%v is taken", bad)
	}
}

// setting is a tree of which a message takes a second, and a phase half a second more.
func setting(t *testing.T, ports, leaves int) *Setting {
	t.Helper()
	tree := expect.Value(topology.New(topology.Options{Ports: ports, Leaves: leaves}))(t)
	return &Setting{Tree: tree, BitPerSec: 8e9, Fragment: 1e9, Timing: sim.Timing{Overhead: time.Second / 2}, Seed: 1}
}

// TestRates are rates that follow from counting messages: FT(2;4,4) has 15 phases of 1.5 s
// when nothing is dead. With leaf0-spine0 dead, three destinations of leaf 0 and all that
// go to it from that spine move to another, which then carries two in some phases.
func TestRates(t *testing.T) {
	t.Parallel()
	s := setting(t, 4, 4)
	healthy := 16 * 15 * 8e9 / (15 * 1.5)
	one := Dead("leaf0-spine0")
	for _, tt := range []struct {
		name          string
		policy        failover.Policy
		state         State
		atLeast, most float64 // of healthy
	}{
		{"healthy", failover.MinHop, State{}, 1, 1},
		{"healthy, FORS", failover.FORS, State{}, 1, 1},
		{"standing", failover.FORS, State{stopped: true}, 0, 0},
		{"twelve phases with two messages", failover.MinHop, State{tables: one}, 1.5 * 15 / (1.5*15 + 12), 1.5 * 15 / (1.5*15 + 10)},
		{"detours, twelve phases with two messages", failover.FORS, State{tables: one}, 1.5 * 15 / (1.5*15 + 14), 1.5 * 15 / (1.5*15 + 8)},
		{"planned anew", failover.FORS, State{plan: one, tables: one}, 15. / 16, 15. / 16},
		{"planned anew, tables healthy", failover.FORS, State{plan: one}, 15. / 16, 15. / 16},
		{"without phases", failover.Unsync, State{plan: one, tables: one}, 1.5 * 12 / 16, 1.5},
	} {
		rates := &Rates{Work: s.rateWith}
		expect.Must(t, rates.Learn(context.Background(), &Timeline{Policy: tt.policy, Intervals: []Interval{{state: tt.state}}}), "%s", tt.name)
		share := rates.of(tt.policy, tt.state) / healthy
		expect.True(t, share >= tt.atLeast-1e-9 && share <= tt.most+1e-9,
			"%s: %.4f of healthy, want %.4f to %.4f", tt.name, share, tt.atLeast, tt.most)
	}
}

// TestMost: nobody takes more than the setting allows, and totals are scaled.
func TestMost(t *testing.T) {
	t.Parallel()
	s := setting(t, 4, 4)
	s.Most, s.Servers = 1e9, 10
	got, err := s.rateWith(context.Background(), failover.MinHop, "", []Dead{""})
	expect.True(t, err == nil && math.Abs(got[0]-10e9) <= 1, "%g, %v", got, err)
}

// TestUnsynchronised holds the load of the busiest wire against the model of flows.
func TestUnsynchronised(t *testing.T) {
	t.Parallel()
	s := setting(t, 4, 6)
	for seed := range uint64(10) {
		links := expect.Value(s.Tree.Random(int(seed%4), seed))(t)
		tree := expect.Value(s.Tree.Without(links...))(t)
		p := expect.Value(plan.Build(tree, plan.Options{Schedule: "linear-shift", Routing: routing.Spread}))(t)
		o := expect.Value(sim.Fluid(context.Background(), &sim.Job{
			Setting: builder.Setting{Mode: "unsynchronised"}, Plan: p, BitPerSec: s.BitPerSec, Size: func(uint64, int) int { return s.Fragment }, Equal: true,
		}, nil))(t)
		got, err := s.unsynchronised(routing.Spread, deadOf(links))
		want := 24 * 23 * 8e9 / o.Span.Seconds() * float64(o.Events[0])
		expect.True(t, err == nil && math.Abs(got/want-1) <= 1e-3, "%v: %g, flows %g, %v", links, got, want, err)
	}
}

// Rates by roles: all fragments over the time of an exchange, as the model of flows has it without
// phases, and with phases of FORS as many times as it has phases. Names of leaves are not exchanged.
func TestRoles(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(31, 11))
	for range 20 {
		s := setting(t, 4, 6)
		s.Timing = sim.Timing{}
		s.Tree = topologytest.Roles(t, s.Tree, rng)
		links := expect.Value(s.Tree.Random(rng.IntN(4), rng.Uint64()))(t)
		tree := expect.Value(s.Tree.Without(links...))(t)
		p := expect.Value(plan.Build(tree, plan.Options{Schedule: "linear-shift", Routing: routing.Spread}))(t)
		o := expect.Value(sim.Fluid(context.Background(), &sim.Job{
			Setting: builder.Setting{Mode: "unsynchronised"}, Plan: p, BitPerSec: s.BitPerSec, Size: func(uint64, int) int { return s.Fragment }, Equal: true,
		}, nil))(t)
		got, err := s.unsynchronised(routing.Spread, deadOf(links))
		_, _, builders := tree.RoleRanks()
		events := o.Events[0]
		if builders != nil {
			events = o.Events[builders[0]]
		}
		want := float64(tree.Messages()) * 8e9 / o.Span.Seconds() * float64(events)
		expect.True(t, err == nil && math.Abs(got/want-1) <= 1e-3, "%v: %g, flows %g, %v", links, got, want, err)
		rates, err := s.rateWith(context.Background(), failover.FORS, deadOf(links), []Dead{deadOf(links)})
		fors := expect.Value(plan.Build(tree, plan.Options{Schedule: "fors"}))(t)
		want = float64(tree.Messages()) * 8e9 / float64(fors.Phases())
		expect.True(t, err == nil && math.Abs(rates[0]/want-1) <= 1e-3, "%v: %g, FORS %g, %v", links, rates, want, err)
		x := State{plan: "leaf1-spine1"}
		expect.True(t, !s.Tree.Divided() || s.same(x) == x, "a state by roles under another name: %v", s.same(x))
	}
}

// TestSame: a state with other names becomes the same one; and what FORS builds in it is
// what it builds under the old names, but for detours, which depend on names a little.
func TestSame(t *testing.T) {
	t.Parallel()
	tree := expect.Value(topology.New(topology.Options{Ports: 6, Leaves: 6}))(t)
	s := &Setting{Tree: tree, BitPerSec: 8e9, Fragment: 1e9, Timing: sim.Timing{Overhead: time.Second / 2}, Seed: 1}
	rng := rand.New(rand.NewPCG(1, 2))
	classes := map[State]bool{}
	for range 60 {
		links := expect.Value(tree.Random(1+rng.IntN(3), rng.Uint64()))(t)
		x := State{plan: deadOf(links[1:]), tables: deadOf(links)}
		y := s.same(x)
		classes[y] = true
		expect.Equal(t, s.same(y), y, "%+v becomes %+v, and that", x, y)
		var rates [2]float64
		for i, x := range []State{x, y} {
			for _, avoided := range []Dead{x.plan, x.tables} {
				got := expect.Value(s.rateWith(context.Background(), failover.FORS, x.plan, []Dead{avoided}))(t)
				if avoided == x.plan && i == 0 {
					rates[0] = got[0]
				} else if avoided == x.plan && math.Abs(got[0]/rates[0]-1) > 1e-9 {
					t.Errorf("%+v: %g, as %+v %g", x, got[0], y, rates[0])
				}
				if avoided == x.tables && i == 0 {
					rates[1] = got[0]
				} else if avoided == x.tables && math.Abs(got[0]/rates[1]-1) > 0.1 {
					t.Errorf("detours %+v: %g, as %+v %g", x, got[0], y, rates[1])
				}
			}
		}
	}
	expect.True(t, len(classes) <= 20, "60 states became %d", len(classes))
}
