package plan_test

import (
	"math/rand/v2"
	"testing"

	"evbench/plan"
	"evbench/scheduler/schedules"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/topology"
)

// brokenPods returns a three-level tree of 4 to 100 servers of any shape that has lost
// up to that share of its links; every third is partly filled.
func brokenPods(t testing.TB, rng *rand.Rand, share float64) *topology.Tree {
	t.Helper()
	for {
		o := topology.Options{Ports: 1 + rng.IntN(4), Pods: 1 + rng.IntN(4)}
		o.Leaves = o.Pods * (1 + rng.IntN(4))
		o.Spines, o.Tops = 1+rng.IntN(o.Ports+1), 1+rng.IntN(o.Leaves/o.Pods+1)
		if rng.IntN(3) == 0 {
			for range o.Leaves {
				o.Fill = append(o.Fill, rng.IntN(o.Ports+1))
			}
		}
		p, err := topology.New(o)
		if err != nil || p.Servers() < 4 || p.Servers() > 100 {
			continue
		}
		share := share * rng.Float64()
		var dead []topology.Link
		for l := range o.Leaves {
			for k := range o.Spines {
				if rng.Float64() < share {
					dead = append(dead, topology.Link{Leaf: l, Spine: k})
				}
			}
		}
		for i := range o.Pods * o.Spines * o.Tops {
			if k := i / o.Tops; rng.Float64() < share {
				dead = append(dead, topology.Link{Leaf: k / o.Spines, Spine: k % o.Spines, Above: true, Top: i % o.Tops})
			}
		}
		if p, err = p.Without(dead...); err != nil {
			t.Fatal(err)
		}
		return p
	}
}

// judgedPods plans, has the plan judged by code that the planner does not use, bound
// and all, and returns it; nil where no server reaches another one.
func judgedPods(t testing.TB, p *topology.Tree, o plan.Options) *plan.Plan {
	t.Helper()
	where := func() string { return p.Notation() + " " + o.Schedule + " " + string(o.Objective) }
	out, err := plan.Build(p, o)
	if err != nil {
		if err.Error() == "no two servers can reach each other: there is no message to plan" {
			return nil
		}
		t.Fatalf("%s, fill %v, down %v: %v", where(), p.Fill(), p.DownNames(), err)
	}
	if r := judged(t, out); !r.ContentionChecked || r.Bound == nil || r.Bound.Gap < 0 {
		t.Fatalf("%s, fill %v, down %v: offences %v, bound %+v", where(), p.Fill(), p.DownNames(), r.Offences, r.Bound)
	}
	return out
}

// repairs are the schedules that are repaired here; xor is for few trees.
var repairs = []string{schedules.LinearShift, schedules.LinearShiftPorts, schedules.BandwidthOptimal, schedules.FORS}

// Repairs on three levels are plans, and as good as fors where they start from it.
func TestRepairPodsJudged(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 1))
	sum, all := map[string]float64{}, expect.Samples(60, 15)
	for i := range all {
		p := brokenPods(t, rng, 0.3)
		best := judgedPods(t, p, plan.Options{Engines: engines.Trees(), Schedule: schedules.FORS, DropUnreachable: true, Seed: uint64(i)})
		if best == nil {
			continue
		}
		for _, base := range repairs {
			q := judgedPods(t, p, plan.Options{Engines: engines.Trees(), Schedule: schedules.RepairPrefix + base, DropUnreachable: true, Seed: uint64(i)})
			if base == schedules.FORS && q.Phases() != best.Phases() {
				t.Errorf("%s down %v: %d phases, repaired %d", p.Notation(), p.DownNames(), best.Phases(), q.Phases())
			}
			sum[base] += float64(q.Phases()) / float64(q.Bound.Phases) / float64(all)
		}
	}
	t.Logf("phases over the bound, mean: %v", sum)
	for base, mean := range sum {
		expect.True(t, mean <= 1.4, "repair:%s has %.2f times the bound on average", base, mean)
	}
}

// One path for each leaf and destination is always found; balanced has no more phases
// than one path needs, and no more than the bound, or those of fewest phases, allow.
func TestObjectivesPodsJudged(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(6, 1))
	over, n := 0.0, 0.0
	for i := range expect.Samples(36, 12) {
		p := brokenPods(t, rng, 0.25*float64(i%3))
		o := plan.Options{Engines: engines.Trees(), Schedule: schedules.FORS, DropUnreachable: true, Seed: uint64(i)}
		least := judgedPods(t, p, o)
		if least == nil {
			continue
		}
		o.Objective = schedules.FewestPaths
		few := judgedPods(t, p, o)
		o.Objective = schedules.Balanced
		both := judgedPods(t, p, o)
		expect.False(t, few.Paths.Most > 1 || both.Phases() > max(p.Servers(), least.Phases()) || both.Paths.Most > max(2, least.Paths.Most),
			"%s, fill %v, down %v: %d phases by %d paths; paths %d by %d, balanced %d by %d", p.Notation(), p.Fill(), p.DownNames(), least.Phases(), least.Paths.Most, few.Phases(), few.Paths.Most, both.Phases(), both.Paths.Most)
		over += float64(few.Phases()) / float64(few.Bound.Phases)
		n++
	}
	if t.Logf("one path: %.3f times the bound on average of %v trees", over/n, n); over/n > 1.25 {
		t.Errorf("one path: %.3f times the bound on average", over/n)
	}
}

// What cannot reach each other is left out, and nothing else.
func TestDropPodsJudged(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 1))
	apart := 0
	for i := range 80 {
		p := brokenPods(t, rng, 0.9)
		o := plan.Options{Engines: engines.Trees(), Schedule: schedules.FORS, Seed: uint64(i), DropUnreachable: true}
		q := judgedPods(t, p, o)
		if q == nil || len(q.Unreachable) == 0 {
			continue
		}
		apart++
		for _, name := range []string{schedules.LinearShift, schedules.BandwidthOptimal} {
			o.Schedule, o.Routing = name, plan.NoRouting
			r := expect.Value(plan.Build(p, o))(t)
			expect.False(t, r.Bound.Phases != q.Bound.Phases || r.Messages() != q.Messages(),
				"%s down %v: %s has bound %d for %d messages, fors %d for %d", p.Notation(), p.DownNames(), name, r.Bound.Phases, r.Messages(), q.Bound.Phases, q.Messages())
		}
	}
	expect.True(t, apart >= 20, "only %d trees with unreachable pairs", apart)
}
