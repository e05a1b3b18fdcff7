package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"evbench/builder/load"
	"evbench/controller"
	"evbench/results"
)

// A Search finds the highest rate of events that cases take without dead time.
type Search struct {
	// Latency is what p99.9 may be at most; 0: any.
	Latency time.Duration
}

// SearchSteps is the most measurements of a case in a Search.
const SearchSteps = 12

// measureAll measures the cases in rounds, or searches for their rates.
func (r *runner) measureAll(ctx context.Context) error {
	if r.search == nil {
		return r.all(ctx)
	}
	r.began = time.Now()
	bases := r.cases
	r.cases = nil
	for _, base := range bases {
		if err := r.searchCase(ctx, base); err != nil {
			return err
		}
	}
	return nil
}

// searchCase finds the rate of a case. What it found so far is told where a measurement fails, too.
func (r *runner) searchCase(ctx context.Context, base Planned) error {
	f := results.Found{Case: base.Name, Mode: base.Mode, Failures: base.FailureTexts(base.Plan.Tree), LatencySec: r.search.Latency.Seconds()}
	first := base.Load.Rate
	if f.FullPerSec = r.s.Full(); f.FullPerSec > 0 {
		f.Predicted = f.FullPerSec * base.Prediction.Efficiency
		first = cmp.Or(f.Predicted, f.FullPerSec)
	}
	s := &load.Search{First: first, Finest: base.Load.Finest(first * base.Duration.Seconds()), Most: SearchSteps}
	f.Finest = s.Finest
	for rate, more := s.Next(); more; rate, more = s.Next() {
		o, err := r.tryRate(ctx, base, rate, f.Steps)
		if err != nil {
			return err
		}
		taken := o.Refused+o.Closed == 0 && o.Growth() <= s.Finest
		late := r.search.Latency > 0 && o.Latency.Quantiles().P999 > r.search.Latency.Seconds()
		carried := rate
		if !taken {
			carried *= o.Carried()
		}
		s.Tell(rate, taken && !late, carried)
		f.Steps++
		f.TakenPerSec, f.RefusedPerSec = s.Limits()
		if f.Doubt = s.Doubt(); f.TakenPerSec > 0 {
			f.At = stepName(base, f.TakenPerSec)
		}
		r.found = append(slices.DeleteFunc(slices.Clone(r.found), func(x results.Found) bool { return x.Case == f.Case }), f)
	}
	return nil
}

func stepName(base Planned, rate float64) string { return base.Name + " at " + load.RateText(rate) }

// tryRate measures a slice of a case at a rate.
func (r *runner) tryRate(ctx context.Context, base Planned, rate float64, step int) (*controller.Offered, error) {
	name := stepName(base, rate)
	at := slices.IndexFunc(r.cases, func(p Planned) bool { return p.Name == name })
	if at < 0 {
		if err := r.addStep(base, name, rate); err != nil {
			return nil, err
		}
		at = len(r.cases) - 1
	}
	m, err := r.slice(ctx, at, step, SearchSteps)
	if err == nil && m.outcome.Offered == nil {
		err = fmt.Errorf("case %q: no clock offered events", name)
	}
	if err != nil {
		return nil, err
	}
	r.plan.done = 1
	return m.outcome.Offered, nil
}

// addStep adds a case that offers a rate.
func (r *runner) addStep(base Planned, name string, rate float64) error {
	p := base
	p.Name, p.Load.Rate, p.Load.Share = name, rate, 0
	p.Prediction.Case, p.Prediction.Load = name, nil // it was of another rate
	if full := r.s.Full(); full > 0 {
		p.Prediction.Efficiency = min(p.Prediction.Efficiency, rate/full)
	}
	r.cases = append(r.cases, p)
	r.manifest.Plans[name], r.manifest.Predictions = p.Prediction.PlanHash, append(r.manifest.Predictions, p.Prediction)
	if err := results.KeepPlan(r.sink, name, p.File()); err != nil {
		return err
	}
	r.progress(Place{}, Added{p})
	return nil
}
