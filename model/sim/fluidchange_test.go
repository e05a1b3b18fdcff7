package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/plan"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// Two leaves of one server and two spines: ftree sends 0 to 1 over spine 1.
func pairJob(t *testing.T) *Job {
	tr := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2, Fill: []int{1, 1}})
	return &Job{
		Setting: builder.Setting{Mode: modes.Unsync}, Plan: planOf(t, tr, plan.Options{Routing: "ftree"}), Size: equal, Header: 40, BitPerSec: 8e9,
		Common: builder.Common{Interval: time.Second},
	}
}

func without(t *testing.T, p *plan.Plan, links ...string) *plan.Plan {
	t.Helper()
	tr := p.Tree
	for _, name := range links {
		l, err := tr.Links(name)
		expect.Must(t, err)
		if tr, err = tr.Without(l...); err != nil {
			t.Fatal(err)
		}
	}
	return planOf(t, tr, plan.Options{Routing: p.Routing, DropUnreachable: true})
}

// stale is a plan in which links have died and that nobody has made anew.
func stale(t *testing.T, p *plan.Plan, links ...string) *plan.Plan {
	t.Helper()
	out := *p
	out.Tree = without(t, p, links...).Tree
	return &out
}

// used returns the spine that carries messages from rank 0 to rank 1, and the link to
// its leaf.
func used(p *plan.Plan) (int, string) {
	k, _ := p.Tree.SpineTop(p.Path(0, 1))
	return k, topology.Link{Leaf: 0, Spine: k}.String()
}

func TestFluidChanges(t *testing.T) {
	j := pairJob(t)
	spine, link := used(j.Plan)
	old, other := j.Plan.Tree.Up(0, spine), j.Plan.Tree.Up(0, 1-spine)
	at := 400 * time.Microsecond
	for _, c := range []struct {
		name       string
		changes    []Change
		span       float64 // ms
		old, other float64 // MB
	}{
		{"none", nil, 1, 1, 0},
		{"repaired at once", []Change{{at, without(t, j.Plan, link)}}, 1, 0.4, 0.6},
		{"stalls until it is repaired", []Change{{at, stale(t, j.Plan, link)}, {3 * at, without(t, j.Plan, link)}}, 1.8, 0.4, 0.6},
		{"stalls until the link is back", []Change{{at, stale(t, j.Plan, link)}, {3 * at, j.Plan}}, 1.8, 1, 0},
		{"flaps", []Change{
			{at, stale(t, j.Plan, link)}, {2 * at, j.Plan}, {5 * at / 2, stale(t, j.Plan, link)}, {3 * at, j.Plan},
		}, 1.6, 1, 0},
		{"another link", []Change{{at, without(t, j.Plan, topology.Link{Leaf: 0, Spine: 1 - spine}.String())}}, 1, 1, 0},
		{"stays on its path", []Change{{at, without(t, j.Plan, link)}, {2 * at, j.Plan}}, 1, 0.4, 0.6},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := *j
			k.Changes = c.changes
			o := outcome(t, &k)
			within(t, "span", o.Span.Seconds(), c.span/1000, 1e-6)
			within(t, "bytes on the path", o.Wires[old], c.old*mega, 1e-6)
			within(t, "bytes on the other", o.Wires[other], c.other*mega, 1e-6)
		})
	}
}

func TestFluidNeverRepaired(t *testing.T) {
	j := pairJob(t)
	_, link := used(j.Plan)
	j.Changes = []Change{{400 * time.Microsecond, stale(t, j.Plan, link)}}
	_, err := Fluid(t.Context(), j, nil)
	expect.Error(t, err, "server0 waits for ever: no path is alive")
}

// TestFluidLeavesOutWhatCannotMeet cuts one leaf off: its events and those of the
// others are then built of what there is.
func TestFluidLeavesOutWhatCannotMeet(t *testing.T) {
	j := small(t, modes.Unsync, "", "ftree")
	j.Plan, j.Duration = without(t, j.Plan, "leaf3-spine0", "leaf3-spine1", "leaf3-spine2", "leaf3-spine3"), 5e7
	o := outcome(t, j)
	got, want := o.Received[0], o.Exchanges*11*(mega-40)
	expect.True(t, got == want, "a server of the rest got %d bytes, want %d", got, want)
	if got, want := o.Received[15], o.Exchanges*3*(mega-40); got != want {
		t.Errorf("a server of the leaf got %d bytes, want %d", got, want)
	}
}

// TestFluidScheduleChanges lets plans take over between exchanges.
func TestFluidScheduleChanges(t *testing.T) {
	for _, mode := range []modes.Mode{modes.Sync, modes.FreeRunning} {
		j := small(t, mode, "fors", "")
		down := small(t, mode, "fors", "", "leaf0-spine0").Plan
		j.Credits = 4
		j.Duration, j.Changes = 200*time.Millisecond, []Change{{20 * time.Millisecond, down}, {80 * time.Millisecond, j.Plan}}
		o := outcome(t, j)
		// Fifteen message times without a failure; one exchange is under way when the
		// link dies, and its fragments give way to others on their new paths. The last may
		// begin right before the end.
		least, most := 200*time.Millisecond, 270*time.Millisecond
		expect.True(t, o.Span >= least && o.Span <= most && o.Exchanges >= 7, "%s: %d exchanges in %v", mode, o.Exchanges, o.Span)
		for s, n := range o.sent {
			expect.True(t, n == o.Exchanges*15*(mega-40), "%s: rank %d sent %d bytes in %d exchanges", mode, s, n, o.Exchanges)
		}
	}
}

// drawn is a random job on a small tree.
func drawn(t *testing.T, rng *rand.Rand) *Job {
	t.Helper()
	tr := topologytest.Tree(t, topology.Options{Ports: 2 + rng.IntN(3), Leaves: 2 + rng.IntN(5)})
	for range rng.IntN(4) {
		cut, err := tr.Without(topology.Link{Leaf: rng.IntN(tr.Leaves()), Spine: rng.IntN(tr.Ports())})
		if err == nil {
			tr = cut
		}
	}
	o := plan.Options{Routing: []string{"ftree", "minhop", "ecmp"}[rng.IntN(3)], Seed: rng.Uint64(), DropUnreachable: true}
	j := &Job{
		Setting: builder.Setting{Mode: modes.Unsync, Credits: 1 + rng.IntN(3), Duration: 60 * time.Millisecond}, Plan: planOf(t, tr, o), Size: spreadSizes(mega, rng.Float64()), Header: 40,
		BitPerSec: 8e9, Common: builder.Common{Interval: time.Second, Seed: rng.Uint64()},
	}
	if rng.IntN(2) == 0 {
		j.Timing.Overhead = 20 * time.Microsecond
	}
	return j
}

// TestFluidSharesFairly stops at each moment at which something happens. Of every fragment
// under way some wire is full, and none on that wire is faster; so nobody could have more.
// And what wires have carried so far, fragments under way included, is at most their rate
// times the time. Both but for rounding.
func TestFluidSharesFairly(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range expect.Samples(30, 15) {
		j := drawn(t, rng)
		n := j.Plan.Tree.Servers()
		j.Sources = rng.IntN(n)
		steps(t, newFlows(j, newReceivers(j), n*n))
	}
	for range expect.Samples(8, 5) {
		j := small(t, modes.FreeRunning, "fors", "")
		down := small(t, modes.FreeRunning, "fors", "", topology.Link{Leaf: rng.IntN(4), Spine: rng.IntN(4)}.String())
		j.Size, j.Credits, j.Duration = spreadSizes(mega, rng.Float64()), 1+rng.IntN(4), 100*time.Millisecond
		j.Changes = []Change{{time.Duration(rng.IntN(4e7)), down.Plan}, {time.Duration(5e7 + rng.IntN(4e7)), j.Plan}}
		steps(t, newFlows(j, newRunners(j), j.Plan.Tree.Servers()))
	}
}

func steps(t *testing.T, f *flows) {
	t.Helper()
	f.rule.begin(&f.stage)
	for f.share(); f.step(); f.share() {
		carried := slices.Clone(f.meter.wire)
		for _, s := range f.active {
			for _, w := range f.shares.Wires(s) {
				carried[w] += f.current[s].bytes - f.shares.Left(s) - f.told[s]
			}
		}
		for w, bytes := range carried[:f.plans.wires] {
			most := f.now*1e9*(1+1e-7) + 1
			expect.MustTrue(t, bytes <= most, "wire %d has carried %.0f bytes by %v, at most %.0f", w, bytes, f.now, most)
		}
		f.share()
		fair(t, f)
	}
}

// fair checks the rates of all that is under way.
func fair(t *testing.T, f *flows) {
	t.Helper()
	sum, most := make([]float64, f.plans.wires+1), make([]float64, f.plans.wires+1)
	for _, s := range f.active {
		for _, w := range f.shares.Wires(s) {
			sum[w] += f.shares.Rate(s)
			most[w] = max(most[w], f.shares.Rate(s))
		}
	}
	for _, s := range f.active {
		held := false
		for _, w := range f.shares.Wires(s) {
			if w == f.shares.None {
				continue
			}
			expect.MustTrue(t, sum[w] <= 1e9*(1+1e-7), "at %v wire %d carries %v", f.now, w, sum[w])
			held = held || sum[w] > 1e9*(1-1e-7) && f.shares.Rate(s) > most[w]*(1-1e-7)
		}
		if !held {
			t.Fatalf("at %v stream %d has %v, and nothing holds it up", f.now, s, f.shares.Rate(s))
		}
	}
}
