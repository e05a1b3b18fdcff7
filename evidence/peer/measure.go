package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"evbench/results"
)

type reading struct {
	seconds float64 // of the timed part
	value   float64 // MB/s of all ranks together or, for barriers, µs
}

type outcome struct {
	row
	Unit     string    `json:"unit"`
	OurSlots []float64 `json:"our_slots"`
	Slots    []float64 `json:"their_slots"`
	Ratio
	Verdict string `json:"verdict"`
	LeftOut string `json:"left_out,omitempty"` // why, if a tool is missing
	Failed  string `json:"failed,omitempty"`
}

type leftOut struct{ why string }

func (l leftOut) Error() string { return l.why }

// measure runs the slots of a row, both sides in turn. The first side changes from slot to slot.
func measure(ctx context.Context, t *tools, r row, o *options, progress io.Writer) outcome {
	out := outcome{row: r, Unit: r.unit()}
	err := out.fill(ctx, t, o, progress)
	if why := (leftOut{}); errors.As(err, &why) {
		out.LeftOut, out.Verdict = why.why, "left out: "+why.why
	} else if err != nil {
		out.Failed, out.Verdict = err.Error(), "failed"
	}
	return out
}

func (r row) unit() string {
	if r.Ours.mode == barriers {
		return "µs"
	}
	return "MB/s"
}

func (out *outcome) fill(ctx context.Context, t *tools, o *options, progress io.Writer) error {
	sides := [2]side{out.Ours, out.Theirs}
	var amounts [2]int
	for i, s := range sides {
		run := func(k int) (reading, error) { return t.slot(ctx, out.row, s, k) }
		var err error
		if amounts[i], err = warmUp(s, out.row, o.seconds, run); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	for slot := range o.slots {
		var got [2]reading
		for _, i := range [2]int{slot % 2, 1 - slot%2} {
			var err error
			if got[i], err = t.slot(ctx, out.row, sides[i], amounts[i]); err != nil {
				return fmt.Errorf("%s: slot %d: %w", sides[i], slot+1, err)
			}
		}
		out.OurSlots = append(out.OurSlots, got[0].value)
		out.Slots = append(out.Slots, got[1].value)
		fmt.Fprintf(progress, "    slot %d of %d: %.4g / %.4g %s = %.3f\n",
			slot+1, o.slots, got[0].value, got[1].value, out.Unit, got[0].value/got[1].value)
	}
	out.Ratio = Of(out.OurSlots, out.Slots)
	out.Verdict = out.Judge(out.Ratio)
	return nil
}

// warmUp runs a side until it knows the amount of work for about seconds seconds. The last of these
// slots is the warm-up.
func warmUp(s side, r row, seconds float64, run func(amount int) (reading, error)) (amount int, err error) {
	if s.kind == whole { // its work is a duration
		amount = int(math.Ceil(1000 * seconds))
		_, err = run(amount)
		return amount, err
	}
	amount = first(s, r)
	for {
		got, err := run(amount)
		if err != nil {
			return 0, err
		}
		enough := got.seconds >= seconds/2
		amount = scale(amount, seconds, got.seconds, max(s.batch, 1))
		if enough {
			return amount, nil
		}
	}
}

// first is the work of the first try: 64 MiB, or some barriers.
func first(s side, r row) int {
	if s.mode == barriers {
		return 100
	}
	step := max(s.batch, 1)
	return scale(1, 64<<20, float64(r.Ranks*(r.Ranks-1)*r.Size), step)
}

// scale returns the amount of work for the wanted time when amount took took seconds: a multiple of
// step, more than before if that was too short, and at most 20 times as much, because short
// measurements mislead.
func scale(amount int, want, took float64, step int) int {
	f := 20.0
	if took > 0 {
		f = min(f, want/took)
	}
	to := max(1, int(math.Ceil(float64(amount)*f)))
	if f > 1 {
		to = max(to, amount+1)
	}
	return (to + step - 1) / step * step
}

// noise is how far, as a share of the median, either end of an interval may be from it before the
// row counts as noisy.
const noise = 0.15

// A Ratio is one side over the other, slot by slot: a disturbance longer than a slot affects both.
type Ratio struct {
	Median float64 `json:"ratio"`
	Low    float64 `json:"ratio_low"`
	High   float64 `json:"ratio_high"`
	// Sure: Low and High are an interval. Otherwise there were too few slots for one, and they are
	// the least and the greatest ratio.
	Sure bool `json:"interval_is_95_percent"`
}

// Of compares the slots of two sides; both have equally many, and at least one. O(n log n).
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

// A Goal is the required ratio.
type Goal struct {
	// Want is the least ratio.
	Want float64 `json:"reach,omitempty"`
	// AtMost: Want is the greatest ratio instead, because less is better.
	AtMost bool `json:"reach_at_most,omitempty"`
	// Touch is a value that the upper end of the interval must also reach; 0: none.
	Touch float64 `json:"interval_reaches,omitempty"`
}

const (
	reached = "reached"
	missed  = "not reached"
	noisy   = ", noisy"
	few     = ", too few slots"
)

// Judge returns a verdict, and notes if the measurement was noisy: a repetition may then give
// another verdict.
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
