package sim

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"testing"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/plan"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

const mega = 1_000_000

func equal(uint64, int) int { return mega - 40 }

// small is a job on FT(2;4,4): a fragment takes 1 ms alone, an exchange 15 ms.
func small(t *testing.T, mode modes.Mode, schedule, routing string, down ...string) *Job {
	t.Helper()
	return smallOf(t, topology.Options{Ports: 4, Leaves: 4}, mode, schedule, routing, down...)
}

// smallOf is small of another tree.
func smallOf(t *testing.T, o topology.Options, mode modes.Mode, schedule, routing string, down ...string) *Job {
	t.Helper()
	tr := topologytest.Tree(t, o, down...)
	return &Job{
		Setting: builder.Setting{Name: "small", Mode: mode, Credits: 1}, Repeat: 2, Plan: planOf(t, tr, plan.Options{Schedule: schedule, Routing: routing, Seed: 1}),
		Size: equal, Header: 40, Common: builder.Common{Interval: 20 * time.Millisecond, Seed: 7}, BitPerSec: 8e9,
	}
}

func outcome(t *testing.T, j *Job) *Outcome {
	t.Helper()
	o := expect.Value(Fluid(t.Context(), j, nil))(t)
	return o
}

func within(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	expect.True(t, math.Abs(got-want) <= share*math.Abs(want), "%s is %v, want %v", what, got, want)
}

// TestFluidBuildsEachEventOnce holds what is counted in different places against
// each other in all modes.
func TestFluidBuildsEachEventOnce(t *testing.T) {
	dead := "leaf0-spine1"
	for _, c := range []struct {
		name string
		job  *Job
		with func(*Job)
	}{
		{"all at once", small(t, modes.Unsync, "", "ftree", dead), func(*Job) {}},
		{"four events", small(t, modes.Unsync, "", "ftree", dead), func(j *Job) { j.Credits = 4 }},
		{"two sources", small(t, modes.Unsync, "", "minhop", dead), func(j *Job) { j.Sources = 2 }},
		{"hashed", small(t, modes.Unsync, "", "ecmp", dead), func(j *Job) { j.Credits = 2 }},
		{"late", small(t, modes.Unsync, "", "ftree"), func(j *Job) { j.Timing.Jitter, j.Timing.Overhead = time.Millisecond, 3e4 }},
		{"free-running", small(t, modes.FreeRunning, "linear-shift", "ftree", dead), func(j *Job) { j.Credits = 2 }},
		{"free-running, pinned", small(t, modes.FreeRunning, "fors", "", dead), func(j *Job) { j.Timing.Jitter = time.Millisecond }},
		{"synchronised", small(t, modes.Sync, "linear-shift", "spread", dead), func(j *Job) { j.Timing.Barrier = "tournament" }},
	} {
		for _, size := range []struct {
			name string
			of   func(uint64, int) int
		}{{"equal", equal}, {"unequal", spreadSizes(mega, 0.5)}} {
			t.Run(c.name+" "+size.name, func(t *testing.T) {
				j := *c.job
				c.with(&j)
				j.Size, j.Duration = size.of, 100*time.Millisecond
				balance(t, &j, outcome(t, &j))
			})
		}
	}
}

// balance holds the counts of an outcome, and what its wires have carried, against each
// other.
func balance(t *testing.T, j *Job, o *Outcome) {
	t.Helper()
	counts(t, j, o)
	n := j.Plan.Tree.Servers()
	for s := range n {
		// Which events are whose depends on the mode; all of a source go everywhere but home.
		fragments := float64(40 * uint64(n-1) * o.Exchanges)
		within(t, "up", o.Wires[j.Plan.Tree.FromServer(s)], float64(o.sent[s])+fragments, 1e-9)
		within(t, "down", o.Wires[j.Plan.Tree.ToServer(s)], float64(o.Received[s])+fragments, 1e-9)
	}
	if loads, ok := j.Plan.Loads(plan.Equal); ok && j.Size(0, 0) == j.Size(1, 1) {
		for w, x := range loads {
			within(t, "wire", o.Wires[w], x*mega*float64(o.Exchanges), 1e-9)
		}
	}
}

// counts holds events and payload against each other.
func counts(t *testing.T, j *Job, o *Outcome) {
	t.Helper()
	expect.MustTrue(t, o.Exchanges >= 3, "only %d exchanges in %v", o.Exchanges, o.Span)
	n := j.Plan.Tree.Servers()
	var sent, got, events, sampled, built uint64
	for s := range n {
		expect.True(t, o.Events[s] == o.Exchanges, "rank %d built %d events of %d", s, o.Events[s], o.Exchanges)
		sent, got, events = sent+o.sent[s], got+o.Received[s], events+o.Events[s]
	}
	var want uint64
	for e := range events {
		for s := range n {
			want += uint64(j.Size(e, s))
		}
	}
	for _, s := range o.samples {
		sampled += s.PayloadBytes
		built += s.Events
	}
	expect.True(t, sent == got && sampled == got && built == events,
		"sent %d, received %d, sampled %d bytes; %d events, %d in samples", sent, got, sampled, events, built)
	expect.True(t, got < want && float64(got) >= float64(want)*float64(n-2)/float64(n), "%d bytes of %d have moved", got, want)
}

func TestFluidUnsynchronisedComesUpToItsBound(t *testing.T) {
	for _, down := range [][]string{nil, {"leaf0-spine0"}, {"leaf0-spine0", "leaf2-spine1"}} {
		j := small(t, modes.Unsync, "", "ftree", down...)
		j.Duration, j.Credits = 500*time.Millisecond, 2
		got, bound := efficiency(j, outcome(t, j)), j.Plan.Cost(plan.Equal, 1).Unsynchronised()
		expect.True(t, got <= bound*(1+1e-6) && got >= 0.97*bound, "%v: efficiency %.4f, at most %.4f", down, got, bound)
	}
}

// TestFluidSynchronisedIsPhase holds the models against each other where both are
// exact: fragments of one size, with a barrier and an overhead.
func TestFluidSynchronisedIsPhase(t *testing.T) {
	for _, schedule := range []string{"linear-shift", "fors"} {
		j := small(t, modes.Sync, schedule, "", "leaf0-spine0", "leaf1-spine2")
		j.Equal, j.Duration = true, 50*time.Millisecond
		j.Timing = Timing{Barrier: "tournament", Round: 10 * time.Microsecond, Overhead: 5 * time.Microsecond}
		want := expect.Value(Phase(t.Context(), j, nil))(t)
		got := outcome(t, j)
		// One counts from the beginning of the first phase, the other from its first send.
		within(t, schedule+": span", (got.Span + j.Timing.Overhead).Seconds(), want.Span.Seconds(), 1e-6)
		expect.True(t, got.Exchanges == want.Exchanges && reflect.DeepEqual(got.sent, want.sent),
			"%s: %d exchanges and %v sent, want %d and %v", schedule, got.Exchanges, got.sent, want.Exchanges, want.sent)
		for w := range want.Wires {
			within(t, "wire", got.Wires[w], want.Wires[w], 1e-9)
		}
	}
}

func TestFluidFreeRunningWithoutContention(t *testing.T) {
	j := small(t, modes.FreeRunning, "linear-shift", "ftree")
	j.Credits, j.Duration = 2, 30*time.Millisecond
	o := outcome(t, j)
	expect.True(t, o.Exchanges == 2 && o.Span == 30*time.Millisecond, "%d exchanges in %v, want 2 of 15 ms each", o.Exchanges, o.Span)
}

func TestFluidOverheadIsPaidInTurn(t *testing.T) {
	tr := topologytest.Tree(t, topology.Options{Ports: 3, Leaves: 1})
	j := small(t, modes.Unsync, "", "ftree")
	j.Plan = planOf(t, tr, plan.Options{Routing: "ftree"})
	j.Timing.Overhead = 100 * time.Microsecond
	// All serve the requests in the order of ranks: both fragments for the last server
	// leave after 200 µs, and share its cable.
	within(t, "span", outcome(t, j).Span.Seconds(), 0.0022, 1e-6)
}

func TestFluidAsksForSourcesOneByOne(t *testing.T) {
	j := small(t, modes.Unsync, "", "ftree")
	all := outcome(t, j)
	j.Sources = 1
	one := outcome(t, j)
	expect.True(t, one.Exchanges == 1 && one.Span > all.Span, "%d exchanges in %v; all at once it takes %v", one.Exchanges, one.Span, all.Span)
}

func TestFluidSkipsTheWarmup(t *testing.T) {
	j := small(t, modes.Unsync, "", "ftree")
	least := uint64(math.MaxUint64)
	j.Warmup, j.Size = 3, func(e uint64, _ int) int {
		if e > 0 { // 0 is asked for to learn how large fragments are
			least = min(least, e)
		}
		return mega
	}
	if outcome(t, j); least != 3*16 {
		t.Errorf("the first event is %d, want 48", least)
	}
}

func TestFluidIsReproducible(t *testing.T) {
	j := small(t, modes.Unsync, "", "ecmp", "leaf0-spine0")
	j.Size, j.Duration, j.Credits, j.Timing.Jitter = spreadSizes(mega, 0.5), 60*time.Millisecond, 2, 1e5
	first := outcome(t, j)
	old := runtime.GOMAXPROCS(1)
	second := outcome(t, j)
	runtime.GOMAXPROCS(old)
	expect.True(t, reflect.DeepEqual(first, second), "a second run differs")
	j.Seed++
	expect.True(t, !reflect.DeepEqual(first.Wires, outcome(t, j).Wires), "another seed hashes alike")
}

func TestFluidEnds(t *testing.T) {
	j := small(t, modes.Unsync, "", "ftree")
	j.Duration = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err := Fluid(ctx, j, func(done, of time.Duration) {
		if calls++; calls == 3 {
			cancel()
		}
		expect.True(t, done <= of && of == time.Hour, "%v of %v", done, of)
	})
	expect.True(t, errors.Is(err, context.Canceled), "%v", err)
}

func TestFluidRefuses(t *testing.T) {
	for _, c := range []struct {
		want string
		with func(*Job)
	}{
		{`mode: there is no "fast"`, func(j *Job) { j.Mode = "fast" }},
		{"rate:", func(j *Job) { j.BitPerSec = 0 }},
		{"negative", func(j *Job) { j.Duration = -1 }},
		{"needs a schedule", func(j *Job) { j.Mode = modes.FreeRunning }},
		{"routing none", func(j *Job) {
			p := *j.Plan
			p.Routing, j.Plan = plan.NoRouting, &p
		}},
		{"change 0: the plan is for another tree", func(j *Job) {
			j.Changes = []Change{{0, planOf(t, topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2}), plan.Options{})}}
		}},
		{"change 1: 1s comes after 2s", func(j *Job) { j.Changes = []Change{{2e9, j.Plan}, {1e9, j.Plan}} }},
	} {
		j := small(t, modes.Unsync, "", "ftree")
		c.with(j)
		expect.Error(t, expect.Err(Fluid(t.Context(), j, nil)), c.want)
	}
}

// TestAssignerKeepsAllTogether lets one server never build anything.
func TestAssignerKeepsAllTogether(t *testing.T) {
	j := small(t, modes.Unsync, "", "ftree")
	j.Credits = 3
	d := newAssigner(j)
	var open []int
	give := func(s int, _ uint64) {
		if s != 5 {
			open = append(open, s)
		}
	}
	for d.all(give); len(open) > 0; {
		s := open[0]
		open = open[1:]
		d.built(s, give)
	}
	for s, n := range d.assigned {
		expect.False(t, s != 5 && n != uint64(5) || s == 5 && n != 3, "rank %d was given %d events", s, n)
	}
	for d.end(give); len(open) > 0; open = open[1:] {
		d.built(open[0], give)
	}
	expect.True(t, d.level == 5, "all come up to %d events, want 5", d.level)
}

// Balanced, servers build equally many events in shorter time where events differ in size,
// and every event is built once.
func TestAssignerBalances(t *testing.T) {
	j := small(t, modes.Unsync, "", "ftree")
	sizes := builder.Sizes{Mean: 600, Seed: 1, Distribution: builder.Distribution{Kind: builder.Exponential, By: builder.ByEvent}}
	j.Equal, j.Size = false, sizes.Of
	next := outcome(t, j)
	j.Assign = builder.AssignBalanced
	balanced := outcome(t, j)
	for s, n := range balanced.Events {
		if n != balanced.Events[0] || n < next.Events[0]*11/10 {
			t.Errorf("rank %d built %d events, by their numbers %d", s, n, next.Events[s])
		}
	}
	d, seen := newAssigner(j), map[uint64]bool{}
	n := len(d.done)
	for range 3 * builder.Ahead {
		for s := range n {
			seen[d.event(s)] = true
		}
	}
	for id := range uint64(3 * builder.Ahead * n) {
		expect.MustTrue(t, seen[j.Warmup*uint64(n)+id], "event %d is assigned to nobody", id)
	}
}

// What the plan puts on links follows the sizes of each source.
func TestPlannedBySource(t *testing.T) {
	for _, schedule := range []string{"", "linear-shift"} {
		mode := modes.Unsync
		if schedule != "" {
			mode = modes.Sync
		}
		j := small(t, mode, schedule, "ftree")
		sizes := builder.Sizes{Mean: 600, Seed: 1, Distribution: builder.Distribution{Kind: builder.LogNormal, Sigma: 1, By: builder.BySource}}
		j.Equal, j.Size, j.Credits = false, sizes.Of, 2
		c := &Case{Job: *j}
		for _, l := range c.links(outcome(t, j)) {
			expect.True(t, l.Planned && math.Abs(float64(l.PlannedBytes)/float64(l.Bytes)-1) <= 0.01,
				"%s: link %s %s carried %d bytes, planned %d", mode, l.Link, l.Direction, l.Bytes, l.PlannedBytes)
		}
	}
}
