package order_test

import (
	"math/rand/v2"
	"testing"

	"evbench/scheduler"
	"evbench/scheduler/order"
	"evbench/testing/expect"
)

// drawn is a problem of random paths over random links, some of which are slow where slow says so.
func drawn(rng *rand.Rand, slow bool) *scheduler.Problem {
	n, links := 2+rng.IntN(8), 1+rng.IntN(8)
	p := &scheduler.Problem{Hosts: n}
	for l := range 2*n + links {
		rate := float64(1 + rng.IntN(3))
		if slow && rng.IntN(4) == 0 {
			rate = 0.25 + rng.Float64()/2
		}
		if l < 2*n {
			p.Links = append(p.Links, scheduler.HostLink(rate))
		} else {
			p.Links = append(p.Links, scheduler.LinkOf(rate))
		}
	}
	paths := scheduler.Listed{Hosts: n}
	for range n * n {
		var path []int32
		for l := range links {
			if rng.IntN(3) == 0 {
				path = append(path, int32(2*n+l))
			}
		}
		paths.Of = append(paths.Of, [][]int32{path})
	}
	p.Paths = paths
	some := rng.Uint64()
	p.Meets = func(src, dst int) bool { return src != dst && some>>((src*n+dst)%64)&3 != 0 }
	return p
}

// TestPlans: over random paths a plan has each message once, and no phase in which a link has more messages than room,
// unless links are slow; with these it is not longer than the order of ranks. No plan is shorter than the bound, by what each link
// carries in each phase, counted again.
func TestPlans(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for i := range expect.Samples(400, 120) {
		p := drawn(rng, i%2 == 0)
		x := order.New(p, nil)
		best := order.Best(x, 0)
		for _, plan := range []*scheduler.Plan{best, x.ByPairs(), x.LinearShift()} {
			time, shared := counted(t, p, plan)
			expect.True(t, time >= x.Bound().Steps*(1-1e-9) || plan.Made == "linear-shift", "%d, %s: %g, bound %g", i, plan.Made, time, x.Bound().Steps)
			expect.True(t, x.Time(plan)-time < 1e-9 && time-x.Time(plan) < 1e-9, "%d, %s: %g, counted %g", i, plan.Made, x.Time(plan), time)
			expect.True(t, i%2 == 0 || !shared || plan.Made == "linear-shift", "%d, %s: messages share a link", i, plan.Made)
		}
		expect.True(t, i%2 == 1 || x.Time(best) <= x.Time(x.LinearShift())+1e-9, "%d: longer than the order of ranks", i)
	}
}

// counted is how long a plan takes, and whether a link has more messages in a phase than it has room for.
func counted(t *testing.T, p *scheduler.Problem, plan *scheduler.Plan) (time float64, shared bool) {
	t.Helper()
	for k := range plan.Phases {
		on := make([]int, len(p.Links))
		p.Each(func(src, dst int) {
			if plan.At(src, dst) == k {
				for _, l := range p.Paths.Append([]int32{int32(src), int32(p.Hosts + dst)}, src, dst, 0) {
					on[l]++
				}
			}
		})
		longest := 0.0
		for l, n := range on {
			if n > 0 {
				longest = max(longest, 1, float64(n)/p.Links[l].Rate())
				shared = shared || n > int(p.Links[l].Room)
			}
		}
		time += longest
	}
	p.Each(func(src, dst int) {
		expect.True(t, plan.At(src, dst) != order.None, "no phase for %d to %d", src, dst)
	})
	return time, shared
}
