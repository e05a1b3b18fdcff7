// Package sim answers: how long would these plans take in virtual time, on links of any rate? It
// predicts runs too large for a laptop (326 servers at 200 Gbit/s) from the plan that a real run
// would follow, and writes results of the same form.
//
// There are three models. Phase is for synchronised event building: a phase takes as long as its
// busiest wire, then comes a barrier. Fluid is for traffic that overlaps: flows share their wires
// max-min fairly, and virtual time jumps from one start or end of a flow to the next. Both count
// bytes on full-duplex wires of equal rate without losses and without queues. Packets is for
// lossless networks, where packets wait for room in the next buffer and behind each other.
//
// Package sim reads no clock, and all its random numbers come from a seed.
package sim

import (
	"context"
	"time"

	"evbench/builder"
	"evbench/builder/load"
	"evbench/internal/lists"
	"evbench/plan"
	"evbench/results"
	"evbench/routing"
	"evbench/scheduler/list"
)

// A Job is one case to compute.
type Job struct {
	builder.Setting
	builder.Common
	Repeat int
	Plan   *plan.Plan
	// Changes are the plans that take over later, rising in At. A message under way stays on its
	// path. If the path has died, the message waits for the next change.
	Changes []Change

	// Size returns the payload bytes of the fragment that a source (rank) sends for an event.
	// Header is in addition.
	Size   func(event uint64, source int) int
	Header int
	// Fragment is the mean of Size, in which buffers of a load are counted.
	Fragment int
	// Equal says that Size returns the same for all: one exchange is then computed once.
	Equal bool
	// Skip says that rows of a trace are left out of Size and Order, as a load refuses events.
	Skip func(load.Gap)

	Windows // of mode ordered

	// Exchanges is how many are built, in place of Duration; 0: Duration decides. For the phase
	// model and ordered mode.
	Exchanges int

	// BitPerSec is the message rate of a wire: its rate times the share that headers leave.
	BitPerSec float64
	Timing    Timing
	// Lossless is the network of the model of packets.
	Lossless Lossless
	// TCP is how packets of the model of streams leave.
	TCP TCP
}

// Windows are the settings of mode ordered.
type Windows struct {
	// Order plans a window, which follows those of a chain, from an exchange that counts from the
	// first of the warm-up. Where sizes are Equal its plan does not depend on those before.
	Order func(after *list.Chain, first uint64, exchanges int) (*list.Plan, error)
	// PortTokens leaves out the tokens for links alone, to show their value.
	PortTokens bool
}

// own is the size of the fragment that a server keeps for its event.
func (j *Job) own(roles *builder.Roles, event uint64, server int) uint64 {
	if !roles.Reads(server) {
		return 0
	}
	return uint64(j.Size(event, server))
}

// more reports whether exchanges begin at a moment, if begun have begun.
func (j *Job) more(begun int, at float64) bool {
	if j.Exchanges > 0 {
		return begun < j.Exchanges
	}
	return begun == 0 || at < j.Duration.Seconds()
}

// plans returns the plans of a job: the first, then one for each change.
func (j *Job) plans() []*plan.Plan {
	return append([]*plan.Plan{j.Plan}, lists.Map(j.Changes, func(c Change) *plan.Plan { return c.Plan })...)
}

// A Change is a plan that takes over while events are built.
type Change struct {
	At   time.Duration
	Plan *plan.Plan
}

// Timing is the time of events beside the bytes on the wires.
type Timing struct {
	Barrier  string        // tournament, central, dissemination; "" has none
	Round    time.Duration // one round of the barrier, or a token: one message and its handling
	Overhead time.Duration // of each phase, or of each fragment without phases, at the sender
	Jitter   time.Duration // each server starts a phase up to this much late, by the seed
	// Stragglers is the share of sends that Straggle delays further, by the seed.
	Stragglers float64
	Straggle   time.Duration
}

func (t Timing) punctual() bool { return t.Jitter == 0 && t.Stragglers == 0 }

// late is the delay, in seconds, for a drawn number.
func (t Timing) late(drawn uint64) float64 {
	at := t.Jitter.Seconds() * float64(drawn>>11) / (1 << 53)
	if t.Stragglers > 0 && float64(routing.Mix(drawn, 1)>>11)/(1<<53) < t.Stragglers {
		at += t.Straggle.Seconds()
	}
	return at
}

// An Outcome is the result of a model for a job. Servers count in ranks.
type Outcome struct {
	Span      time.Duration // first counted send to last counted receive
	Exchanges uint64        // whole ones
	Events    []uint64      // built, by server
	sent      []uint64      // payload bytes, by server
	Received  []uint64
	waited    []time.Duration // in barriers, by server
	Wires     []float64       // bytes with headers, by wire
	samples   []results.Sample
	Load      *load.Account // nil: the job has no load

	Packets packetCount // of the model of packets alone
}

// A packetCount is what the packet model counts beside the events. Servers count in ranks. Bytes
// are those of packets, headers of fragments included.
type packetCount struct {
	// Received are the bytes that came to each server from From to Until: all of Duration but the
	// first third, in which buffers and queues fill.
	Received    []int64
	From, Until time.Duration
	All         int64 // bytes that came to all servers in the whole case
	// Early are the bytes of All that came before bytes which the same server had sent earlier to
	// the same receiver. Held is the most that one server kept at a time until these came.
	Early, Held int64
	// Barriers is the total time with a barrier under way; synchronised only.
	Barriers time.Duration
	// Took are the times of all events of all servers, rising: from the request for the first
	// fragment, or from the opening of the exchange, to the last fragment.
	Took []time.Duration
}

// Progress receives the progress of a long job, in virtual time.
type Progress func(done, of time.Duration)

// A Model computes a job. Its error is the error of ctx, or says why the model does not fit the
// job.
type Model func(ctx context.Context, j *Job, progress Progress) (*Outcome, error)
