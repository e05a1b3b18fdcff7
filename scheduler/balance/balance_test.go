package balance_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/internal/lists"
	"evbench/scheduler"
	"evbench/scheduler/balance"
	"evbench/testing/expect"
)

// leafSpine is a tree of two levels, in which each message between leaves knows so many spines, drawn at random.
func leafSpine(leaves, hosts, spines, known int, dead func(leaf, spine int) bool) *scheduler.Problem {
	n, rng := leaves*hosts, rand.New(rand.NewPCG(1, 2))
	paths := scheduler.Listed{Hosts: n, Of: make([][][]int32, n*n)}
	for src := range n {
		for dst := range n {
			a, b := src/hosts, dst/hosts
			if a == b {
				paths.Of[src*n+dst] = [][]int32{nil}
				continue
			}
			for len(paths.Of[src*n+dst]) < known {
				if k := rng.IntN(spines); !dead(a, k) && !dead(b, k) {
					up, down := 2*n+a*spines+k, 2*n+leaves*spines+b*spines+k
					paths.Of[src*n+dst] = append(paths.Of[src*n+dst], []int32{int32(up), int32(down)})
				}
			}
		}
	}
	p := &scheduler.Problem{Hosts: n, Paths: paths}
	for range 2*n + 2*leaves*spines {
		p.Links = append(p.Links, scheduler.LinkOf(1))
	}
	return p
}

func none(_, _ int) bool { return false }

// BenchmarkMake: hosts behind ECMP that know two ports a pair.
func BenchmarkMake(b *testing.B) {
	for _, x := range [][3]int{{4, 4, 4}, {8, 8, 8}, {16, 8, 4}, {18, 18, 18}} {
		b.Run(fmt.Sprintf("%dx%dx%d", x[0], x[1], x[2]), func(b *testing.B) {
			p := leafSpine(x[0], x[1], x[2], 2, none)
			least := p.Least().Time
			for b.Loop() {
				plan := balance.Make(p, 0)
				b.ReportMetric(float64(plan.Phases)/least, "of-bound")
				b.ReportMetric(least, "bound")
			}
		})
	}
}

// TestMake: messages of random trees take one of the paths they know, in phases in which no link has two, and the fullest
// link is as the proof says that it has to be, or nearly.
func TestMake(t *testing.T) {
	for _, x := range []struct {
		leaves, hosts, spines, known int
		dead                         func(leaf, spine int) bool
		phases                       int
	}{
		{4, 4, 4, 2, none, 16},
		{4, 4, 4, 4, none, 15},
		{8, 8, 8, 2, none, 68},
		{8, 8, 8, 2, func(leaf, spine int) bool { return spine == leaf && leaf < 3 }, 67},
		{4, 6, 2, 2, none, 56},
	} {
		p := leafSpine(x.leaves, x.hosts, x.spines, x.known, x.dead)
		plan, least := balance.Make(p, 0), p.Least()
		used := map[[2]int]bool{} // links and phases
		p.Each(func(src, dst int) {
			k := plan.At(src, dst)
			expect.MustTrue(t, k >= 0 && k < plan.Phases, "phase %d", k)
			for _, l := range p.Paths.Append([]int32{int32(src), int32(p.Hosts + dst)}, src, dst, int(plan.Path[src*p.Hosts+dst])) {
				expect.MustTrue(t, !used[[2]int{int(l), k}], "two messages on link %d in phase %d", l, k)
				used[[2]int{int(l), k}] = true
			}
		})
		expect.True(t, plan.Phases <= x.phases, "%d leaves, %d ports: %d phases, want %d; no plan has fewer than %g", x.leaves, x.known, plan.Phases, x.phases, least.Time)
		proven := proves(p, least.Weights)
		expect.True(t, math.Abs(proven-least.Time) < 1e-9*least.Time, "weights prove %g, not %g", proven, least.Time)
	}
}

// TestManyPaths: the proof looks at all candidates, also at those that a plan cannot choose as a byte does not count them.
func TestManyPaths(t *testing.T) {
	const n, full = 3, 2 * 3
	paths := scheduler.Listed{Hosts: n, Of: make([][][]int32, n*n)}
	for m := range paths.Of {
		paths.Of[m] = append(slices.Repeat([][]int32{{full}}, 255), []int32{full + 1})
	}
	p := &scheduler.Problem{Hosts: n, Paths: paths, Links: slices.Repeat([]scheduler.Link{scheduler.LinkOf(1)}, full+2)}
	expect.Equal(t, balance.Make(p, 0).Phases, 6, "steps over the first paths, which have a link in common")
	expect.True(t, p.Least().Time <= 3+1e-9, "6 messages over two links take 3, and the proof says %g", p.Least().Time)
}

// proves is the time that weights of links prove: what messages weigh on their lightest paths, over what links carry in a message time.
func proves(p *scheduler.Problem, weight []float64) float64 {
	messages, links := 0.0, 0.0
	for l, w := range weight {
		links += w * p.Links[l].Rate()
	}
	p.Each(func(src, dst int) {
		least := math.Inf(1)
		for c := range p.Paths.Count(src, dst) {
			least = min(least, lists.Sum(p.Paths.Append(nil, src, dst, c), func(l int32) float64 { return weight[l] }))
		}
		messages += least + weight[src] + weight[p.Hosts+dst]
	})
	return messages / links
}

// exact is the fewest phases of a problem, with any candidates: each message in turn takes a candidate, and one of the phases
// in use or the next.
func exact(p *scheduler.Problem, most int) int {
	var messages [][2]int
	p.Each(func(src, dst int) { messages = append(messages, [2]int{src, dst}) })
	used := make([]uint64, len(p.Links)) // phases, by link
	var place func(i, phases, most int) bool
	place = func(i, phases, most int) bool {
		if i == len(messages) {
			return true
		}
		src, dst := messages[i][0], messages[i][1]
		for c := range p.Paths.Count(src, dst) {
			links := p.Paths.Append([]int32{int32(src), int32(p.Hosts + dst)}, src, dst, c)
			busy := uint64(0)
			for _, l := range links {
				busy |= used[l]
			}
			for k := range min(phases+1, most) {
				if busy>>k&1 != 0 {
					continue
				}
				for _, l := range links {
					used[l] |= 1 << k
				}
				if place(i+1, max(phases, k+1), most) {
					return true
				}
				for _, l := range links {
					used[l] &^= 1 << k
				}
			}
		}
		return false
	}
	for k := 1; k < most; k++ {
		if place(0, 0, k) {
			return k
		}
	}
	return most
}

// TestExact: on 60 problems of three and four hosts, whose messages have one to three random paths over a few links, no
// choice of paths and phases is shorter than the proof says, and few are shorter than the plan, by one phase.
func TestExact(t *testing.T) {
	rng, longer, all := rand.New(rand.NewPCG(7, 7)), 0, expect.Samples(60, 20)
	for range all {
		n, links := 3+rng.IntN(2), 3+rng.IntN(3)
		paths := scheduler.Listed{Hosts: n, Of: make([][][]int32, n*n)}
		for m := range paths.Of {
			for range 1 + rng.IntN(3) {
				a, b := rng.IntN(links), rng.IntN(links)
				path := []int32{int32(2*n + a)}
				if a != b {
					path = append(path, int32(2*n+b))
				}
				paths.Of[m] = append(paths.Of[m], path)
			}
		}
		p := &scheduler.Problem{Hosts: n, Paths: paths}
		for range 2*n + links {
			p.Links = append(p.Links, scheduler.LinkOf(1))
		}
		plan, least := balance.Make(p, 0), p.Least().Time
		fewest := exact(p, plan.Phases)
		expect.True(t, float64(fewest) >= least*(1-1e-9), "%d phases exist, and the proof says %g", fewest, least)
		expect.True(t, plan.Phases <= fewest+1, "%d phases, and %d suffice", plan.Phases, fewest)
		if plan.Phases > fewest {
			longer++
		}
	}
	t.Logf("%d of %d plans have a phase more than needed", longer, all)
	expect.True(t, longer <= 3, "%d of %d plans have a phase more than needed", longer, all)
}
