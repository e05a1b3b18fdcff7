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
	p := credit.Params{
		Packet: c.int("packet_flits"), Lanes: max(1, c.int("vls")), Buffer: c.int("buf_flits"),
		Organisation: credit.PerOutput, Arbitration: credit.Oldest, CutThrough: true,
		Reads: c.int("max_parallel_reads"),
		Delay: 100*ns - flit, After: 50 * ns, OutputQueue: 78, Cross: 10667,
		InOrder: true, CreditAtEnds: true, Update: 256 * ns, Credit: 0, Overhead: 1429,
		Host: credit.HostParams{Generate: generate, Cross: 10000, Ahead: 4, Queue: 36, Take: 9600, Behind: 7771 - flit},
	}
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
