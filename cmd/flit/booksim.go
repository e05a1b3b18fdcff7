package main

import (
	"math"

	"evbench/sim/credit"
	"evbench/topology/network"
)

// Comparable reports whether the model has what a case needs. BookSim's lanes share a link
// flit by flit, those of InfiniBand packet by packet, so several lanes are not comparable.
func Comparable(c Case) bool { return c["sim"] != BookSim || c.int("vcs") == 1 }

// booksim runs a case of BookSim: input-queued switches with one FIFO an input, times in cycles.
func booksim(c Case, n *network.Network) (*Result, error) {
	w := booksimWires(n)
	r, err := routes(c["routing"], n, w)
	if err != nil {
		return nil, err
	}
	p := booksimParams(c)
	pat, packets, err := pattern(c["traffic"], n.Hosts())
	if err != nil {
		return nil, err
	}
	t := &credit.Traffic{Pattern: credit.Repeat(pat, packets, n.Hosts()), Flits: int64(p.Packet), Every: 1}
	if c["offered"] == "batch" {
		t.Count = packets * int64(n.Hosts()-1)
	} else {
		t.Bernoulli = c.number("offered") / float64(p.Packet)
	}
	seed := uint64(c.int("seed"))
	t.Start(n.Hosts(), seed)
	e, err := credit.New(p, w, r, t, seed)
	if err != nil {
		return nil, err
	}
	warm, window := credit.Time(c.int("warmup_cycles")), credit.Time(c.int("measured_cycles"))
	until := warm + window
	if c["offered"] == "batch" {
		until = math.MaxInt64 / 8
	} else {
		e.Meter.From, e.Meter.Until = warm, until
	}
	if err := e.Run(until); err != nil {
		return nil, err
	}
	m := &e.Meter
	accepted, worst := m.Share(1)
	return &Result{
		Accepted: accepted, Worst: worst,
		Latency: float64(m.Latency) / float64(m.Packets), Network: float64(m.Network) / float64(m.Packets),
		Hops: float64(m.Hops) / float64(m.Packets), Least: float64(m.Least),
		Batch: float64(m.Last + 1), Flits: m.Total(),
	}, nil
}

// booksimWires returns links of one flit a cycle. A host's flits are a cycle earlier at a
// switch than a switch's, and those for a host a cycle later there.
func booksimWires(n *network.Network) *credit.Wires {
	w := credit.NewWires(n, 1, 1)
	for l := range w.Wire {
		switch hosts := int32(w.Hosts); {
		case w.From[l] < hosts:
			w.Wire[l] = 0
		case w.To[l] < hosts:
			w.Wire[l] = 2
		}
	}
	return w
}

// booksimParams returns what the pipelines lean, lean-vct and default are.
func booksimParams(c Case) credit.Params {
	p := credit.Params{
		Packet: c.int("packet_flits"), Lanes: c.int("vcs"), Buffer: c.int("buf_flits"),
		Delay: 2, Credit: 2, CutThrough: c["pipeline"] == "lean-vct",
		Host: credit.HostParams{Before: 0, Behind: 1},
	}
	if c["pipeline"] == "default" {
		p.Delay, p.Gap, p.Idle = 4, 2, 1
	}
	if p.CutThrough {
		p.Host.Take = 1 // a sink's buffer must have room for a packet too
	}
	p.RouteAhead = c["pipeline"] != "default"
	return p
}
