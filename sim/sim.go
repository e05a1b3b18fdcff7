// Package sim answers: how long would these plans take in virtual time, on links of any
// rate? What cannot run on a laptop (326 servers at 200 Gbit/s) is predicted from the
// plan that a real run would follow, and written as results of the same form.
//
// There are three models. Phase is for synchronised event building: a phase takes as long
// as the busiest wire in it, and then comes a barrier. Fluid is for everything that
// overlaps: flows share the wires they cross max-min fairly, and virtual time jumps from one
// start or end of a flow to the next. Both count bytes on full-duplex wires of equal rate
// with nothing lost and no queue that fills up. Packets is for lossless networks, where
// packets wait for room in the next buffer and behind each other.
//
// Nothing here reads a clock or draws a number that does not come from a seed.
package sim

import (
	"context"
	"math"
	"time"

	"evbench/plan"
	"evbench/results"
	"evbench/routing"
	"evbench/scheduler/sizes"
)

// A Job is one case to work out.
type Job struct {
	Name   string
	Repeat int
	// Mode is results' word for it: synchronised, unsynchronised, free-running, ordered.
	Mode string
	Plan *plan.Plan
	// Changes are the plans that take over later, rising in At. A message under way
	// stays on its path; one whose path has died waits for the change that follows.
	Changes []Change

	// Size returns the payload bytes of the fragment that a source (rank) sends for
	// an event. Header bytes come on top of each.
	Size   func(event uint64, source int) int
	Header int
	// Equal says that Size returns the same for all: what one exchange costs is then
	// worked out once.
	Equal bool

	Windows  // of mode ordered
	Requests // of modes without phases

	Duration time.Duration // virtual, of the measured part
	// Exchanges is how many are built, in place of Duration; 0: by that. The phase model and
	// ordered mode have it.
	Exchanges int
	Interval  time.Duration // between samples
	Warmup    int           // exchanges thrown away first

	// BitPerSec is what a wire carries of messages: rate times the share that
	// headers leave.
	BitPerSec float64
	Timing    Timing
	// Quantum, of the fluid model, is the step in which rates are worked out anew;
	// 0 is exact. It changes nothing where it is not needed: see Quantised.
	Quantum time.Duration
	// Lossless is the network of the model of packets.
	Lossless Lossless
	Seed     uint64
}

// Windows are what mode ordered needs.
type Windows struct {
	// Window is how many exchanges a window has, and Order plans one, which follows those of a
	// chain, from an exchange on that counts from the first of the warm-up. Where sizes are
	// Equal its plan does not depend on those before.
	Window int
	Order  func(after *sizes.Chain, first uint64, exchanges int) (*sizes.Plan, error)
	// PortTokens leaves out the tokens that are for links alone, to show what these are worth.
	PortTokens bool
}

// Requests limit what is under way without phases.
type Requests struct {
	// Credits is how many events a server has in flight without a schedule, and of how many
	// exchanges a receiver takes fragments when free-running.
	Credits int
	// Sources is how many fragments of one event are under way at most, 0 for all, and Balanced
	// has events assigned by their sizes; without a schedule only.
	Sources  int
	Balanced bool
}

// more reports whether exchanges begin at a moment, if so many have.
func (j *Job) more(begun int, at float64) bool {
	if j.Exchanges > 0 {
		return begun < j.Exchanges
	}
	return begun == 0 || at < j.Duration.Seconds()
}

// plans are those of a job, the first and then one a change.
func (j *Job) plans() []*plan.Plan {
	out := []*plan.Plan{j.Plan}
	for _, c := range j.Changes {
		out = append(out, c.Plan)
	}
	return out
}

// A Change is a plan that takes over while events are built.
type Change struct {
	At   time.Duration
	Plan *plan.Plan
}

// Timing is what events cost beside the bytes on the wires.
type Timing struct {
	Barrier  string        // tournament, central, dissemination; "" has none
	Round    time.Duration // one round of the barrier, or a token: one message and its handling
	Overhead time.Duration // of each phase, or of each fragment without phases, at the sender
	Jitter   time.Duration // each server starts a phase up to this much late, by the seed
	// Straggle is by how much a share of all sends, Stragglers, is later yet, by the seed.
	Stragglers float64
	Straggle   time.Duration
}

func (t Timing) punctual() bool { return t.Jitter == 0 && t.Stragglers == 0 }

// late is how late one is, in seconds, that has drawn a number.
func (t Timing) late(drawn uint64) float64 {
	at := t.Jitter.Seconds() * float64(drawn>>11) / (1 << 53)
	if t.Stragglers > 0 && float64(routing.Mix(drawn, 1)>>11)/(1<<53) < t.Stragglers {
		at += t.Straggle.Seconds()
	}
	return at
}

// An Outcome is what a model has worked out of a job. Servers count in ranks.
type Outcome struct {
	Span      time.Duration // first send to last receive of what is counted
	Exchanges uint64        // whole ones
	Events    []uint64      // built, by server
	sent      []uint64      // payload bytes, by server
	Received  []uint64
	waited    []time.Duration // in barriers, by server
	Wires     []float64       // bytes with headers, by wire
	samples   []results.Sample

	Packets PacketCount // of the model of packets alone
}

// A PacketCount is what the model of packets counts beside the events. Servers count in
// ranks; bytes are those of packets, headers of fragments included.
type PacketCount struct {
	// Received are the bytes that came to each server from From to Until: all of Duration
	// but the first third, in which buffers and queues fill.
	Received    []int64
	From, Until time.Duration
	All         int64 // bytes that came to all servers in the whole case
	// Early are those of All that came before some which the same server had sent to the
	// same one earlier; Held is the most that one server kept at a time until these came.
	Early, Held int64
	// Barriers is for how long in all a barrier was under way; synchronised only.
	Barriers time.Duration
	// Took are the times of all events of all servers, rising: from asking for the first
	// fragment, or from when the exchange was opened, to having the last.
	Took []time.Duration
}

// Share returns what part of its link each server received in the window.
func (c *PacketCount) Share(bitPerSec float64) []float64 {
	out := make([]float64, len(c.Received))
	for i, n := range c.Received {
		out[i] = float64(n) * 8 / bitPerSec / (c.Until - c.From).Seconds()
	}
	return out
}

// Late returns the time within which so large a share of the events was built, by nearest
// rank; 0 without events.
func (c *PacketCount) Late(share float64) time.Duration {
	if len(c.Took) == 0 {
		return 0
	}
	i := int(math.Ceil(share*float64(len(c.Took)))) - 1
	return c.Took[min(max(i, 0), len(c.Took)-1)]
}

// Progress is told how far a long job is, in virtual time.
type Progress func(done, of time.Duration)

// A Model works out a job. An error is one of ctx, or says why the model cannot
// be used for the job.
type Model func(ctx context.Context, j *Job, progress Progress) (*Outcome, error)
