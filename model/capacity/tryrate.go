package capacity

import (
	"context"
	"time"

	"evbench/bench"
	"evbench/internal/unit"
	"evbench/results"
	"evbench/scenario"
)

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
	at.Event = tryEvent(&at)
	if err := at.SettleRate(rate); err != nil {
		return nil, nil, err
	}
	at.Cases, at.Answer, at.Control, at.Rounds, at.Warmup = nil, nil, true, scenario.Rounds{}, 1
	at.Duration = max(tryTime, at.ExchangeTime()*(2*tryCounted-1)/2) // the measured part ends with a whole exchange
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

// tryPhase is the length of a try's phases, given their number in an exchange.
func tryPhase(phases int) time.Duration {
	return min(max(tryExchange/time.Duration(max(1, phases)), tryPhaseMin), tryPhaseMax)
}
