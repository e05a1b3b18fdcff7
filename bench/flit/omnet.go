package flit

import (
	"evbench/sim/credit"
	"evbench/topology/network"
)

// Times of the OMNeT++ model in picoseconds: of a flit on the link and in the generator.
const omnetFlit, generate = 11429, 9600

// omnet runs a case of the OMNeT++ model: a queue per output, cut-through, times in
// picoseconds, flits of 64 bytes.
func omnet(c Case, n *network.Network) (*Result, error) {
	const ns, flit = 1000, omnetFlit
	w := credit.NewWires(n, flit, 0)
	r, err := routes(c["routing"], n, w)
	if err != nil {
		return nil, err
	}
	p := omnetParams(c)
	pat, _, err := pattern(c["traffic"], n.Hosts())
	if err != nil {
		return nil, err
	}
	t := paused{&credit.Traffic{Pattern: pat, Flits: int64(c.int("msg_packets") * p.Packet)}, p.Host.Generate}
	if offered := c.number("offered"); c["injection"] == "genrate" {
		p.Host.Generate = credit.Time(flit / offered)
	} else if offered < 1 {
		t.Pause = float64(t.Flits) * (flit/offered - float64(p.Host.Generate))
	}
	seed := uint64(c.int("seed"))
	t.Start(n.Hosts(), seed)
	e, err := credit.New(p, w, r, t, seed)
	if err != nil {
		return nil, err
	}
	e.Meter.From, e.Meter.Until = credit.Time(c.int("warm_us"))*1000*ns, credit.Time(c.int("total_us"))*1000*ns
	if err := e.Run(e.Meter.Until); err != nil {
		return nil, err
	}
	m := &e.Meter
	per := float64(m.Until-m.From) / flit
	return &Result{
		Accepted: float64(m.Total()) / per / float64(n.Hosts()), Worst: float64(m.Worst()) / per,
		Latency: float64(m.Network) / float64(m.Packets) / ns, Least: float64(m.Least) / ns,
		MessageLatency: float64(m.Waiting) / float64(m.Messages) / ns,
		Hops:           float64(m.Hops) / float64(m.Packets), Flits: m.Total(),
	}, nil
}

// omnetParams are those of the model's switches and hosts: 100 ns a switch, half of it
// before the crossbar; 24 bytes each 4 ns through a crossbar and 16 each 2.5 ns in a host;
// reports of credits of 8 bytes, that the next link knows when they begin to arrive. A
// host's sink needs 9.6 ns for a flit from its first bit on; the last of a packet that came
// alone has waited 7.771 ns in it.
func omnetParams(c Case) credit.Params {
	const ns, flit = 1000, omnetFlit
	return credit.Params{
		Packet: c.int("packet_flits"), Lanes: max(1, c.int("vls")), Buffer: c.int("buf_flits"),
		Organisation: credit.PerOutput, Arbitration: credit.Oldest, CutThrough: true,
		Reads: c.int("max_parallel_reads"),
		Delay: 100*ns - flit, After: 50 * ns, OutputQueue: 78, Cross: 10667,
		InOrder: true, CreditAtEnds: true, Update: 256 * ns, Overhead: 1429,
		Host: credit.HostParams{
			Generate: generate, Cross: 10 * ns, Ahead: 4, Queue: 36, Take: 9600, Behind: 7771 - flit,
		},
	}
}

// paused is traffic whose pauses begin when the last flit of a message has been made, a
// flit's time before the generator could make the next.
type paused struct {
	*credit.Traffic
	flit credit.Time
}

func (p paused) Next(h int32, now credit.Time) (credit.Message, bool) {
	m, ok := p.Traffic.Next(h, now-p.flit)
	m.Start = max(m.Start, now)
	return m, ok
}
