package papers

import (
	"context"
	"fmt"

	"evbench/plan"
	"evbench/routing"
	"evbench/sim/credit"
	"evbench/topology"
)

const gbit, tbit = "Gbit/s", "Tbit/s"

func total(perServer float64) float64 { return perServer * servers / 1000 }

// A router plans for a tree without some links; seed is what is drawn with.
type router func(n *routedTree, t *topology.Tree, seed uint64) *plan.Plan

// A series of fig4.5 or fig4.8 is a way to route with what is worked out of it.
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
	{"Ftree to Min-Hop, one by one", false, true, false, kept("ftree", routing.OpenSMMinHop, true), synchronised},
	{"Min-Hop", false, false, false, kept(routing.OpenSMMinHop, routing.OpenSMMinHop, false), synchronised},
	{"Min-Hop, one by one", false, true, false, kept(routing.OpenSMMinHop, routing.OpenSMMinHop, true), synchronised},
	{"Min-Hop, ports drawn", true, false, false, kept(routing.UpDownScatter, routing.OpenSMMinHop, false), synchronised},
	{"Up-Down", false, false, false, kept(routing.UpDown, routing.UpDown, false), synchronised},
	{"DFSSSP", false, false, false, anew(routing.DFSSSP), synchronised},
	{"FORS", false, false, false, adapted, synchronised},
}

// anew routes with an engine from scratch. It is told the roots, and so takes the network
// for a fat tree whatever is dead (thesis 4.2.1).
func anew(engine string) router {
	return func(n *routedTree, t *topology.Tree, seed uint64) *plan.Plan {
		return n.over(t, compute(t, engine, routing.Options{Seed: seed}))
	}
}

// kept routes the tree without failures with an engine, and after failures with one that
// keeps entries: with all links dead in one sweep, or one by one.
func kept(first, then string, oneByOne bool) router {
	return func(n *routedTree, t *topology.Tree, seed uint64) *plan.Plan {
		l := compute(n.tree, first, routing.Options{Seed: seed})
		if oneByOne {
			l = n.oneByOne(t, then, l, seed)
		} else if len(t.Dead()) > 0 {
			l = compute(t, then, routing.Options{Previous: l})
		}
		return n.over(t, l)
	}
}

var fills = []struct {
	suffix string
	fill   []int
}{{"", nil}, {", 326 servers", fillA}}

const fillNote = "326 servers: 19 on two leaves and 18 on 16 (theirs is not stated), linear-shift-ports: 325 messages of a server in 359 phases"

func engines(w *work) {
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

// many is how often so many dead links are drawn: none can be dead in one way only.
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

// A rater works out what a server receives with a plan, in Gbit/s.
type rater func(context.Context, *plan.Plan) float64

var currentCases = []series{
	{"synchronised", false, false, false, asToday, synchronised},
	{"synchronised, overhead by load", false, false, false, asToday, proportional},
	{"non-synchronised", false, false, false, asToday, unsynchronised},
	{"non-synchronised, sender overhead", false, true, false, asToday, staggered},
	{"synchronised, credit", false, true, true, asToday, phased(credit.First)},
	{"non-synchronised, credit", false, true, true, asToday, unphased(credit.First)},
}
