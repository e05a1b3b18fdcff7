package ordered

import (
	"context"

	"evbench/bench"
	"evbench/builder"
	"evbench/builder/modes"
	"evbench/model/sim"
	"evbench/model/sizes"
	"evbench/plan"
	"evbench/scenario"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
)

// WindowPlan plans a window of an ordered case: exchanges exchanges from first on, counted from 0
// with the warm-up, on the tree of a chain, after its windows. Runs, simulations and predictions
// use the same. Fragments are not split: workers send them whole. If all fragments have one size,
// and for the first counted window, ports and links count as free at the start: the plan file has
// that window.
func WindowPlan(s *scenario.Scenario, c scenario.Case, after *sizes.Chain, first uint64, exchanges int) (*sizes.Plan, error) {
	var window []*sizes.Matrix
	for e := range exchanges {
		m, err := Matrix(s, c, first+uint64(e))
		if err != nil {
			return nil, err
		}
		window = append(window, m)
	}
	o := sizes.Options{Seed: s.Seed, Overhead: int64((s.Sim.Round + s.Sim.Overhead).Seconds() * s.Fabric.BitPerSec() / 8)}
	if c.Schedule == schedules.FORS {
		o.Order = sizes.OrderFORS
	}
	if s.Objective(c) == schedules.FewestPaths {
		var err error
		if o.Paths, _, err = scheduler.FORS(after.Tree(), scheduler.Options{Seed: s.Seed, Objective: schedules.FewestPaths}); err != nil {
			return nil, err
		}
	}
	if first > s.Warmup && !s.FragmentSizes(c).Equal() {
		o.After = after
	}
	return sizes.MakeWindow(after.Tree(), window, o)
}

// Job converts a case, ordered or not, for the models, without the cost of messages beside their
// bytes.
func Job(s *scenario.Scenario, c scenario.Case, p *plan.Plan, window int) sim.Job {
	of := s.FragmentSizes(c)
	j := sim.Job{
		Setting: c.Setting, Common: s.Common, Plan: p, Size: of.Of, Header: builder.HeaderSize, Equal: of.Equal(), BitPerSec: s.Fabric.BitPerSec(),
		Windows: sim.Windows{Order: func(after *sizes.Chain, first uint64, exchanges int) (*sizes.Plan, error) {
			return WindowPlan(s, c, after, first, exchanges)
		}},
	}
	j.Window = window
	return j
}

// messages is about how many messages the prediction of an ordered case covers, but at least two
// windows.
const messages = 1 << 18

// Efficiency implements bench.Orderer: the longest path over all exchanges of the case, or over as
// many as a prediction covers.
func (orderer) Efficiency(s *scenario.Scenario, c scenario.Case, p *plan.Plan) (float64, error) {
	return efficiency(s, c, p, c.Window)
}

func efficiency(s *scenario.Scenario, c scenario.Case, p *plan.Plan, window int) (float64, error) {
	j := Job(s, c, p, window)
	j.Mode = modes.Ordered
	n := p.Tree.Servers()
	most := max(2*window, min(bench.PredictedExchanges, messages/(n*n)))
	lasts := float64(most)
	if j.BitPerSec > 0 {
		exchange := 8 * float64(p.Tree.MostMessages()) * float64(int(s.Event.Fragment)+j.Header) / j.BitPerSec
		lasts = c.Duration.Seconds() / exchange
	} else {
		j.BitPerSec = 8e9
	}
	if lasts >= float64(most) {
		j.Exchanges = most
	}
	o, err := sim.Phase(context.Background(), &j, nil)
	if err != nil {
		return 0, err
	}
	return min(1, j.Efficiency(o)), nil // times are whole nanoseconds
}
