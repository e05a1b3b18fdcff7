package papers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"evbench/builder/modes"
	"evbench/evidence/loadcurve"
	"evbench/internal/lists"
	"evbench/model/credit"
	"evbench/model/sim"
	"evbench/plan"
	"evbench/site/engines"
	"evbench/site/network"
	"evbench/topology"
)

// A switch similar to those of LHCb's network; docs/reference/lossless.md has the sources. The
// buffer is not published: it is 16 packets here.
const (
	switchDelay   = 130 * time.Nanosecond
	cableDelay    = 50 * time.Nanosecond // 10 m
	bufferPackets = 16
)

// The number of packets of a fragment, in place of 8,711 of 4 KiB. Between two barriers it matters
// little; without phases rates rise with it, up to some hundred.
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

func creditJob(p *plan.Plan, mode modes.Mode, packets int, choice credit.Choice) *sim.Job {
	j := job(p, mode)
	j.Credits, j.Duration, j.Seed = 1, time.Nanosecond, 1
	j.Lossless = lossless((fragmentBytes+packets-1)/packets, choice)
	return j
}

// phased is synchronised by the model of packets: the phase ends when the last packet has come.
func phased(choice credit.Choice) rater {
	return func(ctx context.Context, p *plan.Plan) float64 {
		j := creditJob(p, modes.Sync, packetsPhased, choice)
		j.Timing.Overhead = seconds(overheadSec)
		return received(must(sim.Packets(ctx, j, nil)))
	}
}

// unphased is the rate at which a server receives without phases by the model of packets: it asks
// all others for the fragments of one event in the order of their ranks, and then for the next.
func unphased(choice credit.Choice) rater {
	return func(ctx context.Context, p *plan.Plan) float64 {
		return min(healthyGbit, received(must(sim.Packets(ctx, creditJob(p, modes.Unsync, packetsOf, choice), nil))))
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
	{"Up-Down, credit", false, true, true, kept(engines.UpDown, engines.UpDown, false), phased(credit.First)},
	{"Up-Down-AR, credit", false, true, true, kept(engines.UpDown, engines.UpDown, false), phased(credit.Relief)},
	{"Up-Down-AR by queue, credit", false, true, true, kept(engines.UpDown, engines.UpDown, false), phased(credit.QueueRelief)},
	{"Min-Hop, ports drawn, credit", false, true, true, kept(engines.UpDownScatter, engines.OpenSMMinHop, false), phased(credit.First)},
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

// dead returns the tree of a draw: the leaves lose links to different spines. The first draw takes
// them in order, as the example of thesis 6.6.1 does.
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
		"3F SW0 of 326 servers: 344 phases, as SW0 has 19 here; 327 if it had 18, which the thesis does not say; 1F and 2F cost none of 325 on either",
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

const megabyte = "MB/s"

// Networks and times of qft8 and qft9. The paper has the first network; it states neither the
// length of messages nor the duration. The second has the same radix at the top and narrower groups
// below. The third is for quick figures.
const (
	quasiHosts  = "QFT(3;18,9,28;1,9,18;1,2,1)"
	quasiNarrow = "QFT(3;6,3,28;1,3,6;1,2,1)"
	quasiSmall  = "QFT(3;4,2,14;1,2,4;1,2,1)"

	quasiMessage = 128 // KB
	linkMB       = 5600
	kilobyte     = 1024 / loadcurve.FDRFlitBytes // flits
	microsecond  = 1_000_000                     // picoseconds
)

const fdrSetup = "links of 5,600 MB/s, packets of 2 KB, 50 KB at an input, a queue for each output, three reads, whole packets, " +
	"the oldest first, 100 ns a switch"

type quasiEngine struct {
	series, name string
	drawn        bool // the down ports of switches are numbered in a drawn order
}

// quasiEngines are the paper's, and ftree where ports are not in the order of equations 7 and 8 of
// the paper: the paper does not describe the cabling of its network.
var quasiEngines = []quasiEngine{
	{engines.UpDownScatter, engines.UpDownScatter, false},
	{"ftree", "ftree", false},
	{"ftree with ports drawn", "ftree", true},
	{engines.QFT, engines.QFT, false},
}

type quasiRun struct {
	network      string
	loads        []float64 // share of the link
	warm, window credit.Time
	shifts       bool
	seed         uint64
}

// quasi fills a figure with the curves of each routing and, unless quick, with the effects of
// message length, buffers and their reads on a narrower network.
func quasi(w *work) {
	r := quasiRun{
		network: quasiHosts, loads: []float64{0.2, 0.4, 0.5, 0.6, 0.8, 1},
		warm: 100 * microsecond, window: 100 * microsecond, shifts: w.Name == "qft8", seed: w.Seed,
	}
	if w.Quick {
		r.network, r.loads = quasiSmall, []float64{0.3, 1}
	}
	w.Setup = r.setup()
	for _, engine := range quasiEngines {
		w.tell("%s on %s", engine.series, r.network)
		w.curve(&r, engine)
	}
	if w.Quick {
		return
	}
	r.network, r.warm, r.window = quasiNarrow, 150*microsecond, 150*microsecond
	w.Setup = append(w.Setup, "at full load, by length of message, room of a buffer, and reads: "+quasiNarrow)
	for _, engine := range quasiEngines {
		w.tell("%s on %s", engine.series, r.network)
		w.sweeps(&r, engine)
	}
}

func (r *quasiRun) setup() []string {
	traffic := "each message to any other host"
	if r.shifts {
		traffic = "message i of each host by the same shift, all shifts in one random order, no barrier"
	}
	return []string{
		fmt.Sprintf("%s; messages of %d KB, %s; MB/s that a host receives, mean of all", r.network, quasiMessage, traffic),
		"InfiniBand FDR as the flit-level model that the paper used ships it: " + fdrSetup,
		fmt.Sprintf("window of %d us after %d us; pauses between messages make the load", r.window/microsecond, r.warm/microsecond),
		"details (CSV): latency in us against throughput, of a message from its first flit to its last, of a packet as the paper's model counts it",
	}
}

func (r *quasiRun) fabric(engine quasiEngine) *loadcurve.Fabric {
	n := must(network.Parse(r.network, 0))
	if engine.drawn {
		n = otherPorts(n, r.seed)
	}
	return must(loadcurve.NewFabric(must(engines.Compute(engine.name, n, engines.Options{Seed: r.seed}))))
}

func (r *quasiRun) load(hosts, kilobytes int, offered float64) loadcurve.Load {
	p := loadcurve.Others(hosts)
	if r.shifts {
		p = loadcurve.RandomShifts(hosts, r.seed)
	}
	return loadcurve.Load{
		Pattern: p, Flits: int64(kilobytes) * kilobyte, Offered: offered,
		Warm: r.warm, Window: r.window, Seed: r.seed,
	}
}

func (w *work) curve(r *quasiRun, engine quasiEngine) {
	net := r.fabric(engine)
	loads := lists.Map(r.loads, func(offered float64) loadcurve.Load { return r.load(net.Hosts(), quasiMessage, offered) })
	most := lists.MaxOf(must(net.Curve(w, 0, loads)), func(p loadcurve.Point) float64 { return w.point(engine.series, p) })
	w.add(fmt.Sprintf("%s, most of %d hosts", engine.series, net.Hosts()), quasiMessage, "128 KB", megabyte, most)
}

// point adds throughput and latencies at a load, and returns the throughput.
func (w *work) point(series string, p loadcurve.Point) float64 {
	x, got := p.Offered*linkMB, p.Accepted*linkMB
	at := strconv.FormatFloat(x, 'f', -1, 64)
	w.add(series, x, at, megabyte, got)
	if w.Name == "qft3" && p.Offered == 1 { // at lower loads some host hears nothing for a while
		w.add(series+", least host", x, at, megabyte, p.Worst*linkMB)
	}
	w.add(series+", message", got, at, "us", p.Message/microsecond).Detail = true
	w.add(series+", packet", got, at, "us", p.Packet/microsecond).Detail = true
	return got
}

// sweeps adds the results of an engine at full load with one parameter after the other changed.
func (w *work) sweeps(r *quasiRun, engine quasiEngine) {
	net := r.fabric(engine)
	for _, s := range quasiSweeps {
		got := draw(w, len(s.values), func(i int) float64 {
			with, message := *net, quasiMessage
			s.set(&with, &message, s.values[i])
			return must(with.Run(w, r.load(net.Hosts(), message, 1))).Accepted
		})
		for i, v := range s.values {
			w.add(engine.series+", by "+s.name, float64(v), strings.TrimSpace(fmt.Sprintf("%d %s", v, s.unit)), megabyte, got[i]*linkMB)
		}
	}
}

type quasiSweep struct {
	name, unit string
	values     []int
	set        func(f *loadcurve.Fabric, message *int, value int)
}

var quasiSweeps = []quasiSweep{
	{"message", "KB", []int{2, 8, 32, 128, 512}, func(_ *loadcurve.Fabric, message *int, v int) { *message = v }},
	{"buffer", "KB", []int{8, 25, 100}, func(f *loadcurve.Fabric, _ *int, v int) { f.Params.Buffer = v * kilobyte }},
	{"reads", "", []int{1, 36}, func(f *loadcurve.Fabric, _ *int, v int) { f.Params.Reads = v }},
}

// otherPorts returns a network whose switches above the leaves have their down ports in an order
// drawn by a seed; ports up, nodes, LIDs and GUIDs stay. Down ports lead to a lower level in the
// order of nodes, which is the order of levels.
func otherPorts(n *network.Network, seed uint64) *network.Network {
	rng := rand.New(rand.NewPCG(seed, 0))
	var b network.Builder
	for h := range n.Hosts() {
		b.Host(n.Info(network.Node(h)))
	}
	moved := map[network.End]uint8{}
	for i := range n.Switches() {
		v := n.Switch(i)
		b.Switch(n.Info(v), len(n.Ends(v)))
		var down []uint8
		for p, far := range n.Ends(v) {
			if far.Node != network.NoNode && !n.IsHost(far.Node) && far.Node < v {
				down = append(down, uint8(p+1))
			}
		}
		for k, to := range rng.Perm(len(down)) {
			moved[network.End{Node: v, Port: down[k]}] = down[to]
		}
	}
	end := func(e network.End) network.End {
		if port, ok := moved[e]; ok {
			e.Port = port
		}
		return e
	}
	for _, c := range n.Cables() {
		check(b.Cable(end(c.A), end(c.B)))
	}
	return b.Build()
}
