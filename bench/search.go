package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"evbench/builder/load"
	"evbench/results"
)

// A Search finds the highest rate of events that cases take without dead time.
type Search struct {
	// Latency is what p99.9 may be at most; 0: any.
	Latency time.Duration
	// Simulate adds what a simulation says of a case to its prediction, and returns what becomes of the events offered;
	// nil: it does not tell. It may be nil.
	Simulate func(ctx context.Context, p *Planned) *results.Offered
}

// tell tells a search what became of the events that were offered at a rate, of which a share was carried.
func (x *Search) tell(s *load.Search, rate float64, o *results.Offered, carried float64) {
	taken := o.Refused+o.Incomplete == 0 && o.Growth <= s.Finest
	late := x.Latency > 0 && o.Latency.P999 > x.Latency.Seconds()
	if taken {
		carried = 1
	}
	s.Tell(rate, taken && !late, rate*carried)
}

// simulate is Search.Simulate, where there is one.
func (r *runner) simulate(ctx context.Context, p *Planned) *results.Offered {
	if r.search.Simulate == nil {
		return nil
	}
	return r.search.Simulate(ctx, p)
}

// predict has simulations in place of the measurements of a search. It returns the rate that they take and their model;
// 0: they do not tell.
func (r *runner) predict(ctx context.Context, base Planned, s load.Search) (taken float64, model string) {
	for rate, more := s.Next(); more; rate, more = s.Next() {
		p := r.offering(base, rate)
		o := r.simulate(ctx, &p)
		if o == nil {
			return 0, ""
		}
		r.search.tell(&s, rate, o, o.Taken())
		model = p.Prediction.Model
	}
	if taken, _ = s.Limits(); s.Doubt() != "" {
		return 0, ""
	}
	return taken, model
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
	f := results.Found{Case: base.Name, Mode: base.Mode, Failures: base.FailureTexts(&base.Plan.Tree.Live), LatencySec: r.search.Latency.Seconds()}
	f.FullPerSec = r.s.Full()
	f.Bound = f.FullPerSec * base.Prediction.Efficiency
	first := cmp.Or(f.Bound, f.FullPerSec, base.Load.Rate)
	s := &load.Search{First: first, Finest: base.Load.Finest(first * base.Duration.Seconds()), Most: SearchSteps}
	f.Finest, f.Predicted = s.Finest, f.Bound
	if rate, model := r.predict(ctx, base, *s); rate > 0 {
		s.First, f.Predicted, f.Model = rate, rate, model
		if f.Bound > 0 { // which a rate that is taken exceeds by less than a measurement shows
			f.Predicted = min(rate, f.Bound)
		}
	}
	for rate, more := s.Next(); more; rate, more = s.Next() {
		m, err := r.tryRate(ctx, base, rate, f.Steps)
		if err != nil {
			return err
		}
		r.search.tell(s, rate, r.offeredOf(m), m.outcome.Offered.Carried())
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
func (r *runner) tryRate(ctx context.Context, base Planned, rate float64, step int) (*measured, error) {
	name := stepName(base, rate)
	at := slices.IndexFunc(r.cases, func(p Planned) bool { return p.Name == name })
	if at < 0 {
		if err := r.addStep(ctx, r.offering(base, rate)); err != nil {
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
	return m, nil
}

// offering is a case that offers a rate.
func (r *runner) offering(base Planned, rate float64) Planned {
	p := base
	p.Name, p.Load.Rate, p.Load.Share = stepName(base, rate), rate, 0
	p.Prediction.Case, p.Prediction.Load = p.Name, nil // it was of another rate
	if full := r.s.Full(); full > 0 {
		p.Prediction.Efficiency = min(p.Prediction.Efficiency, rate/full)
	}
	return p
}

// addStep adds a case.
func (r *runner) addStep(ctx context.Context, p Planned) error {
	r.simulate(ctx, &p)
	r.cases = append(r.cases, p)
	r.manifest.Plans[p.Name], r.manifest.Predictions = p.Prediction.PlanHash, append(r.manifest.Predictions, p.Prediction)
	if err := results.KeepPlan(r.sink, p.Name, p.File()); err != nil {
		return err
	}
	r.progress(Place{}, Added{p})
	return nil
}
