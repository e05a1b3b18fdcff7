package papers

import (
	"context"
	"fmt"
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

// A quasiRun is what a curve of qft8 or qft9 is made of.
type quasiRun struct {
	network      string
	loads        []float64 // share of the link
	warm, window credit.Time
	shifts       bool
	seed         uint64
}

// quasi fills a figure with the curves of each routing, and without haste with what the
// length of messages, the buffers and their reads decide on a narrower network.
func quasi(ctx context.Context, o *Options, f *Figure) error {
	r := quasiRun{
		network: quasiHosts, loads: []float64{0.2, 0.4, 0.5, 0.6, 0.8, 1},
		warm: 100 * microsecond, window: 100 * microsecond, shifts: f.Name == "qft8", seed: o.Seed,
	}
	if o.Quick {
		r.network, r.loads = quasiSmall, []float64{0.3, 1}
	}
	f.Setup = r.setup()
	for _, engine := range quasiEngines {
		o.tell(f.Name, "%s on %s", engine.series, r.network)
		if err := r.curve(ctx, f, engine); err != nil {
			return err
		}
	}
	if o.Quick {
		return nil
	}
	r.network, r.warm, r.window = quasiNarrow, 150*microsecond, 150*microsecond
	f.Setup = append(f.Setup, "at full load, by length of message, room of a buffer, and reads: "+quasiNarrow)
	for _, engine := range quasiEngines {
		o.tell(f.Name, "%s on %s", engine.series, r.network)
		if err := r.sweeps(ctx, f, engine); err != nil {
			return err
		}
	}
	return nil
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

func (r *quasiRun) fabric(engine quasiEngine) (*credit.Fabric, error) {
	n, err := network.Parse(r.network, 0)
	if err == nil && engine.drawn {
		n, err = otherPorts(n, r.seed)
	}
	if err != nil {
		return nil, err
	}
	t, err := routing.Compute(engine.name, n, routing.Options{Seed: r.seed})
	if err != nil {
		return nil, err
	}
	return credit.NewFabric(t)
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

func (r *quasiRun) curve(ctx context.Context, f *Figure, engine quasiEngine) error {
	net, err := r.fabric(engine)
	if err != nil {
		return err
	}
	var loads []credit.Load
	for _, offered := range r.loads {
		loads = append(loads, r.load(net.Hosts(), quasiMessage, offered))
	}
	points, err := net.Curve(ctx, 0, loads)
	if err != nil {
		return err
	}
	most := 0.0
	for _, p := range points {
		got, at := p.Accepted*linkMB, strconv.FormatFloat(p.Offered*linkMB, 'f', -1, 64)
		most = max(most, got)
		f.add(engine.series, p.Offered*linkMB, at, megabyte, got)
		f.add(engine.series+", message", got, at, "us", p.Message/microsecond).Detail = true
		f.add(engine.series+", packet", got, at, "us", p.Packet/microsecond).Detail = true
	}
	f.add(fmt.Sprintf("%s, most of %d hosts", engine.series, net.Hosts()), quasiMessage, "128 KB", megabyte, most)
	return nil
}

// sweeps adds what an engine gives at full load with one parameter after the other changed.
func (r *quasiRun) sweeps(ctx context.Context, f *Figure, engine quasiEngine) error {
	net, err := r.fabric(engine)
	if err != nil {
		return err
	}
	for _, s := range quasiSweeps {
		points := make([]credit.Point, len(s.values))
		err := each(ctx, len(s.values), func(i int) (err error) {
			with, message := *net, quasiMessage
			s.set(&with, &message, s.values[i])
			points[i], err = with.Run(ctx, r.load(net.Hosts(), message, 1))
			return err
		})
		if err != nil {
			return err
		}
		for i, p := range points {
			label := strings.TrimSpace(fmt.Sprintf("%d %s", s.values[i], s.unit))
			f.add(engine.series+", by "+s.name, float64(s.values[i]), label, megabyte, p.Accepted*linkMB)
		}
	}
	return nil
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
