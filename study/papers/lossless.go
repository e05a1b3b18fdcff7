package papers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"evbench/plan"
	"evbench/results"
	"evbench/routing"
	"evbench/sim"
	"evbench/sim/credit"
	"evbench/topology"
)

// A switch like those of LHCb's network; docs/reference/lossless.md has the sources. The
// buffer is not published: it is 16 packets here.
const (
	switchDelay   = 130 * time.Nanosecond
	cableDelay    = 50 * time.Nanosecond // 10 m
	bufferPackets = 16
)

// How many packets a fragment is, in place of the 8,711 of 4 KiB. Between two barriers
// little depends on it; without phases rates rise with it, up to some hundred.
const (
	packetsOf     = 272
	packetsPhased = 16
)

// lossless is the network with packets and credits: one lane, and one FIFO for each port.
func lossless(packet int, choice credit.Choice) sim.Lossless {
	return sim.Lossless{
		Packet: packet, Buffer: bufferPackets * packet, Lanes: 1,
		Delay: switchDelay, Cable: cableDelay, Choice: choice,
	}
}

func creditJob(p *plan.Plan, mode string, packets int, choice credit.Choice) *sim.Job {
	j := job(p, mode)
	j.Credits, j.Duration, j.Seed = 1, time.Nanosecond, 1
	j.Lossless = lossless((fragmentBytes+packets-1)/packets, choice)
	return j
}

// phased is synchronised by the model of packets: the phase ends when the last packet has
// come.
func phased(choice credit.Choice) rater {
	return func(ctx context.Context, p *plan.Plan) float64 {
		j := creditJob(p, results.Sync, packetsPhased, choice)
		j.Timing.Overhead = seconds(overheadSec)
		return received(must(sim.Packets(ctx, j, nil)))
	}
}

// unphased is what a server receives without phases by the model of packets: it asks all
// others for the fragments of one event in the order of their ranks, and then for the next.
func unphased(choice credit.Choice) rater {
	return func(ctx context.Context, p *plan.Plan) float64 {
		return min(healthyGbit, received(must(sim.Packets(ctx, creditJob(p, results.Unsync, packetsOf, choice), nil))))
	}
}

const creditDraws = 3

var creditNote = fmt.Sprintf("credit: the model of packets, not if quick: one lane, one FIFO for each input port of %d packets; "+
	"a fragment is %d packets without phases, %d with; 326 servers", bufferPackets, packetsOf, packetsPhased)

var creditNoteDrawn = fmt.Sprintf("%s, drawn %d times", creditNote, creditDraws)

const adaptiveNote = "AR: a leaf takes the port of the tables while at most half of its credit is in use, else the live port with the least in use; " +
	"AR by queue: nor a port for which another packet waits there; Best: always the live port with the least in use"

var adaptiveCases = []series{
	{"Ftree, credit", false, true, true, anew("ftree"), phased(credit.First)},
	{"Ftree-AR, credit", false, true, true, anew("ftree"), phased(credit.Relief)},
	{"Ftree-AR by queue, credit", false, true, true, anew("ftree"), phased(credit.QueueRelief)},
	{"Ftree-AR Best, credit", false, true, true, anew("ftree"), phased(credit.Best)},
	{"Ftree to Min-Hop, credit", false, true, true, asToday, phased(credit.First)},
	{"Up-Down, credit", false, true, true, kept(routing.UpDown, routing.UpDown, false), phased(credit.First)},
	{"Up-Down-AR, credit", false, true, true, kept(routing.UpDown, routing.UpDown, false), phased(credit.Relief)},
	{"Up-Down-AR by queue, credit", false, true, true, kept(routing.UpDown, routing.UpDown, false), phased(credit.QueueRelief)},
	{"Min-Hop, ports drawn, credit", false, true, true, kept(routing.UpDownScatter, routing.OpenSMMinHop, false), phased(credit.First)},
}

func (w *work) creditRacks(most int) {
	var last [2]float64
	for racks := 3; racks <= most; racks += 3 {
		w.tell("%d racks, credit", racks)
		n := newRoutedTree(topology.Options{Ports: 20, Leaves: racks, Spines: 20, Fill: fillA[:racks]})
		p := n.over(n.tree, n.ftree)
		rates := []rater{phased(credit.First), unphased(credit.First)}
		got := draw(w, len(rates), func(i int) float64 { return rates[i](w, p) })
		for i, series := range []string{"synchronised, credit", "non-synchronised, credit"} {
			last[i] = float64(n.tree.Servers()) / 1000 * got[i]
			w.at(series, racks, tbit, last[i])
		}
	}
	w.at("gain of synchronisation, credit", most, tbit, last[0]-last[1])
}

func (w *work) creditScenario(n *routedTree, index int, suffix string) {
	t := failureCases[index].dead(n.tree, 0, w.Seed)
	p, adaptive := n.current(t), anew("ftree")(n, t, w.Seed)
	cases := []struct {
		series string
		plan   *plan.Plan
		rate   rater
	}{
		{scenarioSeries[0], p, phased(credit.First)}, {scenarioSeries[1], p, unphased(credit.First)},
		{"synchronised, Ftree-AR", adaptive, phased(credit.Relief)}, {"non-synchronised, Ftree-AR", adaptive, unphased(credit.Relief)},
	}
	got := draw(w, len(cases), func(i int) float64 { return cases[i].rate(w, cases[i].plan) })
	for i, c := range cases {
		w.add(c.series+", credit"+suffix, float64(index), failureCases[index].label, gbit, got[i])
	}
}

type failureCase struct {
	label  string
	count  int   // links that each of leaves has lost
	leaves []int // by thesis: SW0, SW5, SW11
	spines []int // wholly lost: SW18 is spine0
}

var failureCases = []failureCase{
	{"0F", 0, nil, nil},
	{"1F SW0", 1, []int{0}, nil},
	{"2F SW0", 2, []int{0}, nil},
	{"3F SW0", 3, []int{0}, nil},
	{"1F SW0,5,11", 1, []int{0, 5, 11}, nil},
	{"2F SW0,5,11", 2, []int{0, 5, 11}, nil},
	{"3F SW0,5,11", 3, []int{0, 5, 11}, nil},
	{"SW18,19", 0, nil, []int{0, 1}},
	{"SW18,19,22,23", 0, nil, []int{0, 1, 4, 5}},
}

func (c failureCase) drawn() bool { return c.leaves != nil }

// dead returns the tree of a draw: the leaves lose links to different spines. The
// first draw takes them in order, as the example of thesis 6.6.1 does.
func (c failureCase) dead(t *topology.Tree, draw int, seed uint64) *topology.Tree {
	order := shuffled(t.Spines(), seed, uint64(draw))
	if draw == 0 {
		slices.Sort(order)
	}
	var links []topology.Link
	for i, l := range c.leaves {
		for _, k := range order[i*c.count : (i+1)*c.count] {
			links = append(links, topology.Link{Leaf: l, Spine: k})
		}
	}
	for _, k := range c.spines {
		for l := range t.Leaves() {
			links = append(links, topology.Link{Leaf: l, Spine: k})
		}
	}
	return must(t.Without(links...))
}

var scenarioSeries = []string{"synchronised, Ftree/Min-Hop", "non-synchronised, Ftree/Min-Hop", "FORS", "FORS, non-synchronised"}

func scenarios(w *work) {
	draws := w.draws(10, 1)
	w.Setup = []string{
		"FT(2;20,18), all 360 ports; SW0..17 are leaf0..17, SW18..37 spine0..19; Gbit/s of a server; totals of 326 in Tbit/s",
		fmt.Sprintf("random spines drawn %d times, in order the first time; Ftree without failures and without whole spines, else Min-Hop after it", draws),
		fillNote,
		"without phases FORS keeps the path of each pair; if quick, 326 servers with phases only",
		creditNote + "; first draw only", adaptiveNote,
	}
	for _, x := range fills {
		n := newRoutedTree(topology.Options{Ports: 20, Leaves: 18, Fill: x.fill})
		for i, c := range failureCases {
			w.tell("%s%s", c.label, x.suffix)
			w.scenario(n, i, draws, x.suffix)
			if !w.Quick && x.fill != nil {
				w.creditScenario(n, i, x.suffix)
			}
		}
	}
}

func (w *work) scenario(n *routedTree, index, draws int, suffix string) {
	c := failureCases[index]
	if !c.drawn() {
		draws = 1
	}
	skip := w.Quick && suffix != "" // rates without phases
	values := table(w, draws, func(i int) (rates []float64) {
		t := c.dead(n.tree, i, w.Seed)
		for _, p := range []*plan.Plan{n.current(t), fors(t, w.Seed)} {
			rates = append(rates, synchronised(w, p))
			if !skip {
				rates = append(rates, unsynchronised(w, p))
			}
		}
		return rates
	})
	series := scenarioSeries
	if skip {
		series = []string{series[0], series[2]}
	}
	for i, name := range series {
		r := w.add(name+suffix, float64(index), c.label, gbit, values[i]...)
		if suffix == "" {
			w.add(name+", total", float64(index), c.label, tbit, total(r.Value(Mean)))
		}
	}
}
