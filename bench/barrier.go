package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"evbench/barrier"
	"evbench/builder"
	"evbench/internal/lists"
	"evbench/results"
	"evbench/scenario"
	"evbench/transport"
)

// The measurement of the barriers of auto: each form of barrier as often, each time with so many bytes
// a fragment, for so long or one exchange. One has to be faster than those before it by more than the
// noise of such a measurement.
const (
	barrierTries    = 3
	barrierFragment = 64
	barrierTime     = 100 * time.Millisecond
	barrierNoise    = 0.05
)

// settleBarriers finds out whether servers share processors, and which barrier is fastest where a case
// leaves that open (auto): by the time of its phases with almost no payload, the least of the tries.
func (r *runner) settleBarriers(ctx context.Context) error {
	r.own = ownProcessors(r.ctl.Hosts())
	open := func(c Planned) bool { return c.Barrier == scenario.Auto }
	first := slices.IndexFunc(r.cases, open)
	if first < 0 {
		return nil
	}
	if err := r.f.Install(ctx, r.cases[first].Plan); err != nil {
		return fmt.Errorf("barrier %s: install: %w", scenario.Auto, err)
	}
	forms := barrier.Forms()
	if transport.Of(r.s.Transport).Barrier {
		forms = append(forms, barrier.MPI)
	}
	r.barriers = lists.Map(forms, func(form string) results.TriedBarrier { return results.TriedBarrier{Barrier: form} })
	for range barrierTries {
		for i := range r.barriers {
			x := &r.barriers[i]
			took, err := r.tryBarrier(ctx, r.cases[first], x.Barrier)
			if err != nil {
				return fmt.Errorf("barrier %s: %s: %w", scenario.Auto, x.Barrier, err)
			}
			if x.PhaseSec == 0 || took < x.PhaseSec {
				x.PhaseSec = took
			}
		}
	}
	best := fastest(r.barriers)
	best.Taken = true
	for i := range r.cases {
		if open(r.cases[i]) {
			r.cases[i].Barrier = best.Barrier
		}
	}
	return nil
}

// fastest is the first of the barriers whose time is the least, but for noise.
func fastest(tried []results.TriedBarrier) *results.TriedBarrier {
	least := slices.MinFunc(tried, func(a, b results.TriedBarrier) int { return cmp.Compare(a.PhaseSec, b.PhaseSec) }).PhaseSec
	return &tried[slices.IndexFunc(tried, func(x results.TriedBarrier) bool { return x.PhaseSec <= (1+barrierNoise)*least })]
}

// tryBarrier returns the time of a phase of a case, in seconds, with almost no payload.
func (r *runner) tryBarrier(ctx context.Context, p Planned, form string) (float64, error) {
	p.Barrier, p.Duration = form, barrierTime
	c, err := r.controllerCase(&measured{Planned: p})
	if err != nil {
		return 0, err
	}
	c.Fragment, c.Sizes, c.Standby, c.Pairs, c.Trace, c.Expected, c.Interval = barrierFragment, builder.Distribution{}, nil, false, 0, 0, barrierTime
	out, err := r.ctl.RunCase(ctx, c)
	if err != nil {
		return 0, err
	}
	return out.Span.Seconds() / float64(max(out.Exchanges, 1)) / float64(len(c.Rows[0])), nil
}

// ownProcessors reports whether each server has a processor of its own, as far as they say.
func ownProcessors(hosts []results.Host) bool {
	servers := map[string]int{}
	for _, h := range hosts {
		servers[h.Host]++
	}
	return !slices.ContainsFunc(hosts, func(h results.Host) bool { return h.Cores < servers[h.Host] })
}
