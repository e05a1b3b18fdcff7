// Package results answers: what was measured, and is it credible? It holds the samples of a run as
// they stream in, link counters, a summary of each case with the rules of its verdict, and the
// manifest, with their JSON forms. Units are in the field names and in the columns of the files. It
// measures nothing, draws nothing and opens no file; results/store keeps them in files.
package results

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/internal/kept"
	"evbench/results/attribution"
)

// A Sample is the counters of one server for one interval.
type Sample struct {
	Case             string  `col:"case" unit:"" key:"yes"`
	Repeat           int     `col:"repeat" unit:""`
	TSec             float64 `col:"t_s" unit:"s" key:"yes"` // end of the interval, seconds since the case's measured part began
	IntervalSec      float64 `col:"interval_s" unit:"s" key:"yes"`
	Server           int     `col:"server" unit:"" key:"yes"` // position
	Events           uint64  `col:"events" unit:"event"`
	EventBytes       uint64  `col:"event_size_byte" unit:"byte"` // size of one complete event, mean over the interval; 0 without events
	PayloadBytes     uint64  `col:"payload_byte" unit:"byte"`    // payload received
	GoodputBitPerSec float64 `col:"goodput_bit_per_s" unit:"bit/s" digits:"0"`
	BarrierWaitSec   float64 `col:"barrier_wait_s" unit:"s"`
	Late             uint64  `col:"late" unit:"fragment"`
	Duplicate        uint64  `col:"duplicate" unit:"fragment"`
	Corrupt          uint64  `col:"corrupt" unit:"fragment"`
	Retransmits      uint64  `col:"retransmits" unit:"segment"`

	// Where a clock offers events, and not in files: their mean latency, and how the buffers stand at the controller.
	LatencySec float64  `json:",omitempty"`
	Buffers    *Buffers `json:",omitempty"`
}

// A LinkCount is the traffic of one direction of a cable in the measured part.
type LinkCount struct {
	Case         string `json:"case" unit:"" key:"yes"`
	Repeat       int    `json:"repeat" unit:""`
	Link         string `json:"link" unit:"" key:"yes"`      // "leaf0-spine3", "server17-leaf4"
	Direction    string `json:"direction" unit:"" key:"yes"` // "up": away from the servers
	Bytes        uint64 `json:"bytes" unit:"byte"`
	Packets      uint64 `json:"packets" unit:"packet"`
	Drops        uint64 `json:"drops" unit:"packet"`
	PlannedBytes uint64 `json:"planned_bytes" unit:"byte" known:"Planned"` // what the plan puts on it; 0 where a plan does not say
	Planned      bool   `json:"planned" unit:"" csv:"-"`                   // PlannedBytes means something
}

// Add adds another slice's traffic of the same direction of the same cable.
func (l *LinkCount) Add(o LinkCount) {
	l.Bytes += o.Bytes
	l.Packets += o.Packets
	l.Drops += o.Drops
	l.PlannedBytes += o.PlannedBytes
	l.Planned = l.Planned && o.Planned
}

// A PairCount is the bytes that one server received from another in the measured part, and the time
// that it waited for them. Bytes over Sec is the rate of the pair while served: a pair alone on a
// link gets the rate of the link, one of k that share it gets the k-th part.
type PairCount struct {
	Case   string `col:"case" unit:"" key:"yes"`
	Repeat int    `col:"repeat" unit:""`
	Src    int    `col:"src" unit:"" key:"yes"` // positions
	Dst    int    `col:"dst" unit:"" key:"yes"`
	Bytes  uint64 `col:"bytes" unit:"byte"` // payload
	// Sec is, synchronised, the time from the begin of a phase to the arrival of its fragment;
	// unsynchronised, the time with a request open; both summed over the fragments that came. It is
	// the whole measured part where the pair was not timed, as free-running.
	Sec float64 `col:"seconds" unit:"s" digits:"9"`
	// Resent is how often the network sent a segment of Src to Dst again, requests included; 0 where the transport cannot tell.
	Resent uint64 `col:"resent" unit:"segment"`
	// Messages are the fragments that Sec is of, LongestSec the one that took longest, LongestAtSec when that had come;
	// 0 where the pair was not timed.
	Messages     uint64  `col:"messages" unit:"fragment"`
	LongestSec   float64 `col:"longest_s" unit:"s" digits:"9"`
	LongestAtSec float64 `col:"longest_at_s" unit:"s"`
	// SoonestSec is the least wait for the beginning of one, which is long where Dst leaves barriers early, or Src late.
	SoonestSec float64 `col:"soonest_s" unit:"s" digits:"9"`
	// BucketSec is how long a part of Course is; 0 without one, as in the sum of slices.
	BucketSec float64 `col:"bucket_s" unit:"s"`
	Course    Course  `col:"course" unit:"%"`
}

// Add adds a later slice, which began at a time in seconds.
func (p *PairCount) Add(o PairCount, began float64) {
	p.BucketSec, p.Course = 0, ""
	p.Bytes, p.Sec, p.Resent, p.Messages = p.Bytes+o.Bytes, p.Sec+o.Sec, p.Resent+o.Resent, p.Messages+o.Messages
	if o.LongestSec > p.LongestSec {
		p.LongestSec, p.LongestAtSec = o.LongestSec, o.LongestAtSec+began
	}
	if p.SoonestSec == 0 || o.SoonestSec > 0 && o.SoonestSec < p.SoonestSec {
		p.SoonestSec = o.SoonestSec
	}
}

// Stat is a distribution over servers.
type Stat struct {
	Min    float64 `json:"min" unit:""`
	Mean   float64 `json:"mean" unit:""`
	Median float64 `json:"median" unit:""`
	Max    float64 `json:"max" unit:""`
}

// A Case is the summary of a case over all its slices. Counts are sums. Rates and efficiencies
// cover all the time that counts.
type Case struct {
	Name     string     `json:"name" col:"case" unit:""`
	Repeat   int        `json:"repeat" unit:""` // from 0: of simulated runs, and of results older than slices
	Mode     modes.Mode `json:"mode" unit:""`
	Barrier  string     `json:"barrier,omitempty" unit:""`
	Schedule string     `json:"schedule,omitempty" unit:""`
	Routing  string     `json:"routing" unit:""`
	Failures []string   `json:"failures" unit:"" join:"; "` // dead links, then timed failures, in words
	// Sizes describes the sizes of fragments, "±50 %", "exponential"; "": they have one size, or
	// are unknown.
	Sizes   string `json:"sizes,omitempty"`
	Control bool   `json:"control" unit:""`
	Model   bool   `json:"model" unit:""` // measured on an emulated fabric, not on real links
	// Simulated names the model that computed the case; "": it was measured.
	Simulated string `json:"simulated,omitempty"`
	Deliver   string `json:"deliver"`
	Check     string `json:"check"`
	IO        string `json:"io,omitempty"` // how the transport moved payload, where it has a choice
	PlanHash  string `json:"plan_hash" unit:""`

	Rates
	Assessment
	Counts

	// Offered is what a clock offered; nil: the case was built as fast as it could be.
	Offered *Offered `json:"load,omitempty"`

	// Causes are who is slow: none where nobody is, or the evidence names nobody.
	Causes []attribution.Cause `json:"causes,omitempty"`
	// Ports are the counters of switches that rose in its slices, the most first, as far as a command of the scenario said.
	Ports []PortCount `json:"port_counters,omitempty"`

	LinkEvents []LinkEvent `json:"link_events,omitempty"`
	// Failover is the policy of the case, "" without one. Failovers are the actions of the policy.
	Failover  string     `json:"failover,omitempty"`
	Failovers []Failover `json:"failovers,omitempty"`

	Complete bool     `json:"complete" unit:""`
	Valid    bool     `json:"valid" unit:""`              // nothing about it is wrong; whether noise decides is the verdict's affair
	Reasons  []string `json:"reasons" unit:"" join:"; "`  // why it is not valid
	Warnings []string `json:"warnings" unit:"" join:"; "` // odd, but not fatal
}

// Rates are the measured and expected speed of a case.
type Rates struct {
	EventsPerSec     Stat `json:"events_per_s" unit:"event/s"`    // per server
	GoodputBitPerSec Stat `json:"goodput_bit_per_s" unit:"bit/s"` // per server, payload received over the network
	// Roles: where not all servers read and build, the rates above are those of servers that build.
	Roles  *Roles `json:"roles,omitempty"`
	Phases int    `json:"phases" unit:"phase"`
	Bound  int    `json:"bound" unit:"phase"`
	// Efficiencies are ideal time / time. Zero means: absent (no link rate).
	PredictedEfficiency float64 `json:"predicted_efficiency" unit:"1"`
	MeasuredEfficiency  float64 `json:"measured_efficiency" unit:"1"`
	PredictedRatio      float64 `json:"predicted_ratio,omitempty"` // to the control's prediction
	RatioToControl      float64 `json:"ratio_to_control" unit:"1"` // median over rounds
}

// Roles are how many servers send fragments and how many build events, and the rate of the senders.
type Roles struct {
	Readers       int  `json:"readers"`
	Builders      int  `json:"builders"`
	SentBitPerSec Stat `json:"sent_bit_per_s"` // per reader, payload sent over the network
}

// SetRates sets the rates over a time: events and received payload of each builder, and the payload
// sent by readers, if these are other servers. did returns what a server (rank) built, received and
// sent in all, in events and bytes.
func (c *Case) SetRates(roles builder.Roles, sec float64, did func(rank int) (events, received, sent uint64)) {
	var e, g, s []float64
	for rank := range roles.Servers {
		events, received, sent := did(rank)
		if roles.Builds(rank) {
			e = append(e, float64(events)/sec)
			g = append(g, 8*float64(received)/sec)
		}
		if roles.Reads(rank) {
			s = append(s, 8*float64(sent)/sec)
		}
	}
	c.EventsPerSec, c.GoodputBitPerSec, c.Roles = NewStat(e), NewStat(g), nil
	if !roles.All() {
		c.Roles = &Roles{Readers: len(s), Builders: len(e), SentBitPerSec: NewStat(s)}
	}
}

// An Assessment is filled in by Assess. Older results and simulated ones have none.
type Assessment struct {
	Estimate *Estimate `json:"estimate,omitempty"`
	Verdict  string    `json:"verdict,omitempty"`
	Compared bool      `json:"compared,omitempty"` // by the answer of the run
	Equal    []string  `json:"equal,omitempty"`    // compared cases that differ from it by less than Tolerance
	Rounds   int       `json:"rounds,omitempty"`   // slices that count
	Rejected int       `json:"rejected,omitempty"` // slices that do not
}

// Counts are the counters of the workers and links of a case.
type Counts struct {
	Exchanges       uint64  `json:"exchanges" unit:"exchange"`
	MeasuredSec     float64 `json:"measured_s" unit:"s"` // first counted send to last counted receive
	EventsBuilt     uint64  `json:"events_built" unit:"event"`
	EventsLost      uint64  `json:"events_lost" unit:"event"`
	EventsDuplicate uint64  `json:"events_duplicate" unit:"event"`
	FragmentsLate   uint64  `json:"fragments_late,omitempty"` // of an exchange or event that was over; not counted twice
	Retransmits     uint64  `json:"retransmits" unit:"segment"`
	Drops           uint64  `json:"drops" unit:"packet"`
	BarrierWaitSec  float64 `json:"barrier_wait_s" unit:"s"` // mean over servers
	// TokensPerFragment is, for an ordered case, how many small messages servers sent for each
	// fragment that one received from another.
	TokensPerFragment float64 `json:"tokens_per_fragment,omitempty"`
	CPUBusy           float64 `json:"cpu_busy" unit:"1"` // share of all cores; above 1 where the machine accounts for more than has passed
}

// A LinkEvent is one timed failure or repair as it happened.
type LinkEvent struct {
	Link      string  `json:"link"`
	Up        bool    `json:"up"`
	TSec      float64 `json:"t_s"`      // when the link changed, since the measured part began
	SeenSec   float64 `json:"seen_s"`   // from the change to the event being read
	RoutesSec float64 `json:"routes_s"` // from the event read to the new routes installed and read back
	Routes    int     `json:"routes_changed"`
}

// A Summary is summary.json.
type Summary struct {
	Schema   string  `json:"schema"` // evbench/summary/1
	Name     string  `json:"name"`
	Complete bool    `json:"complete"` // false: interrupted
	Answer   *Answer `json:"answer,omitempty"`
	Rounds   int     `json:"rounds,omitempty"` // that were begun
	Cases    []Case  `json:"cases"`
	Found    []Found `json:"found,omitempty"`  // the highest rates that cases take
	Slices   []Slice `json:"slices,omitempty"` // in the order in which they were measured

	rest *kept.Rest // of the document that was read
}

// A Simulation holds the settings of the models of a simulated run.
type Simulation struct {
	RoundSec    float64 `json:"round_s"`    // of the barrier
	OverheadSec float64 `json:"overhead_s"` // of a phase, or a fragment without phases
	JitterSec   float64 `json:"jitter_s"`   // by which a server is late at most
	QuantumSec  float64 `json:"quantum_s"`  // 0: exact, as all since 0.1.0
}

// A Prediction is the expected result of a case before it runs.
type Prediction struct {
	Case       string    `json:"case"`
	Schedule   string    `json:"schedule,omitempty"`
	Objective  string    `json:"objective,omitempty"` // of the schedule fors
	Routing    string    `json:"routing"`
	PlanHash   string    `json:"plan_hash"`
	Phases     int       `json:"phases"`
	Bound      int       `json:"bound"`
	Efficiency float64   `json:"efficiency"` // that the link loads allow
	Made       time.Time `json:"made"`

	// The simulation's result for the case. Without one, NotSimulated says why; results of older
	// versions have neither.
	Model           string  `json:"model,omitempty"`            // phase, fluid
	EventsPerSec    float64 `json:"events_per_s,omitempty"`     // per server
	ModelEfficiency float64 `json:"model_efficiency,omitempty"` // with barrier and overheads
	NotSimulated    string  `json:"not_simulated,omitempty"`
	// Load is what the simulation said of the events of a clock; nil without one.
	Load *Expected `json:"load,omitempty"`
}

// A Fabric describes the measured network.
type Fabric struct {
	Kind          string `json:"kind"` // lab, emulate, hosts; sim: nothing was measured
	Model         bool   `json:"model"`
	RateBitPerSec int64  `json:"rate_bit_per_s"` // of a link; 0: not known
	MTU           int    `json:"mtu"`
	// Factor is the share of the link rate left for messages after headers: (MTU-52)/(MTU+14) for
	// TCP over Ethernet.
	Factor float64 `json:"factor"`
	NIC    string  `json:"nic"`
	// BurstBytes are what the rate limit of the lab's links lets pass at once; 0: there is none.
	BurstBytes int    `json:"burst_byte,omitempty"`
	Routes     string `json:"routes,omitempty"` // what installed the cases' routes in a network of hosts; "": nothing
}

// A Host is the machine of one server, as the server describes it.
type Host struct {
	Server    int      `json:"server"` // position
	Host      string   `json:"host"`
	Version   string   `json:"version"` // of evbench
	Addresses []string `json:"addresses"`
	Interface string   `json:"interface,omitempty"` // that has the first address
	NIC       string   `json:"nic,omitempty"`       // driver and bus
	SpeedMbit int      `json:"speed_mbit,omitempty"`
	MTU       int      `json:"mtu,omitempty"`
	Governor  string   `json:"cpu_governor,omitempty"`
	CPU       string   `json:"cpu,omitempty"`
	Cores     int      `json:"cores,omitempty"`
	CPUs      string   `json:"pinned_to,omitempty"` // processors
	Kernel    string   `json:"kernel,omitempty"`
}

// A Manifest is manifest.json.
type Manifest struct {
	Schema      string            `json:"schema"` // evbench/manifest/1
	Name        string            `json:"name"`
	Scenario    string            `json:"scenario"` // the document
	Seed        uint64            `json:"seed"`
	Started     time.Time         `json:"started"`
	Ended       time.Time         `json:"ended"`
	Complete    bool              `json:"complete"`
	Versions    map[string]string `json:"versions"`
	BuildTags   []string          `json:"build_tags"`
	Host        string            `json:"host"`
	CPU         string            `json:"cpu"`
	Cores       int               `json:"cores"`
	Kernel      string            `json:"kernel"`
	Fabric      Fabric            `json:"fabric"`
	Control     string            `json:"control_connection"` // what control messages travel on
	Transport   string            `json:"transport"`          // of event data: tcp, mpi
	IO          string            `json:"io,omitempty"`       // how the transport is to move payload, as asked for; cases say what was taken
	Launch      string            `json:"launch,omitempty"`   // how the servers of plain hosts were started
	Hosts       []Host            `json:"hosts,omitempty"`    // by server, on plain hosts
	Preflight   []string          `json:"preflight,omitempty"`
	Plans       map[string]string `json:"plans"` // case -> plan hash
	Predictions []Prediction      `json:"predictions"`
	Simulation  *Simulation       `json:"simulation,omitempty"` // of a simulated run
	Warnings    []string          `json:"warnings"`
	RateSearch  []TriedRate       `json:"rate_search,omitempty"` // where the link rate was auto: those tried, in their order; fabric has the one taken

	// OwnProcessors: each server had a processor of its own. Barriers are those tried where a case had
	// barrier: auto.
	OwnProcessors bool           `json:"own_processors,omitempty"`
	Barriers      []TriedBarrier `json:"barriers,omitempty"`

	rest *kept.Rest // of the document that was read
}

// A Record is an output of a run. The rows of tables stream in. A Manifest or a Summary replaces
// the one before.
type Record interface{ record() }

func (Manifest) record()     {}
func (Summary) record()      {}
func (PlanText) record()     {}
func (PathsText) record()    {}
func (Sample) record()       {}
func (LinkCount) record()    {}
func (PairCount) record()    {}
func (ExchangeTime) record() {}
func (Span) record()         {}

// A PlanText is the plan of a case that has a schedule, in its text form.
type PlanText struct {
	Case string
	Text []byte
}

// A Sink takes the output of a run: plans, then the manifest, both before any measurement; rows; in
// the end the summary, and the manifest again. Nothing waits until the end: after an interruption
// the sink holds all that was measured.
type Sink interface {
	Write(Record) error
	// Keeps says which optional records the sink uses; the zero answer means none.
	Keeps() Keeps
}

// Keeps are records that are made only for a sink that keeps them: counting pairs costs workers a
// little, and plans are long.
type Keeps struct {
	Pairs bool // PairCount
	// Courses: with what came when.
	Courses bool
	Plans   bool // PlanText
	Spans   bool // Span
}

// A PlanFile is a plan that has a form as a file.
type PlanFile interface{ WriteText(w io.Writer) error }

// KeepPlan gives the plan of a case to a sink that keeps plans. nil: it has none.
func KeepPlan(to Sink, name string, p PlanFile) error {
	if p == nil || !to.Keeps().Plans {
		return nil
	}
	var text bytes.Buffer
	if err := p.WriteText(&text); err != nil {
		return fmt.Errorf("case %q: %w", name, err)
	}
	return to.Write(PlanText{Case: name, Text: text.Bytes()})
}

// A PathsText is the ways of messages by their source ports, as a file of that name.
type PathsText struct {
	File string
	Text []byte
}

// Nowhere is a Sink that keeps nothing.
type Nowhere struct{}

// Write implements Sink.
func (Nowhere) Write(Record) error { return nil }

// Keeps implements Sink.
func (Nowhere) Keeps() Keeps { return Keeps{} }

// An ExchangeTime is the time of exchanges of a case: from the completion of one event of a server
// to the completion of its next (for the first: from its first send), the mean over servers. The
// rows of a case follow one another without a gap and add up to its measured part.
type ExchangeTime struct {
	Case        string  `col:"case" unit:"" key:"yes"`
	Repeat      int     `col:"repeat" unit:""`
	Exchange    uint64  `col:"exchange" unit:"" key:"yes"`          // the first that the row stands for, counted from 0
	Exchanges   int     `col:"exchanges" unit:"exchange" key:"yes"` // how many it stands for: of a case with many, a row has several
	DurationSec float64 `col:"duration_s" unit:"s" digits:"9" key:"yes"`
}

// A TriedBarrier is a barrier, or a form of one, tried before a run: how long a phase took with almost no
// payload, and whether it was taken as the fastest.
type TriedBarrier struct {
	Barrier  string  `json:"barrier"`
	PhaseSec float64 `json:"phase_s"`
	Taken    bool    `json:"taken,omitempty"`
}

// A TriedRate is a link rate tried before a run, to find one that the machine can carry, with the
// result of a synchronised linear shift on the healthy tree at that rate.
type TriedRate struct {
	RateBitPerSec int64   `json:"rate_bit_per_s"`
	Efficiency    float64 `json:"efficiency"` // as measured; 0 where the time was over before an exchange was
	Predicted     float64 `json:"predicted"`
}

// Share is the measured share of the predicted efficiency.
func (t TriedRate) Share() float64 {
	if t.Predicted == 0 {
		return 0
	}
	return t.Efficiency / t.Predicted
}

// A SpanKind is the kind of a server's action. Its number is on the wire: append only.
type SpanKind uint8

// The kinds of Span.
const (
	SpanExchange SpanKind = iota // from its first send to when its event was complete
	SpanSend                     // of a phase: from when it could begin until the phase's transfers were over
	SpanReceive                  // of a phase: from when the fragment of Peer was awaited until it was there
	SpanBarrier                  // of a phase: from the end of its transfers until all were there
	SpanEvent                    // without phases: from when it was opened until it was complete
	SpanRequest                  // without phases: from asking Peer for a fragment until it was there
	SpanTokens                   // ordered: from when the send before had left until the tokens for the fragment to Peer were there
)

// SpanKinds are the names of the kinds, each at its number.
func SpanKinds() []string {
	return []string{"exchange", "send", "receive", "barrier", "event", "request", "tokens"}
}

// Known reports whether the kind exists: a worker of a later version may send others.
func (k SpanKind) Known() bool { return int(k) < len(SpanKinds()) }

func (k SpanKind) String() string { return SpanKinds()[k] }

// A Span is one action of a server, in seconds of its own clock since it heard that the measured
// part has begun.
type Span struct {
	Case     string   `col:"case" unit:"" key:"yes"`
	Repeat   int      `col:"repeat" unit:""`
	Server   int      `col:"server" unit:"" key:"yes"` // position
	What     SpanKind `col:"what" unit:"" key:"yes"`
	BeginSec float64  `col:"begin_s" unit:"s" digits:"9" key:"yes"`
	EndSec   float64  `col:"end_s" unit:"s" digits:"9" key:"yes"`
	Exchange uint64   `col:"exchange" unit:""`        // event, without phases
	Phase    int      `col:"phase" unit:"" none:"-1"` // -1: of none
	Peer     int      `col:"peer" unit:"" none:"-1"`  // position; -1: of none
	Spine    int      `col:"spine" unit:"" none:"-1"` // ordered: that the fragment to Peer goes over; -1: of none
}
