package papers

import (
	"context"
	"time"

	"evbench/plan"
	"evbench/results"
	"evbench/sim"
)

// A message of a healthy phase takes the share of it that the link rate needs; the rest
// is what a phase costs beside the messages: barrier, start, and whatever else.
const (
	messageSec    = phaseSec * healthyGbit / linkGbit
	overheadSec   = phaseSec - messageSec
	fragmentBytes = int(phaseSec * healthyGbit * 1e9 / 8)
)

// job is events of one size over a plan, with nothing but bytes on wires.
func job(p *plan.Plan, mode string) *sim.Job {
	return &sim.Job{
		Mode: mode, Plan: p, BitPerSec: linkGbit * 1e9,
		Size: func(uint64, int) int { return fragmentBytes }, Equal: true,
	}
}

// synchronised is what a server receives with phases, in Gbit/s, by the phase model: a
// phase lasts as long as the most messages on one wire, and the overhead.
func synchronised(ctx context.Context, p *plan.Plan) float64 {
	j := job(p, results.Sync)
	j.Timing.Overhead = seconds(overheadSec)
	return received(must(sim.Phase(ctx, j, nil)))
}

// proportional is synchronised if the overhead grew with the messages on a wire.
func proportional(_ context.Context, p *plan.Plan) float64 {
	return healthyGbit * p.Cost(plan.Equal, 1).Synchronised()
}

// unsynchronised is what a server receives without phases, in Gbit/s, by the model of
// flows: it asks all others at once for the fragments of an event, and takes no more
// than it does without failures. That queues block each other is not in it. Fragments of
// one size that all begin together use up the busiest wire until they end, so that more
// events than one would come to the same.
func unsynchronised(ctx context.Context, p *plan.Plan) float64 {
	return flowing(ctx, job(p, results.Unsync))
}

// inFlight is how many events a server builds at a time where it matters: one, and the
// next. The thesis does not state it; with four the rate is 2 % less.
const inFlight = 2

// staggered is unsynchronised if a sender spends on each fragment the overhead that a
// phase has, on one at a time. It is worked out over the events that are dealt within the
// time of one healthy exchange.
func staggered(ctx context.Context, p *plan.Plan) float64 {
	j := job(p, results.Unsync)
	j.Credits, j.Timing.Overhead = inFlight, seconds(overheadSec)
	j.Duration = seconds(messageSec * float64(p.Tree.Servers()))
	return flowing(ctx, j)
}

func flowing(ctx context.Context, j *sim.Job) float64 {
	return min(healthyGbit, received(must(sim.Fluid(ctx, j, nil))))
}

func received(o *sim.Outcome) float64 {
	if o.Span <= 0 {
		return 0
	}
	sum := 0.0
	for _, b := range o.Received {
		sum += float64(b)
	}
	return 8 * sum / float64(len(o.Received)) / o.Span.Seconds() / 1e9
}

func seconds(x float64) time.Duration { return time.Duration(x*float64(time.Second) + 0.5) }
