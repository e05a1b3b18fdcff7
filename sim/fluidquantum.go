package sim

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// A coarse run builds events without a schedule, all sources at once, with rates that hold for a
// quantum. Within it all times are exact: fragments of a pair follow one another, an event is whole
// when its last fragment is, and the next event is assigned at that moment. An idle stream also has
// a rate, for its next fragment: its share if all streams that wait for the next event of their
// server had come together, as they will.
//
// So within a quantum wires may carry more than they can, or less than their streams could send.
// Each wire has an account: the next quantum subtracts an excess, and adds what a bottleneck lost
// because streams ended. Debts are paid, if not all at once: on random small trees no wire is ever
// further ahead of its capacity than two or three quanta. A test checks a limit of four.
//
// Every fragment costs a few additions and each quantum a fill. An exact run needs a fill for each
// change of the streams.
type coarse struct {
	job      *Job
	n        int
	plans    *routes
	shares   *shares
	meter    *meter
	assigner *assigner
	quantum  float64
	rate     float64 // of a wire, bytes per second
	bin      []count // of the quantum under way

	// By stream, dst·n + src.
	number []uint64  // which event of dst it is on; those before are through
	begun  []float64 // since when rem is to go, or from when the stream is free
	rem    []float64
	per    []float64 // seconds per byte; infinite: there is no path
	moved  []float64 // bytes that wires have not been told of
	in     []bool    // it takes part in shares
	kept   []bool    // it is on the path of an earlier plan until its fragment ends
	on     []uint64  // number when it was kept

	backlog
	account []float64 // by wire, bytes
	change  int       // the next one
}

// A backlog is the events under way at servers, and the streams that wait.
type backlog struct {
	open  [][]building // by server, the oldest first
	due   []float64    // when the oldest is whole; infinite without one
	busy  []float64
	idle  []int32 // streams that wait, and what they could get
	rates []float64
	meets func(src, dst int) bool
	now   float64 // when the next events are assigned
}

type building struct {
	event uint64
	given float64
	ready []float64 // by source, when its fragment can leave; nil: when the event is given
	last  float64   // arrival so far
	bytes uint64
	meets func(src, dst int) bool
}

func (b *building) from(src int) float64 {
	if b.ready == nil {
		return b.given
	}
	return b.ready[src]
}

func coarsely(ctx context.Context, j *Job, progress Progress) (*Outcome, error) {
	c := newCoarse(j)
	if err := c.run(ctx, progress); err != nil {
		return nil, err
	}
	return c.meter.outcome(j), nil
}

func newCoarse(j *Job) *coarse {
	p := newRoutes(j)
	n := p.servers
	c := &coarse{
		job: j, n: n, plans: p, shares: newShares(n*n, p.wires, p.stride, j.BitPerSec/8), meter: newMeter(n, p.wires, j.Interval),
		assigner: newAssigner(j), quantum: j.Quantum.Seconds(), rate: j.BitPerSec / 8,
		number: make([]uint64, n*n), begun: make([]float64, n*n), rem: make([]float64, n*n), per: make([]float64, n*n),
		moved: make([]float64, n*n), in: make([]bool, n*n), kept: make([]bool, n*n), on: make([]uint64, n*n),
		account: make([]float64, p.wires),
		backlog: backlog{
			open: make([][]building, n), due: make([]float64, n), busy: make([]float64, n), rates: make([]float64, n), meets: p.meets(),
		},
	}
	for d := range n {
		c.due[d] = math.Inf(1)
		for s := range n {
			c.reroute(d*n+s, s, d)
		}
	}
	return c
}

func (c *coarse) reroute(p, src, dst int) {
	c.pay(p)
	if c.in[p] {
		c.shares.remove(int32(p))
		c.in[p] = false
	}
	c.kept[p], c.per[p] = false, math.Inf(1)
	if t := c.job.Plan.Tree; src == dst || !t.Reads(src) || !t.Builds(dst) {
		return
	}
	if path := c.plans.path(c.plans.now, src, dst); path != nil {
		c.shares.route(int32(p), path)
		c.per[p] = 1 / c.rate
	}
}

func (c *coarse) run(ctx context.Context, progress Progress) error {
	c.assigner.all(c.give)
	for at, over := 0.0, false; !over; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if progress != nil {
			progress(min(seconds(at), c.job.Duration), c.job.Duration)
		}
		var err error
		if at, over, err = c.step(at); err != nil {
			return err
		}
	}
	return nil
}

// step computes the quantum that begins at a moment. It returns when the quantum ends, and whether
// the run is over then.
func (c *coarse) step(at float64) (to float64, over bool, err error) {
	c.bin = c.meter.bin(at)
	c.changes(at)
	c.share(at)
	if !c.assigner.over && at >= c.job.Duration.Seconds() {
		c.now = at
		c.assigner.end(c.give)
	}
	to = c.boundary(at)
	c.events(to)
	over = c.assigner.over && c.whole()
	if !over && c.stuck() {
		return to, false, c.standing()
	}
	c.pass(to, to-at)
	return to, over, nil
}

func (c *coarse) boundary(at float64) float64 {
	to := at + c.quantum
	if end := c.job.Duration.Seconds(); at < end {
		to = min(to, end)
	}
	if c.change < len(c.job.Changes) {
		to = min(to, c.job.Changes[c.change].At.Seconds())
	}
	if x := c.job.Interval.Seconds(); x > 0 {
		next := (math.Floor(at/x) + 1) * x
		if next <= at {
			next += x
		}
		to = min(to, next)
	}
	return to
}

func (c *coarse) give(d int, event uint64) {
	b := building{event: event, given: c.now + late(c.job, d, event), meets: c.meets}
	b.bytes = eventBytes(c.job, event, func(src int) bool { return b.meets(src, d) }, c.n)
	if o := c.job.Timing.Overhead.Seconds(); o > 0 {
		b.ready = make([]float64, c.n)
		for s := range b.ready {
			if s != d && c.job.Plan.Tree.Reads(s) {
				c.busy[s] = max(c.busy[s], b.given) + o
				b.ready[s] = c.busy[s]
			}
		}
	}
	c.meter.first = min(c.meter.first, b.given)
	c.open[d] = append(c.open[d], b)
	seq := c.assigner.assigned[d] - 1
	for s := range c.n {
		if p := d*c.n + s; c.number[p] == seq && s != d {
			c.take(p, s, d, &b, c.begun[p])
		}
	}
	if len(c.open[d]) == 1 {
		c.reach(d)
	}
}

// take puts the fragment of an event on a stream, which is free from a moment on.
func (c *coarse) take(p, src, dst int, b *building, free float64) {
	c.begun[p] = max(free, b.from(src))
	c.rem[p] = 0
	if b.meets(src, dst) {
		c.rem[p] = float64(max(1, c.job.Size(b.event, src)+c.job.Header))
	}
}

func (c *coarse) arrival(p int) float64 {
	if c.rem[p] == 0 {
		return c.begun[p] // left out
	}
	return c.begun[p] + c.rem[p]*c.per[p]
}

func (c *coarse) reach(d int) {
	c.due[d] = math.Inf(1)
	if len(c.open[d]) == 0 {
		return
	}
	seq, last := c.assigner.done[d], max(c.open[d][0].last, c.open[d][0].given)
	for s := range c.n {
		if p := d*c.n + s; c.number[p] == seq && s != d {
			last = max(last, c.arrival(p))
		}
	}
	c.due[d] = last
}

func (c *coarse) arrived(p, s, d int, b *building, at float64) {
	c.moved[p] += c.rem[p]
	b.last = max(b.last, at)
	if c.rem[p] > 0 {
		size := uint64(c.job.Size(b.event, s))
		c.meter.sent[s] += size
		c.meter.received[d] += size
		c.bin[d].payload += size
		c.meter.last = max(c.meter.last, at)
	}
	c.number[p]++
	c.begun[p], c.rem[p] = at, 0
	if c.number[p] < c.assigner.assigned[d] {
		c.take(p, s, d, &c.open[d][c.number[p]-c.assigner.done[d]], at)
	}
}

func (c *coarse) events(to float64) {
	for {
		d := 0
		for i, x := range c.due {
			if x < c.due[d] {
				d = i
			}
		}
		if c.due[d] > to || math.IsInf(c.due[d], 1) {
			return
		}
		c.built(d)
	}
}

// built adds the missing bytes of the oldest event of a server, and assigns events.
func (c *coarse) built(d int) {
	c.now = c.due[d]
	b := &c.open[d][0]
	seq := c.assigner.done[d]
	for s := range c.n {
		if p := d*c.n + s; c.number[p] == seq && s != d {
			c.arrived(p, s, d, b, c.arrival(p))
		}
	}
	c.meter.events[d]++
	c.bin[d].events++
	c.bin[d].eventBytes += b.bytes
	c.open[d] = slices.Delete(c.open[d], 0, 1)
	c.due[d] = math.Inf(1)
	c.assigner.built(d, c.give)
	c.reach(d)
}

func (c *coarse) pass(to, span float64) {
	for d := range c.n {
		end, first := c.assigner.assigned[d], c.assigner.done[d]
		for s := range c.n {
			p := d*c.n + s
			for s != d && c.number[p] < end {
				at := c.arrival(p)
				if at > to {
					if x := to - c.begun[p]; x > 0 {
						x /= c.per[p]
						c.moved[p] += x
						c.rem[p] = max(c.rem[p]-x, math.SmallestNonzeroFloat64)
						c.begun[p] = to
					}
					break
				}
				c.arrived(p, s, d, &c.open[d][c.number[p]-first], at)
			}
		}
	}
	c.settle(span)
}

// The share of its capacity that a wire has in the next quantum, at least, if it has carried too
// much. Repayment at once would slow down joining streams more than the streams that made the debt,
// and the two would oscillate.
const (
	least = 0.8
	most  = 1.5
)

// settle adds up what wires have carried, and what they owe or are owed. No wire keeps more than
// its capacity in a quantum, and only a bottleneck keeps anything.
func (c *coarse) settle(span float64) {
	w := c.meter.wire
	before := slices.Clone(w)
	for p := range c.moved {
		c.pay(p)
	}
	for i := range c.account {
		c.account[i] += span*c.rate - (w[i] - before[i])
		if c.shares.level[i] == 0 {
			c.account[i] = min(c.account[i], 0)
		}
		c.account[i] = min(c.account[i], c.quantum*c.rate)
	}
}

func (c *coarse) pay(p int) {
	if c.moved[p] == 0 {
		return
	}
	for _, w := range c.shares.wires(int32(p)) {
		c.meter.wire[w] += c.moved[p]
	}
	c.moved[p] = 0
}

// share computes the rates for the next quantum, for the streams under way in most of it.
func (c *coarse) share(at float64) {
	half := at + c.quantum/2
	for i, x := range c.account {
		c.shares.capacity[i] = c.rate * min(max(1+x/(c.quantum*c.rate), least), most)
	}
	for d := range c.n {
		for s := range c.n {
			p := d*c.n + s
			if c.kept[p] && c.number[p] != c.on[p] {
				c.reroute(p, s, d)
			}
			in := c.number[p] < c.assigner.assigned[d] && c.begun[p] < half && c.rem[p] > 0 && !math.IsInf(c.per[p], 1)
			if in == c.in[p] {
				continue
			}
			if c.in[p] = in; in {
				c.shares.add(int32(p), 0)
			} else {
				c.shares.remove(int32(p))
			}
		}
	}
	c.shares.fill()
	for d := range c.n {
		c.pace(d)
		c.reach(d)
	}
}

// pace applies the rates of the streams to a server. Idle streams wait for its next event, and will
// come together.
func (c *coarse) pace(d int) {
	c.idle = c.idle[:0]
	for p := d * c.n; p < (d+1)*c.n; p++ {
		switch {
		case c.in[p]:
			c.per[p] = 1 / c.shares.rate(int32(p))
		case !math.IsInf(c.per[p], 1):
			c.idle = append(c.idle, int32(p))
		}
	}
	c.shares.newcomers(c.idle, c.rates)
	for i, p := range c.idle {
		c.per[p] = 1 / c.rates[i]
	}
}

func (c *coarse) changes(at float64) {
	for c.change < len(c.job.Changes) && c.job.Changes[c.change].At.Seconds() <= at {
		c.change++
		c.plans.force(c.change)
		c.meets = c.plans.meets()
		for d := range c.n {
			for s := range c.n {
				p := d*c.n + s
				under := c.number[p] < c.assigner.assigned[d] && c.begun[p] <= at && !math.IsInf(c.per[p], 1)
				if under && c.plans.alive(c.shares.wires(int32(p))) {
					c.kept[p], c.on[p] = true, c.number[p]
				} else {
					c.reroute(p, s, d)
				}
			}
		}
	}
}

func (c *coarse) whole() bool {
	for d := range c.open {
		if len(c.open[d]) > 0 {
			return false
		}
	}
	return true
}

func (c *coarse) stuck() bool {
	if c.change < len(c.job.Changes) || !c.assigner.over {
		return false
	}
	for _, x := range c.due {
		if !math.IsInf(x, 1) {
			return false
		}
	}
	return true
}

func (c *coarse) standing() error {
	for d := range c.open {
		for s := range c.n {
			if p := d*c.n + s; s != d && len(c.open[d]) > 0 && c.number[p] < c.assigner.assigned[d] && math.IsInf(c.per[p], 1) {
				t := c.job.Plan.Tree
				return fmt.Errorf("event %d: the fragment from %s to %s waits for ever: no path is alive between them after the last change of plan",
					c.open[d][0].event, t.ServerName(s), t.ServerName(d))
			}
		}
	}
	return fmt.Errorf("event building stands still at %v", seconds(c.now))
}
