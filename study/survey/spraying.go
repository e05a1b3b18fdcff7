package survey

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"evbench/internal/parallel"
	"evbench/internal/unit"
	"evbench/plan"
	"evbench/report/figure"
	"evbench/results"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/sim"
	"evbench/topology"
)

// A Way is how events are built, and how packets find their paths.
type Way struct {
	Name     string // "shift in step, tables"
	Mode     string // of package results
	Schedule string // "" for none
	Routing  string // "" has the tables: ftree on whole trees, minhop on others
}

// Ways returns those that are compared, planned ones first.
func Ways() []Way {
	shift, fors := scheduler.NameLinearShift, scheduler.NameFORS
	return []Way{
		{"shift in step, tables", results.Sync, shift, ""},
		{"shift in step, spray", results.Sync, shift, routing.Spray},
		{"FORS in step", results.Sync, fors, routing.Pinned},
		{"shift, no barrier, tables", results.FreeRunning, shift, ""},
		{"shift, no barrier, spray", results.FreeRunning, shift, routing.Spray},
		{"shift, no barrier, adaptive", results.FreeRunning, shift, routing.Adaptive},
		{"no plan, tables", results.Unsync, "", ""},
		{"no plan, ECMP", results.Unsync, "", routing.ECMP},
		{"no plan, spray", results.Unsync, "", routing.Spray},
		{"no plan, adaptive", results.Unsync, "", routing.Adaptive},
	}
}

// SprayingOptions say what to work out: the same event building on the same lossless network of
// packets with credits, planned and unplanned.
type SprayingOptions struct {
	Tree  *topology.Tree // without dead links
	Dead  []int          // numbers of dead links
	Draws int            // of dead links for each number but 0
	// Buffers are in packets of an input port and lane. Those of Network do not count, nor
	// do its lanes.
	Buffers, Lanes []int
	Network        sim.Lossless
	BitPerSec      float64       // of a link, for packets
	Fragment       int           // bytes, that each server sends to each other for one event
	Barrier        string        // of package barrier, for synchronised ways
	Round          time.Duration // of the barrier: one message and its handling
	// Jitter is how much later at most a server begins to send to the next, or to ask for
	// the next event; without it all of them run in step by themselves.
	Jitter time.Duration
	// Exchanges is how long a case lasts, in times that an exchange takes on links that
	// are always busy. The last two thirds are counted.
	Exchanges float64
	Ways      []Way
	Seed      uint64
	Workers   int // cases at a time; 0 means all processors
	// Progress, when set, is told what is being worked out.
	Progress func(work string)
}

// A SprayingFigure is what one way comes to with so many dead links, over all draws.
type SprayingFigure struct {
	Dead, Buffer, Lanes int
	Way                 Way
	Runs                int // draws of dead links; 1 without
	// Share is what part of its link a server received on average; Least and Most are those
	// of the servers that received least and most.
	Share, Least, Most results.Stat
	// Phases is Share while no barrier is under way; of synchronised ways only.
	Phases results.Stat
	Early  results.Stat // share of bytes that came before some sent earlier from the same server
	Held   results.Stat // bytes that one server kept at most until those came
	// Half and Late are within how many seconds half and 99 % of the events were built, each
	// from its first request, or from when its exchange was opened.
	Half, Late results.Stat
}

func (o *SprayingOptions) check() error {
	switch {
	case o.Tree == nil || o.Tree.Servers() < 2:
		return errors.New("a tree of at least two servers is needed")
	case len(o.Tree.Dead()) > 0:
		return errors.New("the tree has dead links already")
	case len(o.Dead) == 0 || len(o.Buffers) == 0 || len(o.Lanes) == 0 || len(o.Ways) == 0:
		return errors.New("numbers of dead links, buffers, lanes and ways: at least one each")
	case o.Draws < 1:
		return fmt.Errorf("draws: %d; there must be at least one", o.Draws)
	case o.Fragment < 1:
		return fmt.Errorf("fragment: %d bytes; it must have at least one", o.Fragment)
	case o.Exchanges <= 0:
		return fmt.Errorf("exchanges: %g; a case must last", o.Exchanges)
	case o.BitPerSec <= 0:
		return errors.New("rate: links carry nothing")
	case o.Round < 0 || o.Jitter < 0:
		return errors.New("round and jitter cannot be negative")
	}
	for _, n := range o.Buffers {
		if n < 1 {
			return fmt.Errorf("buffer: %d packets; it must hold at least one", n)
		}
	}
	return nil
}

func (o *SprayingOptions) network(buffer, lanes int) sim.Lossless {
	x := o.Network
	x.Buffer, x.Lanes = buffer*x.Packet, lanes
	return x
}

func (o *SprayingOptions) duration() time.Duration {
	exchange := float64(o.Tree.Servers()-1) * float64(o.Fragment) * 8 / o.BitPerSec
	return time.Duration(o.Exchanges * exchange * float64(time.Second))
}

func (w Way) planFor(t *topology.Tree, seed uint64) (*plan.Plan, error) {
	r := w.Routing
	if r == "" {
		r = routing.Ftree
		if len(t.Dead()) > 0 {
			r = routing.MinHop
		}
	}
	return plan.Build(t, plan.Options{Schedule: w.Schedule, Routing: r, Seed: seed})
}

// SprayingTable is a set of figures for printing.
func SprayingTable(o SprayingOptions, figures []SprayingFigure) *Table {
	queues := "a FIFO for each lane"
	if o.Network.PerOutput {
		queues = "a queue for each output"
	}
	out := &Table{name: "spraying", topology: o.Tree.Notation(), Notes: []string{
		fmt.Sprintf("%s, %d servers, fragments of %s, packets of %s, input buffers with %s",
			o.Tree.Notation(), o.Tree.Servers(), unit.Bytes(o.Fragment), unit.Bytes(o.Network.Packet), queues),
		fmt.Sprintf("links of %s, barrier %s with rounds of %s, servers late by up to %s, seed %d", unit.Rate(o.BitPerSec), o.Barrier, o.Round, o.Jitter, o.Seed),
		"share: of its link that a server received, mean of all, median of the draws of dead links; from, to: of the draws",
		"least, most: the servers that received least and most; in phases: share while no barrier is under way",
		"early: of all bytes, those that came before some sent earlier; held: the most that a server kept until these came",
		"half, p99: within which half and 99 % of the events were built",
	}, columns: []Column{
		{"dead", "dead_links", 0}, {"buffer", "buffer_packets", 0}, {"lanes", "lanes", 0},
		{"way", "way", 0}, {"draws", "draws", 0},
		{"share", "share", 3}, {"from", "share_min", 3}, {"to", "share_max", 3},
		{"in phases", "share_in_phases", 3},
		{"least", "least_server", 3}, {"most", "most_server", 3},
		{"early %", "early_percent", 1}, {"held KiB", "held_kib", 0},
		{"half ms", "half_ms", 3}, {"p99 ms", "p99_ms", 3},
	}}
	for _, f := range figures {
		var phases any
		if f.Way.Mode == results.Sync {
			phases = f.Phases.Median
		}
		out.Add(f.Dead, f.Buffer, f.Lanes, f.Way.Name, f.Runs, f.Share.Median, f.Share.Min, f.Share.Max, phases,
			f.Least.Median, f.Most.Median, 100*f.Early.Median, f.Held.Median/1024, 1e3*f.Half.Median, 1e3*f.Late.Median)
	}
	return out
}

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
		for k, stat := range f.stats() {
			values := make([]float64, draws)
			for d := range values {
				values[d] = runs[w*draws+d][k]
			}
			*stat = results.NewStat(values)
		}
		if err := give(f); err != nil {
			return err
		}
	}
	return nil
}

// A run is what one draw comes to, in the order of SprayingFigure.stats.
type run [8]float64

func (f *SprayingFigure) stats() [8]*results.Stat {
	return [8]*results.Stat{&f.Share, &f.Least, &f.Most, &f.Phases, &f.Early, &f.Held, &f.Half, &f.Late}
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
	early, phases := 0.0, 0.0
	if c.All > 0 {
		early = float64(c.Early) / float64(c.All)
	}
	if busy := o.Span - c.Barriers; busy > 0 {
		phases = float64(c.All) * 8 / float64(len(c.Received)) / g.BitPerSec / busy.Seconds()
	}
	return run{share.Mean, share.Min, share.Max, phases, early, float64(c.Held), c.Late(0.5).Seconds(), c.Late(0.99).Seconds()}, nil
}

// DrawSpraying writes a chart for each size of buffers and number of lanes, with a line for each way.
func DrawSpraying(w io.Writer, o SprayingOptions, queues string, figures []SprayingFigure) error {
	var charts []figure.Chart
	for _, buffer := range o.Buffers {
		for _, lanes := range o.Lanes {
			chart := figure.Chart{Title: fmt.Sprintf("queues %s, buffers of %d packets, lanes: %d", queues, buffer, lanes), X: "dead links", Y: "share of the link"}
			for _, way := range o.Ways {
				line := figure.Series{Name: way.Name}
				for _, f := range figures {
					if f.Buffer == buffer && f.Lanes == lanes && f.Way == way {
						line.Points = append(line.Points, figure.Point{X: float64(f.Dead), Values: []float64{f.Share.Min, f.Share.Median, f.Share.Max}})
					}
				}
				chart.Series = append(chart.Series, line)
			}
			charts = append(charts, chart)
		}
	}
	return figure.WriteCharts(w, "Share of its link that a server receives", charts)
}
