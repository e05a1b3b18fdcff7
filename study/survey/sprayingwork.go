package survey

import (
	"context"
	"fmt"

	"evbench/internal/parallel"
	"evbench/plan"
	"evbench/results"
	"evbench/sim"
	"evbench/topology"
)

// Spraying works everything out and hands the figures to give in order: by dead links, buffers,
// lanes and ways. When ctx ends it stops and returns the error of ctx.
func Spraying(ctx context.Context, o SprayingOptions, give func(SprayingFigure) error) error {
	if err := o.check(); err != nil {
		return err
	}
	for _, dead := range o.Dead {
		trees, err := o.trees(dead)
		if err != nil {
			return err
		}
		plans, err := o.plans(ctx, trees)
		if err != nil {
			return err
		}
		for _, buffer := range o.Buffers {
			for _, lanes := range o.Lanes {
				g := sprayed{&o, dead, buffer, lanes, plans}
				if err := g.work(ctx, give); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (o *SprayingOptions) trees(dead int) ([]*topology.Tree, error) {
	if dead == 0 {
		return []*topology.Tree{o.Tree}, nil
	}
	var out []*topology.Tree
	for i := range o.Draws {
		links, err := o.Tree.Random(dead, o.Seed+uint64(i))
		if err != nil {
			return nil, err
		}
		t, err := o.Tree.Without(links...)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func (o *SprayingOptions) plans(ctx context.Context, trees []*topology.Tree) ([][]*plan.Plan, error) {
	out := make([][]*plan.Plan, len(o.Ways))
	for i := range out {
		out[i] = make([]*plan.Plan, len(trees))
	}
	err := parallel.Try(o.Workers, len(o.Ways)*len(trees), func(i int) (err error) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w, d := i/len(trees), i%len(trees)
		if out[w][d], err = o.Ways[w].planFor(trees[d], o.Seed); err != nil {
			return fmt.Errorf("%s: %w", o.Ways[w].Name, err)
		}
		return nil
	})
	return out, err
}

type sprayed struct {
	*SprayingOptions
	dead, buffer, lanes int
	plans               [][]*plan.Plan
}

func (g *sprayed) work(ctx context.Context, give func(SprayingFigure) error) error {
	if g.Progress != nil {
		g.Progress(fmt.Sprintf("%d dead, buffers of %d, lanes %d", g.dead, g.buffer, g.lanes))
	}
	draws := len(g.plans[0])
	runs := make([]run, len(g.Ways)*draws)
	err := parallel.Try(g.Workers, len(runs), func(i int) (err error) {
		w, d := i/draws, i%draws
		if runs[i], err = g.one(ctx, g.Ways[w], g.plans[w][d], g.Seed+uint64(d)); err != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: %w", g.Ways[w].Name, err)
		}
		return err
	})
	if err != nil {
		return err
	}
	for w, way := range g.Ways {
		f := SprayingFigure{Dead: g.dead, Buffer: g.buffer, Lanes: g.lanes, Way: way, Runs: draws}
		f.sum(runs[w*draws : (w+1)*draws])
		if err := give(f); err != nil {
			return err
		}
	}
	return nil
}

type run struct {
	share, least, most, phases float64
	early, held, half, late    float64
}

func (g *sprayed) one(ctx context.Context, w Way, p *plan.Plan, seed uint64) (run, error) {
	j := &sim.Job{
		Name: w.Name, Mode: w.Mode, Plan: p, Size: func(uint64, int) int { return g.Fragment }, Equal: true,
		Requests: sim.Requests{Credits: 1}, Duration: g.duration(), BitPerSec: g.BitPerSec, Lossless: g.network(g.buffer, g.lanes), Seed: seed,
		Timing: sim.Timing{Round: g.Round, Jitter: g.Jitter},
	}
	if w.Mode == results.Sync {
		j.Timing.Barrier = g.Barrier
	}
	o, err := sim.Packets(ctx, j, nil)
	if err != nil {
		return run{}, err
	}
	c := &o.Packets
	share := results.NewStat(c.Share(g.BitPerSec))
	r := run{
		share: share.Mean, least: share.Min, most: share.Max, held: float64(c.Held),
		half: c.Late(0.5).Seconds(), late: c.Late(0.99).Seconds(),
	}
	if c.All > 0 {
		r.early = float64(c.Early) / float64(c.All)
	}
	if busy := o.Span - c.Barriers; busy > 0 {
		r.phases = float64(c.All) * 8 / float64(len(c.Received)) / g.BitPerSec / busy.Seconds()
	}
	return r, nil
}

func (f *SprayingFigure) sum(runs []run) {
	over := func(of func(r *run) float64) results.Stat {
		v := make([]float64, len(runs))
		for i := range runs {
			v[i] = of(&runs[i])
		}
		return results.NewStat(v)
	}
	f.Share, f.Phases = over(func(r *run) float64 { return r.share }), over(func(r *run) float64 { return r.phases })
	f.Least, f.Most = over(func(r *run) float64 { return r.least }), over(func(r *run) float64 { return r.most })
	f.Early, f.Held = over(func(r *run) float64 { return r.early }), over(func(r *run) float64 { return r.held })
	f.Half, f.Late = over(func(r *run) float64 { return r.half }), over(func(r *run) float64 { return r.late })
}
