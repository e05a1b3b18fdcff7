package simulate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evbench/bench"
	"evbench/internal/parallel"
	"evbench/results"
	"evbench/scenario"
	"evbench/sim"
)

// Predict works out what the simulation expects of each case, several at once, and adds
// it to the predictions. What would take longer than the budget, or cannot be worked out,
// says so there; it is no reason not to measure.
func Predict(ctx context.Context, s *scenario.Scenario, planned []bench.Planned, budget time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	parallel.Each(0, len(planned), func(_, i int) {
		p := &planned[i]
		r, err := predicted(ctx, s, *p, budget)
		if err != nil {
			p.Prediction.NotSimulated = err.Error()
			return
		}
		p.Prediction.Model, p.Prediction.EventsPerSec, p.Prediction.ModelEfficiency = r.Simulated, r.EventsPerSec.Mean, r.MeasuredEfficiency
	})
}

// predicted works one case out.
func predicted(ctx context.Context, s *scenario.Scenario, p bench.Planned, budget time.Duration) (results.Case, error) {
	if why := unfit(modelOf(s, p), p); why != "" {
		return results.Case{}, errors.New(why)
	}
	x, err := Cases(&scenario.Scenario{
		Tree: s.Tree, Fabric: s.Fabric, Event: s.Event, Interval: p.Duration, Warmup: s.Warmup, Seed: s.Seed,
		Sim: s.Sim, Deliver: s.Deliver, Check: s.Check,
	}, []bench.Planned{p}, "", 0)
	if err != nil {
		return results.Case{}, err
	}
	tooLong := fmt.Errorf("working it out would take longer than %s; evbench sim does it", budget)
	if x[0].Model == sim.FluidModel && x[0].FluidTime(int(s.Event.Fragment)) > budget {
		return results.Case{}, tooLong
	}
	sum, err := sim.Run(ctx, x, nowhere{}, sim.Options{Fluid: sim.Fluid, Now: time.Now})
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return results.Case{}, tooLong
	case err != nil:
		return results.Case{}, err
	}
	return sum.Cases[0], nil
}

// nowhere is a sink: only the summary is asked for.
type nowhere struct{}

func (nowhere) Manifest(results.Manifest) error { return nil }
func (nowhere) Sample(results.Sample) error     { return nil }
func (nowhere) Link(results.LinkCount) error    { return nil }
func (nowhere) Summary(results.Summary) error   { return nil }
func (nowhere) Keeps() results.Keeps            { return results.Keeps{} }
func (nowhere) Plan(string, []byte) error       { return nil }
