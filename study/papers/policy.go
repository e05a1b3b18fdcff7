package papers

import (
	"context"
	"fmt"
	"slices"

	"evbench/failover"
	"evbench/plan"
	"evbench/results"
	"evbench/sim"
	"evbench/study/failures"
	"evbench/study/policy"
	"evbench/topology"
)

// A response is how events are built while links are dead.
type response struct {
	series string
	as     failover.Policy // whose states and rates it has
	held   bool            // a link that flaps stays out until it has been up for long enough
	slow   bool            // left out if quick
	plan   router
	rate   rater
}

var policies = []response{
	{"synchronised, Min-Hop", failover.MinHop, false, false, asToday, synchronised},
	{"non-synchronised", failover.Unsync, false, true, asToday, unsynchronised},
	{"FORS", failover.FORS, false, false, adapted, synchronised},
	{"FORS, flapping link held out", failover.FORS, true, false, adapted, synchronised},
}

func asToday(n *routedTree, t *topology.Tree, _ uint64) (*plan.Plan, error) { return n.current(t) }

func adapted(_ *routedTree, t *topology.Tree, seed uint64) (*plan.Plan, error) { return fors(t, seed) }

func recommendation(ctx context.Context, o *Options, f *Figure) error {
	l, err := o.openLog()
	if err != nil {
		return err
	}
	n, err := newRoutedTree(lhcb())
	if err != nil {
		return err
	}
	if err := f.oneFailure(ctx, n, o); err != nil {
		return err
	}
	raw, _ := failures.Pair(l.history)
	raw = failures.Exclude(raw, o.Exclude)
	merged := failures.Merge(raw, o.Merge)
	whole := policy.FromFailures(n.tree, l.history, raw)
	f.Setup = append(l.setup(),
		"throughput over FT(2;20,18), all ports, times 326; lost against the throughput without failures",
		fmt.Sprintf("re-routing: nothing is built for %g s after each change; of the log %d of %d failures left out (no link of the tree, or no end)", rerouteSec, whole.Skipped, len(raw)),
		fmt.Sprintf("held out: a link that fails again within %s counts as down from the first failure to the end of the last", o.Merge))
	if o.Quick {
		f.Setup = append(f.Setup, "quick: the log without the policy that does not synchronise")
	}
	rates := &policy.Rates{Work: n.policyRate(o.Seed)}
	for i, p := range policies {
		if p.slow && o.Quick {
			continue
		}
		log := whole
		if p.held {
			log = policy.FromFailures(n.tree, l.history, merged)
		}
		o.tell(f.Name, "%s: %d changes", p.series, log.Moments())
		timeline, err := policy.Instant(p.as, log, n.tree)
		if err != nil {
			return err
		}
		if err := rates.Learn(ctx, timeline); err != nil {
			return fmt.Errorf("%s: %w", p.series, err)
		}
		lost, rerouting := policy.AddUp(timeline, rates).Lost, float64(log.Moments())*rerouteSec*total(healthyGbit)
		x := float64(i + 1)
		f.add("lost while links were dead", x, p.series, "Tb", lost)
		f.add("lost while re-routing", x, p.series, "Tb", rerouting)
		f.add("lost", x, p.series, "Tb", lost+rerouting)
	}
	return nil
}

// oneFailure is the computation of thesis 4.4 with our medians of fig4.8.
func (f *Figure) oneFailure(ctx context.Context, n *routedTree, o *Options) error {
	o.tell(f.Name, "one dead link")
	var medians [2]float64
	for i, rate := range []rater{synchronised, unsynchronised} {
		values, err := n.rates(ctx, 1, o.draws(10, 2), o.Seed, series{plan: asToday, rate: rate})
		if err != nil {
			return err
		}
		slices.Sort(values)
		medians[i] = total(results.Quantile(values, 0.5))
	}
	sync, unsync := medians[0], medians[1]
	if err := f.creditFailure(ctx, o); err != nil {
		return err
	}
	f.add("one dead link, synchronised", 0, "total", tbit, sync)
	f.add("one dead link, non-synchronised", 0, "total", tbit, unsync)
	f.add("one dead link, difference", 0, "total", tbit, unsync-sync)
	f.add("one dead link, difference over 6.1e5 s", 0, "total", "Tb", (unsync-sync)*6.1e5)
	return nil
}

// policyRate returns what tells the rates of a policy while links are dead, in bit/s of all
// servers. Plans and tables are always those for what is dead.
func (n *routedTree) policyRate(seed uint64) func(context.Context, failover.Policy, policy.Dead, []policy.Dead) ([]float64, error) {
	return func(ctx context.Context, as failover.Policy, _ policy.Dead, avoided []policy.Dead) ([]float64, error) {
		p := policies[slices.IndexFunc(policies, func(p response) bool { return p.as == as })]
		out := make([]float64, len(avoided))
		for i, d := range avoided {
			t, err := d.Without(n.tree)
			if err != nil {
				return nil, err
			}
			routed, err := p.plan(n, t, seed)
			if err != nil {
				return nil, err
			}
			rate, err := p.rate(ctx, routed)
			if err != nil {
				return nil, err
			}
			out[i] = total(rate) * 1e12
		}
		return out, nil
	}
}

// Setting returns LHCb's network as sec4.4 computes with it: all ports in use, and totals
// those of its servers.
func Setting() (*policy.Setting, error) {
	t, err := topology.New(lhcb())
	if err != nil {
		return nil, err
	}
	return &policy.Setting{
		Tree: t, BitPerSec: linkGbit * 1e9, Fragment: fragmentBytes, Timing: sim.Timing{Overhead: seconds(overheadSec)},
		Most: healthyGbit * 1e9, Servers: servers, Seed: 1,
	}, nil
}
