package bench

import (
	"time"

	"evbench/builder"
	"evbench/controller"
	"evbench/results"
	"evbench/scenario"
)

// meter adds up the samples of one interval over all servers.
type meter struct {
	interval time.Duration
	slot     int
	rate     float64
}

// add takes a sample and returns the rate of the interval before, in events/s
// over all servers, when s begins a new one.
func (m *meter) add(s results.Sample) (float64, bool) {
	slot := int(s.TSec/m.interval.Seconds() + 0.5)
	rate, next := m.rate, slot > m.slot
	if next {
		m.slot, m.rate = slot, 0
	}
	if s.IntervalSec > 0 {
		m.rate += float64(s.Events) / s.IntervalSec
	}
	return rate, next && rate > 0
}

// ideal returns the time that the bytes of the busiest server need at the link
// rate, or 0 where the rate is not known.
func ideal(o controller.Outcome, f results.Fabric) time.Duration {
	if f.RateBitPerSec == 0 || f.Factor == 0 {
		return 0
	}
	var built uint64
	for _, s := range o.Servers {
		built += s.Events
	}
	most := 0.0
	for _, s := range o.Servers {
		others := uint64(len(o.Servers) - 1)
		most = max(most, onLink(s.ReceivedBytes, s.Events*others), onLink(s.SentBytes, built-s.Events))
	}
	return time.Duration(most * 8 / (float64(f.RateBitPerSec) * f.Factor) * float64(time.Second))
}

// onLink is the size of fragments with their headers.
func onLink(payload, fragments uint64) float64 {
	return float64(payload + fragments*builder.HeaderSize)
}

// efficiency is ideal time / measured time, 0 where no rate is known.
func efficiency(o controller.Outcome, f results.Fabric) float64 {
	if o.Span <= 0 {
		return 0
	}
	return ideal(o, f).Seconds() / o.Span.Seconds()
}

// result sums up a measured case. It is judged later, when the controls are
// known.
func (r *runner) result(m *measured) results.Case {
	o, info := m.outcome, r.f.Info()
	c := results.Case{
		Name: m.Name, Repeat: m.repeat, Mode: m.Mode, Barrier: m.Barrier, Schedule: m.Schedule, Routing: m.Plan.Routing,
		Failures: m.FailureTexts(), Control: m.Control, Model: info.Model, Deliver: r.s.Deliver, Check: r.s.Check, IO: m.outcome.IO,
		PlanHash: m.Prediction.PlanHash, Phases: m.Prediction.Phases, Bound: m.Prediction.Bound,
		Exchanges: o.Exchanges, MeasuredSec: o.Span.Seconds(), EventsBuilt: o.Built, EventsLost: o.Lost,
		EventsDuplicate: o.Duplicate + o.Unknown, FragmentsLate: o.LateFragments, Retransmits: o.Retransmits, Drops: m.drops,
		BarrierWaitSec: o.BarrierWait.Seconds(), CPUBusy: m.cpu, LinkEvents: m.events, Failover: string(policyOf(m.Case)), Failovers: m.failovers, Complete: o.Complete,
		Reasons: []string{}, Warnings: append([]string{}, m.warnings...),
	}
	if m.Mode == scenario.Unsync {
		c.Exchanges = o.Events / uint64(max(1, len(o.Servers)))
	}
	if o.Span > 0 {
		c.EventsPerSec, c.GoodputBitPerSec = rates(o)
	}
	if info.RateBitPerSec > 0 {
		c.PredictedEfficiency, c.MeasuredEfficiency = m.Prediction.Efficiency, efficiency(o, info)
	}
	return c
}

// rates returns events and received payload per second of each server, over the
// time that the slowest one took.
func rates(o controller.Outcome) (events, goodput results.Stat) {
	var e, g []float64
	for _, s := range o.Servers {
		e = append(e, float64(s.Events)/o.Span.Seconds())
		g = append(g, float64(s.ReceivedBytes)*8/o.Span.Seconds())
	}
	return results.NewStat(e), results.NewStat(g)
}

// end judges every case and writes what there is.
func (r *runner) end(complete bool) (results.Summary, error) {
	sum := results.Summary{Schema: "evbench/summary/1", Name: r.s.Name, Complete: complete, Cases: []results.Case{}}
	controls := r.controls()
	for i := range r.done {
		m := &r.done[i]
		c := r.result(m)
		r.judge(&c, m, controls)
		sum.Cases = append(sum.Cases, c)
	}
	r.manifest.Ended, r.manifest.Complete = time.Now().UTC(), complete
	r.keep(r.sink.Summary(sum))
	r.keep(r.sink.Manifest(r.manifest))
	return sum, r.sinkErr
}

// controls returns what the healthy linear shifts of this run came to.
func (r *runner) controls() []results.Control {
	var out []results.Control
	for i := range r.done {
		m := &r.done[i]
		if !m.Control || !m.outcome.Complete {
			continue
		}
		c := r.result(m)
		out = append(out, results.Control{
			Name: c.Name, Predicted: c.PredictedEfficiency, Measured: c.MeasuredEfficiency,
			GoodputBitPerSec: c.GoodputBitPerSec.Mean,
		})
	}
	return out
}

// judge gives a case its ratio to the controls and its verdict.
func (r *runner) judge(c *results.Case, m *measured, controls []results.Control) {
	known := r.f.Info().RateBitPerSec > 0
	value := func(x results.Control) float64 { return x.GoodputBitPerSec }
	mine := c.GoodputBitPerSec.Mean
	if known {
		value, mine = func(x results.Control) float64 { return x.Measured }, c.MeasuredEfficiency
	}
	var base []float64
	for _, x := range controls {
		base = append(base, value(x))
	}
	c.RatioToControl = results.Ratio(mine, base...)
	o := m.outcome
	valid, reasons, warnings := results.Judge(results.Evidence{
		Complete: o.Complete, RateKnown: known, Measured: c.MeasuredEfficiency, Exchanges: c.Exchanges,
		Lost: c.EventsLost, Duplicate: c.EventsDuplicate + o.DuplicateFragments, Corrupt: o.CorruptFragments + o.StrayFragments,
		Late: o.LateFragments, Retransmits: c.Retransmits, Drops: c.Drops, CPUBusy: c.CPUBusy, Links: m.links,
		Controls: controls, ControlOff: !r.s.Control,
	})
	c.Valid, c.Reasons, c.Warnings = valid, reasons, append(c.Warnings, warnings...)
}
