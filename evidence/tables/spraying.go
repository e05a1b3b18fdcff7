package tables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/evidence/chart"
	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/unit"
	"evbench/model/sim"
	"evbench/model/sweep"
	"evbench/plan"
	"evbench/results"
	"evbench/routing"
	"evbench/scheduler/schedules"
	"evbench/site/engines"
	"evbench/topology"
)

// A Way is a mode of event building, with the choice of paths for packets.
type Way struct {
	Name     string // "shift in step, tables"
	Mode     modes.Mode
	Schedule string // "" for none
	Routing  string // "" has the tables: ftree on whole trees, minhop on others
}

// Ways returns the compared ways, planned ones first.
func Ways() []Way {
	shift, fors := schedules.LinearShift, schedules.FORS
	return []Way{
		{"shift in step, tables", modes.Sync, shift, ""},
		{"shift in step, spray", modes.Sync, shift, routing.Spray},
		{"FORS in step", modes.Sync, fors, routing.Pinned},
		{"shift, no barrier, tables", modes.FreeRunning, shift, ""},
		{"shift, no barrier, spray", modes.FreeRunning, shift, routing.Spray},
		{"shift, no barrier, adaptive", modes.FreeRunning, shift, routing.Adaptive},
		{"no plan, tables", modes.Unsync, "", ""},
		{"no plan, ECMP", modes.Unsync, "", routing.ECMP},
		{"no plan, spray", modes.Unsync, "", routing.Spray},
		{"no plan, adaptive", modes.Unsync, "", routing.Adaptive},
	}
}

// SprayingOptions are the input of Spraying: the same event building on the same lossless network
// of packets with credits, planned and unplanned.
type SprayingOptions struct {
	Tree  *topology.Tree // without dead links
	Dead  []int          // numbers of dead links
	Draws int            // of dead links for each number but 0
	// Buffers are in packets of an input port and lane. They and Lanes replace those of Network.
	Buffers, Lanes []int
	Network        sim.Lossless
	BitPerSec      float64       // of a link, for packets
	Fragment       int           // bytes, that each server sends to each other for one event
	Barrier        string        // of package barrier, for synchronised ways
	Round          time.Duration // of the barrier: one message and its handling
	// Jitter is the most delay with which a server begins to send to the next, or to ask for the
	// next event. Without it all servers run in step by themselves.
	Jitter time.Duration
	// Exchanges is the duration of a case, in times of an exchange on links that are always busy.
	// The last two thirds count.
	Exchanges float64
	Ways      []Way
	Seed      uint64
	Workers   int // cases at a time; 0 means all processors
	Sweep     *sweep.Sweep
	// Progress, when set, receives the present step.
	Progress func(work string)
}

// A SprayingFigure is the result of one way with so many dead links, over all draws.
type SprayingFigure struct {
	Dead, Buffer, Lanes int
	Way                 Way
	Runs                int // draws of dead links; 1 without
	// Share is the mean share of its link that a server received. Least and Most are the shares of
	// the servers that received least and most.
	Share, Least, Most results.Stat
	// Phases is Share while no barrier is under way, for synchronised ways only.
	Phases results.Stat
	Early  results.Stat // share of bytes that came before some sent earlier from the same server
	Held   results.Stat // bytes that one server kept at most until those came
	// Half and Late are the seconds within which half and 99 % of the events were built, each from
	// its first request, or from the opening of its exchange.
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
	return plan.Build(t, plan.Options{Schedule: w.Schedule, Routing: r, Engines: engines.Trees(), Seed: seed})
}

// SprayingTable is a set of figures for printing.
func SprayingTable(o SprayingOptions, figures []SprayingFigure) *answer.Table {
	queues := "a FIFO for each lane"
	if o.Network.PerOutput {
		queues = "a queue for each output"
	}
	out := &answer.Table{Name: "spraying", Topology: o.Tree.Notation(), Notes: []string{
		fmt.Sprintf("%s, %d servers, fragments of %s, packets of %s, input buffers with %s",
			o.Tree.Notation(), o.Tree.Servers(), unit.Bytes(o.Fragment), unit.Bytes(o.Network.Packet), queues),
		fmt.Sprintf("links of %s, barrier %s with rounds of %s, servers late by up to %s, seed %d", unit.Rate(o.BitPerSec), o.Barrier, o.Round, o.Jitter, o.Seed),
		"share: of its link that a server received, mean of all, median of the draws of dead links; from, to: of the draws",
		"least, most: the servers that received least and most; in phases: share while no barrier is under way",
		"early: of all bytes, those that came before some sent earlier; held: the most that a server kept until these came",
		"half, p99: within which half and 99 % of the events were built",
	}, Columns: []answer.Column{
		col("dead", "dead_links", 0), col("buffer", "buffer_packets", 0), col("lanes", "lanes", 0),
		col("way", "way", 0), col("draws", "draws", 0),
		col("share", "share", 3), col("from", "share_min", 3), col("to", "share_max", 3),
		col("in phases", "share_in_phases", 3),
		col("least", "least_server", 3), col("most", "most_server", 3),
		col("early %", "early_percent", 1), col("held KiB", "held_kib", 0),
		col("half ms", "half_ms", 3), col("p99 ms", "p99_ms", 3),
	}}
	for _, f := range figures {
		var phases any
		if f.Way.Mode == modes.Sync {
			phases = f.Phases.Median
		}
		out.Add(f.Dead, f.Buffer, f.Lanes, f.Way.Name, f.Runs, f.Share.Median, f.Share.Min, f.Share.Max, phases,
			f.Least.Median, f.Most.Median, 100*f.Early.Median, f.Held.Median/1024, 1e3*f.Half.Median, 1e3*f.Late.Median)
	}
	return out
}

// Spraying computes all figures and passes them to give in order: by dead links, buffers, lanes and
// ways. When ctx ends it stops and returns the error of ctx; for a shard the error is a
// *sweep.Part.
func Spraying(ctx context.Context, o SprayingOptions, give func(SprayingFigure) error) error {
	if err := o.check(); err != nil {
		return err
	}
	all, err := o.all()
	if err != nil {
		return err
	}
	next := 0 // figure
	return sweep.Run(ctx, o.Sweep, sweep.Items[draws]{
		N: len(all.items), Workers: o.Workers,
		Work: func(ctx context.Context, i int) (draws, error) { return all.work(ctx, i) },
		Put: func(i int, r draws) error {
			x := all.items[i]
			all.figures[x.figure].runs[x.draw] = &r
			for ; next < len(all.figures) && !slices.Contains(all.figures[next].runs, nil); next++ {
				if err := give(all.figures[next].sum()); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

// A sprayed is the whole work: an item for each draw of each figure.
type sprayed struct {
	*SprayingOptions
	figures []sprayedFigure
	items   []struct{ figure, draw int }

	mu   sync.Mutex // guards told
	told map[string]bool
}

// A sprayedFigure is a figure with its plans, a draw each, which figures share, and their results.
type sprayedFigure struct {
	SprayingFigure
	plans []func() (*plan.Plan, error)
	runs  []*draws
}

func (o *SprayingOptions) all() (*sprayed, error) {
	g := &sprayed{SprayingOptions: o, told: map[string]bool{}}
	for _, dead := range o.Dead {
		trees, err := o.trees(dead)
		if err != nil {
			return nil, err
		}
		plans := make([][]func() (*plan.Plan, error), len(o.Ways))
		for w, way := range o.Ways {
			for _, t := range trees {
				plans[w] = append(plans[w], sync.OnceValues(func() (*plan.Plan, error) { return way.planFor(t, o.Seed) }))
			}
		}
		for _, buffer := range o.Buffers {
			for _, lanes := range o.Lanes {
				for w, way := range o.Ways {
					for d := range trees {
						g.items = append(g.items, struct{ figure, draw int }{len(g.figures), d})
					}
					f := SprayingFigure{Dead: dead, Buffer: buffer, Lanes: lanes, Way: way, Runs: len(trees)}
					g.figures = append(g.figures, sprayedFigure{f, plans[w], make([]*draws, len(trees))})
				}
			}
		}
	}
	return g, nil
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

func (g *sprayed) work(ctx context.Context, i int) (draws, error) {
	x := g.items[i]
	f := &g.figures[x.figure]
	g.tell(fmt.Sprintf("%d dead, buffers of %d, lanes %d", f.Dead, f.Buffer, f.Lanes))
	p, err := f.plans[x.draw]()
	if err == nil {
		var r draws
		if r, err = g.one(ctx, f, p, g.Seed+uint64(x.draw)); err == nil || ctx.Err() != nil {
			return r, err
		}
	}
	return draws{}, fmt.Errorf("%s: %w", f.Way.Name, err)
}

// tell reports each text once.
func (g *sprayed) tell(work string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Progress != nil && !g.told[work] {
		g.told[work] = true
		g.Progress(work)
	}
}

// sum returns the figure over all draws.
func (f *sprayedFigure) sum() SprayingFigure {
	for k, stat := range f.stats() {
		values := lists.Tabulate(len(f.runs), func(d int) float64 { return f.runs[d][k] })
		*stat = results.NewStat(values)
	}
	return f.SprayingFigure
}

// draws is the result of one draw, in the order of SprayingFigure.stats.
type draws [8]float64

func (f *SprayingFigure) stats() [8]*results.Stat {
	return [8]*results.Stat{&f.Share, &f.Least, &f.Most, &f.Phases, &f.Early, &f.Held, &f.Half, &f.Late}
}

func (g *sprayed) one(ctx context.Context, f *sprayedFigure, p *plan.Plan, seed uint64) (draws, error) {
	w := f.Way
	j := &sim.Job{
		Setting: builder.Setting{Name: w.Name, Mode: w.Mode, Credits: 1, Duration: g.duration()}, Plan: p, Size: func(uint64, int) int { return g.Fragment }, Equal: true,
		BitPerSec: g.BitPerSec, Lossless: g.network(f.Buffer, f.Lanes), Common: builder.Common{Seed: seed},
		Timing: sim.Timing{Round: g.Round, Jitter: g.Jitter},
	}
	if w.Mode == modes.Sync {
		j.Timing.Barrier = g.Barrier
	}
	o, err := sim.Packets(ctx, j, nil)
	if err != nil {
		return draws{}, err
	}
	c := &o.Packets
	share := results.NewStat(lists.Map(c.Received, func(n int64) float64 { return float64(n) * 8 / g.BitPerSec / (c.Until - c.From).Seconds() }))
	early, phases := 0.0, 0.0
	if c.All > 0 {
		early = float64(c.Early) / float64(c.All)
	}
	if busy := o.Span - c.Barriers; busy > 0 {
		phases = float64(c.All) * 8 / float64(len(c.Received)) / g.BitPerSec / busy.Seconds()
	}
	return draws{share.Mean, share.Min, share.Max, phases, early, float64(c.Held), late(c.Took, 0.5).Seconds(), late(c.Took, 0.99).Seconds()}, nil
}

// late returns the time within which that share of the events was built, by nearest rank; 0 without
// events.
func late(took []time.Duration, share float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	i := int(math.Ceil(share*float64(len(took)))) - 1
	return took[min(max(i, 0), len(took)-1)]
}

// DrawSpraying writes a chart for each size of buffers and number of lanes, with a line for each way.
func DrawSpraying(w io.Writer, o SprayingOptions, queues string, figures []SprayingFigure) error {
	var charts []chart.Chart
	for _, buffer := range o.Buffers {
		for _, lanes := range o.Lanes {
			one := chart.Chart{Title: fmt.Sprintf("queues %s, buffers of %d packets, lanes: %d", queues, buffer, lanes), X: "dead links", Y: "share of the link"}
			for _, way := range o.Ways {
				line := chart.Series{Name: way.Name}
				for _, f := range figures {
					if f.Buffer == buffer && f.Lanes == lanes && f.Way == way {
						line.Points = append(line.Points, chart.Point{X: float64(f.Dead), Values: []float64{f.Share.Min, f.Share.Median, f.Share.Max}})
					}
				}
				one.Series = append(one.Series, line)
			}
			charts = append(charts, one)
		}
	}
	return chart.Write(w, "Share of its link that a server receives", charts)
}
