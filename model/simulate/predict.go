package simulate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evbench/bench"
	"evbench/internal/parallel"
	"evbench/model/sim"
	"evbench/results"
	"evbench/scenario"
)

// Predict simulates each case, several at once, and adds the results to the predictions. A case
// that would exceed the budget, or cannot be simulated, gets the reason there; it is measured all
// the same.
func Predict(ctx context.Context, s *scenario.Scenario, planned []bench.Planned, budget time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	parallel.Each(0, len(planned), func(_, i int) { expect(ctx, s, &planned[i], budget) })
}

// Expect is Predict for a step of a search for rates, of a case that Predict could simulate: it says what becomes of the
// events offered; nil: that is not known.
func Expect(ctx context.Context, s *scenario.Scenario, p *bench.Planned, budget time.Duration) *results.Offered {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	if p.Prediction.NotSimulated != "" {
		return nil
	}
	return expect(ctx, s, p, budget)
}

func expect(ctx context.Context, s *scenario.Scenario, p *bench.Planned, budget time.Duration) *results.Offered {
	r, err := expected(ctx, s, *p, budget)
	if err != nil {
		p.Prediction.NotSimulated = err.Error()
		return nil
	}
	p.Prediction.Model, p.Prediction.EventsPerSec, p.Prediction.ModelEfficiency = r.Simulated, r.EventsPerSec.Mean, r.MeasuredEfficiency
	if o := r.Offered; o != nil {
		p.Prediction.Load = &results.Expected{Complete: o.Taken(), Dead: o.Dead(), Latency: o.Latency}
	}
	return r.Offered
}

func expected(ctx context.Context, s *scenario.Scenario, p bench.Planned, budget time.Duration) (results.Case, error) {
	if why := unfit(modelOf(s, p), p); why != "" {
		return results.Case{}, errors.New(why)
	}
	common := s.Common
	common.Interval = p.Duration
	x, err := Cases(&scenario.Scenario{Tree: s.Tree, Fabric: s.Fabric, Event: s.Event, Common: common, Sim: s.Sim}, []bench.Planned{p}, "")
	if err != nil {
		return results.Case{}, err
	}
	tooLong := fmt.Errorf("a simulation would take longer than %s; run evbench sim", budget)
	if (x[0].Model == sim.FluidModel || x[0].Model == sim.TCPModel) && x[0].LeastTime(int(s.Event.Fragment)) > budget {
		return results.Case{}, tooLong
	}
	sum, err := sim.Run(ctx, x, results.Nowhere{}, sim.Options{Now: time.Now})
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return results.Case{}, tooLong
	case err != nil:
		return results.Case{}, err
	}
	return sum.Cases[0], nil
}
