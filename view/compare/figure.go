package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"

	"evbench/internal/lists"
	"evbench/results"
)

// A figure reads one quantity from a repeat and from a block.
type figure struct {
	name string
	// of returns the figure of a whole repeat; 0 where it is absent.
	of func(repeat) float64
	// rate returns a block's rate, proportional to the figure; nil: no blocks.
	rate func(interval) float64
}

// Ratio is the figure for a busy machine: a disturbance of a round also slows its control.
const Ratio = "ratio_to_control"

// figures are compared in this order. For all but the barrier, less is worse.
var figures = []figure{
	{Ratio, ratio, nil},
	{"events_per_s", func(r repeat) float64 { return r.EventsPerSec.Mean }, arrived},
	{"goodput_bit_per_s", func(r repeat) float64 { return r.GoodputBitPerSec.Mean }, arrived},
	{"measured_efficiency", func(r repeat) float64 { return r.MeasuredEfficiency }, arrived},
	{"barrier_wait_s", barrierWait, waited},
}

// Figures are the names of the compared figures: throughput over the throughput of the control of
// the same round, events built per second and server, payload received per second and server, ideal
// time over measured time, and seconds that a server spends at the barrier in one exchange.
var Figures = lists.Map(figures, func(f figure) string { return f.name })

// Choose returns the figures of names, of which "all" means every figure. Without names the
// comparison chooses.
func Choose(names []string) ([]string, error) {
	for _, name := range names {
		switch {
		case name == "all":
			return Figures, nil
		case !slices.Contains(Figures, name):
			return nil, fmt.Errorf("%q: no such figure; there are all, %s", name, strings.Join(Figures, ", "))
		}
	}
	return names, nil
}

// ratio is 0 for the control, and for a repeat whose round has no control that counts.
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

// waited is the time at the barrier per payload that arrived meanwhile.
func waited(x interval) float64 {
	if x.payload == 0 {
		return 0
	}
	return x.wait / x.payload
}

// compare compares one figure of a case. ok is false where neither run has it.
func (f figure) compare(base, next []repeat) (x Figure, ok bool) {
	if f.rate == nil {
		none := func(r repeat) bool { return f.of(r) == 0 }
		base, next = slices.DeleteFunc(slices.Clone(base), none), slices.DeleteFunc(slices.Clone(next), none)
	}
	o := observe(base, next, f.rate)
	wholeBase, wholeNew := lists.Map(base, f.of), lists.Map(next, f.of)
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

// parts returns the figure of each block: the figure of its repeat, times the rate of the block
// over the mean rate of the repeat.
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

// withExact compares measured with simulated figures; one simulated figure is enough. baseExact:
// the base was simulated.
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

// tooFew says why so few observations can never give less than alpha: of all ways to draw n of n+m,
// the two most extreme are too many.
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

// geomean covers the cases that have the figure in both runs. ok is false for fewer than two.
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

// An interval is the work of all servers between two ticks: rates, and its length.
type interval struct {
	sec     float64
	payload float64 // byte/s, mean over servers
	wait    float64 // seconds at the barrier per second, mean over servers
}

// leastInterval is the share of the usual length below which an interval is the rest at the end of
// a run, and does not count.
const leastInterval = 0.5

// intervals merges the samples of all servers, interval by interval. Servers tick on their own
// clocks; samples with the same tick number belong together. O(n log n).
func (r repeat) intervals() (list []interval, usual float64) {
	if len(r.samples) == 0 {
		return nil, 0
	}
	if usual = results.Middle(lists.Map(r.samples, func(s results.Sample) float64 { return s.IntervalSec })); usual <= 0 {
		return nil, 0
	}
	type sum struct{ sec, payload, wait float64 }
	ticks, servers := map[int]sum{}, map[int]bool{}
	for _, s := range r.samples {
		tick := int(math.Round(min(s.TSec/usual, math.MaxInt32)))
		x := ticks[tick]
		ticks[tick] = sum{x.sec + s.IntervalSec, x.payload + float64(s.PayloadBytes), x.wait + s.BarrierWaitSec}
		servers[s.Server] = true
	}
	for _, tick := range slices.Sorted(maps.Keys(ticks)) {
		x := ticks[tick]
		if sec := x.sec / float64(len(servers)); sec >= leastInterval*usual {
			list = append(list, interval{sec, x.payload / x.sec, x.wait / x.sec})
		}
	}
	return list, usual
}

// blocks cuts a repeat into blocks of n intervals. It drops the remainder at the start, where a run
// is still settling.
func blocks(list []interval, n int) []interval {
	out := make([]interval, 0, len(list)/n)
	for at := len(list) % n; at < len(list); at += n {
		var b interval
		for _, x := range list[at : at+n] {
			b.sec += x.sec
			b.payload += x.payload * x.sec
			b.wait += x.wait * x.sec
		}
		b.payload, b.wait = b.payload/b.sec, b.wait/b.sec
		out = append(out, b)
	}
	return out
}

// The kind of observation of a case, and the blocks if it is Blocks.
type observed struct {
	kind       string
	blockSec   float64
	base, next [][]interval // by repeat
	against    bool         // one run was measured, the other simulated
	unsaid     string       // why nothing can be said
}

// observe chooses the kind of observation for a figure with that rate. A figure without a rate has
// no blocks.
func observe(base, next []repeat, rate func(interval) float64) observed {
	fewest := min(len(base), len(next))
	switch {
	case fewest == 0:
		return observed{kind: Repeats, unsaid: "no repeat counts"}
	case base[0].exact != next[0].exact:
		return observed{kind: Repeats, against: true}
	case fewest >= minObservations:
		return observed{kind: Repeats}
	case base[0].exact && next[0].exact:
		return observed{kind: Exact}
	case rate == nil:
		return observed{kind: Repeats, unsaid: fmt.Sprintf("fewer than %d rounds on a side", minObservations)}
	}
	return cut(base, next, rate)
}

// cut finds the shortest blocks that look independent. Both runs get blocks of about the same
// length, in seconds.
func cut(base, next []repeat, rate func(interval) float64) observed {
	a, b := sideOf(base), sideOf(next)
	o := observed{kind: Blocks}
	for n := 1; ; n++ {
		length := float64(n) * max(a.usual, b.usual)
		x, y := a.blocks(length), b.blocks(length)
		fewest := min(count(x), count(y))
		switch {
		case fewest == 0 && n == 1:
			return observed{kind: Repeats, unsaid: fmt.Sprintf("fewer than %d repeats on a side, and no samples", minObservations)}
		case fewest < minObservations && n == 1:
			o.unsaid = fmt.Sprintf("fewer than %d repeats and fewer than %[1]d intervals on a side", minObservations)
		case fewest < minObservations:
			o.unsaid = "neighbouring intervals are too much alike to count as observations: measure longer, or with more repeats"
			return o // with the blocks before, for their median
		}
		o.blockSec, o.base, o.next = length, x, y
		if o.unsaid != "" || min(longest(x), longest(y)) <= MostBlocks && alike(slices.Concat(x, y), rate) <= mostAlike {
			return o
		}
	}
}

type side struct {
	repeats [][]interval
	usual   float64 // length of an interval, seconds
}

func sideOf(repeats []repeat) side {
	var s side
	for _, r := range repeats {
		list, usual := r.intervals()
		s.repeats, s.usual = append(s.repeats, list), max(s.usual, usual)
	}
	return s
}

func (s side) blocks(length float64) [][]interval {
	n := 1
	if s.usual > 0 {
		n = max(1, int(math.Round(length/s.usual)))
	}
	return lists.Map(s.repeats, func(list []interval) []interval { return blocks(list, n) })
}

func count(repeats [][]interval) int { return len(slices.Concat(repeats...)) }

func longest(repeats [][]interval) (n int) {
	return lists.MaxOf(repeats, func(l []interval) int { return len(l) })
}

// mostAlike is the correlation of neighbouring blocks up to which they count as independent.
const mostAlike = 0.1

// alike estimates the correlation of neighbours from all lists together. In a list of n the
// estimate is about 1/n too low; alike adds that back.
func alike(repeats [][]interval, of func(interval) float64) float64 {
	var product, square float64
	n := 0
	for _, l := range repeats {
		mean := lists.Sum(l, func(x interval) float64 { return of(x) / float64(len(l)) })
		for i, x := range l {
			square += (of(x) - mean) * (of(x) - mean)
			if i > 0 {
				product += (of(x) - mean) * (of(l[i-1]) - mean)
			}
		}
		n += len(l)
	}
	if square == 0 {
		return 0
	}
	return product/square + float64(len(repeats))/float64(n)
}
