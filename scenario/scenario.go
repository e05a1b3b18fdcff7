// Package scenario answers: what did the user ask for? It is the YAML document that describes a
// run: the fabric, the cases to measure on it, and how long. It reads strictly, fills defaults and
// checks every field; an error names file, line, field path, reason and the valid choices. It plans
// nothing and runs nothing.
//
// Rates are bit/s, sizes bytes, and both carry a unit in the document
// ("100Mbit/s", "600KiB"), as do durations ("50ms").
package scenario

import (
	"slices"
	"time"

	"evbench/barrier"
	"evbench/builder"
	"evbench/builder/modes"
	"evbench/internal/lists"
	"evbench/internal/unit"
	"evbench/routing"
	"evbench/scheduler/schedules"
	"evbench/topology"
	"evbench/transport"
)

// A Scenario is the document after defaults, matrix and preset are applied.
type Scenario struct {
	Name     string          // of the file, unless given; usable as a file name
	Tree     *topology.Tree  // of a network that is no tree the servers alone
	Network  Network         // that is no tree; nil: a tree
	Tables   string          // file of its tables, "" none
	engine   string          // of the first case
	because  string          // why a file with a tree is Network all the same
	Differ   bool            // cables of the file differ in what they carry, and cases take them for alike
	networks Networks        // what opened Network
	Engines  routing.Engines // for trees, beside routing's own
	Readers  string          // as written, "" all; Tree has them
	Builders string
	Fabric   Fabric
	Event    Event
	Cases    []Case        // at least one; the matrix is already multiplied out
	Duration time.Duration // of a slice of the control, and of each case that does not say
	Rounds   Rounds        // how often the cases are measured
	Trace    bool          // keep what each server did
	Control  bool          // a healthy synchronised linear shift in every round
	Answer   []string      // cases that the answer compares; nil: those with the same dead links
	builder.Common

	Transport string   // name
	Launch    Launch   // hosts: how the servers are started
	Inject    Inject   // hosts: how links are taken down
	Counters  Counters // of switches
	Sim       Sim      // what a simulation counts beside bytes

	Text []byte // the document as read, for the manifest
}

// Fabric kinds.
const (
	Lab     = "lab"
	Emulate = "emulate"
	Hosts   = "hosts"
)

// How the servers run.
const (
	Threads   = "threads"   // all in one process
	Processes = "processes" // one process each
)

// What chooses among the next hops of routing ecmp in the lab.
const (
	HashHeaders   = "headers"
	HashAddresses = "addresses"
	HashAlike     = "alike"
)

// Fabric describes the network for event building.
type Fabric struct {
	Kind     string
	Rate     unit.Rate // of every link; 0: not known (hosts)
	AutoRate bool      // Rate is DefaultRate until it has been found out what the machine can carry; see SettleRate
	MTU      int
	Workers  string // Threads or Processes
	Hash     string // of the lab's switches under routing ecmp: HashHeaders, HashAddresses or HashAlike
	Lossless Lossless
	Routes   Routes // hosts: who puts the routes of a case into the network
}

// BitPerSec is the link rate for messages, without headers of packets; 0 where the rate is not
// known.
func (f Fabric) BitPerSec() float64 { return float64(f.Rate) * Factor(f.MTU) }

// Event says how large the fragments are. After defaults Fragment is set. The sizes in a file are
// scaled to that mean.
type Event struct {
	Fragment  unit.Bytes           // mean payload of one fragment
	Phase     time.Duration        // what Fragment was computed from: the time one fragment takes at the link rate; 0: it was given
	AutoPhase bool                 // Phase is the default until it has been found out what a barrier takes here; see SettlePhase
	Sizes     builder.Distribution // how they differ
	stated    bool                 // Fragment is the mean of a file
	roles     builder.Roles        // of the servers in a file
}

// barriers, allSchedules, Kinds list the valid names.
func barriers() []string { return append(barrier.Kinds(), barrier.MPI, Auto) }
func allSchedules() []string {
	return append(append(schedules.Names(), schedules.PathColoring, schedules.Best),
		schedules.RepairPrefix+schedules.LinearShift, schedules.RepairPrefix+schedules.LinearShiftPorts, schedules.RepairPrefix+schedules.XOR, schedules.RepairPrefix+schedules.BandwidthOptimal)
}

// Routings are those of trees.
func (x Files) Routings() []string { return append(x.Engines.Names(), Ports, routing.Pinned) }

func (s *Scenario) treeRoutings() []string { return Files{Engines: s.Engines}.Routings() }

// routings are those of trees, and of networks that are none.
func (s *Scenario) routings() []string {
	all := s.treeRoutings()
	for _, name := range append(slices.Clone(s.networks.Routings), Loaded) {
		if s.networks.Open != nil && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}
func Kinds() []string { return []string{Lab, Emulate, Hosts} }

// A Case is one measurement.
type Case struct {
	builder.Setting
	Sizes    *builder.Distribution // how its fragments differ; nil: as those of all cases
	Schedule string                // as on the command line; empty when Unsync, unless its paths are used, with routing "pinned"
	Routing  string
	// Objective is the quantity that the schedule fors makes least; "": schedules.FewestPhases, and
	// over a transport that cannot choose paths schedules.FewestPaths (Scenario.Objective).
	Objective schedules.Objective
	Failures  []topology.Link // dead from the start, by leaf and spine, each once
	Down      []string        // the same as written: "leaf0-spine3", "spine2", "3 random (seed 7)"
	Timed     []Timed
	Lost      []Lost    // servers
	Control   bool      // the others are compared with it; bench adds one, or marks it
	Failover  *Failover // what is done about timed failures; nil: tables are re-routed with the case's engine
}

// A Lost server leaves At after the measurement starts, and joins again after For; 0: after the case.
type Lost struct {
	Server  int // position
	At, For time.Duration
}

// A Timed failure takes links down At after the measurement starts.
type Timed struct {
	Links []topology.Link
	Name  string // as written
	At    time.Duration
	For   time.Duration // 0: until the end of the case
	flap  flap          // of a flapping link, which has as many Timed as it has failures
}

// A flap is the place of a failure among those of a flapping link. The zero value is a link that
// fails once.
type flap struct {
	nth   int // from 0
	times int
	every time.Duration // from one failure to the next
}

// up returns when the links come back in a case of the given length.
func (t Timed) up(duration time.Duration) time.Duration {
	if t.For == 0 {
		return duration
	}
	return t.At + t.For
}

// headBytes is the length of a fragment's header on the wire.
const headBytes = 40

// Factor returns the share of the link rate that TCP over Ethernet leaves for messages: of MTU+14
// bytes of a frame, 52 are the headers of IP and TCP with time stamps.
func Factor(mtu int) float64 { return float64(Segment(mtu)) / float64(mtu+14) }

// Segment is how many bytes of messages a packet of TCP carries.
func Segment(mtu int) int { return mtu - 52 }

// FragmentOf returns the payload of the fragment whose message, head included, takes one phase on a
// link: rate·phase/8·Factor(mtu) − 40. It is less than 1 where nothing fits.
func FragmentOf(rate unit.Rate, phase time.Duration, mtu int) unit.Bytes {
	return unit.Bytes(float64(rate)*phase.Seconds()/8*Factor(mtu)) - headBytes
}

// FragmentTime is how long a mean fragment takes at the link rate; 0: the rate is not known.
func (s *Scenario) FragmentTime() time.Duration {
	rate := s.Fabric.BitPerSec()
	if rate == 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / (rate / (8 * float64(s.Event.Fragment))))
}

// ExchangeTime is how long an exchange of the healthy tree takes at the link rate.
func (s *Scenario) ExchangeTime() time.Duration {
	return time.Duration(s.Tree.MostMessages()) * s.FragmentTime()
}

func (s *Scenario) CaseNames() []string {
	return lists.Map(s.Cases, func(c Case) string { return c.Name })
}

// Sizes says how the fragments of a case differ.
func (s *Scenario) Sizes(c Case) builder.Distribution {
	if c.Sizes != nil {
		return *c.Sizes
	}
	return s.Event.Sizes
}

func (s *Scenario) FragmentSizes(c Case) *builder.Sizes {
	return &builder.Sizes{Mean: int(s.Event.Fragment), Seed: s.Seed, Roles: builder.RolesOf(s.Tree), Distribution: s.Sizes(c)}
}

// OnePath reports whether the plan of a case takes one path from each leaf to each server. Tables
// hold these paths, since no sender can choose another.
func (s *Scenario) OnePath(c Case) bool { return c.Pinned() && !transport.Of(s.Transport).Paths }

// Objective is the quantity that the schedule fors makes least in a case; "":
// schedules.FewestPhases, or the case has another schedule.
func (s *Scenario) Objective(c Case) schedules.Objective {
	if c.Objective == "" && s.OnePath(c) && (c.fors() || c.Mode == modes.Ordered) {
		return schedules.FewestPaths
	}
	return c.Objective
}

// Pinned reports whether the plan says which path each message takes.
func (c Case) Pinned() bool { return c.Routing == routing.Pinned }

// Hashed reports whether switches choose the path of each message by a hash.
func (c Case) Hashed() bool { return c.Routing == routing.ECMP || c.Routing == Ports }

// fors reports whether fors plans the case on a tree.
func (c Case) fors() bool { return c.Schedule == schedules.FORS || c.Schedule == schedules.Best }

// inOrder reports whether a case over given paths takes the best order found.
func (c Case) inOrder() bool {
	return c.Schedule == schedules.PathColoring || c.Schedule == schedules.Best
}

func (c Case) tables() bool { return c.Routing != routing.Pinned }

// asynchronous reports whether events, not exchanges, are in flight.
func asynchronous(m modes.Mode) bool { return m == modes.Unsync || m == modes.FreeRunning }
