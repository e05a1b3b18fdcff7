package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"evbench/failures"
	"evbench/plan"
	"evbench/topology"
)

// A spell is a time during which the same links are dead.
type spell struct {
	links []topology.Link // by leaf and spine
	sec   float64
}

// spells cuts the time of failures into spells in which something is dead, and
// counts the changes. Links that the tree does not have, and failures without a
// known end, are left out and counted.
func spells(t *topology.Tree, h *failures.History, fs []failures.Failure) (out []spell, changes, skipped int) {
	type edge struct {
		at   time.Time
		down bool
		link topology.Link
	}
	var edges []edge
	for _, f := range fs {
		links, err := t.Links(h.Links[f.Link].Name)
		if err != nil || len(links) != 1 || !f.Known() && !f.Open {
			skipped++
			continue
		}
		edges = append(edges, edge{f.Down, true, links[0]}, edge{f.Up, false, links[0]})
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return a.at.Compare(b.at) })
	down := map[topology.Link]int{}
	for i, e := range edges {
		if e.down {
			down[e.link]++
		} else if down[e.link]--; down[e.link] == 0 {
			delete(down, e.link)
		}
		if i+1 == len(edges) || !edges[i+1].at.After(e.at) {
			continue
		}
		if changes++; len(down) > 0 {
			out = append(out, spell{sorted(down), edges[i+1].at.Sub(e.at).Seconds()})
		}
	}
	if len(edges) > 0 {
		changes++ // all is up again
	}
	return out, changes, skipped
}

func sorted(down map[topology.Link]int) []topology.Link {
	var out []topology.Link
	for l := range down {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b topology.Link) int {
		return cmp.Or(cmp.Compare(a.Leaf, b.Leaf), cmp.Compare(a.Spine, b.Spine))
	})
	return out
}

// A policy is how events are built while links are dead.
type policy struct {
	series string
	what   string // what runs
	held   bool   // a link that flaps stays out until it has been up for long enough
	slow   bool   // left out if quick
	plan   func(n *network, t *topology.Tree, seed uint64) (*plan.Plan, error)
	rate   rater
}

var policies = []policy{
	{"synchronised, Min-Hop", "synchronised", false, false, asToday, synchronised},
	{"non-synchronised", "non-synchronised", false, true, asToday, unsynchronised},
	{"FORS", "FORS", false, false, adapted, synchronised},
	{"FORS, flapping link held out", "FORS", true, false, adapted, synchronised},
}

func asToday(n *network, t *topology.Tree, _ uint64) (*plan.Plan, error) { return n.current(t) }

func adapted(_ *network, t *topology.Tree, seed uint64) (*plan.Plan, error) { return fors(t, seed) }

func recommendation(ctx context.Context, _ *maker, o *Options, f *Figure) error {
	l, err := o.openLog()
	if err != nil {
		return err
	}
	n, err := newNetwork(lhcb())
	if err != nil {
		return err
	}
	if err := f.oneFailure(ctx, n, o); err != nil {
		return err
	}
	raw, _ := failures.Pair(l.history)
	raw = failures.Exclude(raw, o.Exclude)
	merged := failures.Merge(raw, o.Merge)
	_, _, skipped := spells(n.tree, l.history, raw)
	f.Setup = append(l.setup(),
		"throughput over FT(2;20,18), all ports, times 326; lost against the throughput without failures",
		fmt.Sprintf("re-routing: nothing is built for %g s after each change; of the log %d of %d failures left out (no link of the tree, or no end)", rerouteSec, skipped, len(raw)),
		fmt.Sprintf("held out: a link that fails again within %s counts as down from the first failure to the end of the last", o.Merge))
	if o.Quick {
		f.Setup = append(f.Setup, "quick: the log without the policy that does not synchronise")
	}
	ledger := &ledger{n: n, seed: o.Seed, rates: map[string]float64{}}
	for i, p := range policies {
		if p.slow && o.Quick {
			continue
		}
		fs := raw
		if p.held {
			fs = merged
		}
		sp, changes, _ := spells(n.tree, l.history, fs)
		o.tell(f.Name, "%s: %d changes", p.series, changes)
		lost, err := ledger.lost(ctx, p, sp)
		if err != nil {
			return fmt.Errorf("%s: %w", p.series, err)
		}
		x := float64(i + 1)
		f.add("lost while links were dead", x, p.series, "Tb", lost)
		f.add("lost while re-routing", x, p.series, "Tb", float64(changes)*rerouteSec*total(healthyGbit))
		f.add("lost", x, p.series, "Tb", lost+float64(changes)*rerouteSec*total(healthyGbit))
	}
	return nil
}

// oneFailure is the reckoning of thesis 4.4 with our medians of fig4.8.
func (f *Figure) oneFailure(ctx context.Context, n *network, o *Options) error {
	o.tell(f.Name, "one dead link")
	var medians [2]float64
	for i, rate := range []rater{synchronised, unsynchronised} {
		values, err := n.currentRates(ctx, 1, o.draws(10, 2), o.Seed, rate)
		if err != nil {
			return err
		}
		slices.Sort(values)
		medians[i] = total((&Row{Values: values}).Value(Median))
	}
	sync, unsync := medians[0], medians[1]
	f.add("one dead link, synchronised", 0, "total", tbit, sync)
	f.add("one dead link, non-synchronised", 0, "total", tbit, unsync)
	f.add("one dead link, difference", 0, "total", tbit, unsync-sync)
	f.add("one dead link, difference over 6.1e5 s", 0, "total", "Tb", (unsync-sync)*6.1e5)
	return nil
}

// A ledger remembers what was built over which tree.
type ledger struct {
	n     *network
	seed  uint64
	rates map[string]float64 // by policy and dead links
}

// lost returns the Tb that a policy does not build while links are dead.
func (g *ledger) lost(ctx context.Context, p policy, sp []spell) (float64, error) {
	var todo []*topology.Tree
	keys := make([]string, len(sp))
	for i, s := range sp {
		t, err := g.n.tree.Without(s.links...)
		if err != nil {
			return 0, err
		}
		keys[i] = p.what + " without " + strings.Join(t.DownNames(), ",")
		if _, known := g.rates[keys[i]]; !known {
			g.rates[keys[i]] = 0
			todo = append(todo, t)
		}
	}
	rates, err := draw(ctx, len(todo), func(i int) (float64, error) { return g.rate(ctx, p, todo[i]) })
	if err != nil {
		return 0, err
	}
	for i, t := range todo {
		g.rates[p.what+" without "+strings.Join(t.DownNames(), ",")] = rates[i]
	}
	sum := 0.0
	for i, s := range sp {
		sum += s.sec * total(healthyGbit-g.rates[keys[i]])
	}
	return sum, nil
}

// rate is what a server receives. Where some cannot reach each other nothing is built.
func (g *ledger) rate(ctx context.Context, p policy, t *topology.Tree) (float64, error) {
	if t.Connected() != nil {
		return 0, nil
	}
	routed, err := p.plan(g.n, t, g.seed)
	if err != nil {
		return 0, err
	}
	return p.rate(ctx, routed)
}
