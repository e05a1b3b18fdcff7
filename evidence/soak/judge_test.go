package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/results"
	"evbench/testing/expect"
	"evbench/topology"
)

// script is a round of 10 s in which leaf0-spine0 dies at 2 s and is back at 3 s.
func script() *Script {
	l := topology.Link{Leaf: 0, Spine: 0}
	return &Script{
		Kind: Links, Notation: "FT(2;2,2)", Policy: "fors", Duration: 10 * time.Second,
		failures: []linkFailure{{Name: l.String(), Links: []topology.Link{l}, At: 2 * time.Second, For: time.Second}},
	}
}

func sec(t float64) *float64 { return &t }

// good is what a run of script that went well looks like.
func good() Seen {
	run := &results.Run{}
	for i := range 100 {
		for server := range 4 {
			run.Samples = append(run.Samples, results.Sample{TSec: float64(i+1) / 10, Server: server, Events: 1, PayloadBytes: 1000})
		}
	}
	c := results.Case{
		Complete: true, Valid: true, Counts: results.Counts{EventsBuilt: 404, MeasuredSec: 10},
		LinkEvents: []results.LinkEvent{{Link: "leaf0-spine0", TSec: 2}, {Link: "leaf0-spine0", Up: true, TSec: 3}},
		Failovers: []results.Failover{
			{ID: 1, Down: []string{"leaf0-spine0"}, Dead: []string{"leaf0-spine0"}, FailoverTimes: results.FailoverTimes{SeenSec: sec(2.001), AidedSec: sec(2.002), FirstNewSec: sec(2.2)}},
			{ID: 2, Up: []string{"leaf0-spine0"}, Dead: []string{}, FailoverTimes: results.FailoverTimes{SeenSec: sec(3.001), FirstNewSec: sec(3.3)}},
		},
	}
	run.Summary = results.Summary{Complete: true, Cases: []results.Case{c}}
	run.Manifest.Complete = true
	return Seen{Code: exitDone, Run: run, Hit: true}
}

// ending is a run that ended with an error.
func ending(said string) Seen {
	s := good()
	s.Code, s.Said = exitFailed, said
	s.Run.Summary.Complete, s.Run.Manifest.Complete = false, false
	s.Run.Summary.Cases[0].Complete = false
	return s
}

// ofTime matches what is found too late, too long or too few, and nothing else.
var ofTime = regexp.MustCompile(`processors busy|whole exchanges|still used|was not used|not done at the end|nothing was received|longer than its|it took|the case is over`)

func TestJudgeFinds(t *testing.T) {
	// with changes what went well.
	with := func(change func(c *results.Case, seen *Seen)) Seen {
		s := good()
		change(&s.Run.Summary.Cases[0], &s)
		return s
	}
	of := func(k Kind) *Script {
		s := script()
		s.Kind, s.Victim = k, 3
		return s
	}
	invalid := func(reason string) Seen {
		return with(func(c *results.Case, s *Seen) { s.Code, c.Valid, c.Reasons = exitInvalid, false, []string{reason} })
	}
	busy := "processors busy 99 % of the time, more than 90 %: the machine was measured, not the network"
	hogged, stopped, held := script(), script(), script()
	hogged.Hogs = 2
	stopped.Stops = []Stop{{At: 4 * time.Second, For: time.Second}}
	held.Policy, held.Hold = "fors+hold", time.Second
	apart := script()
	apart.Kind = End
	for spine := 1; spine >= 0; spine-- {
		l := topology.Link{Leaf: 1, Spine: spine}
		apart.failures = append(apart.failures, failure(l, 5*time.Second, time.Second))
	}
	outside, severed, strange := of(Outside), of(Severed), of(Strangers)
	severed.Policy = ""
	struck := []results.LinkEvent{{Link: "leaf0-spine0", TSec: 2.1}, {Link: "leaf0-spine0", Up: true, TSec: 3.1}}
	by := func(change func(c *results.Case, seen *Seen)) Seen { // others, not the scenario
		s := good()
		s.Struck, s.Run.Summary.Cases[0].LinkEvents = struck, nil
		change(&s.Run.Summary.Cases[0], &s)
		return s
	}
	cut := func(said string) Seen {
		s := ending(said)
		s.Struck = struck[:1]
		return s
	}
	paused := of(Pause)
	paused.failures, paused.Policy, paused.Stops = nil, "", []Stop{{At: time.Second, For: 9 * time.Second}}
	calmly := func(c *results.Case, _ *Seen) { c.LinkEvents, c.Failovers = nil, nil }
	late := of(Delay)
	late.Delays = []time.Duration{0, time.Second, 0, 0}

	tests := []struct {
		name string
		s    *Script
		seen Seen
		want string // in the only finding; "": none
		why  string // in its explanation; "": an anomaly
	}{
		{"all well", script(), good(), "", ""},
		{"lost", script(), with(func(c *results.Case, _ *Seen) { c.EventsLost = 2 }), "2 events lost", ""},
		{"given up", of(KillWorker), with(func(_ *results.Case, s *Seen) {
			*s = ending("evbench: case: server 3: EOF")
			s.Run.Summary.Cases[0].EventsLost = 1
		}), "1 events given up", "ended before its time"},
		{"doubled", script(), with(func(c *results.Case, _ *Seen) { c.EventsDuplicate = 1 }), "1 events completed twice", ""},
		{"fragments twice", script(), invalid("3 events or fragments came twice"), "3 events or fragments came twice", ""},
		{"corrupt", script(), invalid("1 fragments corrupt"), "1 fragments corrupt", ""},
		{"samples tell of more", script(), with(func(c *results.Case, _ *Seen) { c.EventsBuilt = 380 }), "samples tell of 400", ""},
		{"samples tell of less", script(), with(func(c *results.Case, _ *Seen) { c.EventsBuilt = 500 }), "samples tell of 400", ""},
		{"busy by itself", script(), invalid(busy), "processors busy", ""},
		{"busy by hogs", hogged, invalid(busy), "processors busy", "2 busy loops"},
		{"busy by others", script(), with(func(c *results.Case, s *Seen) {
			s.Code, c.Valid, c.Reasons, s.Others = exitInvalid, false, []string{busy}, 0.5
		}), "processors busy", "others used 50 %"},
		{"drops", hogged, invalid("4 packets dropped more than 1 s away from any timed failure"), "4 packets dropped", ""},
		{"valid, but the code says no", script(), with(func(_ *results.Case, s *Seen) { s.Code = exitInvalid }), "valid is true", ""},
		{"failed", script(), ending("evbench: install: no"), "exit code 1: evbench: install: no", ""},
		{"no results", script(), with(func(_ *results.Case, s *Seen) { s.Run = nil }), "no results", ""},
		{"crashed", script(), with(func(_ *results.Case, s *Seen) { s.Said = "x\npanic: index out of range\n" }), "panic: index out of range", ""},
		{"race", script(), with(func(_ *results.Case, s *Seen) { s.Workers = []Exit{{Server: 2, Said: "WARNING: DATA RACE\n"}} }), "worker 2 crashed", ""},
		{"left behind", script(), with(func(_ *results.Case, s *Seen) { s.Residue = []string{"process 7"} }), "left behind: process 7", ""},
		{"link events missing", script(), with(func(c *results.Case, _ *Seen) { c.LinkEvents = append(c.LinkEvents, c.LinkEvents...) }), "the results tell of 4", ""},
		{"dead and used", script(), with(func(c *results.Case, _ *Seen) { c.Failovers[0].SeenSec = sec(2.9) }), "leaf0-spine0 had been dead for 300 ms, and was still used", ""},
		{"dead and used while the machine was slow", script(), with(func(c *results.Case, s *Seen) {
			c.Failovers[0].SeenSec, s.Halts = sec(2.9), []Stop{{At: 1900 * time.Millisecond, For: 800 * time.Millisecond}}
		}), "", ""},
		{"up and not used", script(), with(func(c *results.Case, _ *Seen) { c.Failovers = c.Failovers[:1] }), "leaf0-spine0 had been up for 300 ms, and was not used", ""},
		{"up and held", held, with(func(c *results.Case, _ *Seen) { c.Failovers[1].SeenSec = sec(4.0) }), "", ""},
		{"stopped meanwhile", stopped, with(func(c *results.Case, _ *Seen) { c.Failovers[0].SeenSec = sec(2.9) }), "", ""},
		{"nothing done", script(), with(func(c *results.Case, _ *Seen) { c.Failovers = []results.Failover{} }), "tells of nothing", ""},
		{"not done in time", script(), with(func(c *results.Case, _ *Seen) { c.Failovers[1].Reason = "update: the case is over" }), "did not come to its end: update", ""},
		{"given up", script(), with(func(c *results.Case, _ *Seen) { c.Failovers[1].Reason = "install: no" }), "the last fail-over, 2, did not come to its end: install: no", ""},
		{"given up on the way", script(), with(func(c *results.Case, _ *Seen) {
			c.Failovers[0].Reason, c.Failovers[0].AidedSec, c.Failovers[0].FirstNewSec = "plan: no", nil, nil
		}), "fail-over 1 was given up: plan: no", ""},
		{"tried again", script(), with(func(c *results.Case, _ *Seen) { c.Failovers[0].Reason = "first aid: network is down" }), "network is down", "done in the end"},
		{"overtaken", script(), with(func(c *results.Case, _ *Seen) {
			c.Failovers[0].Reason, c.Failovers[0].Superseded = "first aid: network is down", true
		}), "network is down", "other links"},
		{"the plan not changed", script(), with(func(c *results.Case, _ *Seen) { c.Failovers[1].FirstNewSec = nil }), "was not done at the end", ""},
		{"no need to change the plan", script(), with(func(c *results.Case, _ *Seen) {
			c.Failovers[1].FirstNewSec, c.Failovers[1].CleanedSec = nil, sec(3.1)
		}), "", ""},
		{"stood still", script(), with(func(_ *results.Case, s *Seen) {
			s.Run.Samples = slices.DeleteFunc(s.Run.Samples, func(x results.Sample) bool { return x.TSec > 2.05 && x.TSec < 7 })
			s.Run.Summary.Cases[0].EventsBuilt -= 200
		}), "nothing was received for 5.0 s, from 2.0 s on", ""},
		{"took longer", script(), with(func(c *results.Case, _ *Seen) { c.MeasuredSec = 16 }), "6.0 s longer than its 10s", ""},

		{"ends with the reason", apart, ending("evbench: no path between leaf0 (server0 to server1) and leaf1"), "", ""},
		{"ends with another", apart, ending("evbench: nothing moved for 20s"), "not with that reason", ""},
		{"does not end", apart, good(), "exit code 0 where servers cannot reach each other", ""},
		{"ends unmarked", apart, with(func(_ *results.Case, s *Seen) { s.Code, s.Said = exitFailed, "evbench: no path between leaf0 and" }), "not marked", ""},

		{"worker named", of(KillWorker), ending("evbench: case: server 3: EOF"), "", ""},
		{"another named", of(KillWorker), ending("evbench: case: server 30: EOF"), "does not name it", ""},
		{"worker lost, and nobody cares", of(KillWorker), good(), "the exit code is 0", ""},
		{"gone late", of(Cut), with(func(_ *results.Case, s *Seen) { *s = ending("evbench: server 3: EOF"); s.Gone = time.Minute }), "it took 60.0 s", ""},
		{"nothing cut", of(Cut), with(func(_ *results.Case, s *Seen) { s.Hit = false }), "nothing was done to server 3", ""},
		{"controller killed", of(KillController), with(func(_ *results.Case, s *Seen) { *s = Seen{Code: killed, Hit: true} }), "", ""},
		{"worker stays", of(KillController), Seen{Code: killed, Hit: true, Gone: 20 * time.Second}, "it took 20.0 s", ""},
		{"worker ends oddly", of(KillController), Seen{Code: killed, Hit: true, Workers: []Exit{{Server: 1, Code: 2}}}, "worker 1 ended with 2", ""},
		{"paused", paused, with(calmly), "", ""},
		{"paused, and lost", paused, with(func(c *results.Case, s *Seen) { calmly(c, s); c.EventsLost = 1 }), "1 events lost", ""},
		{"paused, and servers are blamed", paused, ending("evbench: server 0: no sign of life for 7.5s"), "exit code 1: evbench: server 0: no sign", ""},
		{"changed by others", outside, by(func(c *results.Case, _ *Seen) { c.Failovers[1].Reason = results.FromOutside }), "", ""},
		{"changed by others, and not done", outside, by(func(c *results.Case, _ *Seen) { c.Failovers[1].Reason = results.FromOutside + "; install: no" }), "did not come to its end: install: no", ""},
		{"followed from outside", outside, by(func(*results.Case, *Seen) {}), "", ""},
		{"not followed", outside, by(func(c *results.Case, _ *Seen) { c.Failovers = nil }), "others changed links 2 times", ""},
		{"followed late", outside, by(func(c *results.Case, _ *Seen) { c.Failovers[0].SeenSec = sec(2.9) }), "leaf0-spine0 had been dead for 600 ms", ""},
		{"another dead", outside, by(func(c *results.Case, _ *Seen) { c.Failovers[0].Dead = append(c.Failovers[0].Dead, "leaf1-spine0") }), "takes leaf1-spine0 for dead", ""},
		{"lost from outside", outside, by(func(c *results.Case, _ *Seen) { c.EventsLost = 3 }), "3 events lost", ""},
		{"ended from outside", outside, by(func(_ *results.Case, s *Seen) { s.Code, s.Said = exitFailed, "evbench: server 1: nothing moved" }), "exit code 1: evbench: server 1", ""},
		{"not struck", outside, by(func(_ *results.Case, s *Seen) { s.Unstruck = "ip: no" }), "links could not be struck: ip: no", ""},
		{"struck nothing", severed, ending("evbench: no"), "no link was struck", ""},
		{"severed", severed, cut("evbench: case: leaf0-spine0 is down"), "", ""},
		{"severed, servers blamed", severed, cut("evbench: case: server 3: nothing moved"), "does not name it", ""},
		{"severed, others blamed", severed, cut("evbench: case: leaf0-spine0, leaf1-spine1 are down"), "names leaf1-spine1", ""},
		{"severed, goes on", severed, by(func(*results.Case, *Seen) {}), "taken down for good, and the exit code is 0", ""},
		{"strangers", strange, with(func(_ *results.Case, s *Seen) { s.Strange = 9 }), "", ""},
		{"no strangers", strange, good(), "no connection of strangers", ""},
		{"strangers noticed", strange, with(func(_ *results.Case, s *Seen) {
			s.Strange, s.Workers = 9, []Exit{{Server: 2, Code: 1, Said: "evbench: EOF"}}
		}), "worker 2 ended with 1: evbench: EOF", ""},
		{"late and well", late, good(), "", ""},
		{"too late", late, ending("evbench: server 1: does not answer"), "does not answer", "messages of server 1"},
		{"a time-out beside others", outside, by(func(_ *results.Case, s *Seen) {
			s.Code, s.Said, s.Others = exitFailed, "evbench: server 1: nothing moved for 20s", 0.6
		}), "server 1: nothing moved", "others used 60 %"},
		{"slow beside others", paused, with(func(c *results.Case, s *Seen) {
			calmly(c, s)
			c.MeasuredSec, s.Others = 60, 0.6
		}), "longer than its", "others used 60 %"},
		{"a crash beside others", outside, by(func(_ *results.Case, s *Seen) { s.Code, s.Said, s.Others = exitFailed, "evbench: EOF", 0.6 }), "exit code 1: evbench: EOF", ""},
		{"another too late", late, ending("evbench: server 2: does not answer"), "exit code 1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found := Judge(tt.s, tt.seen)
			if tt.want == "" {
				expect.True(t, len(found) == 0, "found %v", found)
				return
			}
			expect.False(t, len(found) != 1 || !strings.Contains(found[0].What, tt.want) || found[0].Anomaly() != (tt.why == "") || !strings.Contains(found[0].Why, tt.why),
				"found %v, want %q because of %q", found, tt.want, tt.why)
			f := found[0]
			expect.False(t, f.Slow != (f.Anomaly() && ofTime.MatchString(f.What)), "%+v: may a slow machine cause it?", f)
		})
	}
}

// Under a clock events that are not accounted for are an anomaly, as is a server whose loss nobody has noticed.
func TestOffered(t *testing.T) {
	s := script()
	s.Kind, s.Blows = Clock, []Blow{{Server: 1, At: time.Second}}
	for _, tt := range []struct {
		o    *results.Offered
		want string
	}{
		{&results.Offered{RatePerSec: 100, Offered: 1000, Complete: 900, Incomplete: 90, Refused: 10, Missing: []results.Missing{{Server: 1, Events: 90}}, Away: make([]results.Away, 1)}, ""},
		{&results.Offered{RatePerSec: 100, Offered: 1001, Complete: 1000, Away: make([]results.Away, 1)}, "1001 events offered, but 1000 complete"},
		{&results.Offered{RatePerSec: 100, Offered: 1000, Complete: 999, Incomplete: 1, Away: make([]results.Away, 1)}, "1 events are incomplete, and servers are named for 0"},
		{&results.Offered{RatePerSec: 100, Offered: 1000, Complete: 1000}, "none was away"},
		{&results.Offered{RatePerSec: 100, Offered: 700, Complete: 700, Away: make([]results.Away, 1)}, "the clock ran 7.0 s"},
		{nil, "do not say what the clock offered"},
	} {
		seen := good()
		seen.Run.Summary.Cases[0].Offered = tt.o
		odd := slices.DeleteFunc(Judge(s, seen), func(f Finding) bool { return !f.Anomaly() })
		if tt.want == "" {
			expect.True(t, len(odd) == 0, "found %v", odd)
		} else {
			expect.True(t, len(odd) == 1 && strings.Contains(odd[0].What, tt.want), "found %v, want %q", odd, tt.want)
		}
	}
}

// TestAccused: whom an error puts first, and whether that is right.
func TestAccused(t *testing.T) {
	for _, tt := range []struct {
		kind    Kind
		said    string
		want    int // -1: nobody
		falsely bool
	}{
		{Stall, "evbench: case \"chaos\": measurement, exchange 7, phase 2, barrier: server 3: no sign of life for 4s; server 1: nothing for 4s from server 3", 3, false},
		{Cut, "evbench: case \"chaos\": measurement: server 1: nothing for 4s from server 3; server 3: EOF", 1, true},
		{Cut, "evbench: case \"chaos\": set-up, exchange 0, connecting: server 3: control connection lost: EOF", 3, false},
		{Delay, "evbench: case \"chaos\": measurement: server 1: no sign of life for 4s", 1, false},
		{Delay, "evbench: case \"chaos\": measurement: server 2: no sign of life for 4s", 2, true},
		{Links, "evbench: case \"chaos\": measurement: server 2: nothing moved", 2, true},
		{Links, "evbench: no path between leaf0 and leaf1", -1, false},
	} {
		at, falsely := accused(&Script{Kind: tt.kind, Victim: 3, Delays: []time.Duration{0, time.Second, 0, 0}}, tt.said)
		got := -1
		if at != nil {
			got = *at
		}
		expect.True(t, got == tt.want && falsely == tt.falsely, "%s: server %d, falsely %v", tt.said, got, falsely)
	}
}

func TestFlat(t *testing.T) {
	// readings has a minute of usage that grows by so much in each second.
	readings := func(bytes, descriptors, threads, namespaces int) []Usage {
		var all []Usage
		for i := range 60 {
			all = append(all, Usage{
				ResidentBytes: uint64(100<<20 + i*bytes), Descriptors: 300 + i*descriptors, Threads: 20 + i*threads, Namespaces: 24 + i*namespaces,
			})
		}
		return all
	}
	for _, tt := range []struct {
		all  []Usage
		want string
	}{
		{readings(0, 0, 0, 0), "[]"},
		{readings(100<<10, 0, 0, 0), "[]"}, // within the bound
		{readings(1<<20, 0, 0, 0), "memory grew"},
		{readings(0, 1, 0, 0), "descriptors grew"},
		{readings(0, -1, 0, -1), "[]"}, // connections close at the end
		{readings(0, 0, 1, 0), "threads grew"},
		{readings(0, 0, 0, 1), "namespaces held grew"},
		{readings(0, 0, 0, 0)[:3], "too few"},
	} {
		expect.Contains(t, fmt.Sprint(flat(tt.all)), tt.want)
	}
	for _, race := range []bool{false, true} { // the detector's memory is not the program's
		j := judgement{s: &Script{Kind: Long}, seen: Seen{Usage: readings(1<<20, 1, 0, 0), Race: race}}
		j.flat()
		expect.True(t, len(j.found) == 2 && j.found[0].Anomaly() != race && j.found[1].Anomaly(), "race detector %v: %v", race, j.found)
	}
}

// One descriptor more in one of a few readings may have been open for a moment; three, or
// one in many readings, have not. Memory may grow in few readings.
func TestFlatOfFewReadings(t *testing.T) {
	for _, tt := range []struct {
		readings, more int
		bytes          uint64
		slow           bool
	}{{8, 1, 0, true}, {8, 3, 0, false}, {60, 1, 0, false}, {8, 0, 8 << 20, true}, {60, 0, 8 << 20, false}} {
		all := make([]Usage, tt.readings)
		for i := range all[tt.readings/2:] {
			all[tt.readings/2+i] = Usage{Descriptors: tt.more, ResidentBytes: tt.bytes}
		}
		found := flat(all)
		expect.True(t, len(found) == 1 && found[0].Anomaly() && found[0].Slow == tt.slow,
			"%d readings, %d and %d bytes more: %+v", tt.readings, tt.more, tt.bytes, found)
	}
}

func TestLeafOf(t *testing.T) {
	tree := (&Script{Notation: "FT(2;4,2)", Fill: []int{1, 2}}).Tree()
	link := func(names ...string) (text string) {
		for i, n := range names {
			text += fmt.Sprintf("%d: %s@if%d: <BROADCAST,UP> mtu 1500\\    link/ether 02:eb\n", i+1, n, i)
		}
		return text
	}
	for _, tt := range []struct {
		text string
		leaf int
		ok   bool
	}{
		{link("lo", "spine0", "spine1", "server4", "server5"), 1, true},
		{link("lo", "spine1", "spine0", "server0"), 0, true},
		{link("lo", "leaf0"), 0, false},
		{link("lo", "leaf0", "leaf1"), 0, false},
		{"", 0, false},
	} {
		if leaf, ok := LeafOf(tree.Shape, tt.text); ok != tt.ok || leaf != tt.leaf {
			t.Errorf("%q: leaf%d, %v", tt.text, leaf, ok)
		}
	}
}
