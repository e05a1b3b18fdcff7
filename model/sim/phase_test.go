package sim

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/plan"
	"evbench/routing"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// job is a modes.Sync job of one-second messages: fragments of 100 bytes with their
// headers at 800 bit/s.
func job(p *plan.Plan) *Job {
	return &Job{
		Setting: builder.Setting{Name: "case", Mode: modes.Sync, Credits: 1, Duration: time.Second}, Plan: p, Size: func(uint64, int) int { return 60 }, Header: 40, Equal: true,
		Common: builder.Common{Interval: time.Hour, Seed: 1}, BitPerSec: 800,
	}
}

func phase(t *testing.T, j *Job) *Outcome {
	t.Helper()
	o := expect.Value(Phase(context.Background(), j, nil))(t)
	return o
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	expect.True(t, math.Abs(got-want) <= 1e-6*max(1, math.Abs(want)), "%s: %.9g, want %.9g", what, got, want)
}

// cables has two between each leaf and each spine.
var cables = topology.Options{Ports: 4, Leaves: 4, Spines: 2, Cables: 2}

// plans are trees, dead links, schedules and routings of all kinds.
func plans(t *testing.T) map[string]*plan.Plan {
	partly := topology.Options{Ports: 4, Leaves: 5, Fill: []int{4, 3, 4, 0, 2}}
	whole := topology.Options{Ports: 4, Leaves: 8}
	return map[string]*plan.Plan{
		"healthy":       planned(t, topologytest.Tree(t, whole), "linear-shift", "ftree"),
		"dead link":     planned(t, topologytest.Tree(t, whole, "leaf0-spine0"), "linear-shift", "minhop"),
		"dead spine":    planned(t, topologytest.Tree(t, whole, "spine1"), "linear-shift", "opensm-minhop"),
		"fors":          planned(t, topologytest.Tree(t, whole, "leaf0-spine0", "leaf3-spine1"), "fors", "pinned"),
		"partly filled": planned(t, topologytest.Tree(t, partly, "leaf0-spine2"), "linear-shift", "spread"),
		"by port":       planned(t, topologytest.Tree(t, partly), "linear-shift-ports", "ftree"),
		"optimal":       planned(t, topologytest.Tree(t, whole), "bandwidth-optimal", "pinned"),
		"three levels":  podPlan(t, topology.Options{Ports: 2, Leaves: 8, Pods: 4}),
		"cables":        planned(t, topologytest.Tree(t, cables, "leaf0-spine1/0", "leaf2-spine1"), "fors", ""),
		"cables shift":  planned(t, topologytest.Tree(t, cables, "leaf0-spine1/0"), "linear-shift", "spread"),
	}
}

// TestPhaseIsCost: without overhead and barrier an exchange takes what plan.Cost says.
func TestPhaseIsCost(t *testing.T) {
	for name, p := range plans(t) {
		t.Run(name, func(t *testing.T) {
			c := p.Cost(plan.Equal, 1)
			o := phase(t, job(p))
			near(t, "span", o.Span.Seconds(), c.Duration)
			if load, _ := p.Loads(plan.Equal); len(load) != len(o.Wires) {
				t.Fatalf("%d wires, the plan has %d", len(o.Wires), len(load))
			} else {
				for w := range load {
					near(t, fmt.Sprint("bytes of wire ", w), o.Wires[w], 100*load[w])
				}
			}
			c2 := Case{Job: *job(p), Model: PhaseModel}
			near(t, "efficiency", c2.summary(o).MeasuredEfficiency, c.Synchronised())
		})
	}
}

// TestPhaseAgainstSimple holds random jobs of unequal fragments against a model that
// keeps nothing and looks every message up for every phase.
func TestPhaseAgainstSimple(t *testing.T) {
	all := plans(t)
	names := slices.Sorted(func(yield func(string) bool) {
		for n := range all {
			if !yield(n) {
				return
			}
		}
	})
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		name := names[rng.IntN(len(names))]
		j := job(all[name])
		j.Equal = rng.IntN(2) == 0
		if !j.Equal {
			j.Size = func(event uint64, source int) int { return int(routing.Mix(event, uint64(source)) % 1000) }
		}
		j.Warmup = uint64(rng.IntN(3))
		j.Duration = time.Duration(rng.IntN(100)) * time.Second
		j.Interval = time.Duration(1+rng.IntN(60)) * time.Second
		j.Timing = Timing{
			Barrier: []string{"tournament", "central", "dissemination", ""}[rng.IntN(4)],
			Round:   time.Duration(rng.IntN(100)) * time.Millisecond, Overhead: time.Duration(rng.IntN(100)) * time.Millisecond,
			Jitter: time.Duration(rng.IntN(2)*rng.IntN(1000)) * time.Millisecond,
		}
		o := phase(t, j)
		want := simple(t, j)
		near(t, name+": exchanges", float64(o.Exchanges), float64(want.exchanges))
		near(t, name+": span", o.Span.Seconds(), want.span)
		for i := range want.waited {
			near(t, fmt.Sprintf("%s: wait of %d", name, i), o.waited[i].Seconds(), want.waited[i])
			near(t, fmt.Sprintf("%s: received by %d", name, i), float64(o.Received[i]), want.received[i])
			near(t, fmt.Sprintf("%s: sent by %d", name, i), float64(o.sent[i]), want.sent[i])
		}
		samplesAddUp(t, name, j, o)
	}
}

// samplesAddUp: all samples of a server together are what the outcome says of it.
func samplesAddUp(t *testing.T, name string, j *Job, o *Outcome) {
	t.Helper()
	n := j.Plan.Tree.Servers()
	events, payload, waited := make([]uint64, n), make([]uint64, n), make([]float64, n)
	last := 0.0
	for _, s := range o.samples {
		i, _ := j.Plan.Tree.Rank(s.Server)
		events[i] += s.Events
		payload[i] += s.PayloadBytes
		waited[i] += s.BarrierWaitSec
		expect.MustTrue(t, s.TSec >= last && s.IntervalSec > 0 && s.IntervalSec <= j.Interval.Seconds()+1e-9,
			"%s: sample %+v after one at %g", name, s, last)
		last = s.TSec
	}
	for i := range n {
		expect.True(t, events[i] == o.Events[i] && payload[i] == o.Received[i],
			"%s: samples of rank %d: %d events of %d, %d bytes of %d", name, i, events[i], o.Events[i], payload[i], o.Received[i])
		near(t, name+": waiting in samples", waited[i], o.waited[i].Seconds())
	}
}

type simpleOutcome struct {
	exchanges              int
	span                   float64
	waited, received, sent []float64
}

// simple is the phase model as its comment tells it.
func simple(t *testing.T, j *Job) simpleOutcome {
	p, n := j.Plan, j.Plan.Tree.Servers()
	net := networkOf(p, j.Seed)
	r := expect.Value(rounds(j.Timing.Barrier, n))(t)
	wait := float64(r) * j.Timing.Round.Seconds()
	out := simpleOutcome{waited: make([]float64, n), received: make([]float64, n), sent: make([]float64, n)}
	clock := 0.0
	for e := uint64(j.Warmup); out.exchanges == 0 || clock < j.Duration.Seconds(); e++ {
		for k := range p.Schedule.Phases {
			load := map[int32]float64{}
			each := func(f func(src, dst int, size float64)) {
				for src := range n {
					for dst := range n {
						if src == dst {
							continue
						}
						if at, _ := p.Schedule.At(src, dst); at == k {
							f(src, dst, float64(j.Size(e*uint64(n)+uint64(dst), src)))
						}
					}
				}
			}
			busiest := 0.0
			each(func(src, dst int, size float64) {
				for _, w := range net.path(nil, src, dst) {
					load[w] += size + float64(j.Header)
					busiest = max(busiest, load[w])
				}
				out.received[dst] += size
				out.sent[src] += size
			})
			own := make([]float64, n)
			each(func(src, dst int, _ float64) {
				for _, w := range net.path(nil, src, dst) {
					own[src], own[dst] = max(own[src], load[w]), max(own[dst], load[w])
				}
			})
			late, latest := make([]float64, n), 0.0
			for i := range n {
				late[i] = j.Timing.Jitter.Seconds() * float64(routing.Mix(j.Seed, (e<<16+uint64(k))*uint64(n)+uint64(i))>>11) / (1 << 53)
				latest = max(latest, late[i])
			}
			transfer := latest + busiest*8/j.BitPerSec
			for i := range n {
				out.waited[i] += transfer - late[i] - own[i]*8/j.BitPerSec + wait
			}
			clock += j.Timing.Overhead.Seconds() + transfer + wait
		}
		out.exchanges++
		out.span = clock - wait
	}
	return out
}

func TestRounds(t *testing.T) {
	for _, c := range []struct {
		kind string
		n    int
		want int
	}{
		{"", 16, 0}, {"tournament", 1, 0}, {"tournament", 2, 2}, {"tournament", 16, 8}, {"tournament", 512, 18}, {"tournament", 326, 17},
		{"dissemination", 16, 4}, {"dissemination", 326, 9}, {"central", 2, 2}, {"central", 16, 16}, {"central", 326, 326},
	} {
		got, err := rounds(c.kind, c.n)
		expect.True(t, err == nil && got == c.want, "%s of %d: %d rounds, %v; want %d", c.kind, c.n, got, err, c.want)
	}
	expect.True(t, expect.Err(rounds("magic", 4)) != nil, "no error for an unknown barrier")
}

// TestPhaseChange: a link dies 40 messages into the second exchange and comes back. By
// tables the next phase takes over; the plan of other phases waits for the next
// exchange.
func TestPhaseChange(t *testing.T) {
	healthy := topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4})
	dead := topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4}, "leaf0-spine0")
	a, b := planned(t, healthy, "linear-shift", "minhop"), planned(t, dead, "linear-shift", "minhop")
	fors := planned(t, dead, "fors", "pinned")
	each := func(p *plan.Plan) (out []float64) {
		x := expect.Value(newPhaser(job(p)))(t)
		for k := range p.Schedule.Phases {
			for m := range p.Schedule.All() {
				if m.Phase == k {
					by := m.Spine
					if !p.Pinned() {
						by = p.Path(m.Src, m.Dst)
					}
					x.put(x.newTurn(), x.nets[0], m, by, 60)
				}
			}
			out = append(out, x.busiest()/100)
			x.close(x.newTurn(), 0, k, false)
		}
		return out
	}
	sum := func(x []float64) (s float64) {
		for _, v := range x {
			s += v
		}
		return s
	}
	whole, worse := each(a), each(b)
	if sum(whole) != 15 || sum(worse) != 26 {
		t.Fatalf("exchanges of %v and %v messages, want 15 and 26", sum(whole), sum(worse))
	}
	j := job(a)
	j.Duration = 40 * time.Second

	// The change comes within phase 5 of the second exchange.
	j.Changes = []Change{{At: 20500 * time.Millisecond, Plan: b}}
	end := func(exchange int) float64 {
		upTo := *j
		upTo.Exchanges = exchange
		return phase(t, &upTo).Span.Seconds()
	}
	second := 15 + sum(whole[:6]) + sum(worse[6:])
	near(t, "tables: end of the second exchange", end(2), second)
	near(t, "tables: end of the third", end(3), second+26)

	j.Changes = []Change{{At: 20500 * time.Millisecond, Plan: fors}}
	near(t, "fors: end of the second exchange", end(2), 30)
	near(t, "fors: end of the third", end(3), 46)

	// There and back within one exchange.
	j.Changes = []Change{{At: 2500 * time.Millisecond, Plan: b}, {At: 2600 * time.Millisecond, Plan: a}}
	near(t, "back at once", end(1), 15)
}

func TestPhaseRefuses(t *testing.T) {
	p := planned(t, topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2}), "linear-shift", "ftree")
	other := planned(t, topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3}), "linear-shift", "ftree")
	for _, c := range []struct {
		name   string
		change func(j *Job)
		want   string
	}{
		{"mode", func(j *Job) { j.Mode = "unsynchronised" }, "the fluid model"},
		{"rate", func(j *Job) { j.BitPerSec = 0 }, "rate"},
		{"schedule", func(j *Job) { j.Plan = planned(t, p.Tree, "", "ftree") }, "schedule"},
		{"routes", func(j *Job) { j.Plan = planned(t, p.Tree, "linear-shift", plan.NoRouting) }, "without paths"},
		{"tree", func(j *Job) { j.Changes = []Change{{Plan: other}} }, "another tree"},
		{"barrier", func(j *Job) { j.Timing.Barrier = "magic" }, "magic"},
		{"too many", func(j *Job) { j.BitPerSec, j.Duration = 1e15, 24*time.Hour }, "larger fragments"},
	} {
		j := job(p)
		c.change(j)
		expect.Error(t, expect.Err(Phase(context.Background(), j, nil)), c.want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	expect.Is(t, expect.Err(Phase(ctx, job(p), nil)), context.Canceled)
}

// TestPhaseProgress: what is told rises to the end.
func TestPhaseProgress(t *testing.T) {
	j := job(planned(t, topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2}), "linear-shift", "ftree"))
	j.Duration = time.Hour
	last := time.Duration(0)
	if _, err := Phase(context.Background(), j, func(done, of time.Duration) {
		expect.True(t, done > last && of == j.Duration, "%s of %s after %s", done, of, last)
		last = done
	}); err != nil || last != j.Duration {
		t.Errorf("%v; ended at %s", err, last)
	}
}

func benchmarkPlan(b *testing.B, o topology.Options, down ...topology.Link) *plan.Plan {
	return planOf(b, topologytest.Without(b, o, down...), plan.Options{Schedule: "fors", Seed: 1})
}

var nineDead = []topology.Link{
	{Leaf: 0, Spine: 0}, {Leaf: 0, Spine: 3}, {Leaf: 0, Spine: 6}, {Leaf: 5, Spine: 1}, {Leaf: 5, Spine: 4},
	{Leaf: 5, Spine: 7}, {Leaf: 11, Spine: 2}, {Leaf: 11, Spine: 5}, {Leaf: 11, Spine: 8},
}

// lhcb is 326 servers on FT(2;20,18), filled as scenarios/lhcb-fig65.yaml has it.
var lhcb = topology.Options{
	Ports: 20, Leaves: 18, Fill: []int{19, 19, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18},
}

func benchmarkExchange(b *testing.B, p *plan.Plan, equal bool) {
	j := job(p)
	j.Equal = equal
	b.ReportAllocs()
	for b.Loop() {
		expect.Must(b, expect.Err(Phase(context.Background(), j, nil)))
	}
}

// One FORS exchange of 326 servers with nine dead links; and of 4,096.
func BenchmarkPhase326(b *testing.B) { benchmarkExchange(b, benchmarkPlan(b, lhcb, nineDead...), true) }
func BenchmarkPhase4096(b *testing.B) {
	benchmarkExchange(b, benchmarkPlan(b, topology.Options{Ports: 64, Leaves: 64}, nineDead...), true)
}

// A minute of 326 servers at 200 Gbit/s, with and without equal fragments.
func BenchmarkPhaseMinute(b *testing.B) {
	p := benchmarkPlan(b, lhcb, nineDead...)
	for _, equal := range []bool{true, false} {
		b.Run(fmt.Sprintf("equal=%t", equal), func(b *testing.B) {
			j := job(p)
			j.Equal, j.Duration, j.Interval, j.BitPerSec = equal, time.Minute, 5*time.Second, 200e9
			j.Size = func(uint64, int) int { return 2_350_000 }
			for b.Loop() {
				expect.Must(b, expect.Err(Phase(context.Background(), j, nil)))
			}
		})
	}
}
