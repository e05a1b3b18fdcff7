package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/internal/lists"
	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
)

// maxExchanges bounds the memory and the time of a long job with tiny fragments.
const maxExchanges = 10_000_000

// Phase is the model of synchronised event building. A phase takes as long as its busiest wire
// needs for its bytes, plus the overhead, the start of the latest server and the barrier; then the
// next one begins. A server waits in the barrier once the busiest wire on the paths of its own two
// messages is done.
//
// A change takes over with the next exchange or, where both plans have the same phases and route by
// tables, with the next phase. The phase under way ends on the paths on which it began: the model
// ignores delays by a dying link.
//
// Exchanges begin until the duration is over, or with a load when their events have happened and the exchange before is
// over; at least one counts. Where all fragments are equal an
// exchange is computed once for each plan: O(S² + phases · (wires + S)). The memory beside the
// plans is O(wires + S), plus the result: O(exchanges + S · samples).
func Phase(ctx context.Context, j *Job, progress Progress) (*Outcome, error) {
	if j.Mode == modes.Ordered {
		return longest(ctx, j, progress)
	}
	x, err := newPhaser(j)
	if err != nil {
		return nil, err
	}
	rec := newRecorder(j, x.nets[0].wires)
	told := 0
	for e, at := j.Warmup, 0.0; ; e++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		begin, more := rec.begins(at)
		if !more {
			break
		}
		t, err := x.turn(ctx, e, begin)
		if err != nil {
			return nil, err
		}
		if err := t.check(j); err != nil {
			return nil, err
		}
		rec.add(t, begin)
		at = begin + t.span
		if share := int(100 * at / max(j.Duration.Seconds(), at)); progress != nil && share > told {
			told = share
			progress(min(seconds(at), j.Duration), j.Duration)
		}
	}
	return rec.end(), nil
}

// A turn is the result of one exchange. Times are seconds, and servers ranks.
type turn struct {
	span   float64 // from the start of the first phase to the end of the last barrier
	quiet  float64 // of that, after the last receive
	sent   []uint64
	got    []uint64
	waited []float64
	wires  []float64
	event  []uint64  // bytes of the event that a server built, its own fragment included
	came   []float64 // when its last fragment had come
}

// check refuses jobs that would not end in reasonable time.
func (t *turn) check(j *Job) error {
	switch {
	case t.span <= 0:
		return errors.New("an exchange takes no time: there are no messages between servers")
	case j.Duration.Seconds() > maxExchanges*t.span:
		return fmt.Errorf("more than %d exchanges in %s: one takes only %s; take larger fragments or a shorter duration",
			maxExchanges, j.Duration, seconds(t.span))
	}
	return nil
}

func seconds(x float64) time.Duration { return time.Duration(x*float64(time.Second) + 0.5) }

type phaser struct {
	j       *Job
	plans   []*plan.Plan // the first, then those of the changes
	nets    []*network
	memo    []*turn // of the plans, without jitter
	n       int     // servers
	roles   builder.Roles
	barrier float64 // seconds

	// The phase under way.
	load   []float64 // [wire]
	paths  []int32   // of its messages, one behind the other
	sends  []message
	own    []float64 // [rank] bytes of the busiest wire on its own paths
	delays []float64 // [rank] seconds by which it starts late
}

type message struct{ src, dst, end int } // end of its path in paths

func newPhaser(j *Job) (*phaser, error) {
	x := &phaser{j: j, n: j.Plan.Tree.Servers(), roles: builder.RolesOf(j.Plan.Tree), plans: j.plans()}
	if j.Mode != modes.Sync {
		return nil, fmt.Errorf("the phase model is for synchronised and ordered event building; %s is for the fluid model", j.Mode)
	}
	if err := fits(j); err != nil {
		return nil, err
	}
	for _, p := range x.plans {
		x.nets = append(x.nets, networkOf(p, j.Seed))
	}
	r, err := rounds(j.Timing.Barrier, x.n)
	if err != nil {
		return nil, err
	}
	x.barrier = float64(r) * j.Timing.Round.Seconds()
	x.memo = make([]*turn, len(x.plans))
	x.load = make([]float64, x.nets[0].wires)
	x.own, x.delays = make([]float64, x.n), make([]float64, x.n)
	return x, nil
}

func (j *Job) inForce(at float64) int {
	i := 0
	for k, c := range j.Changes {
		if c.At.Seconds() <= at {
			i = k + 1
		}
	}
	return i
}

func (x *phaser) turn(ctx context.Context, e uint64, at float64) (*turn, error) {
	i := x.j.inForce(at)
	if !x.j.Equal {
		return x.walk(ctx, e, at, i, true)
	}
	if x.memo[i] == nil {
		begin := 0.0
		if i > 0 {
			begin = x.j.Changes[i-1].At.Seconds()
		}
		t, err := x.walk(ctx, e, begin, i, false)
		if err != nil {
			return nil, err
		}
		x.memo[i] = t
	}
	t := x.jittered(x.memo[i], e, x.plans[i].Schedule.Phases)
	if x.j.inForce(at+t.span) == i {
		return t, nil
	}
	return x.walk(ctx, e, at, i, true)
}

// walk computes an exchange, phase by phase, by the schedule of plan i. With live it starts late by
// the seed, and takes over changed tables on the way.
func (x *phaser) walk(ctx context.Context, e uint64, at float64, i int, live bool) (*turn, error) {
	t := x.newTurn()
	phase, net := 0, x.nets[i]
	pinned := x.plans[i].Pinned()
	for m := range x.plans[i].Schedule.All() {
		if m.Phase != phase {
			x.close(t, e, phase, live)
			if phase = m.Phase; live {
				net = x.nets[x.successor(i, at+t.span)]
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		by := scheduler.None
		switch {
		case pinned:
			by = net.tree.PathOf(m.Spine, m.Top)
		case net.leaf[m.Src] != net.leaf[m.Dst]:
			by = net.by(m.Src, m.Dst)
		}
		x.put(t, net, m, by, x.j.Size(x.roles.Event(e, m.Dst), m.Src))
	}
	x.close(t, e, phase, live)
	t.quiet = x.barrier
	for rank := range x.n {
		if x.roles.Builds(rank) {
			t.event[rank] = t.got[rank] + x.j.own(&x.roles, x.roles.Event(e, rank), rank)
		}
	}
	return t, nil
}

func (x *phaser) newTurn() *turn {
	return &turn{
		sent: make([]uint64, x.n), got: make([]uint64, x.n), event: make([]uint64, x.n),
		waited: make([]float64, x.n), came: make([]float64, x.n), wires: make([]float64, len(x.load)),
	}
}

// successor returns the plan whose paths the next phase of an exchange under plan i takes: the plan
// in force, if it has the same phases and its paths come from tables.
func (x *phaser) successor(i int, at float64) int {
	k := x.j.inForce(at)
	a, b := x.plans[i], x.plans[k]
	if a.Pinned() || b.Pinned() || a.Schedule.Name != b.Schedule.Name || a.Schedule.Phases != b.Schedule.Phases {
		return i
	}
	return k
}

func (x *phaser) put(t *turn, net *network, m scheduler.Message, by, payload int) {
	from := len(x.paths)
	x.paths = net.through(x.paths, m.Src, m.Dst, by)
	if len(x.paths) == from {
		return // there is no path: the pair is left out
	}
	x.sends = append(x.sends, message{m.Src, m.Dst, len(x.paths)})
	size := float64(payload + x.j.Header)
	for _, w := range x.paths[from:] {
		x.load[w] += size / net.rate(w)
	}
	t.sent[m.Src] += uint64(payload)
	t.got[m.Dst] += uint64(payload)
}

func (x *phaser) close(t *turn, e uint64, phase int, live bool) {
	latest := 0.0
	if live && !x.j.Timing.punctual() {
		latest = x.late(e, phase)
	}
	second := 8 / x.j.BitPerSec // of a byte
	transfer := latest + x.busiest()*second
	for rank, own := range x.own {
		t.waited[rank] += transfer - own*second - x.delays[rank] + x.barrier
	}
	for _, m := range x.sends {
		t.came[m.dst] = t.span + x.j.Timing.Overhead.Seconds() + max(x.delays[m.src], x.delays[m.dst]) + x.own[m.dst]*second
	}
	t.span += x.j.Timing.Overhead.Seconds() + transfer + x.barrier
	for _, w := range x.paths {
		t.wires[w] += x.load[w] * x.nets[0].rate(w)
		x.load[w] = 0
	}
	x.paths, x.sends = x.paths[:0], x.sends[:0]
	clear(x.delays)
}

// busiest returns the bytes of the busiest wire, and fills own.
func (x *phaser) busiest() (most float64) {
	clear(x.own)
	from := 0
	for _, m := range x.sends {
		here := 0.0
		for _, w := range x.paths[from:m.end] {
			if x.load[w] > here {
				here = x.load[w]
			}
		}
		from = m.end
		x.own[m.src], x.own[m.dst] = max(x.own[m.src], here), max(x.own[m.dst], here)
		most = max(most, here)
	}
	return most
}

// late draws each server's delay at the start of a phase into delays, and returns the largest.
func (x *phaser) late(e uint64, phase int) (latest float64) {
	first := (e<<16 + uint64(phase)) * uint64(x.n)
	for rank := range x.delays {
		x.delays[rank] = x.j.Timing.late(routing.Mix(x.j.Seed, first+uint64(rank)))
		latest = max(latest, x.delays[rank])
	}
	return latest
}

func (x *phaser) jittered(t *turn, e uint64, phases int) *turn {
	if x.j.Timing.punctual() {
		return t
	}
	out := *t
	out.waited = slices.Clone(t.waited)
	for phase := range phases {
		latest := x.late(e, phase)
		out.span += latest
		for rank := range out.waited {
			out.waited[rank] += latest - x.delays[rank]
		}
	}
	clear(x.delays)
	out.came = lists.Map(t.came, func(at float64) float64 { return at + out.span - t.span })
	return &out
}
