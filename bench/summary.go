package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller"
	"evbench/internal/lists"
	"evbench/results"
)

type meter struct {
	interval    time.Duration
	slot        int
	now, before amounts // of the current interval, and of all before it
	latency     float64 // s, mean over the events of the last whole interval; 0 without a clock
}

// amounts are the events built by servers, and the times of each server, summed over servers.
type amounts struct{ events, seconds, ages float64 }

// rate is in events/s of one server, the mean over all.
func (a amounts) rate() float64 { return a.events / a.seconds }

// add takes a sample. If it begins a new interval, it returns the rate of the previous one, and the
// rate of all previous ones.
func (m *meter) add(s results.Sample) (interval, all float64, ok bool) {
	slot := int(s.TSec/m.interval.Seconds() + 0.5)
	if last := m.now; slot > m.slot {
		m.slot, m.now = slot, amounts{}
		if ok = last.seconds > 0; ok {
			m.before.events += last.events
			m.before.seconds += last.seconds
			m.latency = last.ages / max(1, last.events)
			interval, all = last.rate(), m.before.rate()
		}
	}
	m.now.events += float64(s.Events)
	m.now.seconds += s.IntervalSec
	m.now.ages += float64(s.Events) * s.LatencySec
	return interval, all, ok
}

// ideal returns the time for the bytes of the busiest server at the link rate, or 0 if the rate is
// unknown.
func ideal(o controller.Outcome, f results.Fabric, roles builder.Roles) time.Duration {
	if f.RateBitPerSec == 0 || f.Factor == 0 {
		return 0
	}
	built := lists.Sum(o.Servers, func(s controller.Server) uint64 { return s.Events })
	most := 0.0
	for rank, s := range o.Servers {
		most = max(most, onLink(s.ReceivedBytes, s.Events*uint64(roles.Others(rank))))
		if roles.Reads(rank) {
			most = max(most, onLink(s.SentBytes, built-s.Events))
		}
	}
	return time.Duration(most * 8 / (float64(f.RateBitPerSec) * f.Factor) * float64(time.Second))
}

// onLink is the bytes of fragments with their headers.
func onLink(payload, fragments uint64) float64 {
	return float64(payload + fragments*builder.HeaderSize)
}

// efficiency is ideal time / measured time, 0 if the rate is unknown.
func efficiency(o controller.Outcome, f results.Fabric, roles builder.Roles) float64 {
	if o.Span <= 0 {
		return 0
	}
	return ideal(o, f, roles).Seconds() / o.Span.Seconds()
}

// result summarises a slice of a case, or all of them. Judging follows later.
func (r *runner) result(m *measured) results.Case {
	o, info, roles := m.outcome, r.f.Info(), builder.RolesOf(r.s.Tree)
	c := m.Facts(r.s)
	c.Model, c.IO, c.Complete = info.Model, o.IO, o.Complete
	c.Counts = results.Counts{
		Exchanges: o.Exchanges, MeasuredSec: o.Span.Seconds(), EventsBuilt: o.Built, EventsLost: o.Lost,
		EventsDuplicate: o.Duplicate + o.Unknown, FragmentsLate: o.LateFragments, Retransmits: o.Retransmits, Drops: m.drops,
		BarrierWaitSec: o.BarrierWait.Seconds(), CPUBusy: results.Busy(o.Loads),
	}
	c.LinkEvents, c.Failover, c.Failovers = m.events, string(policyOf(m.Case)), m.failovers
	c.Offered = r.offeredOf(m)
	c.Reasons, c.Warnings = []string{}, append([]string{}, m.warnings...)
	if m.Mode == modes.Unsync {
		c.Exchanges = o.Events / uint64(max(1, roles.Events()))
	}
	if o.Events > 0 {
		c.TokensPerFragment = float64(o.Tokens) / (float64(o.Events) * float64(r.s.Tree.Messages()) / float64(roles.Events()))
	}
	if o.Span > 0 {
		c.SetRates(roles, o.Span.Seconds(), func(rank int) (events, received, sent uint64) {
			s := o.Servers[rank]
			return s.Events, s.ReceivedBytes, s.SentBytes
		})
	}
	if info.RateBitPerSec > 0 {
		c.PredictedEfficiency, c.MeasuredEfficiency = m.Prediction.Efficiency, efficiency(o, info, roles)
	}
	if base := r.controlPrediction(); base > 0 {
		c.PredictedRatio = m.Prediction.Efficiency / base
	}
	return c
}

// controlPrediction is the predicted efficiency of the control, 0 without one.
func (r *runner) controlPrediction() float64 {
	for _, c := range r.cases {
		if c.Control {
			return c.Prediction.Efficiency
		}
	}
	return 0
}

func (r *runner) sliceOf(m *measured) results.Slice {
	c := r.result(m)
	return results.Slice{
		Case: m.Name, Repeat: m.repeat, Round: m.round, Control: m.Control, StartSec: m.start.Seconds(),
		EventsPerSec: c.EventsPerSec.Mean, GoodputBitPerSec: c.GoodputBitPerSec.Mean, Efficiency: c.MeasuredEfficiency,
		Exchanges: c.Exchanges, MeasuredSec: c.MeasuredSec, BarrierWaitSec: c.BarrierWaitSec, Complete: c.Complete,
		Load: results.Machines(m.outcome.Loads), Delay: results.Delay(m.outcome.Loads, len(m.outcome.Servers)), Took: perWindow(m.outcome.Took.Sec, m.Window),
	}
}

// perWindow adds up the times of exchanges of the same window. They end in any order and almost
// together, so a single time means nothing; exchanges of an unfinished window are left out.
func perWindow(sec []float64, window int) []float64 {
	if window < 2 {
		return sec
	}
	var out []float64
	for w := range slices.Chunk(sec, window) {
		if len(w) == window {
			out = append(out, results.NewStat(w).Mean*float64(window))
		}
	}
	return out
}

// slices are the results so far; it decides which of them count.
func (r *runner) slices() []results.Slice {
	out := lists.Map(r.done, func(m *measured) results.Slice { return m.slice })
	if r.plan.Count != 1 { // a single round does not show what is usual
		results.Reject(out)
	}
	for i, s := range out {
		r.done[i].rejected = s.Rejected
	}
	return out
}

// totals are the cases in the order of the scenario, each over all its slices. A case without
// slices is left out.
func (r *runner) totals() (cases []results.Case, from []*measured) {
	for _, p := range r.cases {
		if m := together(r.done, p); m != nil {
			cases, from = append(cases, r.result(m)), append(from, m)
		}
	}
	return cases, from
}

// standing is the results so far, with every case estimated and judged. stopped says when a run was interrupted.
func (r *runner) standing(complete bool, stopped string) results.Summary {
	sum := results.Summary{Schema: results.SummarySchema, Name: r.s.Name, Complete: complete, Rounds: r.plan.done, Slices: r.slices(), Found: r.found}
	cases, from := r.totals()
	sum.Cases = append([]results.Case{}, cases...)
	compared := results.Compare(sum.Cases, r.s.Answer)
	results.Assess(sum.Cases, sum.Slices, compared)
	for i := range sum.Cases {
		c, o := &sum.Cases[i], from[i].outcome
		c.Ports = r.ports[c.Name]
		if s := r.slow[c.Name]; s != nil {
			c.Causes = s.causes
		}
		c.Judge(results.Evidence{
			Duplicate: o.DuplicateFragments, Corrupt: o.CorruptFragments + o.StrayFragments,
			Links: from[i].links, Slices: r.efficiencies(c.Name), ControlOff: !r.s.Control && r.search == nil, Wrong: from[i].wrong, Bursts: r.bursts(),
		})
	}
	_, cables := r.s.Tree.Damage()
	set := results.Setting{Fabric: r.f.Info(), Cables: cables, Asked: r.s.Answer, Stopped: stopped, Found: r.found}
	sum.Answer = results.NewAnswer(set, sum.Cases, sum.Slices, compared)
	return sum
}

// bursts is how many bursts of the links' rate limit a fragment is; 0: there is no limit.
func (r *runner) bursts() float64 {
	if burst := r.f.Info().BurstBytes; burst > 0 {
		return float64(r.s.Event.Fragment) / float64(burst)
	}
	return 0
}

// end writes the summary, if there are results. err is why the run ended early, ctx's end included.
func (r *runner) end(ctx context.Context, err error) {
	if r.sink == nil {
		return
	}
	complete, stopped := err == nil, ""
	if !complete {
		stopped = r.stopped(ctx, err)
	}
	r.sum = r.standing(complete, stopped)
	r.progress(Place{Round: r.plan.done}, Ended{r.sum})
	r.manifest.Ended, r.manifest.Complete = time.Now().UTC(), complete
	r.keep(r.sink.Write(r.sum))
	r.keep(r.sink.Write(r.manifest))
	if r.close != nil {
		r.keep(r.close(results.Run{Manifest: r.manifest, Summary: r.sum}))
	}
}

// stopped says how much of a run was measured before it was interrupted, or what made it fail.
func (r *runner) stopped(ctx context.Context, err error) string {
	sec := lists.Sum(r.done, func(m *measured) float64 { return m.outcome.Span.Seconds() })
	if ctx.Err() == nil {
		if c, ok := errors.AsType[*controller.CaseError](err); ok && len(c.Reasons) > 0 {
			return fmt.Sprintf("case %s failed after %.3g s: %s", results.Quoted(c.Case), sec, c.Reasons[0])
		}
		first, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Sprintf("the run failed after %.3g s: %s", sec, first)
	}
	switch {
	case r.search != nil:
		return fmt.Sprintf("interrupted after %d measurements, %.3g s", len(r.done), sec)
	case r.plan.Count == 0:
		return fmt.Sprintf("interrupted after %.3g s (--limit %s)", sec, r.plan.Limit)
	}
	all := lists.Sum(r.cases, func(p Planned) float64 { return float64(r.plan.Count) * p.Duration.Seconds() })
	return fmt.Sprintf("interrupted after %.3g of %.3g s", sec, all)
}

func (r *runner) efficiencies(name string) (out []float64) {
	for _, m := range r.done {
		if m.Name == name && m.rejected == "" && m.slice.Efficiency > 0 {
			out = append(out, m.slice.Efficiency)
		}
	}
	return out
}
