package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"evbench/evidence/loadcurve"
	"evbench/internal/lists"
	"evbench/internal/parallel"
	"evbench/model/credit"
	"evbench/site/network"
)

// A Result is our result for a case, in the units of its simulator: cycles or ns.
type Result struct {
	Accepted, Worst float64 // share of the link: mean over hosts, host that received least
	Latency, Least  float64 // of a packet: as the simulator counts it; without contention
	Batch           float64 // cycles of an exchange
	Flits           int64   // delivered in the window
}

type quantity func(*Result) float64

func accepted(r *Result) float64 { return r.Accepted }
func worst(r *Result) float64    { return r.Worst }
func latency(r *Result) float64  { return r.Latency }
func least(r *Result) float64    { return r.Least }
func batch(r *Result) float64    { return r.Batch }

// Runs are our results for a case with several seeds.
type Runs struct {
	Case    Case
	Results []*Result // by seed
	CPU     time.Duration
}

// of returns the mean of a quantity over the seeds, and the standard deviation of one seed.
func (r *Runs) of(q quantity) (mean, spread float64) {
	n := float64(len(r.Results))
	for _, x := range r.Results {
		mean += q(x) / n
	}
	for _, x := range r.Results {
		spread += (q(x) - mean) * (q(x) - mean) / max(1, n-1)
	}
	return mean, math.Sqrt(spread)
}

func (r *Runs) flits() (sum float64) {
	return lists.Sum(r.Results, func(x *Result) float64 { return float64(x.Flits) })
}

// add runs the case with its k-th seed; the goroutine keeps its thread.
func (r *Runs) add(k int) error {
	begun := processor()
	x, err := simulate(r.Case.seeded(k))
	if err != nil {
		return fmt.Errorf("case %s: %w", r.Case["case"], err)
	}
	r.Results, r.CPU = append(r.Results, x), r.CPU+processor()-begun
	return nil
}

// processor is the processor time of the calling thread.
func processor() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func runAll(ctx context.Context, cases []Case) ([]Runs, error) {
	all := make([]Runs, len(cases))
	err := parallel.Try(0, len(cases), func(i int) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		all[i].Case = cases[i]
		for k := range cases[i].seeds() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := all[i].add(k); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

func simulate(c Case) (*Result, error) {
	n, err := build(c["topology"])
	if err != nil {
		return nil, err
	}
	if c["sim"] == booksim {
		return runBookSim(c, n)
	}
	return runOMNeT(c, n)
}

func engine(c Case, n *network.Network, w *credit.Wires, p credit.Params, t *loadcurve.Traffic) (*credit.Engine, error) {
	r, err := routes(c["routing"], n, w)
	if err != nil {
		return nil, err
	}
	seed := uint64(c.int("seed"))
	t.Start(n.Hosts(), seed)
	return credit.New(p, w, r, t, seed)
}

// runBookSim has input-queued switches with one FIFO an input, times in cycles. A host's flits are
// at a switch a cycle earlier than a switch's, and flits for a host leave there a cycle later.
func runBookSim(c Case, n *network.Network) (*Result, error) {
	w := loadcurve.NewWires(n, 1, 1)
	for l := range w.Wire {
		switch hosts := int32(w.Hosts); {
		case w.From[l] < hosts:
			w.Wire[l] = 0
		case w.To[l] < hosts:
			w.Wire[l] = 2
		}
	}
	p := booksimParams(c)
	pat, packets, err := pattern(c["traffic"], n.Hosts())
	if err != nil {
		return nil, err
	}
	t := &loadcurve.Traffic{Pattern: loadcurve.Repeat(pat, packets, n.Hosts()), Flits: int64(p.Packet), Every: 1}
	from, until := credit.Time(c.int("warmup_cycles")), credit.Time(math.MaxInt64/8)
	if c["offered"] == "batch" {
		t.Count = packets * int64(n.Hosts()-1)
	} else {
		t.Bernoulli = c.number("offered") / float64(p.Packet)
		until = from + credit.Time(c.int("measured_cycles"))
	}
	e, err := engine(c, n, w, p, t)
	if err != nil {
		return nil, err
	}
	m := &e.Meter
	if c["offered"] != "batch" {
		m.From, m.Until = from, until
	}
	if err := e.Run(until); err != nil {
		return nil, err
	}
	out := &Result{Latency: float64(m.Latency) / float64(m.Packets), Least: float64(m.Least), Batch: float64(m.Last + 1), Flits: loadcurve.Total(m)}
	out.Accepted, out.Worst = loadcurve.Share(m, 1)
	return out, nil
}

func booksimParams(c Case) credit.Params {
	p := credit.Params{
		Packet: c.int("packet_flits"), Lanes: c.int("vcs"), Buffer: c.int("buf_flits"),
		Delay: 2, Credit: 2, CutThrough: c["pipeline"] == "lean-vct", RouteAhead: c["pipeline"] != "default",
		Host: credit.HostParams{Before: 0, Behind: 1},
	}
	if c["pipeline"] == "default" {
		p.Delay, p.Gap, p.Idle = 4, 2, 1
	}
	if p.CutThrough {
		p.Host.Take = 1 // a sink's buffer must have room for a packet too
	}
	return p
}

// runOMNeT has a queue per output, cut-through, times in picoseconds, flits of 64 bytes.
func runOMNeT(c Case, n *network.Network) (*Result, error) {
	const ns, flit = 1000, loadcurve.FDRFlit
	w := loadcurve.NewWires(n, flit, 0)
	p := loadcurve.FDR()
	p.Packet, p.Lanes, p.Buffer = c.int("packet_flits"), max(1, c.int("vls")), c.int("buf_flits")
	p.Reads = c.int("max_parallel_reads")
	pat, _, err := pattern(c["traffic"], n.Hosts())
	if err != nil {
		return nil, err
	}
	t := &loadcurve.Traffic{Pattern: pat, Flits: int64(c.int("msg_packets") * p.Packet), Early: p.Host.Generate}
	if offered := c.number("offered"); c["injection"] == "genrate" {
		p.Host.Generate = credit.Time(float64(flit) / offered)
	} else if offered < 1 {
		t.Pause = float64(t.Flits) * (float64(flit)/offered - float64(p.Host.Generate))
	}
	e, err := engine(c, n, w, p, t)
	if err != nil {
		return nil, err
	}
	m := &e.Meter
	m.From, m.Until = credit.Time(c.int("warm_us"))*1000*ns, credit.Time(c.int("total_us"))*1000*ns
	if err := e.Run(m.Until); err != nil {
		return nil, err
	}
	out := &Result{Latency: float64(m.Network) / float64(m.Packets) / ns, Least: float64(m.Least) / ns, Flits: loadcurve.Total(m)}
	out.Accepted, out.Worst = loadcurve.Share(m, flit)
	return out, nil
}
