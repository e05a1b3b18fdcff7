package compare

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"evbench/results"
)

// A figure says how one quantity is read off a repeat and a block.
type figure struct {
	name string
	// of is the figure of a whole repeat; 0 where it is not given.
	of func(repeat) float64
	// rate is what of a block is in proportion to it; nil: it is of whole repeats alone.
	rate func(interval) float64
}

// Ratio is the figure that holds on a busy machine: what slows a round slows its control, too.
const Ratio = "ratio_to_control"

// figures are compared, in this order. All but the barrier are speeds, for which
// less is worse.
var figures = []figure{
	{Ratio, ratio, nil},
	{"events_per_s", func(r repeat) float64 { return r.EventsPerSec.Mean }, arrived},
	{"goodput_bit_per_s", func(r repeat) float64 { return r.GoodputBitPerSec.Mean }, arrived},
	{"measured_efficiency", func(r repeat) float64 { return r.MeasuredEfficiency }, arrived},
	{"barrier_wait_s", barrierWait, waited},
}

// Figures are the names of what is compared: throughput over that of the control of the
// same round, events built per second and server, payload received per second and server,
// ideal time over measured time, and seconds that a server spends at the barrier in one
// exchange.
var Figures = names(figures)

func names(all []figure) (out []string) {
	for _, f := range all {
		out = append(out, f.name)
	}
	return out
}

// ratio is not given of the control, and of a repeat whose round has none that counts.
func ratio(r repeat) float64 {
	if r.Control {
		return 0
	}
	return r.RatioToControl
}

func barrierWait(r repeat) float64 {
	if r.Exchanges == 0 {
		return 0
	}
	return r.BarrierWaitSec / float64(r.Exchanges)
}

func arrived(x interval) float64 { return x.payload }

// waited is the time at the barrier for what arrived meanwhile.
func waited(x interval) float64 {
	if x.payload == 0 {
		return 0
	}
	return x.wait / x.payload
}

// compare says what there is to say about one figure of a case; ok is false where
// neither run gives it.
func (f figure) compare(base, next []repeat) (x Figure, ok bool) {
	if f.rate == nil {
		none := func(r repeat) bool { return f.of(r) == 0 }
		base, next = slices.DeleteFunc(slices.Clone(base), none), slices.DeleteFunc(slices.Clone(next), none)
	}
	o := observe(base, next, f.rate)
	wholeBase, wholeNew := f.whole(base), f.whole(next)
	a, b := wholeBase, wholeNew
	if o.kind == Blocks {
		a, b = f.parts(wholeBase, o.base), f.parts(wholeNew, o.next)
	}
	if len(a) == 0 || len(b) == 0 || slices.Max(slices.Concat(wholeBase, wholeNew)) == 0 {
		return x, false
	}
	x = Figure{Name: f.name, Observed: o.kind, BlockSec: o.blockSec, P: 1, Unsaid: o.unsaid}
	switch {
	case o.kind == Exact:
		x.exactly(a, b)
	case o.against:
		x.withExact(a, b, base[0].exact)
	default:
		x.test(a, b, o.kind == Repeats || apart(wholeBase, wholeNew))
	}
	if x.Base.Median != 0 {
		change := 100 * (x.New.Median/x.Base.Median - 1)
		x.Change = &change
	}
	return x, true
}

func (f figure) whole(repeats []repeat) []float64 {
	out := make([]float64, 0, len(repeats))
	for _, r := range repeats {
		out = append(out, f.of(r))
	}
	return out
}

// parts returns the figure of each block: that of its repeat, times what the
// block had of it over what all blocks of the repeat had on average.
func (f figure) parts(whole []float64, repeats [][]interval) (out []float64) {
	for i, list := range repeats {
		sum, sec := 0.0, 0.0
		for _, x := range list {
			sum += f.rate(x) * x.sec
			sec += x.sec
		}
		for _, x := range list {
			v := whole[i]
			if sum > 0 {
				v *= f.rate(x) * sec / sum
			}
			out = append(out, v)
		}
	}
	return out
}

// apart reports whether all of a lie on one side of all of b.
func apart(a, b []float64) bool {
	return slices.Max(a) < slices.Min(b) || slices.Max(b) < slices.Min(a)
}

func (x *Figure) test(a, b []float64, apart bool) {
	thresholds := benchmath.Thresholds{CompareAlpha: alpha}
	s, t := benchmath.NewSample(slices.Clone(a), &thresholds), benchmath.NewSample(slices.Clone(b), &thresholds)
	x.Base, x.New = results.NewInterval(a), results.NewInterval(b)
	if x.Unsaid == "" {
		x.Unsaid = tooFew(len(a), len(b))
	}
	if x.Unsaid == "" {
		x.P = benchmath.AssumeNothing.Compare(s, t).P
		x.Significant, x.Overlap = x.P <= alpha && apart, x.P <= alpha && !apart
	}
}

// exactly compares figures that are the same in every repeat.
func (x *Figure) exactly(a, b []float64) {
	x.Base = results.Interval{Median: a[0], Lo: &a[0], Hi: &a[0], N: len(a)}
	x.New = results.Interval{Median: b[0], Lo: &b[0], Hi: &b[0], N: len(b)}
	if slices.Min(a) != slices.Max(a) || slices.Min(b) != slices.Max(b) {
		x.Unsaid = fmt.Sprintf("fewer than %d simulated repeats on a side, and they differ", minObservations)
		x.test(a, b, true)
		return
	}
	if x.Significant = a[0] != b[0]; x.Significant {
		x.P = 0
	}
}

// withExact compares what was measured with what was simulated, of which one is enough. baseExact:
// the base was.
func (x *Figure) withExact(a, b []float64, baseExact bool) {
	x.Base, x.New, x.against = results.NewInterval(a), results.NewInterval(b), true
	exact, measured := &x.New, x.Base
	if baseExact {
		exact, measured = &x.Base, x.New
	}
	exact.Lo, exact.Hi = &exact.Median, &exact.Median
	switch {
	case !measured.Known():
		x.Unsaid = fmt.Sprintf("%d measured observations are too few", measured.N)
	case !measured.Holds(exact.Median):
		x.Significant, x.P = true, alpha
	}
}

// tooFew says why so few observations can never come out below alpha: of all ways
// to draw n of n+m, the two most extreme are too many.
func tooFew(n, m int) string {
	ways := 1.0
	for i := 1; i <= n; i++ {
		ways *= float64(m+i) / float64(i)
	}
	if 2/ways <= alpha {
		return ""
	}
	return fmt.Sprintf("%d and %d observations are too few", n, m)
}

// geomean is over the cases that give the figure in both runs; ok is false for
// fewer than two.
func geomean(name string, cases []Case) (g Geomean, ok bool) {
	var base, next float64
	for _, c := range cases {
		for _, f := range c.Figures {
			if f.Name == name && !c.Control && f.Base.Median > 0 && f.New.Median > 0 {
				base, next = base+math.Log(f.Base.Median), next+math.Log(f.New.Median)
				g.Cases++
			}
		}
	}
	n := float64(g.Cases)
	g.Figure, g.Base, g.New = name, math.Exp(base/n), math.Exp(next/n)
	g.Change = 100 * (g.New/g.Base - 1)
	return g, g.Cases > 1
}
