package balance_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"evbench/scheduler"
	"evbench/scheduler/balance"
	"evbench/scheduler/order"
	"evbench/testing/expect"
	"evbench/topology"
)

// drawn is a random problem of some kind: the live paths of a tree, or one to three paths over a few links, some of which
// have room for several messages or are slow, as hosts are; some pairs have no message.
func drawn(t *testing.T, rng *rand.Rand, kind int) *scheduler.Problem {
	t.Helper()
	if kind == 0 {
		tree := expect.Value(topology.New(topology.Options{Ports: 2, Leaves: 2 + rng.IntN(2), Spines: 2 + rng.IntN(2)}))(t)
		a, b := topology.Link{Leaf: rng.IntN(tree.Leaves()), Spine: 0}, topology.Link{Leaf: rng.IntN(tree.Leaves()), Spine: 1}
		tree = expect.Value(tree.Without(a))(t)
		return scheduler.OfTree(tree, topology.Rates{Hosts: []topology.SlowHost{{Rank: rng.IntN(4), Share: 0.5}}, Slow: []topology.SlowLink{{Link: b, Share: 0.25}}})
	}
	n, links := 3+rng.IntN(3), 2+rng.IntN(4)
	p := &scheduler.Problem{Hosts: n}
	for l := range 2*n + links {
		rate := []float64{1, 1, 1, 2, 3}[rng.IntN(5)]
		if kind > 1 && rng.IntN(4) == 0 {
			rate = []float64{0.25, 0.4, 0.5}[rng.IntN(3)]
		}
		if p.Links = append(p.Links, scheduler.LinkOf(rate)); l < 2*n {
			p.Links[l] = scheduler.HostLink(rate)
		}
	}
	paths := scheduler.Listed{Hosts: n, Of: make([][][]int32, n*n)}
	for m := range paths.Of {
		for range 1 + rng.IntN(3) {
			path := []int32{int32(2*n + rng.IntN(links))}
			if l := int32(2*n + rng.IntN(links)); l != path[0] {
				path = append(path, l)
			}
			paths.Of[m] = append(paths.Of[m], path)
		}
	}
	left, some := 3+rng.IntN(8), map[int]bool{}
	for _, m := range rng.Perm(n * n) {
		if left > 0 && m/n != m%n {
			left, some[m] = left-1, true
		}
	}
	p.Paths, p.Meets = paths, func(src, dst int) bool { return some[src*n+dst] }
	return p
}

// all are the links of a message over a candidate path, those of its hosts first.
func all(p *scheduler.Problem, src, dst, path int) []int32 {
	return p.Paths.Append([]int32{int32(src), int32(p.Hosts + dst)}, src, dst, path)
}

// lasts is how long a step does in which links carry so many messages.
func lasts(p *scheduler.Problem, on []int) (time float64) {
	for l, n := range on {
		if n > 0 {
			time = max(time, 1, float64(n)/p.Links[l].Rate())
		}
	}
	return time
}

// counted is how long a plan takes, and what is wrong with it: each message has a step and one of its paths, a host sends
// and receives one a step, and without slow links none carries more than it has room for.
func counted(p *scheduler.Problem, plan *scheduler.Plan, slow bool) (time float64, wrong string) {
	on := make([][]int, plan.Phases)
	for k := range on {
		on[k] = make([]int, len(p.Links))
	}
	p.Each(func(src, dst int) {
		k, path := plan.At(src, dst), int(plan.Path[src*p.Hosts+dst])
		if k < 0 || k >= plan.Phases || path >= p.Paths.Count(src, dst) {
			wrong = fmt.Sprintf("%d to %d: step %d, path %d", src, dst, k, path)
			return
		}
		for _, l := range all(p, src, dst, path) {
			if on[k][l]++; on[k][l] > 1 && (int(l) < 2*p.Hosts || !slow && on[k][l] > int(p.Links[l].Room)) {
				wrong = fmt.Sprintf("%d messages on link %d in step %d", on[k][l], l, k)
			}
		}
	})
	for _, links := range on {
		time += lasts(p, links)
	}
	return time, wrong
}

// shortest is the least time of a plan in steps, below most: each message in turn takes a candidate, and a step in use or
// the next. Without slow links it has no step in which a link carries more than it has room for.
func shortest(p *scheduler.Problem, slow bool, most float64) float64 {
	var messages [][2]int
	p.Each(func(src, dst int) { messages = append(messages, [2]int{src, dst}) })
	var steps [][]int
	var place func(i int, time float64)
	place = func(i int, time float64) {
		if time >= most*(1-1e-9) {
			return
		}
		if i == len(messages) {
			most = time
			return
		}
		src, dst := messages[i][0], messages[i][1]
		for path := range p.Paths.Count(src, dst) {
			links := all(p, src, dst, path)
			for k := range len(steps) + 1 {
				if k == len(steps) {
					steps = append(steps, make([]int, len(p.Links)))
				}
				before, fits := lasts(p, steps[k]), true
				for _, l := range links {
					steps[k][l]++
					fits = fits && (steps[k][l] == 1 || int(l) >= 2*p.Hosts && (slow || steps[k][l] <= int(p.Links[l].Room)))
				}
				if fits {
					place(i+1, time+lasts(p, steps[k])-before)
				}
				for _, l := range links {
					steps[k][l]--
				}
			}
			for len(steps) > 0 && lasts(p, steps[len(steps)-1]) == 0 {
				steps = steps[:len(steps)-1]
			}
		}
	}
	place(0, 0)
	return most
}

// TestRandom: plans of random problems of three kinds are valid by a count of their own, take the time that package order
// says, and no less than the proof. Where messages are few, a search of all paths and steps says how many plans are longer than
// need be: 1 of 492.
func TestRandom(t *testing.T) {
	rng, longer, searched, most := rand.New(rand.NewPCG(9, 1)), 0, 0, 1.0
	for i := range expect.Samples(1000, 60) {
		kind := i % 3
		p, messages := drawn(t, rng, kind), 0
		p.Each(func(_, _ int) { messages++ })
		slow := false
		for _, l := range p.Links {
			slow = slow || l.Share < 1
		}
		plan, least := balance.Make(p, 1), p.Least().Time
		time, wrong := counted(p, plan, slow)
		expect.MustTrue(t, wrong == "", "%d: %s", i, wrong)
		said := order.New(p, plan.Path).Time(plan)
		expect.True(t, math.Abs(time-said) < 1e-9 && time >= least*(1-1e-9), "%d: %g message times, counted %g, and none takes less than %g", i, said, time, least)
		if messages > 7 {
			continue
		}
		searched++
		exact := shortest(p, slow, time)
		expect.True(t, exact >= least*(1-1e-9), "%d: a plan takes %g, and the proof says %g", i, exact, least)
		if time > exact*(1+1e-9) {
			longer, most = longer+1, max(most, time/exact)
		}
	}
	t.Logf("%d of %d plans are longer than need be, by %.3g times at most", longer, searched, most)
	expect.True(t, longer <= 1 && most <= 1.2, "%d of %d plans are longer than need be, by %.3g times at most", longer, searched, most)
}
