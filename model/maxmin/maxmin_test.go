package maxmin

import (
	"math"
	"math/rand/v2"
	"testing"

	"evbench/testing/expect"
)

// slowly is max-min fairness as the textbook has it: all rates grow together, and
// those on a wire that is full stop.
func slowly(capacity []float64, paths [][]int32) []float64 {
	rate, frozen := make([]float64, len(paths)), make([]bool, len(paths))
	for {
		step := math.Inf(1)
		left, count := make([]float64, len(capacity)), make([]float64, len(capacity))
		copy(left, capacity)
		for i, path := range paths {
			for _, w := range path {
				left[w] -= rate[i]
				if !frozen[i] {
					count[w]++
				}
			}
		}
		for w := range left {
			if count[w] > 0 {
				step = min(step, left[w]/count[w])
			}
		}
		if math.IsInf(step, 1) {
			return rate
		}
		for i, path := range paths {
			if frozen[i] {
				continue
			}
			rate[i] += step
			for _, w := range path {
				frozen[i] = frozen[i] || left[w]-step*count[w] <= 1e-12*capacity[w]
			}
		}
	}
}

func filled(capacity []float64, paths [][]int32) *Shares {
	s := New(len(paths), len(capacity), 4, 0)
	copy(s.capacity, capacity)
	for i, path := range paths {
		s.Route(int32(i), path)
		s.Add(int32(i), 1)
	}
	s.Fill()
	return s
}

func (s *Shares) rates() []float64 {
	out := make([]float64, len(s.of))
	for i := range out {
		out[i] = s.Rate(int32(i))
	}
	return out
}

func sameRates(t *testing.T, got, want []float64) {
	t.Helper()
	for i := range want {
		expect.MustTrue(t, math.Abs(got[i]-want[i]) <= 1e-8*want[i], "stream %d of %d has %v, want %v", i, len(want), got[i], want[i])
	}
}

func TestShares(t *testing.T) {
	for _, c := range []struct {
		name     string
		capacity []float64
		paths    [][]int32
		want     []float64
	}{
		{"alone", []float64{1, 3}, [][]int32{{0, 1}}, []float64{1}},
		{"two servers to one", []float64{1, 1, 1}, [][]int32{{0, 2}, {1, 2}}, []float64{0.5, 0.5}},
		{"parking lot", []float64{1, 1, 1}, [][]int32{{0, 1, 2}, {0}, {1}, {2}}, []float64{0.5, 0.5, 0.5, 0.5}},
		// Bertsekas and Gallager, Data Networks, Fig. 6.10: the third is held up by its
		// own wire, and the long one takes part in the fullest.
		{"uneven lot", []float64{1, 2, 1}, [][]int32{{0, 1}, {0}, {0}, {1}, {2}}, []float64{1. / 3, 1. / 3, 1. / 3, 5. / 3, 1}},
		{"what is left goes on", []float64{1, 10, 4}, [][]int32{{0, 1}, {1}, {1, 2}, {2}}, []float64{1, 7, 2, 2}},
	} {
		t.Run(c.name, func(t *testing.T) { sameRates(t, filled(c.capacity, c.paths).rates(), c.want) })
	}
}

func random(rng *rand.Rand) ([]float64, [][]int32) {
	capacity := make([]float64, 2+rng.IntN(60))
	for i := range capacity {
		capacity[i] = 1 + float64(rng.IntN(4))
	}
	paths := make([][]int32, 1+rng.IntN(150))
	for i := range paths {
		for _, w := range rng.Perm(len(capacity))[:1+rng.IntN(min(4, len(capacity)))] {
			paths[i] = append(paths[i], int32(w))
		}
	}
	return capacity, paths
}

func TestSharesAgreeWithTextbook(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		capacity, paths := random(rng)
		sameRates(t, filled(capacity, paths).rates(), slowly(capacity, paths))
	}
}

// TestSharesFollowChanges removes streams and lets them come back elsewhere.
func TestSharesFollowChanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		capacity, paths := random(rng)
		s := filled(capacity, paths)
		in := make([]bool, len(paths))
		for i := range in {
			in[i] = true
		}
		for range 30 {
			i := rng.IntN(len(paths))
			if in[i] {
				s.Remove(int32(i))
			} else {
				paths[i] = []int32{int32(rng.IntN(len(capacity)))}
				s.Route(int32(i), paths[i])
				s.Add(int32(i), 1)
			}
			if in[i] = !in[i]; rng.IntN(3) == 0 {
				continue // several changes at once
			}
			s.Refill()
			now := make([][]int32, len(paths))
			for k := range paths {
				if in[k] {
					now[k] = paths[k]
				}
			}
			want := slowly(capacity, now)
			for k := range want {
				if !in[k] {
					want[k] = 0
				}
			}
			sameRates(t, s.rates(), want)
		}
	}
}
