package papers

import (
	"context"
	"fmt"
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

// creditJob is one exchange, with fragments of a number of packets.
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

// adaptiveCases are the series of fig4.5 with packets and credits.
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
