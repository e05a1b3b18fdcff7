package sim

import (
	"reflect"
	"testing"
	"time"

	"evbench/builder/modes"
	"evbench/model/credit"
	"evbench/routing"
	"evbench/testing/expect"
	"evbench/testing/need"
)

func packets(t *testing.T, j *Job) *Outcome {
	t.Helper()
	o := expect.Value(Packets(t.Context(), j, nil))(t)
	return o
}

// lossless is a network with room for four packets in each buffer.
func lossless(perOutput bool) Lossless {
	return Lossless{
		Packet: 50_000, Buffer: 200_000, Lanes: 1, PerOutput: perOutput, Reads: 3,
		Delay: 100 * time.Nanosecond, Cable: 10 * time.Nanosecond,
	}
}

// Where no two messages share a link, packets take what the other models say.
func TestPacketsWithoutContention(t *testing.T) {
	for _, tt := range []struct {
		mode              modes.Mode
		schedule, routing string
		down              []string
	}{
		{modes.Sync, "linear-shift", "ftree", nil},
		{modes.Sync, "fors", "", []string{"leaf0-spine1"}},
		{modes.FreeRunning, "linear-shift", "ftree", nil},
	} {
		for _, perOutput := range []bool{false, true}[:expect.Samples(2, 1)] {
			j := small(t, tt.mode, tt.schedule, tt.routing, tt.down...)
			j.Duration, j.Lossless = 120*time.Millisecond, lossless(perOutput)
			got, want := packets(t, j), outcome(t, j)
			balance(t, j, got)
			within(t, string(tt.mode)+" "+tt.schedule, got.Span.Seconds(), want.Span.Seconds(), 0.01)
		}
	}
}

// Without phases packets block each other, so that a FIFO gives less than flows that
// share, however many events are in flight; queues per output lie between.
func TestPacketsBlock(t *testing.T) {
	rate := func(o *Outcome) float64 { return float64(o.Exchanges) / o.Span.Seconds() }
	for _, credits := range []int{1, 4} {
		j := small(t, modes.Unsync, "", "ftree")
		j.Duration, j.Credits = 150*time.Millisecond, credits
		shared := rate(outcome(t, j))
		j.Lossless = lossless(false)
		fifo := rate(packets(t, j))
		j.Lossless = lossless(true)
		each := rate(packets(t, j))
		expect.False(t, !(fifo < 0.8*shared && fifo < 0.9*each && each < 1.01*shared),
			"%d credits: events/s %v by FIFOs, %v by queues per output, %v by flows that share", credits, fifo, each, shared)
	}
}

// All that is counted agrees in all modes and with all ways to decide, and no wire
// carries more than it can.
func TestPacketsCount(t *testing.T) {
	need.Heavy(t)
	for _, tt := range []struct {
		mode              modes.Mode
		schedule, routing string
		with              func(*Job)
	}{
		{modes.Unsync, "", "minhop", func(j *Job) { j.Sources = 2 }},
		{modes.Unsync, "", "ecmp", func(j *Job) { j.Credits = 2 }},
		{modes.Unsync, "", "ftree", func(j *Job) { j.Lossless.Choice = credit.Random }},
		{modes.Unsync, "", "ftree", func(j *Job) { j.Lossless.Choice, j.Lossless.Lanes = credit.Best, 4 }},
		{modes.Unsync, "", "minhop", func(j *Job) { j.Lossless.Choice = credit.QueueRelief }},
		{modes.Unsync, "", "ftree", func(j *Job) { j.Lossless.InOrder = true }},
		{modes.Unsync, "", "ftree", func(j *Job) { j.Timing.Jitter, j.Timing.Overhead = time.Millisecond, 3e4 }},
		{modes.FreeRunning, "linear-shift", "ftree", func(j *Job) { j.Credits = 2 }},
		{modes.Sync, "linear-shift", "spread", func(j *Job) { j.Timing.Barrier = "tournament" }},
	} {
		for _, perOutput := range []bool{false, true}[:expect.Samples(2, 1)] {
			j := small(t, tt.mode, tt.schedule, tt.routing, "leaf0-spine1")
			j.Size, j.Duration, j.Lossless = spreadSizes(mega, 0.5), 150*time.Millisecond, lossless(perOutput)
			tt.with(j)
			o := packets(t, j)
			counts(t, j, o)
			for w, bytes := range o.Wires {
				most := o.Span.Seconds() * j.BitPerSec / 8 * 1.001
				expect.True(t, bytes <= most, "%s %s: wire %d carries %.0f bytes, at most %.0f", tt.mode, tt.routing, w, bytes, most)
			}
			expect.True(t, reflect.DeepEqual(o, packets(t, j)), "%s %s: a second run differs", tt.mode, tt.routing)
		}
	}
}

// A link that dies and comes back while events are built loses none, and costs time
// between that with the link and that without.
func TestPacketsChange(t *testing.T) {
	for _, tt := range []struct {
		mode              modes.Mode
		schedule, routing string
	}{
		{modes.Unsync, "", "minhop"}, {modes.Sync, "linear-shift", "minhop"}, {modes.Sync, "fors", ""},
		{modes.FreeRunning, "linear-shift", "minhop"},
	} {
		for _, perOutput := range []bool{false, true}[:expect.Samples(2, 1)] {
			j := small(t, tt.mode, tt.schedule, tt.routing)
			dead := small(t, tt.mode, tt.schedule, tt.routing, "leaf0-spine1")
			j.Duration, j.Lossless = 200*time.Millisecond, lossless(perOutput)
			whole := packets(t, j)
			j.Changes = []Change{{50 * time.Millisecond, dead.Plan}, {150 * time.Millisecond, j.Plan}}
			o := packets(t, j)
			counts(t, j, o)
			expect.True(t, o.Exchanges <= whole.Exchanges && 2*o.Exchanges >= whole.Exchanges,
				"%s %s: %d exchanges with a link dead half of the time, %d without", tt.mode, tt.schedule, o.Exchanges, whole.Exchanges)
		}
	}
}

// Adaptive groups keep to the tables where nothing is congested. Where two messages of a
// leaf share a link in each phase, its credit does not tell, but the queue before it does.
func TestPacketsRelief(t *testing.T) {
	span := func(choice credit.Choice, down ...string) time.Duration {
		j := small(t, modes.Sync, "linear-shift", "ftree")
		if down != nil {
			j = small(t, modes.Sync, "linear-shift", "minhop", down...)
		}
		j.Duration, j.Lossless = 60*time.Millisecond, lossless(false)
		j.Lossless.Choice = choice
		o := packets(t, j)
		counts(t, j, o)
		return time.Duration(float64(o.Span) / float64(o.Exchanges))
	}
	tables := span(credit.First)
	for _, choice := range []credit.Choice{credit.Relief, credit.QueueRelief} {
		got := span(choice)
		expect.True(t, got == tables, "%v: an exchange takes %v, by tables %v", choice, got, tables)
	}
	tables = span(credit.First, "leaf0-spine1")
	within(t, "one dead link, by credit", span(credit.Relief, "leaf0-spine1").Seconds(), tables.Seconds(), 0.02)
	if got := span(credit.QueueRelief, "leaf0-spine1"); got >= tables*95/100 {
		t.Errorf("one dead link, by queue: an exchange takes %v, by tables %v", got, tables)
	}
}

// Of parallel cables all models load each as the plan does, and a cable that dies and comes back
// costs what the phases say.
func TestParallelCables(t *testing.T) {
	for _, tt := range []struct {
		mode              modes.Mode
		schedule, routing string
	}{
		{modes.Sync, "fors", ""}, {modes.Unsync, "fors", ""}, {modes.Sync, "linear-shift", "minhop"}, {modes.Unsync, "", "spread"},
	} {
		for _, down := range [][]string{{"leaf0-spine1/0", "leaf1-spine1/1", "leaf2-spine0"}, {"leaf0-spine1/0"}, nil}[:expect.Samples(3, 1)] {
			j := smallOf(t, cables, tt.mode, tt.schedule, tt.routing, down...)
			j.Duration, j.Lossless = 120*time.Millisecond, lossless(true)
			name := string(tt.mode) + tt.schedule
			flows, full := outcome(t, j), packets(t, j)
			balance(t, j, flows)
			balance(t, j, full)
			if tt.mode == modes.Sync && tt.schedule == "fors" {
				within(t, name, full.Span.Seconds(), flows.Span.Seconds(), 0.01)
				within(t, name, flows.Span.Seconds(), phase(t, j).Span.Seconds(), 0.01)
			}
			healthy := smallOf(t, cables, tt.mode, tt.schedule, tt.routing)
			healthy.Duration, healthy.Lossless = j.Duration, j.Lossless
			healthy.Changes = []Change{{At: 40 * time.Millisecond, Plan: j.Plan}, {At: 90 * time.Millisecond, Plan: healthy.Plan}}
			counts(t, healthy, outcome(t, healthy))
			counts(t, healthy, packets(t, healthy))
		}
	}
}

// Where switches choose, they choose between all live cables, upwards and downwards.
func TestCablesChosenByPacket(t *testing.T) {
	for _, route := range []string{routing.Spray, routing.Adaptive} {
		j := smallOf(t, cables, modes.Unsync, "", route, "leaf0-spine1/0")
		j.Duration, j.Lossless = 150*time.Millisecond, lossless(true)
		o := packets(t, j)
		counts(t, j, o)
		for id := range j.Plan.Tree.LowerLinks() {
			l := j.Plan.Tree.LinkOf(id)
			for w := range 2 {
				used := o.Wires[int(j.Plan.Tree.UpWire(l))+w] > 0
				expect.True(t, used == j.Plan.Tree.LinkAlive(l), "%s: %s carries something: %v", route, l, used)
			}
		}
	}
}
