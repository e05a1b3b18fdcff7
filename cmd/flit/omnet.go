package main

import (
	"evbench/sim/credit"
	"evbench/topology/network"
)

// omnet runs a case of the OMNeT++ model: a queue per output, cut-through, times in
// picoseconds, flits of 64 bytes.
func omnet(c Case, n *network.Network) (*Result, error) {
	const ns, flit = 1000, credit.FDRFlit
	w := credit.NewWires(n, flit, 0)
	r, err := routes(c["routing"], n, w)
	if err != nil {
		return nil, err
	}
	p := credit.FDR()
	p.Packet, p.Lanes, p.Buffer = c.int("packet_flits"), max(1, c.int("vls")), c.int("buf_flits")
	p.Reads = c.int("max_parallel_reads")
	pat, _, err := pattern(c["traffic"], n.Hosts())
	if err != nil {
		return nil, err
	}
	t := &credit.Traffic{Pattern: pat, Flits: int64(c.int("msg_packets") * p.Packet), Early: p.Host.Generate}
	if offered := c.number("offered"); c["injection"] == "genrate" {
		p.Host.Generate = credit.Time(float64(flit) / offered)
	} else if offered < 1 {
		t.Pause = float64(t.Flits) * (float64(flit)/offered - float64(p.Host.Generate))
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
	accepted, worst := m.Share(flit)
	return &Result{
		Accepted: accepted, Worst: worst,
		Latency: float64(m.Network) / float64(m.Packets) / ns, Least: float64(m.Least) / ns,
		MessageLatency: float64(m.Waiting) / float64(m.Messages) / ns,
		Hops:           float64(m.Hops) / float64(m.Packets), Flits: m.Total(),
	}, nil
}
