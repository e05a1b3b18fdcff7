// Package capacity answers: which link rate and which scenario can this machine carry? A search
// (SearchRate) finds the rate of a run whose rate is auto; a forecast (NewForecast) says from two
// measurements of a small lab whether a large one fits. Who runs a try is the caller's affair.
package capacity

import (
	"context"
	"fmt"
	"strings"
	"time"

	"evbench/bench"
	"evbench/internal/unit"
	"evbench/results"
	"evbench/scenario"
)

// RateLimit bounds the search for the link rate of a run.
const RateLimit = 5 * time.Second

const (
	// carriedShare is the share of its prediction that the healthy tree reaches at a rate that the
	// machine can carry. The links of the emulation are clocks, which take some 0.8 ms of each
	// phase at any rate, so their share is lower.
	carriedShare         = 0.99
	carriedShareEmulated = 0.95
	// carriedTimes is how often a rate must be carried, if time permits: a busy machine may be
	// quiet for a second.
	carriedTimes = 2
	// leastFragment is the least fragment of a phase at a rate below the first one. The links of
	// the lab let bursts of 20 KiB pass at once: with fragments not well above that, waiting costs
	// a case with fewer messages less than one with more.
	leastFragment = 36 << 10
	// lowestPart: the last rate tried is the first divided by this.
	lowestPart = 16
	// carefulPart: after a failed try, an untried rate is at most the first divided by this.
	carefulPart = 4
)

// closingTime is how long a fabric may take to close after an interrupted try.
const closingTime = 400 * time.Millisecond

// SearchRate finds a link rate that a machine can carry; try tries one, on a fabric of its own. With
// an error it returns what was tried before.
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
			return FoundRate{Tried: search.tried}, err
		}
		search.Tell(tried, time.Since(begun))
	}
}

// A RateSearch decides which link rates are tried on a machine, and which is taken: the highest
// that the machine carries. It goes down by halves from a rate based on the number of servers, and
// skips rates that are implausible after the results so far.
//
// It reads no clock: times are since the search began.
type RateSearch struct {
	rates   []unit.Rate // candidates, falling
	share   float64     // of the prediction that is enough
	least   time.Duration
	tried   []results.TriedRate
	at      int           // index of the next rate
	carried int           // how often that rate was carried
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

// Next returns the rate to try now, or false when the search is over: a rate is carried, all have
// been tried, or another try would exceed the remaining time.
func (r *RateSearch) Next(now time.Duration) (unit.Rate, bool) {
	if r.carried >= carriedTimes || r.at >= len(r.rates) {
		return 0, false
	}
	return r.rates[r.at], now+max(r.least, r.slow) <= RateLimit
}

// Tell takes the result at the rate of Next, and how long the try took.
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

// Found returns the result of the search, when it or its time is over. An unfinished try counts for
// nothing.
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

// careful is the next rate, or a lower one: a rate taken without a try should rather be too low.
// For a tree too large for any try there are no data.
func (r *RateSearch) careful() unit.Rate {
	at := r.at
	for r.least <= RateLimit && at < len(r.rates)-1 && r.rates[at]*carefulPart > r.rates[0] {
		at++
	}
	return r.rates[at]
}

// A FoundRate is the link rate of a run, with its reason.
type FoundRate struct {
	Rate    unit.Rate
	Tried   []results.TriedRate // in their order
	Warning string              // why the machine may not carry it; "": it carries it
}

func (f FoundRate) String() string {
	head := "link rate: " + f.Rate.String()
	if n := len(f.Tried); n == 0 || f.Tried[n-1].RateBitPerSec != int64(f.Rate) {
		head += ", not tried"
	}
	if len(f.Tried) == 0 {
		return head
	}
	return head + " (this machine reached " + f.Reached() + ")"
}

// Reached says what share of its prediction each try reached; "" without a try.
func (f FoundRate) Reached() string {
	of, reached := " of the prediction", make([]string, len(f.Tried))
	for i, t := range f.Tried {
		reached[i] = fmt.Sprintf("%.3f%s at %s", t.Share(), of, unit.Rate(t.RateBitPerSec))
		of = ""
	}
	return strings.Join(reached, ", ")
}

// A try runs one uncounted exchange and two counted ones, or as many as fit into tryTime. Its
// phases are short, so that there is time for several tries.
const (
	tryTime     = 500 * time.Millisecond
	tryExchange = 400 * time.Millisecond
	tryPhaseMin = 10 * time.Millisecond
	tryPhaseMax = 25 * time.Millisecond
	tryCounted  = 2
)

// A Runner runs planned cases of a scenario and keeps nothing.
type Runner func(context.Context, *scenario.Scenario, []bench.Planned) (results.Summary, error)

// TryRate has the control of a scenario run, shortened, at a link rate.
func TryRate(ctx context.Context, s *scenario.Scenario, rate unit.Rate, run Runner) (tried results.TriedRate, err error) {
	at, planned, err := controlAt(s, rate)
	if err != nil {
		return tried, err
	}
	tried = results.TriedRate{RateBitPerSec: int64(rate), Predicted: planned[0].Prediction.Efficiency}
	sum, err := run(ctx, at, planned)
	if len(sum.Cases) > 0 {
		tried.Efficiency = sum.Cases[0].MeasuredEfficiency
	}
	return tried, err
}

// controlAt is a scenario with only a short control, at a link rate.
func controlAt(s *scenario.Scenario, rate unit.Rate) (*scenario.Scenario, []bench.Planned, error) {
	at := *s
	if err := at.SettleRate(rate); err != nil {
		return nil, nil, err
	}
	counted := tryCounted
	if Untried(&at) {
		at.Event, at.Warmup, counted = loaded(&at), 0, 1
	} else {
		at.Event, at.Warmup = tryEvent(&at), 1
	}
	if err := at.SettleRate(rate); err != nil {
		return nil, nil, err
	}
	at.Cases, at.Answer, at.Control, at.Rounds = nil, nil, true, scenario.Rounds{}
	at.Duration = max(tryTime, at.ExchangeTime()*time.Duration(2*counted-1)/2) // the measured part ends with a whole exchange
	at.Interval = at.Duration
	planned, err := bench.Prepare(&at)
	if err != nil {
		return nil, nil, err
	}
	return &at, planned[:1], nil
}

func leastTry(s *scenario.Scenario) time.Duration {
	phase := tryEvent(s).Phase
	if phase == 0 {
		phase = s.FragmentTime()
	}
	return time.Duration(s.Tree.MostMessages()) * phase * (1 + tryCounted)
}

// tryEvent is the event of a try. The cost of a phase beside its fragment is irrelevant to the rate
// if fragments scale with the rate; if they are small and fixed, it matters.
func tryEvent(s *scenario.Scenario) scenario.Event {
	phase := tryPhase(s.Tree.MostMessages())
	if s.Event.Phase > 0 || s.FragmentTime() > phase {
		return scenario.Event{Phase: phase}
	}
	return scenario.Event{Fragment: s.Event.Fragment}
}

// loaded is the event of the one exchange that is tried on a tree too large for tries of a rate: links do not let its
// fragments pass at once.
func loaded(s *scenario.Scenario) scenario.Event {
	return scenario.Event{Phase: max(tryPhase(s.Tree.MostMessages()), lasts(s.Fabric, leastFragment))}
}

// tryPhase is the length of a try's phases, given their number in an exchange.
func tryPhase(phases int) time.Duration {
	return min(max(tryExchange/time.Duration(max(1, phases)), tryPhaseMin), tryPhaseMax)
}
