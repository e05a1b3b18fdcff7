package builder_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/builder"
	"evbench/testing/expect"
)

// planned returns by server what it builds of a batch.
func planned(b *builder.Balancer, servers int, first uint64, each int) [][]uint64 {
	b.Plan(first, each)
	out := make([][]uint64, servers)
	for s := range out {
		for {
			e, ok := b.Next(s)
			if !ok {
				break
			}
			out[s] = append(out[s], e)
		}
	}
	return out
}

// Every event is assigned once, all servers get equally many, and each gets them as a
// plain search for the least loaded would.
func TestPlan(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n, each := 1+rng.IntN(9), 1+rng.IntN(9)
		bytes := make([]int, 3*n*each) // of each event; three batches
		for i := range bytes {
			bytes[i] = rng.IntN(20)
		}
		b := builder.NewBalancer(builder.Roles{Servers: n}, func(event uint64, source int) int {
			if source == 0 {
				return bytes[event]
			}
			return 1
		})
		load := make([]int, n)
		for first := 0; first < len(bytes); first += n * each {
			got := planned(b, n, uint64(first), each)
			want := slowPlan(bytes, load, first, each)
			expect.MustTrue(t, slices.EqualFunc(got, want, slices.Equal), "seed %d from %d: %d, want %d", seed, first, got, want)
		}
	}
}

func slowPlan(bytes, load []int, first, each int) [][]uint64 {
	out := make([][]uint64, len(load))
	done := map[int]bool{}
	for range each * len(load) {
		longest := -1
		for e := first; e < first+each*len(load); e++ {
			if !done[e] && (longest < 0 || bytes[e] > bytes[longest]) {
				longest = e
			}
		}
		done[longest] = true
		least := -1
		for s := range load {
			if len(out[s]) < each && (least < 0 || load[s] < load[least]) {
				least = s
			}
		}
		out[least] = append(out[least], uint64(longest))
		load[least] += bytes[longest] + len(load) - 1
	}
	return out
}
