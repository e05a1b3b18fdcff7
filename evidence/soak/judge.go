package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"evbench/internal/lists"
	"evbench/results"
)

// A Seen is the observations of one round.
type Seen struct {
	Code    int          // exit code of the program; -1: killed
	Said    string       // on standard error
	Run     *results.Run // its results; nil: none
	Gone    time.Duration
	Workers []Exit   // those started by the soak
	Others  float64  // share of all processors used neither by the soak nor by the kernel's network
	Residue []string // what was left after the end of everything
	Usage   []Usage
	Race    bool   // the program was built with the race detector
	Halts   []Stop // when the machine itself was slow
	Hit     bool   // the script's action on a process was done

	Struck   []results.LinkEvent // changes of links from outside, since the start of the measurement
	Unstruck string              // why they failed
	Strange  int                 // accepted connections of strangers
}

// An Exit is how a worker ended.
type Exit struct {
	Server, Code int
	Said         string
}

// A Finding is an irregularity. Why is its explanation by the script; without one it is an anomaly.
// Slow is set if a slow machine, or the time of a reading, can cause it alone.
type Finding struct {
	What string `json:"what"`
	Why  string `json:"why,omitempty"`
	Slow bool   `json:"slow,omitempty"`
}

// Anomaly reports whether a finding has no explanation.
func (f Finding) Anomaly() bool { return f.Why == "" }

func (f Finding) String() string {
	if f.Anomaly() {
		return "ANOMALY: " + f.What
	}
	return f.What + " (explained: " + f.Why + ")"
}

// The exit codes of evbench.
const (
	exitDone    = 0
	exitFailed  = 1
	exitInvalid = 4
	killed      = -1
)

// swift is how long everything may take to disappear after a process or a connection has been
// killed.
const swift = 10 * time.Second

type judgement struct {
	s     *Script
	seen  Seen
	found []Finding
}

func (j *judgement) odd(format string, args ...any) {
	j.found = append(j.found, Finding{What: fmt.Sprintf(format, args...)})
}

func (j *judgement) slow(format string, args ...any) {
	j.found = append(j.found, Finding{What: fmt.Sprintf(format, args...), Slow: true})
}

func (j *judgement) explained(why, format string, args ...any) {
	j.found = append(j.found, Finding{What: fmt.Sprintf(format, args...), Why: why})
}

func Judge(s *Script, seen Seen) []Finding {
	j := &judgement{s: s, seen: seen}
	j.process()
	s.Kind.rule().judge(j)
	if why := j.busy(); why != "" {
		for i := range j.found {
			if f := &j.found[i]; f.Slow {
				f.Why, f.Slow = why, false
			}
		}
	}
	return j.found
}

// busy says what kept processors from the run, other than itself; "": nothing that counts.
func (j *judgement) busy() string {
	if j.s.Hogs > 0 {
		return fmt.Sprintf("%d busy loops beside", j.s.Hogs)
	}
	return j.others()
}

func (j *judgement) others() string {
	if j.seen.Others < 0.1 {
		return ""
	}
	return fmt.Sprintf("others used %.0f %% of the processors", 100*j.seen.Others)
}

// accusation finds the server that the error of a case puts first.
var accusation = regexp.MustCompile(`case "` + caseName + `": [^:]+: server ?(\d+)\b`)

// accused returns the server that an error puts first, if any, and whether nothing was done to it.
func accused(s *Script, said string) (server *int, falsely bool) {
	m := accusation.FindStringSubmatch(said)
	if m == nil {
		return nil, false
	}
	at, _ := strconv.Atoi(m[1]) // digits
	switch s.Kind {
	case KillWorker, Cut, Stall:
		return &at, at != s.Victim
	case Delay:
		return &at, at >= len(s.Delays) || s.Delays[at] < tooLate
	}
	return &at, true
}

// tooLate is the delay of control messages from which a server may count as lost.
const tooLate = 500 * time.Millisecond

// overtime are the words of a run that ended by a time-out.
var overtime = regexp.MustCompile(`nothing for|nothing moved for|no sign of life|no progress|does not answer|has not (opened|reported|taken)|within`)

// crash detects an abnormal end of a program.
var crash = regexp.MustCompile(`(?m)^(panic: .*|fatal error: .*|WARNING: DATA RACE|SIG[A-Z]+: .*)$`)

func (j *judgement) process() {
	if m := crash.FindString(j.seen.Said); m != "" {
		j.odd("the program crashed: %s", m)
	}
	for _, w := range j.seen.Workers {
		if m := crash.FindString(w.Said); m != "" {
			j.odd("worker %d crashed: %s", w.Server, m)
		}
	}
	for _, r := range j.seen.Residue {
		j.odd("left behind: %s", r)
	}
	if j.seen.Run == nil {
		return
	}
	for _, c := range j.seen.Run.Summary.Cases {
		j.events(c)
	}
}

// events checks that nothing is lost, duplicate or corrupt, in any round.
func (j *judgement) events(c results.Case) {
	switch {
	case c.EventsLost > 0 && c.Complete:
		j.odd("%d events lost", c.EventsLost)
	case c.EventsLost > 0:
		j.explained("the case ended before its time", "%d events given up", c.EventsLost)
	}
	if c.EventsDuplicate > 0 {
		j.odd("%d events completed twice, or never asked for", c.EventsDuplicate)
	}
	for _, r := range c.Reasons {
		if strings.Contains(r, "came twice") || strings.Contains(r, "corrupt") {
			j.odd("%s", r)
		}
	}
	sampled := lists.Sum(j.seen.Run.Samples, func(s results.Sample) uint64 { return s.Events })
	// Samples cover the measured part; the warm-up precedes it.
	if most := c.EventsBuilt; c.Complete && j.s.Kind != Clock && (sampled > most || sampled+warm*uint64(j.s.Tree().Servers()) < most) {
		j.odd("%d events built, but samples tell of %d", most, sampled)
	}
}

// warm is how many events of each server samples may miss: the warm-up, of one exchange or, without
// phases, of the events in flight.
const warm = 4

func (j *judgement) completed() (results.Case, bool) {
	switch {
	case j.seen.Code == exitFailed && j.others() != "" && overtime.MatchString(j.seen.Said):
		j.explained(j.others(), "exit code %d: %s", j.seen.Code, last(j.seen.Said))
	case j.seen.Code != exitDone && j.seen.Code != exitInvalid:
		j.odd("exit code %d: %s", j.seen.Code, last(j.seen.Said))
	case j.seen.Run == nil || len(j.seen.Run.Summary.Cases) != 1:
		j.odd("exit code %d, but no results", j.seen.Code)
	default:
		c := j.seen.Run.Summary.Cases[0]
		for _, r := range c.Reasons {
			j.reason(r)
		}
		if c.EventsBuilt == 0 {
			j.odd("no event was built")
		}
		if c.Valid != (j.seen.Code == exitDone) {
			j.odd("exit code %d, but valid is %v", j.seen.Code, c.Valid)
		}
		return c, true
	}
	return results.Case{}, false
}

// reason explains why a case is invalid, or records an anomaly.
func (j *judgement) reason(r string) {
	busy := strings.HasPrefix(r, "processors busy")
	few := strings.Contains(r, "whole exchanges measured")
	switch {
	case strings.Contains(r, "came twice"), strings.Contains(r, "corrupt"), strings.Contains(r, "events lost"): // reported before
	case (busy || few) && j.busy() != "":
		j.explained(j.busy(), "%s", r)
	case few && len(j.s.Stops) > 0:
		j.explained(fmt.Sprintf("stopped for %s", j.s.Stopped()), "%s", r)
	case busy || few:
		j.slow("not valid: %s", r)
	default:
		j.odd("not valid: %s", r)
	}
}

// long judges a round in which, in addition, nothing may grow.
func (j *judgement) long() {
	j.whole()
	j.flat()
}

// flat records growth. Memory of the race detector grows with the memory that the program touches.
func (j *judgement) flat() {
	for _, f := range flat(j.seen.Usage) {
		if j.seen.Race && strings.HasPrefix(f.What, "memory grew") {
			f.Why = "the race detector keeps memory of its own for what the program has touched"
		}
		j.found = append(j.found, f)
	}
}

// whole judges a round of links that runs to its end.
func (j *judgement) whole() {
	c, ok := j.completed()
	if !ok {
		return
	}
	if want := j.s.Changes(); len(c.LinkEvents) != want {
		j.odd("the script has %d changes of links, the results tell of %d", want, len(c.LinkEvents))
	}
	j.answers(c)
	j.progress(c)
}

// offered judges a round in which a clock offers events and servers are lost: each event is complete, incomplete or
// refused, and those that are lost are back.
func (j *judgement) offered() {
	c, ok := j.completed()
	switch {
	case !ok:
		return
	case c.Offered == nil:
		j.odd("the results do not say what the clock offered")
		return
	}
	o := c.Offered
	if o.Offered != o.Complete+o.Incomplete+o.Refused || o.Complete == 0 {
		j.odd("%d events offered, but %d complete, %d incomplete and %d refused", o.Offered, o.Complete, o.Incomplete, o.Refused)
	}
	counted := lists.Sum(o.Missing, func(m results.Missing) uint64 { return m.Events })
	if counted < o.Incomplete {
		j.odd("%d events are incomplete, and servers are named for %d", o.Incomplete, counted)
	}
	if ran := float64(o.Offered) / o.RatePerSec; math.Abs(ran-j.s.Duration.Seconds()) > .2*j.s.Duration.Seconds() {
		j.slow("the clock ran %.1f s, not %s", ran, j.s.Duration)
	}
	killed := slices.ContainsFunc(j.s.Blows, func(b Blow) bool { return b.For == 0 })
	if j.seen.Hit && killed && len(o.Away) == 0 {
		j.odd("servers were killed, and none was away")
	}
	j.explained("the script kills and stops servers", "%d events offered: %d complete, %d incomplete, %d refused; servers were away %d times",
		o.Offered, o.Complete, o.Incomplete, o.Refused, len(o.Away))
}

// ended judges a round in which servers cannot reach each other, and the run must end.
func (j *judgement) ended() {
	if !j.parts() {
		j.whole() // the drawn times left no room for it
		return
	}
	if j.seen.Code != exitFailed || !strings.Contains(j.seen.Said, "no path between leaf") {
		j.odd("exit code %d where servers cannot reach each other, and not with that reason: %s", j.seen.Code, last(j.seen.Said))
		return
	}
	j.marked()
}

func (j *judgement) parts() bool {
	return slices.ContainsFunc(j.s.failures, func(f linkFailure) bool { return !joined(j.s.Tree(), f.At, 0, j.s.failures) })
}

func (j *judgement) marked() {
	if j.seen.Run != nil && (j.seen.Run.Summary.Complete || j.seen.Run.Manifest.Complete) {
		j.odd("the results of a run that ended early are not marked")
	}
}

// victim judges a round in which one server is lost: its process is killed, or its connection is
// useless.
func (j *judgement) victim() {
	if !j.seen.Hit {
		j.odd("nothing was done to server %d: the run ended before, with %d: %s", j.s.Victim, j.seen.Code, last(j.seen.Said))
		return
	}
	most := swift
	if j.s.Kind != KillWorker || j.s.Early {
		most += ControlTimeout // of silence
	}
	if j.s.Early && j.s.Hosts {
		most += joining
	}
	if j.s.Kind == Stall {
		most += keepAlive // the worker hears nothing, not even an end
	}
	switch {
	case j.seen.Code != exitFailed:
		j.odd("server %d was lost, and the exit code is %d: %s", j.s.Victim, j.seen.Code, last(j.seen.Said))
		return
	case !names(j.seen.Said, j.s.Victim):
		j.odd("server %d was lost, and the error does not name it: %s", j.s.Victim, last(j.seen.Said))
	}
	j.soon(most)
	j.marked()
}

// keepAlive is how long a worker stays with a silent controller.
const keepAlive = 30 * time.Second

// joining is how long a controller waits for workers, and workers for a controller.
const joining = 30 * time.Second

func (j *judgement) soon(most time.Duration) {
	if j.seen.Gone > most {
		j.slow("it took %.1f s until all processes had ended, more than %.0f s", j.seen.Gone.Seconds(), most.Seconds())
	}
}

func names(said string, server int) bool {
	return regexp.MustCompile(fmt.Sprintf(`\bserver ?%d\b`, server)).MatchString(said)
}

// orphans judges workers whose controller was killed.
func (j *judgement) orphans() {
	if !j.seen.Hit || j.seen.Code != killed {
		j.odd("the controller was to be killed, and ended with %d: %s", j.seen.Code, last(j.seen.Said))
		return
	}
	most := swift
	if j.s.Early && j.s.Hosts {
		most += joining
	}
	j.soon(most)
	for _, w := range j.seen.Workers {
		if w.Code != exitDone && w.Code != exitFailed {
			j.odd("worker %d ended with %d when the controller had gone: %s", w.Server, w.Code, last(w.Said))
		}
	}
}

// late judges a run with late control messages.
func (j *judgement) late() {
	if j.seen.Code == exitFailed && strings.Contains(j.seen.Said, "server ") {
		for server, d := range j.s.Delays {
			if d >= tooLate && names(j.seen.Said, server) {
				j.explained(fmt.Sprintf("messages of server %d were up to %s late", server, d), "%s", last(j.seen.Said))
				return
			}
		}
	}
	j.completed()
}

// last returns the end of a program's output.
func last(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.HasPrefix(lines[i], "evbench") {
			return strings.Join(lines[i:], " / ")
		}
	}
	return lines[len(lines)-1]
}

// Usage is the resources of a process at a moment.
type Usage struct {
	ResidentBytes uint64 `json:"resident_byte"`
	Descriptors   int    `json:"descriptors"`
	Threads       int    `json:"threads"`
	Namespaces    int    `json:"namespaces"` // descriptors of network namespaces
}

// Bounds of the growth of a process from the second to the last quarter of a round.
const (
	growth      = 0.10
	growthBytes = 4 << 20
	moreThreads = 8
)

// Quarters returns the medians of the second and of the last quarter; false if there are too few
// readings.
func Quarters(all []Usage) (second, last Usage, ok bool) {
	n := len(all)
	if n < 4 {
		return second, last, false
	}
	return median(all[n/4 : n/2]), median(all[n-n/4:]), true
}

func median(all []Usage) Usage {
	middle := func(of func(Usage) uint64) uint64 {
		values := lists.Map(all, of)
		return results.Middle(values)
	}
	return Usage{
		ResidentBytes: middle(func(u Usage) uint64 { return u.ResidentBytes }),
		Descriptors:   int(middle(func(u Usage) uint64 { return uint64(u.Descriptors) })),
		Threads:       int(middle(func(u Usage) uint64 { return uint64(u.Threads) })),
		Namespaces:    int(middle(func(u Usage) uint64 { return uint64(u.Namespaces) })),
	}
}

func flat(all []Usage) []Finding {
	a, b, ok := Quarters(all)
	if !ok {
		return []Finding{{What: fmt.Sprintf("%d readings of memory and descriptors are too few", len(all)), Slow: true}}
	}
	// With few readings each is half a median: it may include resources open only for a moment, and
	// on a slow machine memory that has not reached its level yet.
	few := len(all) < 40
	moment := func(a, b int) bool { return few && max(a, b)-min(a, b) <= 2 }
	var out []Finding
	grown := func(format string, args ...any) {
		out = append(out, Finding{What: fmt.Sprintf(format, args...) + " (medians of the second and of the last quarter)"})
	}
	if float64(b.ResidentBytes) > (1+growth)*float64(a.ResidentBytes)+growthBytes {
		grown("memory grew from %.1f to %.1f MiB", mib(a), mib(b))
		out[len(out)-1].Slow = few
	}
	if b.Descriptors > a.Descriptors {
		grown("descriptors grew from %d to %d", a.Descriptors, b.Descriptors)
		out[len(out)-1].Slow = moment(a.Descriptors, b.Descriptors)
	}
	if b.Threads > a.Threads+moreThreads {
		grown("threads grew from %d to %d", a.Threads, b.Threads)
	}
	if b.Namespaces > a.Namespaces {
		grown("network namespaces held grew from %d to %d", a.Namespaces, b.Namespaces)
		out[len(out)-1].Slow = moment(a.Namespaces, b.Namespaces)
	}
	return out
}

func mib(u Usage) float64 { return float64(u.ResidentBytes) / (1 << 20) }
