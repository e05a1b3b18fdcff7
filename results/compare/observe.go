package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"evbench/results"
)

// An interval is what all servers together did between two ticks: rates, and how
// long it was.
type interval struct {
	sec     float64
	payload float64 // byte/s, mean over servers
	wait    float64 // seconds at the barrier per second, mean over servers
}

// leastInterval is the share of the usual length below which an interval is the
// rest at the end of a run, which says little.
const leastInterval = 0.5

// intervals merges the samples of all servers, interval by interval. Servers tick
// on clocks of their own; the number of the tick tells which samples belong
// together. O(n log n).
func (r repeat) intervals() (list []interval, usual float64) {
	if len(r.samples) == 0 {
		return nil, 0
	}
	lengths := make([]float64, 0, len(r.samples))
	for _, s := range r.samples {
		lengths = append(lengths, s.IntervalSec)
	}
	if usual = results.Middle(lengths); usual <= 0 {
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

// blocks cuts a repeat into blocks of n intervals. What is left over is taken off
// the start, where a run is still settling.
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

// What is observed of a case, and the blocks if it is those.
type observed struct {
	kind       string
	blockSec   float64
	base, next [][]interval // by repeat
	against    bool         // one run was measured, the other simulated
	unsaid     string       // why nothing can be said
}

// observe decides what an observation is of a figure that goes with that rate; without one
// blocks do not have it.
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

// cut finds the shortest blocks that are independent as far as one can see. Both
// runs get blocks of about the same length, in seconds.
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
	out := make([][]interval, len(s.repeats))
	for i, list := range s.repeats {
		out[i] = blocks(list, n)
	}
	return out
}

func count(lists [][]interval) (n int) {
	for _, l := range lists {
		n += len(l)
	}
	return n
}

func longest(lists [][]interval) (n int) {
	for _, l := range lists {
		n = max(n, len(l))
	}
	return n
}

// mostAlike is the correlation of neighbouring blocks up to which they pass as
// independent.
const mostAlike = 0.1

// alike estimates the correlation of neighbours from all lists together. In a
// list of n the estimate comes out about 1/n too low, which is added back.
func alike(lists [][]interval, of func(interval) float64) float64 {
	var product, square float64
	n := 0
	for _, l := range lists {
		mean := 0.0
		for _, x := range l {
			mean += of(x) / float64(len(l))
		}
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
	return product/square + float64(len(lists))/float64(n)
}
