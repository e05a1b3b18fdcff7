package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"evbench/builder/modes"
	"evbench/plan"
	"evbench/routing"
)

// Fluid builds events with fragments that share the wires they cross max-min fairly.
// It follows the worker and the controller:
//
//   - Two servers have one connection, so fragments between them follow one another, and a pair
//     counts once on a wire however many events are in flight.
//   - Without a schedule a server asks for the fragments of an event in the order of ranks, all
//     at once or Sources at a time, and has Credits events in flight. Events go to servers with
//     room. No server gets more than two events beyond its credits ahead of the slowest. After
//     the duration all servers build as many events as the server that got most.
//   - Free-running, a server sends the fragments of the schedule in its order, each when the one
//     before has arrived, and the receiver takes fragments of Credits exchanges. Synchronised, a
//     phase ends with a barrier of all.
//   - Ordered, a server sends its pieces in the order of the plan, each when the one before has
//     arrived and all its tokens have come.
//   - With a schedule, an exchange begins if the duration was not over when the first server
//     came to it; at least one begins.
//   - The sender makes one fragment at a time ready, in Overhead. Requests and signals take no
//     bandwidth, and the controller's messages take no time.
//
// When a plan takes over, fragments under way keep their path unless a link of it is dead in the
// new plan. Then they go on over the path of the new plan from where they were. If that path is
// missing or dead, they wait for the first change that gives them one. With a schedule an exchange
// ends by the plan with which it began; fragments whose pinned path has died take the path of the
// plan in force. Warm-up exchanges leave no state behind, so they only advance the numbers of
// events.
//
// It is exact, with a refill of shares for each moment at which fragments begin or end: few where
// fragments have one size, and a hundred thousand for one exchange of 326 servers whose sizes all
// differ. Fluid runs on one processor. Samples name servers by position.
func Fluid(ctx context.Context, j *Job, progress Progress) (*Outcome, error) {
	r, err := ruleOf(j)
	if err != nil {
		return nil, err
	}
	streams := j.Plan.Tree.Servers()
	if j.Mode == modes.Unsync {
		streams *= streams
	}
	f := newFlows(j, r, streams)
	if err := f.run(ctx, progress); err != nil {
		return nil, err
	}
	return f.meter.outcome(j), nil
}

// ruleOf returns the rule of a job's mode, or why the job is wrong.
func ruleOf(j *Job) (rule, error) {
	if err := fits(j); err != nil {
		return nil, err
	}
	switch j.Mode {
	case modes.Sync:
		return newLockstep(j)
	case modes.FreeRunning:
		return newRunners(j), nil
	case modes.Ordered:
		return newOrders(j), nil
	}
	return newReceivers(j), nil
}

func fits(j *Job) error {
	scheduled := j.Mode.Phases()
	switch {
	case !scheduled && j.Mode != modes.Unsync && j.Mode != modes.Ordered:
		return fmt.Errorf("mode: there is no %q", j.Mode)
	case j.BitPerSec <= 0:
		return errors.New("rate: wires carry nothing")
	case j.Interval < 0 || j.Duration < 0:
		return errors.New("interval and duration cannot be negative")
	case j.Mode == modes.Ordered && (j.Window < 1 || j.Order == nil):
		return errors.New("ordered mode needs windows and a planner for them")
	}
	if err := fitsPlan(j.Plan, j.Plan, scheduled); err != nil {
		return err
	}
	var last time.Duration
	for i, c := range j.Changes {
		if c.At < last {
			return fmt.Errorf("change %d: %v comes after %v", i, c.At, last)
		}
		last = c.At
		if err := fitsPlan(j.Plan, c.Plan, scheduled); err != nil {
			return fmt.Errorf("change %d: %w", i, err)
		}
	}
	return nil
}

func fitsPlan(first, p *plan.Plan, scheduled bool) error {
	switch {
	case p.Routing == plan.NoRouting:
		return errors.New("routing none: without paths nothing is known of the links")
	case scheduled && p.Schedule == nil:
		return errors.New("the mode needs a schedule, and the plan has none")
	case !reflect.DeepEqual(p.Tree.Options(), first.Tree.Options()):
		return errors.New("the plan is for another tree")
	}
	return nil
}

func fragmentOf(j *Job, event uint64, src, dst, route int) fragment {
	size := j.Size(event, src)
	return fragment{
		event: event, src: int32(src), dst: int32(dst), route: int32(route),
		payload: uint64(size), bytes: float64(max(1, size+j.Header)),
	}
}

// late is the delay from jitter, in seconds: a function of the seed, the server and the step.
func late(j *Job, server int, what uint64) float64 {
	if j.Timing.punctual() {
		return 0
	}
	return j.Timing.late(routing.Mix(routing.Mix(j.Seed, uint64(server)+1), what))
}

// The least time that the fluid model takes for a fragment of n servers: this much, n times; and the
// model of streams for a packet.
const (
	fluidEqual   = 100 * time.Nanosecond
	fluidUnequal = 500 * time.Nanosecond
	streamsEach  = 500 * time.Nanosecond
)

// LeastTime estimates how long the fluid model, or that of streams, takes for a case with fragments of
// that many bytes on average. It errs on the short side.
func (c *Case) LeastTime(fragment int) time.Duration {
	n := float64(c.Plan.Tree.Servers())
	each := n * float64(fluidUnequal)
	switch {
	case c.Model == TCPModel:
		each = float64(fragment/max(1, c.TCP.Packet)+1) * float64(streamsEach)
	case c.Equal:
		each = n * float64(fluidEqual)
	}
	exchange := (n - 1) * 8 * float64(fragment) / c.BitPerSec
	exchanges := 1 + c.Case.PredictedEfficiency*c.Duration.Seconds()/exchange
	return time.Duration(min(exchanges*n*n*each, math.MaxInt64/2))
}
