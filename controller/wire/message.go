// Package wire is the protocol between the controller and its workers. It has the messages, their
// form in bytes, the proof on both sides that they know the secret of the run, and a Conn that
// carries messages over TCP, TLS or a Unix socket (which crosses network namespaces).
//
// It carries no event data, and decides nothing. Frames are versioned and bounded in length; a
// decoder never trusts a length, a type or a body. Ranks are 0..S-1, servers are positions,
// durations are nanoseconds, sizes are bytes.
package wire

import (
	"time"

	"evbench/barrier"
	"evbench/builder"
	"evbench/builder/load"
	"evbench/builder/modes"
	"evbench/results"
)

// BarrierMPI is the transport's own barrier (MPI_Barrier). Package barrier has all other names.
const BarrierMPI = barrier.MPI

// Challenge is the first message: the controller sends it to a new connection.
type Challenge struct{ Nonce string } // hexadecimal, as all nonces and proofs

// Hello is the first message of a worker. Anything else is refused.
type Hello struct {
	Nonce  string       // the worker's
	Proof  string       // of knowing the secret of the run
	Server int          // position
	Data   string       // address at which other workers reach it, if known
	Host   results.Host // its machine; server and addresses are above
	PID    int
}

// Welcome answers a Hello that is accepted.
type Welcome struct{ Proof string } // that the controller knows the secret, too

// Refused answers any other Hello; the connection is then closed.
type Refused struct{ Reason string }

// A Step is the work of one rank in one phase; it converts to scheduler.Step. A spine of -1 leaves
// the path to the routing tables; a peer may be Idle.
type Step struct {
	To, ToSpine     int
	From, FromSpine int
}

// Idle is the To or From of a rank that does not send or receive in a phase.
const Idle = -1

// A Peer is one server of a case. Its rank is its place in the list.
type Peer struct {
	Server int      // position
	Addrs  []string // the opener of the endpoint defines their meaning
}

// A Case is the settings that all servers of a case get.
type Case struct {
	builder.Setting
	builder.Common
	Repeat int
	Epoch  uint32 // of the plan
	Peers  []Peer
	// Readers are the ranks that send fragments, Builders those that build events; nil: all.
	Readers, Builders []int `json:",omitempty"`

	Back []int `json:",omitempty"` // path of answers, by path of messages; nil: the same
	// Ports: a spine of a step is the source port of its message.
	Ports bool `json:",omitempty"`

	Fragment int // mean payload bytes
	Sizes    builder.Distribution

	// AsyncCredits is Credits for the parts of a synchronised case that a PlanUpdate makes
	// unsynchronised; 0: there are no such parts.
	AsyncCredits int `json:",omitempty"`

	Pairs bool // also count by source: Totals.Sources
	// Course: synchronised, also what came when: Source.Course.
	Course bool `json:",omitempty"`
	Trace  int  `json:",omitempty"` // number of last spans to keep: Totals.Trace; at most MaxTrace
}

// FragmentSizes returns the sizes of the fragments of the case.
func (c Case) FragmentSizes() *builder.Sizes {
	return &builder.Sizes{Mean: c.Fragment, Seed: c.Seed, Roles: c.Roles(), Distribution: c.Sizes}
}

// Roles returns the roles of the ranks of the case.
func (c Case) Roles() builder.Roles {
	return builder.Roles{Servers: len(c.Peers), Readers: c.Readers, Builders: c.Builders}
}

// Configure starts a case on a worker, which reports itself stuck after Timeout without progress.
// Run numbers the cases of a session. Every later message carries Run, so that messages of
// different cases are not confused.
type Configure struct {
	Run  uint32
	Rank int
	Case
	Row Steps // of this rank only; empty for ordered and unpinned unsynchronised cases
	// Standby are paths to open beforehand that the row does not need: another plan may need them.
	Standby []Path `json:",omitempty"`
}

// A Reply is a message of a worker about a case: that of RunNumber.
type Reply interface{ RunNumber() uint32 }

func (m Ready) RunNumber() uint32     { return m.Run }
func (m Held) RunNumber() uint32      { return m.Run }
func (m Updated) RunNumber() uint32   { return m.Run }
func (m Completed) RunNumber() uint32 { return m.Run }
func (m Progress) RunNumber() uint32  { return m.Run }
func (m Samples) RunNumber() uint32   { return m.Run }
func (m Finished) RunNumber() uint32  { return m.Run }
func (m Error) RunNumber() uint32     { return m.Run }

// A Path is a connection to a peer through a spine.
type Path struct {
	Peer  int `json:"p"` // rank
	Spine int `json:"s"`
}

// Ready says that all connections of the case are open.
type Ready struct {
	Run uint32
	IO  string // how the transport moves payload, if it has a choice
}

// OpenTime is how long a worker that opens the connections of a case may make no progress: the
// time-out, standbyTime for each standby path, and pairTime for each pair of servers, since all may
// be on one machine.
func OpenTime(timeout time.Duration, servers, standby int) time.Duration {
	return timeout + time.Duration(standby)*standbyTime + time.Duration(servers*(servers-1))*pairTime
}

const (
	standbyTime = 10 * time.Millisecond // for one connection, while all servers of a machine open theirs
	pairTime    = 3 * time.Millisecond
)

// Grant lets workers start exchanges below Until, no more and no fewer. Due are, where the case has a load, when the
// events of this worker happened that it builds from the exchange From on, by its own clock in ns since 1970. Gaps are
// those of the sizes, of events of these exchanges.
type Grant struct {
	Run   uint32
	Until uint64
	From  uint64  `json:",omitempty"`
	Due   []int64 `json:",omitempty"`

	Gaps []load.Gap `json:",omitempty"`
}

// Measure says that the warm-up is over everywhere and the network is quiet: counters start from
// zero, sampling starts. Without a schedule, events count from First on.
type Measure struct {
	Run   uint32
	First uint64
}

// Hold takes back grants of exchanges that have not begun: no exchange begins until the next Grant.
// Held answers it. With a Row it brings the next plan, too: a PlanUpdate without a row follows, when it is
// known from which exchange the plan holds.
type Hold struct {
	Run   uint32
	Epoch uint32
	Mode  modes.Mode // as of PlanUpdate
	Row   Steps
}

// Held says that all exchanges below Begun have begun or are done, and that no other begins. Has is
// Updated for the plan that came with Hold.
type Held struct {
	Run   uint32
	Begun uint64
	Has   bool
}

// PlanUpdate replaces the worker's row, and its mode, from exchange From, which no worker has
// begun. Unsynchronised, an exchange is one event of each server, and the ids of the events from
// exchange From on start at From times servers. Such a part of a case without schedule ends with
// the Grant of an exchange of the next plan.
type PlanUpdate struct {
	Run   uint32
	Epoch uint32
	From  uint64
	Mode  modes.Mode // Sync or Unsync; "": as before
	Row   Steps
}

// Updated says that the worker has the plan, and that all its connections are open.
type Updated struct{ Run, Epoch uint32 }

// Assign hands events to an unsynchronised worker.
type Assign struct {
	Run    uint32
	Events []uint64
	Due    []int64 `json:",omitempty"` // of each event, as of Grant
}

// Completed reports events that a worker has built or given up.
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

// Samples carries the counts of an interval.
type Samples struct {
	Run    uint32
	Sample results.Sample
}

// Finish ends a case: every worker has done its granted or assigned work, so this worker is no
// longer needed as a source.
type Finish struct{ Run uint32 }

// Abort ends a case early: the worker stops where it is and sends Finished.
type Abort struct{ Run uint32 }

// A Position is where a worker is in a case, and which ranks it waits for.
type Position struct {
	Exchange uint64
	Phase    int    // -1: in no phase
	Stage    string // one of the Stage constants
	Peers    []int  // ranks waited for; empty: none, or unknown

	// For ordered mode: Awaits is what the worker also waits for, with Rank the sender. Told is
	// what it sent in the windows under way and the one before, with Rank the receiver.
	Awaits []Token `json:",omitempty"`
	Told   []Token `json:",omitempty"`
}

// A Token lets a fragment start: number Send of its sender's fragments in the window that begins
// with exchange Window. Rank is the other end of the token. In a Position a Send of -1 stands for
// the fragment itself, sent by or to Rank in exchange Window.
type Token struct {
	Rank   int    `json:"r"`
	Window uint64 `json:"w"`
	Send   int    `json:"s"`
}

// FragmentOf returns the Token that stands for a fragment in a Position.
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

// Finished ends the worker's part of a case. Its data connections stay open until Release, so that
// no peer takes their end for a failure.
type Finished struct {
	Run     uint32
	Aborted bool
	At      Position // where it was, when aborted
	Totals  Totals
}

// A Range is the exchanges From..To-1.
type Range struct{ From, To uint64 }

// Totals are the counts of one worker. They exclude the warm-up, except for Done and the error
// counters.
type Totals struct {
	Exchanges     uint64  // counted and done (unsynchronised: 0)
	Events        uint64  // counted and complete
	Done          []Range // exchanges whose event is complete, warm-up included
	SentBytes     uint64  // payload over the network, own fragments excluded
	ReceivedBytes uint64
	EventBytes    uint64 // payload of the complete events, own fragments included

	// FirstSend and LastReceive are times since Measure on the worker's own monotonic clock.
	FirstSend, LastReceive time.Duration
	// EventMin..EventMax are the time of one exchange, first send to last receive; without a
	// barrier: the time of one event, from its opening.
	EventMin, EventMean, EventMax time.Duration

	BarrierWait time.Duration
	Tokens      uint64 `json:",omitempty"` // sent
	Lost        uint64 // events given up
	Late        uint64 // fragments
	Duplicate   uint64
	Corrupt     uint64
	Stray       uint64 // of another event, source, destination or epoch than expected
	Retransmits uint64

	// Sources are, by rank, the data from each source; empty if Configure did not ask for it, or
	// the case did not begin.
	Sources []Source `json:",omitempty"`

	// Load is the load of the worker's machine from Measure to the end of its loop; nil if it is
	// not recorded, or if another worker reports it.
	Load *results.Load `json:",omitempty"`
	// Took is how long each counted event took.
	Took Took `json:",omitzero"`
	// Latency is how long after it happened each counted event was built, and Waited how long after it happened its
	// exchange, or the requests for its fragments, began; empty without a load.
	Latency []load.Bar `json:",omitempty"`
	Waited  []load.Bar `json:",omitempty"`
	// Parts are those of Latency, see load.Parts.
	Parts [load.PartCount][]load.Bar `json:",omitzero"`
	// Incomplete events were closed without some fragments (load.Load.After); Absent are, by rank, those without its
	// fragment, empty if there are none.
	Incomplete uint64   `json:",omitempty"`
	Absent     []uint64 `json:",omitempty"`
	// Trace holds the last Case.Trace spans of the worker.
	Trace []Span `json:",omitempty"`
}

// MaxTook bounds the entries of a Took.
const MaxTook = 1024

// Took is the time from the completion of one counted event to that of the next; for the first:
// from the first send. To keep it small, an entry is the sum over Stride events, a power of two;
// the last entry may cover fewer.
type Took struct {
	Stride    int
	Events    uint64 // covered by all entries
	Durations []time.Duration
}

// A Source is what one worker received from another in the counted part, and what it sent twice to it. All Bytes together are
// ReceivedBytes. The reports of 4,096 servers are below 300 KB each.
type Source struct {
	Bytes uint64 `json:"b"` // payload
	// Took is how long a fragment from it was awaited, up to its last arrival; 0 if it is unknown,
	// as free-running.
	Took time.Duration `json:"t"`
	// Resent are segments to it that the network sent twice.
	Resent uint64 `json:"r,omitempty"`
	// Messages came of it; Longest is the one awaited longest, LongestAt when it came, since Measure.
	Messages  uint64        `json:"n,omitempty"`
	Longest   time.Duration `json:"l,omitempty"`
	LongestAt time.Duration `json:"a,omitempty"`
	// Soonest is the least wait for the beginning of one: servers leave a barrier one after the other. 0: not known.
	Soonest time.Duration `json:"s,omitempty"`
	// Bucket is how long a part of Course is; both empty unless Case.Course.
	Bucket time.Duration  `json:"w,omitempty"`
	Course results.Course `json:"c,omitempty"`
}

// Error reports that a worker's case failed, in place of Finished. The worker stays in the session.
type Error struct {
	Run    uint32
	At     Position
	Stuck  bool // no progress for the time-out; false: something broke
	Text   string
	Totals Totals
}

// Release lets a worker close the connections of a case: they are no longer needed.
type Release struct{ Run uint32 }

// Probe asks a worker, between cases, how it reaches another one.
type Probe struct {
	Run  uint32
	Peer int    // position
	Data string // as that worker gave it in its Hello
	// Routers also asks for the router half way to each address but the first.
	Routers bool
}

// Probed answers a Probe; Reached is empty if the worker cannot probe.
type Probed struct {
	Run     uint32
	Peer    int
	Reached []Reach // by address of the peer
}

// A Reach is how one address of a worker is reached from another worker.
type Reach struct {
	Addr string
	Err  string        // why no connection opened; "": it did
	Hops int           // routers on the way; -1: not known
	RTT  time.Duration // shortest, of a small packet; 0: not known
	// Router is the address of the router half way; "": not asked for, no router, or no answer.
	Router string
}

// Trace asks a worker, in a case or between two, for the routers on the ways of connections, Gap between two questions.
type Trace struct {
	Run    uint32
	Trails []Trail
	Gap    time.Duration
}

// A Trail is the way of a TCP connection, or of UDP, From an address of this worker, "" any, and a Port, To an address with its port:
// what is asked are the routers First to Last, until To itself answers.
type Trail struct {
	UDP               bool
	From, To          string
	Port, First, Last int
	Wait              time.Duration // for each answer, at most; 0: as long as some routers take
}

// Traced answers a Trace, in its order; Seen is empty if the worker cannot trace.
type Traced struct {
	Run  uint32
	Seen []Seen
}

// Seen is the answers along a Trail.
type Seen struct {
	Hops    []string // from its First router on; "": no answer
	Reached bool     // the destination has answered
	InUse   bool     // somebody else has the port
	Err     string   // why nothing could be asked
}

// Ping asks for a Pong. The controller sends one each second or so.
type Ping struct {
	Sent int64 `json:",omitempty"` // by the controller's clock in ns since 1970
}

// Pong answers a Ping, with its Sent and the worker's own clock. Moves grows with every step forward in the case under way, its set-up
// included; 0: no progress. It tells a stuck worker from one with a long exchange.
type Pong struct {
	Moves       uint64
	Sent, Clock int64 `json:",omitempty"`
}

// Patience asks a worker not to blame itself for a standstill within For from now: links are dead,
// or were until a moment ago. It replaces the one before.
type Patience struct {
	Run uint32
	For time.Duration
}

// Quit ends the session.
type Quit struct{}
