package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/results"
)

func TestOfPairsSlots(t *testing.T) {
	// The machine slows down fourfold; every pair still says 1.5, but for two.
	theirs := []float64{400, 380, 360, 300, 280, 260, 200, 180, 160, 120, 100}
	ours := make([]float64, len(theirs))
	for i, v := range theirs {
		ours[i] = 1.5 * v
	}
	ours[3], ours[7] = 30, 1800
	want := Ratio{Median: 1.5, Low: 1.5, High: 1.5, Sure: true}
	if got := Of(ours, theirs); got != want {
		t.Errorf("Of() = %+v, want %+v", got, want)
	}
}

func TestOfOrderStatistics(t *testing.T) {
	ours := []float64{1.10, 1.01, 1.09, 1.02, 1.08, 1.03, 1.07, 1.04, 1.06, 1.05, 1.00}
	theirs := slices.Repeat([]float64{1}, len(ours))
	want := Ratio{Median: 1.05, Low: 1.01, High: 1.08, Sure: true} // second and ninth of eleven
	if got := Of(ours, theirs); got != want {
		t.Errorf("Of() = %+v, want %+v", got, want)
	}
	want = Ratio{Median: 1.09, Low: 1.01, High: 1.10}
	if got := Of(ours[:3], theirs[:3]); got != want {
		t.Errorf("Of() three slots = %+v, want %+v", got, want)
	}
}

// TestIntervalsCover draws noise that is far from normal and counts how often
// the interval holds the true median.
func TestIntervalsCover(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const tries = 4000
	held := 0
	for range tries {
		ours, theirs := make([]float64, 11), make([]float64, 11)
		for i := range ours {
			ours[i] = 1.2 * math.Exp(rng.NormFloat64()*rng.NormFloat64())
			theirs[i] = 1
		}
		if r := Of(ours, theirs); r.Low <= 1.2 && 1.2 <= r.High {
			held++
		}
	}
	if share := float64(held) / tries; share < results.Confidence {
		t.Errorf("the interval holds the true median in %.3f of %d tries, want %.2f", share, tries, results.Confidence)
	}
}

func TestJudge(t *testing.T) {
	narrow := func(m float64) Ratio {
		return Ratio{Median: m, Low: 0.95 * m, High: 1.05 * m, Sure: true}
	}
	for _, c := range []struct {
		name string
		goal Goal
		r    Ratio
		want string
	}{
		{"more is asked for", Goal{Want: 1.2}, narrow(1.25), "reached"},
		{"exactly", Goal{Want: 1.2}, narrow(1.2), "reached"},
		{"less than asked for", Goal{Want: 1.2}, narrow(1.19), "not reached"},
		{"at most", Goal{Want: 0.4, AtMost: true}, narrow(0.3), "reached"},
		{"above at most", Goal{Want: 0.4, AtMost: true}, narrow(0.41), "not reached"},
		{"interval touches", Goal{Want: 0.95, Touch: 1}, narrow(0.96), "reached"},
		{"interval stays below", Goal{Want: 0.95, Touch: 1}, narrow(0.951), "not reached"},
		{"wide above", Goal{Want: 1}, Ratio{Median: 1, Low: 0.99, High: 1.16, Sure: true}, "reached, noisy"},
		{"wide below", Goal{Want: 2}, Ratio{Median: 1, Low: 0.84, High: 1.01, Sure: true}, "not reached, noisy"},
		{"few slots", Goal{Want: 1}, Ratio{Median: 1, Low: 1, High: 1}, "reached, too few slots"},
	} {
		if got := c.goal.Judge(c.r); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
