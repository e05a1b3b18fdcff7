package papers

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"evbench/routing"
	"evbench/sim/credit"
	"evbench/topology/network"
)

const megabyte = "MB/s"

// Networks and times of qft8 and qft9. The paper has the first network; it states neither
// the length of messages nor how long it ran. The second has the same radix at the top and
// narrower groups below, the third is for figures that have to be quick.
const (
	quasiHosts  = "QFT(3;18,9,28;1,9,18;1,2,1)"
	quasiNarrow = "QFT(3;6,3,28;1,3,6;1,2,1)"
	quasiSmall  = "QFT(3;4,2,14;1,2,4;1,2,1)"

	quasiMessage = 128 // KB
	linkMB       = 5600
	kilobyte     = 1024 / credit.FDRFlitBytes // flits
	microsecond  = 1_000_000                  // picoseconds
)

const fdrSetup = "links of 5,600 MB/s, packets of 2 KB, 50 KB at an input, a queue for each output, three reads, whole packets, " +
	"the oldest first, 100 ns a switch"

type quasiEngine struct {
	series, name string
	drawn        bool // the down ports of switches are numbered in a drawn order
}

// quasiEngines are the paper's, and ftree where ports are not in the order of equations 7
// and 8 of the paper: the paper does not say how its network was cabled.
var quasiEngines = []quasiEngine{
	{routing.UpDownScatter, routing.UpDownScatter, false},
	{"ftree", "ftree", false},
	{"ftree with ports drawn", "ftree", true},
	{routing.QFT, routing.QFT, false},
}

type quasiRun struct {
	network      string
	loads        []float64 // share of the link
	warm, window credit.Time
	shifts       bool
	seed         uint64
}

// quasi fills a figure with the curves of each routing, and without haste with what the
// length of messages, the buffers and their reads decide on a narrower network.
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

func (r *quasiRun) fabric(engine quasiEngine) *credit.Fabric {
	n := must(network.Parse(r.network, 0))
	if engine.drawn {
		n = otherPorts(n, r.seed)
	}
	return must(credit.NewFabric(must(routing.Compute(engine.name, n, routing.Options{Seed: r.seed}))))
}

func (r *quasiRun) load(hosts, kilobytes int, offered float64) credit.Load {
	p := credit.Others(hosts)
	if r.shifts {
		p = credit.RandomShifts(hosts, r.seed)
	}
	return credit.Load{
		Pattern: p, Flits: int64(kilobytes) * kilobyte, Offered: offered,
		Warm: r.warm, Window: r.window, Seed: r.seed,
	}
}

func (w *work) curve(r *quasiRun, engine quasiEngine) {
	net := r.fabric(engine)
	var loads []credit.Load
	for _, offered := range r.loads {
		loads = append(loads, r.load(net.Hosts(), quasiMessage, offered))
	}
	most := 0.0
	for _, p := range must(net.Curve(w, 0, loads)) {
		most = max(most, w.point(engine.series, p))
	}
	w.add(fmt.Sprintf("%s, most of %d hosts", engine.series, net.Hosts()), quasiMessage, "128 KB", megabyte, most)
}

// point adds throughput and latencies at a load, and returns the throughput.
func (w *work) point(series string, p credit.Point) float64 {
	x, got := p.Offered*linkMB, p.Accepted*linkMB
	at := strconv.FormatFloat(x, 'f', -1, 64)
	w.add(series, x, at, megabyte, got)
	if w.Name == "qft3" && p.Offered == 1 { // with less, some host hears from nobody for a while
		w.add(series+", least host", x, at, megabyte, p.Worst*linkMB)
	}
	w.add(series+", message", got, at, "us", p.Message/microsecond).Detail = true
	w.add(series+", packet", got, at, "us", p.Packet/microsecond).Detail = true
	return got
}

// sweeps adds what an engine gives at full load with one parameter after the other changed.
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
	set        func(f *credit.Fabric, message *int, value int)
}

var quasiSweeps = []quasiSweep{
	{"message", "KB", []int{2, 8, 32, 128, 512}, func(_ *credit.Fabric, message *int, v int) { *message = v }},
	{"buffer", "KB", []int{8, 25, 100}, func(f *credit.Fabric, _ *int, v int) { f.Params.Buffer = v * kilobyte }},
	{"reads", "", []int{1, 36}, func(f *credit.Fabric, _ *int, v int) { f.Params.Reads = v }},
}

// otherPorts returns a network whose switches above the leaves have their down ports
// numbered in an order drawn by a seed; ports up, nodes, LIDs and GUIDs stay. Ports that lead
// to a lower level in the order of the nodes, which is that of levels, are down ports.
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
