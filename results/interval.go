package results

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Confidence is the least probability with which an Interval holds the true median.
const Confidence = 0.95

// An Interval is a median of independent observations and the interval that holds the
// true one with a probability of Confidence at least. It is made of order statistics
// (golang.org/x/perf/benchmath), so it assumes nothing about how noise is distributed.
type Interval struct {
	Median float64  `json:"median"`
	Lo     *float64 `json:"lo"` // nil, and Hi, where there are too few observations: fewer than 6
	Hi     *float64 `json:"hi"`
	N      int      `json:"n"` // observations
}

// NewInterval returns the interval of some observations, the zero Interval of none.
func NewInterval(values []float64) Interval { return intervalAt(values, Confidence) }

func intervalAt(values []float64, confidence float64) Interval {
	if len(values) == 0 {
		return Interval{}
	}
	s := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	sum := benchmath.AssumeNothing.Summary(s, confidence)
	i := Interval{Median: sum.Center, N: len(values)}
	if !math.IsInf(sum.Lo, 0) && !math.IsInf(sum.Hi, 0) {
		i.Lo, i.Hi = &sum.Lo, &sum.Hi
	}
	return i
}

// Known reports whether there were enough observations for an interval.
func (i Interval) Known() bool { return i.Lo != nil && i.Hi != nil }

// HalfWidth is half of what the interval spans, +Inf where it is not known.
func (i Interval) HalfWidth() float64 {
	if !i.Known() {
		return math.Inf(1)
	}
	return (*i.Hi - *i.Lo) / 2
}

// Holds reports whether x lies in the interval.
func (i Interval) Holds(x float64) bool { return i.Known() && *i.Lo <= x && x <= *i.Hi }

// Apart reports whether two intervals do not overlap.
func (i Interval) Apart(j Interval) bool {
	return i.Known() && j.Known() && (*i.Hi < *j.Lo || *j.Hi < *i.Lo)
}
