// Package wire answers: what do the controller and its workers say to each other? It
// has the messages, their form in bytes, the proof on both sides that they know the
// secret of the run, and a Conn that carries messages over TCP, TLS or a Unix socket
// (which crosses network namespaces).
//
// It carries no event data, and decides nothing. Frames are versioned and
// bounded in length; a decoder never trusts a length, a type or a body. Ranks
// are 0..S-1, servers are positions, durations are nanoseconds, sizes are
// bytes.
package wire

import (
	"time"

	"evbench/barrier"
	"evbench/builder"
	"evbench/results"
)

// Modes of event building, as they are called in scenarios.
const (
	Sync        = results.Sync
	Unsync      = results.Unsync
	FreeRunning = results.FreeRunning
	Ordered     = results.InOrder
)

// What becomes of a fragment's payload, and how much of it is verified.
const (
	DeliverBuffer  = builder.DeliverBuffer
	DeliverDiscard = builder.DeliverDiscard
	CheckHeader    = builder.CheckHeader
	CheckPayload   = builder.CheckPayload
)

// BarrierMPI is the barrier that the transport has itself (MPI_Barrier); all
// other names are those of package barrier.
const BarrierMPI = barrier.MPI

// Challenge is the first message of all: what the controller says to who connects.
type Challenge struct{ Nonce string } // hexadecimal, as those below

// Hello is the first message of a worker. Anything else is refused.
type Hello struct {
	Nonce  string       // the worker's
	Proof  string       // that it knows the secret of the run
	Server int          // position
	Data   string       // address that other workers reach it at, where it knows one
	Host   results.Host // its machine; server and addresses are above
	PID    int
}

// Welcome answers a Hello that is accepted.
type Welcome struct{ Proof string } // that the controller knows the secret, too

// Refused answers one that is not; the connection is closed behind it.
type Refused struct{ Reason string }

// A Step is what one rank does in one phase; see scheduler.Step, to which it
// converts. A spine of -1 leaves the path to the routing tables; a peer may be
// Idle.
type Step struct {
	To, ToSpine     int
	From, FromSpine int
}

// Idle is the To or From of a rank that does not send or receive in a phase.
const Idle = -1

// A Peer is one server of a case. Its rank is its place in the list.
type Peer struct {
	Server int      // position
	Addrs  []string // what they mean is between who fills them and who opens the endpoint
}

// A Case is what all servers of a case are told.
type Case struct {
	Name    string
	Repeat  int
	Epoch   uint32 // of the plan
	Mode    string // Sync, Unsync, FreeRunning or Ordered
	Barrier string // of a synchronised case
	Peers   []Peer
	Back    []int `json:",omitempty"` // the path of answers by that of messages; nil: the same

	Fragment int // mean payload bytes
	Sizes    builder.Distribution
	Seed     uint64

	Sources int // outstanding requests for one event at most, unsynchronised; 0: all
	Credits int // events in flight of each server, without barrier; Ordered: most exchanges of a window
	// AsyncCredits is the same for the parts of a synchronised case that a PlanUpdate makes
	// unsynchronised; 0: it never does.
	AsyncCredits int `json:",omitempty"`

	Warmup  uint64 // exchanges (unsynchronised: events of each server) done before anything counts
	Deliver string // DeliverBuffer or DeliverDiscard
	Check   string // CheckHeader or CheckPayload
	IO      string // how the transport moves payload, where it has a choice; "": as it likes

	Timeout  time.Duration // how long nothing may happen before the case ends with an error
	Interval time.Duration // between samples
	Pairs    bool          // count what comes by source, too: Totals.Sources
	Trace    int           `json:",omitempty"` // keep so many of the last spans: Totals.Trace; at most MaxTrace
}

// FragmentSizes are those of the fragments of the case.
func (c Case) FragmentSizes() *builder.Sizes {
	return &builder.Sizes{Mean: c.Fragment, Seed: c.Seed, Servers: len(c.Peers), Distribution: c.Sizes}
}

// Configure starts a case on a worker, which reports itself stuck after Timeout without
// progress. Run numbers the cases of a session; every later message carries it, so that
// none is taken for one of another case.
type Configure struct {
	Run  uint32
	Rank int
	Case
	Row Steps // of this rank only; empty for ordered and unpinned unsynchronised cases
	// Standby are paths to open beforehand that the row does not need: another plan may.
	Standby []Path `json:",omitempty"`
}

// A Path is a connection to a peer through a spine.
type Path struct {
	Peer  int `json:"p"` // rank
	Spine int `json:"s"`
}

// Ready says that all connections of the case are open.
type Ready struct {
	Run uint32
	IO  string // how the transport moves payload, where it has a choice
}

// OpenTime is how long a worker that opens the connections of a case may not get on: the
// time-out, a while for each of the standby ones, which are beside those of its row, and
// a moment for each pair of servers: all of them may be on one machine.
func OpenTime(timeout time.Duration, servers, standby int) time.Duration {
	return timeout + time.Duration(standby)*standbyTime + time.Duration(servers*(servers-1))*pairTime
}

const (
	standbyTime = 10 * time.Millisecond // for one connection, while all servers of a machine open theirs
	pairTime    = 3 * time.Millisecond
)

// Grant lets workers start exchanges below Until, no more and no fewer.
type Grant struct {
	Run   uint32
	Until uint64
}

// Measure says that the warm-up is over everywhere and the network is quiet:
// counters start from zero, sampling starts. Without a schedule, the events from
// First on count.
type Measure struct {
	Run   uint32
	First uint64
}

// Hold takes back what was granted and has not begun: no exchange begins until the next
// Grant. It is answered with Held.
type Hold struct{ Run uint32 }

// Held says that all exchanges below Begun have begun or are done, and no other begins.
type Held struct {
	Run   uint32
	Begun uint64
}

// PlanUpdate replaces the worker's row, and how it builds events, from exchange From,
// which nobody has begun. Unsynchronised, an exchange is one event of each server, and
// the events of the exchanges from From on have the ids from From times servers on. Such
// a part of a case without schedule ends with the Grant of an exchange of the next plan.
type PlanUpdate struct {
	Run   uint32
	Epoch uint32
	From  uint64
	Mode  string // Sync or Unsync; "": as before
	Row   Steps
}

// Updated says that the worker has the plan, and every connection that it needs is open.
type Updated struct{ Run, Epoch uint32 }

// Assign hands events to an unsynchronised worker.
type Assign struct {
	Run    uint32
	Events []uint64
}

// Completed reports events that a worker has finished with: built, or given up.
type Completed struct {
	Run   uint32
	Built []uint64
	Lost  []uint64
}

// Progress says that all exchanges below Exchange are done.
type Progress struct {
	Run      uint32
	Exchange uint64
}

// Samples carry what was counted in an interval.
type Samples struct {
	Run    uint32
	Sample results.Sample
}

// Finish ends a case: every worker has done what it was granted or assigned, so
// that nobody needs this one as a source any more.
type Finish struct{ Run uint32 }

// Abort ends a case early: the worker stops where it is and sends Finished.
type Abort struct{ Run uint32 }

// A Position is where a worker is in a case, and for whom it waits there.
type Position struct {
	Exchange uint64
	Phase    int    // -1: in no phase
	Stage    string // one of the Stage constants
	Peers    []int  // ranks waited for; empty: for none, or it cannot be known

	// Of ordered mode: Awaits are what is awaited besides, by who sends it. Told is what was
	// sent in the windows under way and the one before, by whom it was sent to.
	Awaits []Token `json:",omitempty"`
	Told   []Token `json:",omitempty"`
}

// A Token lets a fragment start: number Send of those that its sender has in the window
// that begins with exchange Window. Rank is the other end of the token. In a Position a
// Send of -1 is the very fragment that Rank sends, or is sent, in exchange Window.
type Token struct {
	Rank   int    `json:"r"`
	Window uint64 `json:"w"`
	Send   int    `json:"s"`
}

// FragmentOf is a fragment in a Position.
func FragmentOf(rank int, exchange uint64) Token { return Token{rank, exchange, -1} }

// Stages of a Position.
const (
	StageConnect  = "connecting"
	StageIdle     = "waiting for the controller"
	StageExchange = "exchange"
	StageBarrier  = "barrier"
	StageEvent    = "event building" // without phases
	StageToken    = "waiting for tokens"
)

// Finished ends the worker's part of a case. Its data connections stay open
// until Release, so that no peer takes the end for a failure.
type Finished struct {
	Run     uint32
	Aborted bool
	At      Position // where it was, when aborted
	Totals  Totals
}

// A Range is the exchanges From..To-1.
type Range struct{ From, To uint64 }

// Totals are what one worker did. Warm-up is left out, except of Done and of
// the counters of what went wrong.
type Totals struct {
	Exchanges     uint64  // counted and done (unsynchronised: 0)
	Events        uint64  // counted and complete
	Done          []Range // exchanges whose event is complete, warm-up included
	SentBytes     uint64  // payload over the network, own fragments excluded
	ReceivedBytes uint64
	EventBytes    uint64 // payload of the complete events, own fragments included

	// FirstSend and LastReceive are the worker's own monotonic clock since
	// Measure.
	FirstSend, LastReceive time.Duration
	// EventMin..EventMax are the time of one exchange, first send to last
	// receive; without a barrier: of one event, from when it was opened.
	EventMin, EventMean, EventMax time.Duration

	BarrierWait time.Duration
	Tokens      uint64 `json:",omitempty"` // sent
	Lost        uint64 // events given up
	Late        uint64 // fragments
	Duplicate   uint64
	Corrupt     uint64
	Stray       uint64 // of another event, source, destination or epoch than expected
	Retransmits uint64

	// Sources are, by rank, what came from each source; empty where Configure did
	// not ask for it, or the case did not begin.
	Sources []Source `json:",omitempty"`

	// Load is what the worker's machine did from Measure to the end of its loop; nil where
	// it does not tell, or another worker tells for it.
	Load *results.Load `json:",omitempty"`
	// Took is how long each counted event took.
	Took Took `json:",omitzero"`
	// Trace is what the worker did, the last Case.Trace spans of it.
	Trace []Span `json:",omitempty"`
}

// MaxTook bounds the entries of a Took.
const MaxTook = 1024

// Took is the time from the completion of one counted event to that of the next, of the
// first: from the first send. So that it stays small, an entry is the sum over Stride
// events, a power of two; the last entry may be of fewer.
type Took struct {
	Stride    int
	Events    uint64 // that all entries stand for
	Durations []time.Duration
}

// A Source is what one worker received of another in the counted part. Together
// they make ReceivedBytes. The reports of 4,096 servers are below 300 KB each.
type Source struct {
	Bytes uint64 `json:"b"` // payload
	// Took is how long something was awaited from it, up to the last of it that
	// came; 0 where nobody can tell, as free-running.
	Took time.Duration `json:"t"`
}

// Error reports that a worker's case failed, in place of Finished. The worker
// stays in the session.
type Error struct {
	Run    uint32
	At     Position
	Stuck  bool // nothing happened for the time-out; false: something broke
	Text   string
	Totals Totals
}

// Release lets a worker close the connections of a case: nobody needs them.
type Release struct{ Run uint32 }

// Probe asks a worker, between cases, how it reaches another one.
type Probe struct {
	Run  uint32
	Peer int    // position
	Data string // as that worker gave it in its Hello
	// Routers asks for the router half way to each address but the first, too.
	Routers bool
}

// Probed answers a Probe; Reached is empty where the worker cannot probe.
type Probed struct {
	Run     uint32
	Peer    int
	Reached []Reach // by address of the peer
}

// A Reach is how one address of a worker is reached from another worker.
type Reach struct {
	Addr string
	Err  string        // why no connection comes about; "": it does
	Hops int           // routers on the way there; -1: not known
	RTT  time.Duration // shortest, of a small packet; 0: not known
	// Router is the address that the router half way there calls itself by; "":
	// not asked for, there is none, or it does not answer.
	Router string
}

// Ping asks for a Pong. The controller sends one each second or so.
type Ping struct{}

// Pong answers it. Moves grows with every step forward in the case under way, of setting
// it up too, and 0 is none: who answers but does not move is told from one whose exchange takes long.
type Pong struct{ Moves uint64 }

// Patience asks a worker not to take it for its own trouble that nothing moves within For
// from now: links are dead, or were until a moment ago. It replaces the one before.
type Patience struct {
	Run uint32
	For time.Duration
}

// Quit ends the session.
type Quit struct{}
