package sim

import (
	"cmp"
	"slices"

	"evbench/internal/parallel"
	"evbench/plan"
	"evbench/results"
)

// The models, as results name them.
const (
	PhaseModel  = "phase"
	FluidModel  = "fluid"
	CreditModel = "credit"
)

// FabricKind is what a manifest calls the fabric of a simulated run.
const FabricKind = "sim"

// A Case is a job with what its results say of it.
type Case struct {
	Job
	Model string // PhaseModel, FluidModel or CreditModel
	// Ordered is the plan of the first exchange of an ordered case, which is kept in place of
	// Plan; nil is allowed.
	Ordered *plan.Ordered
	// Case holds what is known beforehand: names, failures, schedule and routing, plan
	// hash, phases, bound, prediction. The rest is filled in.
	Case results.Case
}

func (c *Case) summary(o *Outcome) results.Case {
	r := c.Case
	r.Name, r.Repeat, r.Mode, r.Simulated = c.Name, c.Repeat, c.Mode, c.Model
	r.Barrier = c.Timing.Barrier
	r.Exchanges, r.MeasuredSec, r.Complete = o.Exchanges, o.Span.Seconds(), true
	var waited float64
	for i, n := range o.Events {
		r.EventsBuilt += n
		waited += o.waited[i].Seconds() / float64(len(o.Events))
	}
	r.BarrierWaitSec = waited
	if span := o.Span.Seconds(); span > 0 {
		r.EventsPerSec, r.GoodputBitPerSec = rates(o, span)
		r.MeasuredEfficiency = c.Efficiency(o)
	}
	r.Judge(results.Evidence{})
	return r
}

func rates(o *Outcome, span float64) (events, goodput results.Stat) {
	var e, g []float64
	for i := range o.Events {
		e = append(e, float64(o.Events[i])/span)
		g = append(g, 8*float64(o.Received[i])/span)
	}
	return results.NewStat(e), results.NewStat(g)
}

// Efficiency is ideal time over time, as of a measured case: ideal is what the bytes of the
// busiest server need, those of the events that were built, headers included.
func (j *Job) Efficiency(o *Outcome) float64 {
	built := uint64(0)
	for _, n := range o.Events {
		built += n
	}
	most, others := 0.0, uint64(len(o.Events)-1)
	for i, n := range o.Events {
		in := o.Received[i] + n*others*uint64(j.Header)
		out := o.sent[i] + (built-n)*uint64(j.Header)
		most = max(most, float64(in), float64(out))
	}
	return most * 8 / j.BitPerSec / o.Span.Seconds()
}

// links returns what each direction of each cable carried, with what the first plan
// puts there for the events that were built. Under ecmp, and where the plan changes on
// the way, nothing is planned.
func (c *Case) links(o *Outcome) []results.LinkCount {
	net := networkOf(c.Plan, c.Seed)
	planned := c.planned(o)
	out := make([]results.LinkCount, net.wires)
	for w := range out {
		link, direction := net.name(w)
		out[w] = results.LinkCount{Case: c.Name, Repeat: c.Repeat, Link: link, Direction: direction, Bytes: uint64(o.Wires[w] + 0.5)}
		if planned != nil {
			out[w].Planned, out[w].PlannedBytes = true, uint64(planned[w]+0.5)
		}
	}
	return out
}

// planned is what the plan puts on each wire: every event that a server built brought it
// one fragment of each other server, of that server's mean size. nil where the plan does not say:
// ordered, each window has its own.
func (c *Case) planned(o *Outcome) []float64 {
	if len(c.Changes) > 0 || c.Mode == results.InOrder {
		return nil
	}
	means := c.means()
	load, ok := c.Plan.Loads(func(src, dst int) float64 {
		if c.Plan.Schedule != nil && !c.Plan.Schedule.Meets(src, dst) {
			return 0
		}
		return float64(o.Events[dst]) * (means[src] + float64(c.Header))
	})
	if !ok {
		return nil
	}
	return load
}

// meanOver is about how many fragments the mean sizes are taken of, where they differ.
const meanOver = 4096

func (c *Case) means() []float64 {
	out := make([]float64, c.Plan.Tree.Servers())
	events := max(1, meanOver/len(out))
	if c.Equal {
		events = 1
	}
	for src := range out {
		for event := range events {
			out[src] += float64(c.Size(uint64(event), src)) / float64(events)
		}
	}
	return out
}

func (c *Case) mean() float64 {
	sum := 0.0
	means := c.means()
	for _, x := range means {
		sum += x / float64(len(means))
	}
	return sum
}

// Memory estimates the bytes that a run of the cases takes at most, beside their plans:
// all outcomes, which wait for those before them to be written, and the work on the
// largest of as many cases as there are processors.
func Memory(cases []*Case) uint64 { return memory(cases, parallel.Workers(0)) }

func memory(cases []*Case, workers int) uint64 {
	var total uint64
	var work []uint64
	for _, c := range cases {
		total += c.kept()
		work = append(work, c.flows())
	}
	slices.SortFunc(work, func(a, b uint64) int { return cmp.Compare(b, a) })
	for _, w := range work[:min(len(work), workers)] {
		total += w
	}
	return total
}

func (c *Case) kept() uint64 {
	samples := uint64(1)
	if c.Interval > 0 {
		samples += uint64(c.Duration / c.Interval)
	}
	total := uint64(c.Plan.Tree.Servers())*samples*sampleBytes + uint64(networkOf(c.Plan, c.Seed).wires)*wireBytes
	if c.Model == PhaseModel && c.Mode == results.Sync {
		total += c.exchanges() * endBytes
	}
	return total
}

func (c *Case) flows() uint64 {
	n := uint64(c.Plan.Tree.Servers())
	switch {
	case c.Mode == results.InOrder:
		return 2 * uint64(c.Window) * n * n * pieceBytes
	case c.Model == PhaseModel:
		return n * flowBytes
	}
	sources := n - 1
	if c.Sources > 0 {
		sources = min(sources, uint64(c.Sources))
	}
	return n * sources * uint64(max(c.Credits, 1)) * flowBytes
}

// What things take, in bytes.
const (
	sampleBytes = 144 // a sample
	wireBytes   = 128 // the names and counters of a wire
	endBytes    = 8   // an exchange of the phase model
	pieceBytes  = 256 // a piece of a window, with its tokens
	flowBytes   = 256 // a message under way in the fluid model, with its place in lists
)

func (c *Case) exchanges() uint64 {
	each := float64(c.Plan.Phases()) * (8*(c.mean()+float64(c.Header))/c.BitPerSec + c.Timing.Overhead.Seconds())
	if each <= 0 {
		return 1
	}
	return uint64(min(c.Duration.Seconds()/each+1, maxExchanges))
}
