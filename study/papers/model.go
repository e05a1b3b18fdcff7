package papers

import (
	"context"
	"slices"
	"time"

	"evbench/plan"
	"evbench/results"
	"evbench/routing"
	"evbench/routing/lft"
	"evbench/scheduler"
	"evbench/sim"
	"evbench/topology"
)

// What the thesis says of LHCb's network and is taken over.
const (
	linkGbit    = 200.0  // thesis 2.3.1
	healthyGbit = 142.71 // of a server, synchronised, without failures: thesis 4.3.4
	servers     = 326    // thesis 2.3.3
	phaseSec    = 0.002  // of a healthy phase: thesis 5.3
	rerouteSec  = 1.5    // new routes and tables after a change: thesis 4.1.2
)

// A Constant is a number that is taken from the thesis and goes into ours.
type Constant struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Where string  `json:"where"`
	Use   string  `json:"use"`
}

// Constants returns what ours are calibrated with.
func Constants() []Constant {
	return []Constant{
		{"link rate", linkGbit, "Gbit/s", "thesis 2.3.1", "what a link carries"},
		{"healthy throughput", healthyGbit, "Gbit/s", "thesis 4.3.4", "of a server without failures; it gives the overhead of a phase, 200/142.71 - 1 = 0.401 message times"},
		{"phase", phaseSec, "s", "thesis 5.3", "the size of a fragment, 35.7 MB; no rate depends on it"},
		{"servers", servers, "", "thesis 2.3.3", "totals are those of 326 servers"},
		{"re-routing", rerouteSec, "s", "thesis 4.1.2", "after each change of a link; sec4.4 only"},
	}
}

// lhcb is the network of the thesis, with all ports in use: the 326 servers are
// not said to be on which leaf.
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
		name = routing.OpenSMMinHop // one leaf is no tree, and nothing is to be routed
	}
	return &routedTree{tree: t, shift: scheduler.LinearShiftPorts(t), ftree: must(routing.Compute(name, must(routing.FromTree(t, 0)), routing.Options{}))}
}

func (n *routedTree) over(t *topology.Tree, l *lft.Tables) *plan.Plan {
	return &plan.Plan{Tree: t, Schedule: n.shift, Routing: l.Engine, Tables: must(routing.ToTables(t, l))}
}

// current is what OpenSM does by default (thesis 2.3.3, 4.2.2).
func (n *routedTree) current(t *topology.Tree) *plan.Plan {
	tables := must(routing.ForTree(routing.FtreeToOpenSMMinHop, t, routing.Options{Previous: n.ftree}))
	return &plan.Plan{Tree: t, Schedule: n.shift, Routing: tables.Engine, Tables: tables}
}

// compute routes a tree with an engine that is told the roots, the spines.
// opensm-minhop and updn keep the entries of before that still lead on a shortest way
// (thesis 4.2.2), if they are told them.
func compute(t *topology.Tree, engine string, o routing.Options) *lft.Tables {
	net := must(routing.FromTree(t, 0))
	for k := range t.Spines() {
		o.Roots = append(o.Roots, net.Switch(t.Leaves()+k))
	}
	return must(routing.Compute(engine, net, o))
}

// oneByOne routes a tree once for each of its dead links, which fail in an order that is
// drawn, with an engine that keeps entries.
func (n *routedTree) oneByOne(t *topology.Tree, engine string, before *lft.Tables, seed uint64) *lft.Tables {
	dead := t.Dead()
	var gone []topology.Link
	for _, i := range shuffled(len(dead), seed, 1) {
		gone = append(gone, dead[i])
		before = compute(must(n.tree.Without(gone...)), engine, routing.Options{Previous: before})
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

// A message of a healthy phase takes the share of it that the link rate needs; the rest
// is what a phase costs beside the messages: barrier, start, and whatever else.
const (
	messageSec    = phaseSec * healthyGbit / linkGbit
	overheadSec   = phaseSec - messageSec
	fragmentBytes = int(phaseSec * healthyGbit * 1e9 / 8)
)

// job is events of one size over a plan, with nothing but bytes on wires.
func job(p *plan.Plan, mode string) *sim.Job {
	return &sim.Job{
		Mode: mode, Plan: p, BitPerSec: linkGbit * 1e9,
		Size: func(uint64, int) int { return fragmentBytes }, Equal: true,
	}
}

// synchronised is what a server receives with phases, in Gbit/s, by the phase model: a
// phase lasts as long as the most messages on one wire, and the overhead.
func synchronised(ctx context.Context, p *plan.Plan) float64 {
	j := job(p, results.Sync)
	j.Timing.Overhead = seconds(overheadSec)
	return received(must(sim.Phase(ctx, j, nil)))
}

// proportional is synchronised if the overhead grew with the messages on a wire.
func proportional(_ context.Context, p *plan.Plan) float64 {
	return healthyGbit * p.Cost(plan.Equal, 1).Synchronised()
}

// unsynchronised is what a server receives without phases, in Gbit/s, by the model of
// flows: it asks all others at once for the fragments of an event, and takes no more
// than it does without failures. That queues block each other is not in it. Fragments of
// one size that all begin together use up the busiest wire until they end, so that more
// events than one would come to the same.
func unsynchronised(ctx context.Context, p *plan.Plan) float64 {
	return flowing(ctx, job(p, results.Unsync))
}

// inFlight is how many events a server builds at a time where it matters: one, and the
// next. The thesis does not state it; with four the rate is 2 % less.
const inFlight = 2

// staggered is unsynchronised if a sender spends on each fragment the overhead that a
// phase has, on one at a time. It is worked out over the events that are dealt within the
// time of one healthy exchange.
func staggered(ctx context.Context, p *plan.Plan) float64 {
	j := job(p, results.Unsync)
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
	sum := 0.0
	for _, b := range o.Received {
		sum += float64(b)
	}
	return 8 * sum / float64(len(o.Received)) / o.Span.Seconds() / 1e9
}

func seconds(x float64) time.Duration { return time.Duration(x*float64(time.Second) + 0.5) }
