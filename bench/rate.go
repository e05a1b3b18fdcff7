package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"evbench/internal/unit"
	"evbench/results"
	"evbench/scenario"
)

// RateLimit is how long it may take to find the link rate of a run.
const RateLimit = 5 * time.Second

const (
	// carriedShare of its prediction is what the healthy tree reaches at a rate that the
	// machine can carry. The links of the emulation are clocks, which take some 0.8 ms of
	// each phase at any rate: there it is less.
	carriedShare         = 0.99
	carriedShareEmulated = 0.95
	// carriedTimes is how often that has to be so, where there is time: a busy machine may
	// be quiet for a second.
	carriedTimes = 2
	// leastFragment is the least that a phase sends at a rate below the first one. The links
	// of the lab let bursts of 20 KiB pass at once: of fragments that are not well above
	// that, waiting costs a case with fewer messages less than one with more.
	leastFragment = 36 << 10
	// lowestPart of the first rate that is tried is the last one.
	lowestPart = 16
	// carefulPart of the first rate is the most that is taken without having been tried,
	// where a higher one has failed.
	carefulPart = 4
)

// closingTime is how long a fabric may take to close that had no time to end its try.
const closingTime = 400 * time.Millisecond

// SearchRate finds out which link rate a machine can carry; try tries one, on a fabric of its
// own.
func SearchRate(ctx context.Context, s *scenario.Scenario, try func(context.Context, unit.Rate) (results.TriedRate, error)) (FoundRate, error) {
	start := time.Now()
	limited, cancel := context.WithTimeout(ctx, RateLimit-closingTime)
	defer cancel()
	search := NewRateSearch(s)
	for {
		begun := time.Now()
		rate, more := search.Next(begun.Sub(start))
		if !more {
			return search.Found(), nil
		}
		tried, err := try(limited, rate)
		switch {
		case ctx.Err() == nil && limited.Err() != nil:
			return search.Found(), nil // the time was over
		case err != nil:
			return FoundRate{}, err
		}
		search.Tell(tried, time.Since(begun))
	}
}

// A RateSearch decides which link rates are tried on a machine, and which is taken: the
// highest that it carries. It goes down by halves from the rate that the number of
// servers suggests, and leaves out what the machine cannot carry after what it reached.
//
// It reads no clock: times are since the search began.
type RateSearch struct {
	rates   []unit.Rate // that come into question, falling
	share   float64     // of the prediction that is enough
	least   time.Duration
	tried   []results.TriedRate
	at      int           // of rates: what comes next
	carried int           // how often that was carried
	slow    time.Duration // the longest try so far
}

// NewRateSearch begins a search for a scenario whose rate is not settled.
func NewRateSearch(s *scenario.Scenario) *RateSearch {
	r := &RateSearch{share: carriedShare, least: leastTry(s)}
	if s.Fabric.Kind == scenario.Emulate {
		r.share = carriedShareEmulated
	}
	for rate := s.Fabric.Rate; rate*lowestPart >= s.Fabric.Rate; rate /= 2 {
		at := *s
		if at.SettleRate(rate) != nil || rate < s.Fabric.Rate && at.Event.Phase > 0 && at.Event.Fragment < leastFragment {
			break
		}
		r.rates = append(r.rates, rate)
	}
	return r
}

// Next returns the rate to try now, or false when the search is over: a rate is carried,
// all have been tried, or another try would take longer than the time that is left.
func (r *RateSearch) Next(now time.Duration) (unit.Rate, bool) {
	if r.carried >= carriedTimes || r.at >= len(r.rates) {
		return 0, false
	}
	return r.rates[r.at], now+max(r.least, r.slow) <= RateLimit
}

// Tell takes what came out at the rate that Next returned, and how long that took.
func (r *RateSearch) Tell(t results.TriedRate, took time.Duration) {
	r.tried = append(r.tried, t)
	r.slow = max(r.slow, took)
	if t.Share() >= r.share {
		r.carried++
		return
	}
	r.carried = 0
	reached := float64(r.rates[r.at]) * t.Share()
	for r.at++; r.at < len(r.rates)-1 && float64(r.rates[r.at])*r.share > reached; r.at++ {
	}
}

// Found returns what the search came to, when it is over or the time is. A try that did
// not end in time tells nothing.
func (r *RateSearch) Found() FoundRate {
	if len(r.tried) == 0 {
		f := FoundRate{Rate: r.careful()}
		f.Warning = fmt.Sprintf("link rate %s was not tried: within %s none could be", f.Rate, RateLimit)
		return f
	}
	last := r.tried[len(r.tried)-1]
	f := FoundRate{Rate: unit.Rate(last.RateBitPerSec), Tried: r.tried}
	switch {
	case r.carried > 0:
	case r.at == len(r.rates):
		f.Warning = fmt.Sprintf("at no link rate did the healthy tree reach its prediction within %.0f %%; at %s, the lowest, it reached %.3f of it: the machine is busy",
			100*(1-r.share), f.Rate, last.Share())
	default:
		f.Warning = fmt.Sprintf("link rate %s was not tried: at %s the healthy tree reached %.3f of its prediction, and another try would have ended after %s",
			r.careful(), f.Rate, last.Share(), RateLimit)
		f.Rate = r.careful()
	}
	return f
}

// careful is the next rate, or a lower one: what is taken without a try had better be
// too low. Of a tree that is too large for any try nothing is known.
func (r *RateSearch) careful() unit.Rate {
	at := r.at
	for r.least <= RateLimit && at < len(r.rates)-1 && r.rates[at]*carefulPart > r.rates[0] {
		at++
	}
	return r.rates[at]
}

// A FoundRate is the link rate of a run, and why it is that.
type FoundRate struct {
	Rate    unit.Rate
	Tried   []results.TriedRate // in their order
	Warning string              // why the machine may not carry it; "": it does
}

func (f FoundRate) String() string {
	head := "link rate: " + f.Rate.String()
	if n := len(f.Tried); n == 0 || f.Tried[n-1].RateBitPerSec != int64(f.Rate) {
		head += ", not tried"
	}
	if len(f.Tried) == 0 {
		return head
	}
	of, reached := " of the prediction", make([]string, len(f.Tried))
	for i, t := range f.Tried {
		reached[i] = fmt.Sprintf("%.3f%s at %s", t.Share(), of, unit.Rate(t.RateBitPerSec))
		of = ""
	}
	return head + " (this machine reached " + strings.Join(reached, ", ") + ")"
}
