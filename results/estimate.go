package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"evbench/internal/lists"
)

// The figure of an Estimate, and its kind of observation.
const (
	OfRatio   = "ratio_to_control"
	OfGoodput = "goodput_bit_per_s" // where the run has no control

	OverRounds    = "rounds"    // one observation a round
	OverExchanges = "exchanges" // one an exchange: there were too few rounds
)

// Tolerance is the share of a figure that does not matter: a figure is resolved when half of its
// interval is at most that, and two are equal when their ratio is within it.
const Tolerance = 0.03

// ToleranceText is Tolerance for readers: "3 %".
func ToleranceText() string { return fmt.Sprintf("%g %%", 100*Tolerance) }

// An Estimate is the result of a case over all its slices that count.
//
// Over rounds, an observation is the ratio of the case to the control of the same round: a
// disturbance longer than a round affects both. With fewer rounds than an interval needs, an
// observation is an exchange, and the interval joins the intervals of case and control. It then
// measures the variation within a slice, not between slices.
type Estimate struct {
	Of   string `json:"of"`
	Over string `json:"over"`
	Interval
}

// Resolved reports whether the interval is narrow enough.
func (e *Estimate) Resolved() bool { return e != nil && e.HalfWidth() <= Tolerance*e.Median }

// NewEstimate returns the result of a case, nil where no slice counts. slices are the slices of the
// run, with their ratios (see Pair).
func NewEstimate(name string, slices []Slice) *Estimate {
	mine, control := slicesOf(name, slices)
	if len(mine) == 0 {
		return nil
	}
	if len(control) == 0 {
		i, over := valuesOf(mine, Slice.goodput)
		return &Estimate{OfGoodput, over, i}
	}
	i, over := orExchanges(NewInterval(lists.Map(mine, Slice.ratio)), func() Interval { return overExchanges(mine, control) })
	return &Estimate{OfRatio, over, i}
}

// valuesOf is the interval of a value of slices.
func valuesOf(mine []Slice, value func(Slice) float64) (Interval, string) {
	return orExchanges(NewInterval(lists.Map(mine, value)), func() Interval { return intervalAt(exchanges(mine, value), Confidence) })
}

// orExchanges is an interval over rounds or, where these are too few, the one over exchanges with its median.
func orExchanges(rounds Interval, over func() Interval) (Interval, string) {
	if rounds.Known() {
		return rounds, OverRounds
	}
	i := over()
	if !i.Known() {
		return rounds, OverRounds
	}
	i.Median = rounds.Median
	i.Lo, i.Hi = new(min(*i.Lo, i.Median)), new(max(*i.Hi, i.Median))
	return i, OverExchanges
}

// ratioOf is the interval of one case over another, from the rounds in which both count: a
// disturbance of a round affects both.
func ratioOf(a, b string, slices []Slice) Interval {
	of := map[int]float64{}
	for _, s := range slices {
		if s.Case == b && s.Counts() {
			of[s.Round] = s.Value()
		}
	}
	var ratios []float64
	for _, s := range slices {
		if base := of[s.Round]; s.Case == a && s.Counts() && base > 0 {
			ratios = append(ratios, s.Value()/base)
		}
	}
	return NewInterval(ratios)
}

// slicesOf returns the slices of a case that count, and the controls beside them. In a run with
// controls a slice without a control in its round does not count.
func slicesOf(name string, all []Slice) (mine, control []Slice) {
	rounds := map[int]bool{}
	uncontrolled := !slices.ContainsFunc(all, func(s Slice) bool { return s.Control })
	for _, s := range all {
		if s.Control && s.Counts() {
			control = append(control, s)
			rounds[s.Round] = true
		}
	}
	for _, s := range all {
		if s.Case == name && s.Counts() && (uncontrolled || rounds[s.Round]) {
			mine = append(mine, s)
		}
	}
	return mine, control
}

func (s Slice) ratio() float64      { return s.Ratio }
func (s Slice) goodput() float64    { return s.GoodputBitPerSec }
func (s Slice) efficiency() float64 { return s.Efficiency }

// overExchanges returns the interval from the exchanges of some slices. Two intervals both hold
// with a probability of 95 % when each holds with 97.5 %.
func overExchanges(mine, control []Slice) Interval {
	const each = (1 + Confidence) / 2
	a := intervalAt(exchanges(mine, Slice.ratio), each)
	b := intervalAt(exchanges(control, func(Slice) float64 { return 1 }), each)
	if !a.Known() || !b.Known() {
		return Interval{}
	}
	return Interval{Lo: new(*a.Lo / *b.Hi), Hi: new(*a.Hi / *b.Lo), N: a.N}
}

// exchanges returns for each exchange the value of its slice, times its speed relative to the mean
// of the slice.
func exchanges(slices []Slice, value func(Slice) float64) []float64 {
	var out []float64
	for _, s := range slices {
		mean := NewStat(s.Took).Mean
		for _, t := range s.Took {
			if t > 0 {
				out = append(out, value(s)*mean/t)
			}
		}
	}
	return out
}

// Confidence is the least probability with which an Interval holds the true median.
const Confidence = 0.95

// An Interval is a median of independent observations and an interval that holds the true median
// with a probability of at least Confidence. It comes from order statistics
// (golang.org/x/perf/benchmath), so it assumes no distribution of the noise.
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

// HalfWidth is half the width of the interval, +Inf where it is not known.
func (i Interval) HalfWidth() float64 {
	if !i.Known() {
		return math.Inf(1)
	}
	return (*i.Hi - *i.Lo) / 2
}

// Holds reports whether x lies in the interval.
func (i Interval) Holds(x float64) bool { return i.Known() && *i.Lo <= x && x <= *i.Hi }

// within reports whether a ratio and its inverse are surely less than the tolerance away from 1.
func (i Interval) within() bool {
	return i.Known() && *i.Lo > 1/(1+Tolerance) && *i.Hi < 1+Tolerance
}

func (i Interval) apart(j Interval) bool {
	return i.Known() && j.Known() && (*i.Hi < *j.Lo || *j.Hi < *i.Lo)
}

// NewStat returns the distribution of values, the zero Stat of none. The median
// of an even number is the mean of the two in the middle. O(n log n).
func NewStat(values []float64) Stat {
	n := len(values)
	if n == 0 {
		return Stat{}
	}
	v := slices.Sorted(slices.Values(values))
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return Stat{Min: v[0], Mean: sum / float64(n), Median: (v[(n-1)/2] + v[n/2]) / 2, Max: v[n-1]}
}

// Quantile returns the value below which a share q of sorted values lies, interpolated between two
// values. sorted must not be empty.
func Quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// Middle returns the middle one of some values in sorted order, the upper of two. There must be a
// value. O(n log n).
func Middle[T cmp.Ordered](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
