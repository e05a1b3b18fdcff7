package html_test

import (
	"math"
	"testing"

	"evbench/report/figure"
	"evbench/results"
	"evbench/topology"
)

// Rounds say how a run was measured in rounds of slices.
type Rounds struct {
	Count int
	// Noise is by how much of itself a slice is off, from -1 to 1 for the n-th case in a round.
	Noise func(n, round int) float64
	// Rejected tells whether the machine disturbed the slice; it is then measured once more, but in the last round.
	Rejected func(n, round int) bool
}

// rejection is what a rejected slice says.
const rejection = "servers waited for a processor for more than 10 % of the time, and 1.5 times what was usual in this run"

// InRounds gives a run the slices that make it up, and what follows from them: ratios,
// estimates, verdicts and the answer. Its first case is the control.
func InRounds(s figure.Source, cables int, r Rounds) figure.Source {
	sum := &s.Run.Summary
	cases := sum.Cases
	cases[0].Control = true
	sum.Rounds = r.Count
	repeats := make([]int, len(cases))
	for round := range r.Count {
		for n, c := range cases {
			x := sliceOf(c, round, r)
			x.Efficiency *= 1 + r.Noise(n, round)
			if r.Rejected(n, round) {
				bad := x
				bad.Efficiency, bad.Rejected, bad.Repeat = 0.8*x.Efficiency, rejection, repeats[n]
				repeats[n]++
				sum.Slices = append(sum.Slices, bad)
				if round == r.Count-1 {
					continue
				}
			}
			x.Repeat = repeats[n]
			repeats[n]++
			sum.Slices = append(sum.Slices, x)
		}
	}
	for i := range cases {
		cases[i].PredictedRatio = cases[i].PredictedEfficiency / cases[0].PredictedEfficiency
	}
	compared := results.Compare(cases, nil)
	results.Assess(cases, sum.Slices, compared)
	sum.Answer = results.NewAnswer(cases, compared, cables)
	return s
}

func sliceOf(c results.Case, round int, r Rounds) results.Slice {
	return results.Slice{
		Case: c.Name, Round: round, Control: c.Control, Efficiency: c.MeasuredEfficiency, EventsPerSec: c.EventsPerSec.Mean,
		GoodputBitPerSec: c.GoodputBitPerSec.Mean, Exchanges: c.Exchanges / uint64(r.Count), MeasuredSec: c.MeasuredSec / float64(r.Count), Complete: true,
	}
}

// Resolved is a run of 16 servers in eight rounds on a quiet machine: every case is resolved.
func Resolved(t testing.TB) figure.Source {
	t.Helper()
	s := InRounds(oneDead(t), 16, Rounds{
		Count:    8,
		Noise:    func(n, round int) float64 { return 0.012 * math.Sin(float64(5*n+3*round)) },
		Rejected: func(n, round int) bool { return n == 2 && round == 4 },
	})
	equal(s.Run)
	return s
}

// Noisy is the same on a machine that others use: what is compared is not resolved, and two
// cases are wrong, both for one reason and one for another, too.
func Noisy(t testing.TB) figure.Source {
	t.Helper()
	s := InRounds(oneDead(t), 16, Rounds{
		Count: 8,
		Noise: func(n, round int) float64 {
			return []float64{0.02, 0.5, 0.15, 0.3, 0.5}[n] * math.Sin(float64(5*n+3*round))
		},
		Rejected: func(n, round int) bool { return (3*n+round)%4 == 1 },
	})
	const off = "link leaf0-spine1 up carried 106.00 MB, the plan puts 100.00 MB there (+6.0 %)"
	cases := s.Run.Summary.Cases
	for _, i := range []int{2, 3} {
		cases[i].Valid, cases[i].EventsLost, cases[i].Reasons = false, 3, []string{"3 events lost"}
	}
	cases[3].Reasons = append(cases[3].Reasons, off)
	cases[0].Warnings = []string{"processors busy more than 90 % of the time, by this run or by others"}
	cases[1].Warnings = cases[0].Warnings
	return s
}

// oneDead is what the quick start measures: one dead cable of 16.
func oneDead(t testing.TB) figure.Source {
	t.Helper()
	dead := []string{"leaf0-spine0"}
	return Source(t, newTree(t, topology.Options{Ports: 4, Leaves: 4}), 20,
		Case{Name: "healthy", Schedule: "linear-shift"},
		Case{Name: "linear shift", Schedule: "linear-shift", Routing: "minhop", Down: dead},
		Case{Name: "unsync minhop", Routing: "minhop", Down: dead},
		Case{Name: "unsync spread", Routing: "spread", Down: dead},
		Case{Name: "FORS", Schedule: "fors", Down: dead},
	)
}

// equal has all servers build as many events as each other, as they do by design.
func equal(run *results.Run) {
	for i := range run.Summary.Cases {
		c := &run.Summary.Cases[i]
		c.EventsPerSec = results.NewStat([]float64{c.EventsPerSec.Mean})
	}
}
