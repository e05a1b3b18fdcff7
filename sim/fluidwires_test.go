package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"evbench/internal/expect"
	"evbench/plan"
	"evbench/results"
	"evbench/topology"
	"evbench/topology/topologytest"
)

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
		Mode: results.Unsync, Plan: planOf(t, tr, o), Size: spreadSizes(mega, rng.Float64()), Header: 40, Requests: Requests{Credits: 1 + rng.IntN(3)},
		BitPerSec: 8e9, Interval: time.Second, Duration: 60 * time.Millisecond, Seed: rng.Uint64(),
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
	for range 60 {
		j := drawn(t, rng)
		n := j.Plan.Tree.Servers()
		j.Sources = rng.IntN(n)
		steps(t, newFlows(j, newReceivers(j), n*n))
	}
	for range 20 {
		j := small(t, results.FreeRunning, "fors", "")
		down := small(t, results.FreeRunning, "fors", "", topology.Link{Leaf: rng.IntN(4), Spine: rng.IntN(4)}.String())
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
			for _, w := range f.shares.wires(s) {
				carried[w] += f.current[s].bytes - f.shares.left(s) - f.told[s]
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
		for _, w := range f.shares.wires(s) {
			sum[w] += f.shares.rate(s)
			most[w] = max(most[w], f.shares.rate(s))
		}
	}
	for _, s := range f.active {
		held := false
		for _, w := range f.shares.wires(s) {
			if w == f.shares.none {
				continue
			}
			expect.MustTrue(t, sum[w] <= 1e9*(1+1e-7), "at %v wire %d carries %v", f.now, w, sum[w])
			held = held || sum[w] > 1e9*(1-1e-7) && f.shares.rate(s) > most[w]*(1-1e-7)
		}
		if !held {
			t.Fatalf("at %v stream %d has %v, and nothing holds it up", f.now, s, f.shares.rate(s))
		}
	}
}

// TestFluidQuantumOwesLittle: what wires have carried by the end of any quantum is at most
// their rate times the time and four quanta.
func TestFluidQuantumOwesLittle(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		j := drawn(t, rng)
		exchange := time.Duration(j.Plan.Tree.Servers()) * time.Millisecond
		j.Quantum, j.Duration = max(exchange/time.Duration(1+rng.IntN(30)), 50*time.Microsecond), 10*exchange
		c := newCoarse(j)
		c.assigner.all(c.give)
		for at, over := 0.0, false; !over; {
			var err error
			if at, over, err = c.step(at); err != nil {
				t.Fatal(err)
			}
			for w, bytes := range c.meter.wire[:c.plans.wires] {
				most := c.rate * (at + 4*c.quantum)
				expect.MustTrue(t, bytes <= most, "wire %d has carried %.0f bytes by %v, at most %.0f (quantum %v)", w, bytes, at, most, j.Quantum)
			}
		}
	}
}
