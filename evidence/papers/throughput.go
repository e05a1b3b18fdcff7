package papers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/internal/lists"
	"evbench/model/credit"
	"evbench/model/sim"
	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/topology"
)

const gbit, tbit = "Gbit/s", "Tbit/s"

func total(perServer float64) float64 { return perServer * servers / 1000 }

// A router plans for a tree without some links; seed is the seed of random draws.
type router func(n *routedTree, t *topology.Tree, seed uint64) *plan.Plan

// A series of fig4.5 or fig4.8 is a way to route, with the computation on it.
type series struct {
	name  string
	draws bool // also where no link is dead
	slow  bool // left out if quick
	few   bool // by the model of packets: for 326 servers, drawn less often
	plan  router
	rate  rater
}

// engineCases are the series of fig4.5: the engines of thesis 4.2.1, without adaptive
// routing, and two more.
var engineCases = []series{
	{"Ftree", false, false, false, anew("ftree"), synchronised},
	{"Ftree to Min-Hop", false, false, false, asToday, synchronised},
	{"Ftree to Min-Hop, one by one", false, true, false, kept("ftree", engines.OpenSMMinHop, true), synchronised},
	{"Min-Hop", false, false, false, kept(engines.OpenSMMinHop, engines.OpenSMMinHop, false), synchronised},
	{"Min-Hop, one by one", false, true, false, kept(engines.OpenSMMinHop, engines.OpenSMMinHop, true), synchronised},
	{"Min-Hop, ports drawn", true, false, false, kept(engines.UpDownScatter, engines.OpenSMMinHop, false), synchronised},
	{"Up-Down", false, false, false, kept(engines.UpDown, engines.UpDown, false), synchronised},
	{"DFSSSP", false, false, false, anew(engines.DFSSSP), synchronised},
	{"FORS", false, false, false, adapted, synchronised},
}

// anew routes with an engine from scratch. It gets the roots, and so takes the network for a fat
// tree with any dead links (thesis 4.2.1).
func anew(engine string) router {
	return func(n *routedTree, t *topology.Tree, seed uint64) *plan.Plan {
		return n.over(t, compute(t, engine, engines.Options{Seed: seed}))
	}
}

// kept routes the tree without failures with an engine, and after failures with an engine that
// keeps entries: with all links dead in one sweep, or one by one.
func kept(first, then string, oneByOne bool) router {
	return func(n *routedTree, t *topology.Tree, seed uint64) *plan.Plan {
		l := compute(n.tree, first, engines.Options{Seed: seed})
		if oneByOne {
			l = n.oneByOne(&t.Live, then, l, seed)
		} else if len(t.Dead()) > 0 {
			l = compute(t, then, engines.Options{Previous: l})
		}
		return n.over(t, l)
	}
}

var fills = []struct {
	suffix string
	fill   []int
}{{"", nil}, {", 326 servers", fillA}}

const fillNote = "326 servers: 19 on two leaves and 18 on 16 (theirs is not stated), linear-shift-ports: 325 messages of a server in 359 phases"

func severalEngines(w *work) {
	w.Setup = []string{
		"FT(2;20,18), all 360 ports; linear-shift-ports, synchronised; FORS with its own schedule; Gbit/s of a server", fillNote,
		fmt.Sprintf("dead links drawn %d times for each number", w.draws(10, 2)),
		"Ftree, Up-Down: with the spines as roots, as the thesis has them (4.2.1), which OpenSM 3.3.23 takes on trees with dead links",
		"Ftree to Min-Hop, Min-Hop, Up-Down: OpenSM keeps the entries of the tree without failures that still lead on a shortest way (4.2.2), all links dead in one sweep, or one by one (not if quick)",
		"ports drawn: with --scatter-ports, the default of NVIDIA's OpenSM (osm_base.h), which the thesis cites; Up-Down's are drawn likewise",
		adaptiveNote, creditNoteDrawn,
	}
	for _, x := range fills {
		n := newRoutedTree(topology.Options{Ports: 20, Leaves: 18, Fill: x.fill})
		w.seriesRows(n, x.suffix, w.points(11, 0, 1, 4, 10), engineCases)
		w.seriesRows(n, x.suffix, []int{0, 1, 3, 10}, adaptiveCases)
	}
}

func (w *work) seriesRows(n *routedTree, suffix string, numbers []int, all []series) {
	for _, dead := range numbers {
		for _, s := range all {
			if s.slow && w.Quick || s.few && suffix == "" {
				continue
			}
			w.tell("%d dead links, %s%s", dead, s.name, suffix)
			count := w.draws(10, 2)
			if !s.draws {
				count = many(dead, count)
			}
			if s.few {
				count = min(count, creditDraws)
			}
			w.at(s.name+suffix, dead, gbit, n.rates(w, dead, count, w.Seed, s)...)
		}
	}
}

// many is how often so many dead links are drawn: zero dead links have only one draw.
func many(dead, draws int) int {
	if dead == 0 {
		return 1
	}
	return draws
}

func (n *routedTree) rates(ctx context.Context, dead, draws int, seed uint64, s series) []float64 {
	return draw(ctx, draws, func(i int) float64 {
		return s.rate(ctx, s.plan(n, n.dead(dead, seed+uint64(i)), seed+uint64(i)))
	})
}

func racks(w *work) {
	w.Setup = []string{
		"FT(2;20,n) for n racks, no failures, OpenSM's ftree; Tbit/s of all servers",
		fillNote,
		"full racks: 20 servers each, 360 in the end",
		creditNote + ", every third number of racks",
	}
	const most = 18
	w.tell("1 to %d racks", most)
	at := w.points(most, 0, 8, most-1)
	series := []string{"synchronised", "non-synchronised", "synchronised, full racks", "non-synchronised, full racks"}
	columns := table(w, len(at), func(k int) (rates []float64) {
		racks := at[k] + 1
		for _, fill := range [][]int{fillA[:racks], nil} {
			n := newRoutedTree(topology.Options{Ports: 20, Leaves: racks, Spines: 20, Fill: fill})
			p := n.over(n.tree, n.ftree)
			for _, rate := range []rater{synchronised, unsynchronised} {
				rates = append(rates, float64(n.tree.Servers())/1000*rate(w, p))
			}
		}
		return rates
	})
	for k, i := range at {
		for c, name := range series {
			w.at(name, i+1, tbit, columns[c][k])
		}
	}
	last := len(at) - 1
	w.at("gain of synchronisation, full racks", most, tbit, columns[2][last]-columns[3][last])
	if !w.Quick {
		w.creditRacks(most)
	}
}

func synchronisation(w *work) {
	w.Setup = []string{
		"FT(2;20,18), all 360 ports; Ftree, and Min-Hop after it with failures, as OpenSM does; Gbit/s of a server", fillNote,
		fmt.Sprintf("dead links drawn %d times for each number", w.draws(10, 2)),
		"overhead by load: if what a phase costs beside the messages grew with the load",
		"sender overhead: if each fragment cost its sender what a phase costs, one at a time (not if quick)",
		creditNoteDrawn,
	}
	for _, x := range fills {
		w.seriesRows(newRoutedTree(topology.Options{Ports: 20, Leaves: 18, Fill: x.fill}), x.suffix, []int{0, 1, 3, 5}, currentCases)
	}
}

// A rater computes the rate at which a server receives with a plan, in Gbit/s.
type rater func(context.Context, *plan.Plan) float64

var currentCases = []series{
	{"synchronised", false, false, false, asToday, synchronised},
	{"synchronised, overhead by load", false, false, false, asToday, proportional},
	{"non-synchronised", false, false, false, asToday, unsynchronised},
	{"non-synchronised, sender overhead", false, true, false, asToday, staggered},
	{"synchronised, credit", false, true, true, asToday, phased(credit.First)},
	{"non-synchronised, credit", false, true, true, asToday, unphased(credit.First)},
}

// Numbers of LHCb's network from the thesis.
const (
	linkGbit    = 200.0  // thesis 2.3.1
	healthyGbit = 142.71 // of a server, synchronised, without failures: thesis 4.3.4
	servers     = 326    // thesis 2.3.3
	phaseSec    = 0.002  // of a healthy phase: thesis 5.3
	rerouteSec  = 1.5    // new routes and tables after a change: thesis 4.1.2
)

// A Constant is a number from the thesis that our figures use.
type Constant struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Where string  `json:"where"`
	Use   string  `json:"use"`
}

// Constants returns the numbers that calibrate our figures.
func Constants() []Constant {
	return []Constant{
		{"link rate", linkGbit, "Gbit/s", "thesis 2.3.1", "what a link carries"},
		{"healthy throughput", healthyGbit, "Gbit/s", "thesis 4.3.4", "of a server without failures; it gives the overhead of a phase, 200/142.71 - 1 = 0.401 message times"},
		{"phase", phaseSec, "s", "thesis 5.3", "the size of a fragment, 35.7 MB; no rate depends on it"},
		{"servers", servers, "", "thesis 2.3.3", "totals are those of 326 servers"},
		{"re-routing", rerouteSec, "s", "thesis 4.1.2", "after each change of a link; sec4.4 only"},
	}
}

// lhcb is the network of the thesis, with all ports in use: the thesis does not place the 326
// servers on leaves.
func lhcb() topology.Options { return topology.Options{Ports: 20, Leaves: 18} }

// fillA is one way to put 326 servers on 18 leaves, 16 to 20 on each (thesis 4.3.3).
var fillA = slices.Concat(slices.Repeat([]int{19}, 2), slices.Repeat([]int{18}, 16))

type routedTree struct {
	tree  *topology.Tree
	shift *scheduler.Schedule // linear shift by port
	ftree *lft.Tables         // of OpenSM, without failures
}

func newRoutedTree(o topology.Options) *routedTree {
	t := must(topology.New(o))
	name := "ftree"
	if t.Leaves() == 1 {
		name = engines.OpenSMMinHop // one leaf is no tree, and nothing is to be routed
	}
	return &routedTree{tree: t, shift: scheduler.LinearShiftPorts(t.Shape), ftree: must(engines.Compute(name, must(engines.FromTree(&t.Live, 0)), engines.Options{}))}
}

func (n *routedTree) over(t *topology.Tree, l *lft.Tables) *plan.Plan {
	return &plan.Plan{Tree: t, Schedule: n.shift, Routing: l.Engine, Tables: must(engines.ToTables(t, l))}
}

// current is what OpenSM does by default (thesis 2.3.3, 4.2.2).
func (n *routedTree) current(t *topology.Tree) *plan.Plan {
	tables := must(engines.ForTree(engines.FtreeToOpenSMMinHop, t, engines.Options{Previous: n.ftree}))
	return &plan.Plan{Tree: t, Schedule: n.shift, Routing: tables.Engine, Tables: tables}
}

// compute routes a tree with an engine that gets the roots, the spines. opensm-minhop and updn keep
// earlier entries that still lead on a shortest way (thesis 4.2.2), if given.
func compute(t *topology.Tree, engine string, o engines.Options) *lft.Tables {
	net := must(engines.FromTree(&t.Live, 0))
	o.Roots = lists.Tabulate(t.Spines(), func(k int) network.Node { return net.Switch(t.Leaves() + k) })
	return must(engines.Compute(engine, net, o))
}

// oneByOne routes a tree once for each of its dead links, which fail in a drawn order, with an
// engine that keeps entries.
func (n *routedTree) oneByOne(t *topology.Live, engine string, before *lft.Tables, seed uint64) *lft.Tables {
	dead := t.Dead()
	var gone []topology.Link
	for _, i := range shuffled(len(dead), seed, 1) {
		gone = append(gone, dead[i])
		before = compute(must(n.tree.Without(gone...)), engine, engines.Options{Previous: before})
	}
	return before
}

// fors plans anew for the dead links, on one CPU: many plans are made at once.
func fors(t *topology.Tree, seed uint64) *plan.Plan {
	s, bound, err := scheduler.FORS(t, scheduler.Options{Seed: seed, Workers: 1})
	check(err)
	return &plan.Plan{Tree: t, Schedule: s, Routing: routing.Pinned, Bound: bound}
}

func (n *routedTree) dead(count int, seed uint64) *topology.Tree {
	return must(n.tree.Without(must(n.tree.Random(count, seed))...))
}

// A message of a healthy phase takes the share of it that the link rate needs. The rest is the cost
// of a phase beside the messages: barrier, start, and other parts.
const (
	messageSec    = phaseSec * healthyGbit / linkGbit
	overheadSec   = phaseSec - messageSec
	fragmentBytes = int(phaseSec * healthyGbit * 1e9 / 8)
)

// job is events of one size over a plan, with nothing but bytes on wires.
func job(p *plan.Plan, mode modes.Mode) *sim.Job {
	return &sim.Job{
		Setting: builder.Setting{Mode: mode}, Plan: p, BitPerSec: linkGbit * 1e9,
		Size: func(uint64, int) int { return fragmentBytes }, Equal: true,
	}
}

// synchronised is the rate at which a server receives with phases, in Gbit/s, by the phase model: a
// phase lasts as long as the most messages on one wire, and the overhead.
func synchronised(ctx context.Context, p *plan.Plan) float64 {
	j := job(p, modes.Sync)
	j.Timing.Overhead = seconds(overheadSec)
	return received(must(sim.Phase(ctx, j, nil)))
}

// proportional is synchronised if the overhead grew with the messages on a wire.
func proportional(_ context.Context, p *plan.Plan) float64 {
	return healthyGbit * p.Cost(plan.Equal, 1).Synchronised()
}

// unsynchronised is the rate at which a server receives without phases, in Gbit/s, by the model of
// flows: it asks all others at once for the fragments of an event, and takes no more than without
// failures. The model leaves out queues that block each other. Fragments of one size that all begin
// together use up the busiest wire until they end, so more events at once would give the same rate.
func unsynchronised(ctx context.Context, p *plan.Plan) float64 {
	return flowing(ctx, job(p, modes.Unsync))
}

// inFlight is how many events a server builds at a time where it matters: one, and the next. The
// thesis does not state it; with four the rate is 2 % less.
const inFlight = 2

// staggered is unsynchronised if a sender spends the overhead of a phase on each fragment, one at a
// time. It counts the events dealt within the time of one healthy exchange.
func staggered(ctx context.Context, p *plan.Plan) float64 {
	j := job(p, modes.Unsync)
	j.Credits, j.Timing.Overhead = inFlight, seconds(overheadSec)
	j.Duration = seconds(messageSec * float64(p.Tree.Servers()))
	return flowing(ctx, j)
}

func flowing(ctx context.Context, j *sim.Job) float64 {
	return min(healthyGbit, received(must(sim.Fluid(ctx, j, nil))))
}

func received(o *sim.Outcome) float64 {
	if o.Span <= 0 {
		return 0
	}
	sum := lists.Sum(o.Received, func(b uint64) float64 { return float64(b) })
	return 8 * sum / float64(len(o.Received)) / o.Span.Seconds() / 1e9
}

func seconds(x float64) time.Duration { return time.Duration(x*float64(time.Second) + 0.5) }
