package papers

import (
	"slices"

	"evbench/plan"
	"evbench/routing"
	"evbench/routing/lft"
	"evbench/scheduler"
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

// A routedTree is a tree without failures with what routes it.
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
	tables := must(routing.ForTree(routing.FtreeToMinHop, t, routing.Options{Previous: n.ftree}))
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
