package main

import (
	"slices"

	"evbench/results"
)

// noise is how far, as a share of the median, either end of an interval may lie
// from it before the row counts as noisy.
const noise = 0.15

// A Ratio is one side over the other, slot by slot: what disturbs the machine for longer than
// a slot disturbs both.
type Ratio struct {
	Median float64 `json:"ratio"`
	Low    float64 `json:"ratio_low"`
	High   float64 `json:"ratio_high"`
	// Sure: Low and High are an interval. Otherwise there were too few slots for one,
	// and they are the least and the greatest ratio.
	Sure bool `json:"interval_is_95_percent"`
}

// Of compares the slots of two sides; there are equally many of both, and at
// least one. O(n log n).
func Of(ours, theirs []float64) Ratio {
	rs := make([]float64, len(ours))
	for i := range ours {
		rs[i] = ours[i] / theirs[i]
	}
	i := results.NewInterval(rs)
	if !i.Known() {
		return Ratio{Median: i.Median, Low: slices.Min(rs), High: slices.Max(rs)}
	}
	return Ratio{Median: i.Median, Low: *i.Lo, High: *i.Hi, Sure: true}
}

func (r Ratio) noisy() bool {
	return !r.Sure || r.High-r.Median > noise*r.Median || r.Median-r.Low > noise*r.Median
}

// A Goal is what a ratio has to be.
type Goal struct {
	// Want is the least ratio.
	Want float64 `json:"reach,omitempty"`
	// AtMost: Want is the greatest ratio instead, because less is better.
	AtMost bool `json:"reach_at_most,omitempty"`
	// Touch is what the upper end of the interval has to reach as well; 0: nothing.
	Touch float64 `json:"interval_reaches,omitempty"`
}

const (
	reached = "reached"
	missed  = "not reached"
	noisy   = ", noisy"
	few     = ", too few slots"
)

// Judge returns a verdict, and says so when the measurement was noisy: it may
// then come out otherwise when repeated.
func (g Goal) Judge(r Ratio) string {
	verdict := missed
	if g.AtMost && r.Median <= g.Want || !g.AtMost && r.Median >= g.Want && r.High >= g.Touch {
		verdict = reached
	}
	switch {
	case !r.Sure:
		return verdict + few
	case r.noisy():
		return verdict + noisy
	}
	return verdict
}
