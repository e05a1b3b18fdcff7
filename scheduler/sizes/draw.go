package sizes

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"evbench/topology"
)

// Distributions are those that Draw knows.
func Distributions() []string {
	return []string{"equal", "uniform50", "exponential", "log-normal", "source-event", "fanout8", "equal-ports"}
}

// Draw returns sizes drawn from a distribution, of about the mean:
//
//   - equal: all the same.
//   - uniform50: between half and one and a half of the mean, independent.
//   - exponential, log-normal (σ 1): independent.
//   - source-event: a factor of the source times one of the event (the builder),
//     each log-normal with σ 1/2.
//   - fanout8: each to 8 others, or all there are, uniform50; nothing to the rest.
//   - equal-ports: uniform50, scaled so that all servers send and receive as much.
func Draw(t *topology.Tree, distribution string, mean int64, seed uint64) (*Matrix, error) {
	m, err := NewMatrix(t)
	if err != nil {
		return nil, err
	}
	if mean < 1 || mean > MaxBytes/1024 {
		return nil, fmt.Errorf("mean %d bytes: must be 1..%d", mean, int64(MaxBytes/1024))
	}
	rng := rand.New(rand.NewPCG(seed, 0x512e5))
	s := t.Servers()
	factor := drawer(distribution, s, rng)
	if factor == nil {
		return nil, fmt.Errorf("no distribution %q; there are %v", distribution, Distributions())
	}
	for i := range s {
		for j := range s {
			if x := factor(i, j); i != j && x > 0 {
				if err := m.Set(i, j, int64(max(1, min(MaxBytes, math.Round(float64(x*float64(mean))))))); err != nil {
					return nil, err
				}
			}
		}
	}
	return m, nil
}

// drawer returns the size of a fragment over the mean.
func drawer(distribution string, s int, rng *rand.Rand) func(i, j int) float64 {
	logNormal := func(sigma float64) float64 {
		return math.Exp(float64(sigma*rng.NormFloat64()) - sigma*sigma/2)
	}
	switch distribution {
	case "equal":
		return func(int, int) float64 { return 1 }
	case "uniform50":
		return func(int, int) float64 { return 0.5 + rng.Float64() }
	case "exponential":
		return func(int, int) float64 { return rng.ExpFloat64() }
	case "log-normal":
		return func(int, int) float64 { return logNormal(1) }
	case "source-event":
		by := make([]float64, 2*s)
		for i := range by {
			by[i] = logNormal(0.5)
		}
		return func(i, j int) float64 { return by[i] * by[s+j] }
	case "fanout8":
		to := make([][]int, s)
		for i := range to {
			to[i] = slices.DeleteFunc(rng.Perm(s), func(j int) bool { return j == i })[:min(8, s-1)]
		}
		return func(i, j int) float64 {
			if !slices.Contains(to[i], j) {
				return 0
			}
			return 0.5 + rng.Float64()
		}
	case "equal-ports":
		by := balanced(s, rng)
		return func(i, j int) float64 { return by[i*s+j] }
	}
	return nil
}

// balanced draws factors of 0.5 to 1.5 and scales senders and receivers in turn until all
// have 1 on average (Sinkhorn, Knopp 1967).
func balanced(s int, rng *rand.Rand) []float64 {
	by := make([]float64, s*s)
	for at := range by {
		if at/s != at%s {
			by[at] = 0.5 + rng.Float64()
		}
	}
	for turn := range 64 {
		row, next := s, 1 // of the servers that are scaled, and of their fragments
		if turn%2 == 1 {
			row, next = 1, s
		}
		for i := range s {
			sum := 0.0
			for j := range s {
				sum += by[i*row+j*next]
			}
			for j := range s {
				by[i*row+j*next] *= float64(s-1) / sum
			}
		}
	}
	return by
}
