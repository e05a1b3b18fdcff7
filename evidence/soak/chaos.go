package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"evbench/internal/lists"
	"evbench/topology"
)

// A Kind is the disturbance of a round.
type Kind string

const (
	Long           Kind = "long"            // very many link events in one case, checked for leaks
	Links          Kind = "links"           // links fail and return, with busy processors or stops of the program
	Wait           Kind = "wait"            // the same, and at times servers cannot reach each other; the run continues
	End            Kind = "end"             // the same, but the run must end then
	KillWorker     Kind = "kill worker"     // one worker is killed
	KillController Kind = "kill controller" // the controller is killed
	Delay          Kind = "delay"           // control messages are late
	Cut            Kind = "cut"             // a control connection breaks
	Stall          Kind = "stall"           // a control connection goes silent
	Pause          Kind = "pause"           // the whole run is stopped for seconds
	Outside        Kind = "outside"         // links are taken down from outside, and the run has a fail-over
	Severed        Kind = "severed"         // a link is taken down from outside, and the run has no fail-over
	Strangers      Kind = "strangers"       // strangers connect to the control port
	Clock          Kind = "clock"           // events happen by a clock: servers are killed and stopped, links fail, and the run goes on
)

// A rule says how a kind of rounds is drawn, played and judged, and how long it takes.
type rule struct {
	kind  Kind
	draw  func(Plan, dice, *Script)
	play  func(*stage, context.Context) error
	judge func(*judgement)
	takes func(*Script) time.Duration // estimate
}

var rules = []rule{
	{Long, Plan.links, (*stage).links, (*judgement).long, inLab},
	{Links, Plan.links, (*stage).links, (*judgement).whole, inLab},
	{Wait, Plan.links, (*stage).links, (*judgement).whole, inLab},
	{End, Plan.links, (*stage).links, (*judgement).ended, inLab},
	{KillWorker, Plan.kill, (*stage).kill, (*judgement).victim, atMost(8 * time.Second)},
	{KillController, Plan.kill, (*stage).kill, (*judgement).orphans, atMost(8 * time.Second)},
	{Delay, Plan.control, (*stage).control, (*judgement).late, atMost(8 * time.Second)},
	{Cut, Plan.control, (*stage).control, (*judgement).victim, atMost(8 * time.Second)},
	{Stall, Plan.control, (*stage).control, (*judgement).victim, atMost(35 * time.Second)}, // a worker waits for a sign of its controller
	{Pause, Plan.pause, (*stage).links, (*judgement).whole, inLab},
	{Outside, Plan.outside, (*stage).links, (*judgement).outside, inLab},
	{Severed, Plan.severed, (*stage).links, (*judgement).severed, atMost(2*ControlTimeout + 5*time.Second)},
	{Clock, Plan.clock, (*stage).clock, (*judgement).offered, inLab},
	{Strangers, Plan.strangers, (*stage).strangers, (*judgement).unnoticed, func(s *Script) time.Duration { return s.Duration + 5*time.Second }},
}

func Kinds() (all []Kind) {
	return lists.Map(rules, func(r rule) Kind { return r.kind })
}

func inLab(s *Script) time.Duration { return s.Duration + s.Stopped() + 3*time.Second }

func atMost(d time.Duration) func(*Script) time.Duration {
	return func(*Script) time.Duration { return d }
}

func (k Kind) rule() rule {
	return rules[slices.IndexFunc(rules, func(r rule) bool { return r.kind == k })]
}

// OnLinks reports whether a round is about links that fail by the scenario.
func (k Kind) OnLinks() bool { return k == Long || k == Links || k == Wait || k == End }

// byOthers reports whether links are taken down from outside.
func (k Kind) byOthers() bool { return k == Outside || k == Severed }

// A linkFailure is a link, or a whole spine, that is dead from At on and returns after For.
type linkFailure struct {
	Name    string
	Links   []topology.Link
	At, For time.Duration
}

// A Stop is a time in which the whole program is stopped: its clocks jump.
type Stop struct{ At, For time.Duration }

// A Wave is simultaneous connections of strangers to the control port. At counts from the first
// line of the program; they stay open For.
type Wave struct {
	At, For     time.Duration
	Connections int
	Bytes       int // of garbage sent by each; 0: none
}

// A Script is one round; equal seeds give equal scripts. Times count from the start of the measured
// part of the run.
type Script struct {
	Seed  uint64 // of the soak
	Round int    // from 1
	Kind  Kind

	Notation string // of the tree
	Fill     []int  // servers on each leaf; nil: all
	Policy   string // of fail-over; "": none, plain hosts
	Hold     time.Duration
	wait     bool // on_disconnect: wait
	Ordered  bool // mode: ordered, else in phases
	Payload  bool // check: payload
	Duration time.Duration
	failures []linkFailure // of the scenario, or from outside: see Kind.byOthers
	Apart    bool          // each server has its own process
	Hogs     int           // busy loops beside
	Stops    []Stop

	// For kills and control. At counts from the first line of the program if Early.
	Hosts  bool // the soak starts the workers, else the program does, in the lab
	Early  bool
	Victim int // position of a server
	At     time.Duration
	Reset  bool            // a cut connection is reset, else closed
	Silent way             // which way a connection goes silent
	Delays []time.Duration // largest delay of control messages, by server
	Loss   float64         // share of control messages that are sent again
	Waves  []Wave          // of strangers
	Blows  []Blow          // to servers, under a clock
}

// A Blow kills the process of a server or, with a For, stops it for that long.
type Blow struct {
	Server  int
	At, For time.Duration
}

// phaseTime, linkRate and caseTimeout are the same in all rounds: two processors can carry that
// with a reserve.
const (
	phaseTime   = 10 * time.Millisecond
	linkRate    = "50Mbit/s"
	caseTimeout = 20 * time.Second
	// ControlTimeout is the time-out of rounds in which control connections go silent, or links
	// fail for good.
	ControlTimeout = 4 * time.Second
)

// A Strike takes a link down, or brings it up, from outside.
type Strike struct {
	At   time.Duration
	Link topology.Link
	Up   bool
}

// Strikes are the changes of links from outside, in order.
func (s *Script) Strikes() (all []Strike) {
	for _, f := range s.failures {
		for _, l := range f.Links {
			all = append(all, Strike{At: f.At, Link: l}, Strike{At: f.At + f.For, Link: l, Up: true})
		}
	}
	if !s.Kind.byOthers() {
		return nil
	}
	slices.SortStableFunc(all, func(a, b Strike) int { return cmp.Compare(a.At, b.At) })
	return all
}

func (s *Script) Changes() (n int) {
	return lists.Sum(s.failures, func(f linkFailure) int { return 2 * len(f.Links) })
}

func (s *Script) Stopped() (sum time.Duration) {
	return lists.Sum(s.Stops, func(p Stop) time.Duration { return p.For })
}

// Tree returns the tree of the round; its notation is always valid.
func (s *Script) Tree() *topology.Tree {
	o, err := topology.Parse(s.Notation)
	if err == nil {
		o.Fill = s.Fill
		var t *topology.Tree
		if t, err = topology.New(o); err == nil {
			return t
		}
	}
	panic(err)
}

type dice struct{ *rand.Rand }

func newDice(seed uint64, round int) dice { return dice{rand.New(rand.NewPCG(seed, uint64(round)))} }

// between draws a time of whole milliseconds.
func (d dice) between(from, to time.Duration) time.Duration {
	return from + time.Duration(d.Int64N(int64((to-from)/time.Millisecond)+1))*time.Millisecond
}

func (d dice) once(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d dice, all ...T) T { return all[d.IntN(len(all))] }

const caseName = "chaos"

func (s *Script) YAML() string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: soak\ntopology: %s\n", s.Notation)
	if s.Fill != nil {
		fmt.Fprintf(&b, "fill: [%s]\n", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(s.Fill)), ", "), "[]"))
	}
	if s.Hosts {
		fmt.Fprintf(&b, "fabric: {kind: hosts}\nevent: {fragment: 16KiB}\ntimeout: %s\n", ControlTimeout)
	} else {
		fmt.Fprintf(&b, "fabric: {rate: %s, workers: %s}\nevent: {phase: %s}\ntimeout: %s\n", linkRate, s.workers(), phaseTime, s.timeout())
	}
	fmt.Fprintf(&b, "duration: %s\ninterval: 100ms\ncontrol: off\nseed: %d\n", millis(s.Duration), 1+s.Seed%1000)
	if s.Payload {
		b.WriteString("check: payload\n")
	}
	fmt.Fprintf(&b, "cases:\n  - name: %s\n", caseName)
	if s.Ordered {
		b.WriteString("    mode: ordered\n")
	}
	if s.Policy == "" && s.Ordered {
		return b.String()
	}
	if s.Kind == Clock {
		b.WriteString("    schedule: linear-shift\n    load: {rate: 40%, arrival: poisson, lost: continue}\n" + s.timed())
		return b.String()
	}
	if s.Policy == "" {
		b.WriteString("    schedule: linear-shift\n")
		return b.String()
	}
	b.WriteString("    failover: {policy: " + s.Policy)
	if s.Hold > 0 {
		fmt.Fprintf(&b, ", hold: %s", millis(s.Hold))
	}
	if s.wait {
		b.WriteString(", on_disconnect: wait")
	}
	b.WriteString("}\n")
	if s.Kind.byOthers() {
		return b.String()
	}
	return b.String() + s.timed()
}

// timed are the failures of the scenario.
func (s *Script) timed() string {
	var b strings.Builder
	b.WriteString("    failures:\n")
	for _, f := range s.failures {
		fmt.Fprintf(&b, "      - {link: %s, at: %s, for: %s}\n", f.Name, millis(f.At), millis(f.For))
	}
	return b.String()
}

func (s *Script) workers() string {
	if s.Apart {
		return "processes"
	}
	return "threads"
}

func (s *Script) timeout() time.Duration {
	if s.Kind == Severed || s.Kind == Clock {
		return ControlTimeout
	}
	return caseTimeout
}

func millis(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }
