package culprit_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"evbench/builder/modes"
	"evbench/plan"
	"evbench/results"
	"evbench/results/culprit"
	"evbench/scheduler/schedules"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// paired is a run of a linear shift on FT(2;4,4) in which messages of server 5 take so many times as long.
func paired(t *testing.T, seed uint64, times float64) *results.Run {
	tree := topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4})
	p := expect.Value(plan.Build(tree, plan.Options{Schedule: schedules.LinearShift}))(t)
	var text bytes.Buffer
	expect.Must(t, p.WriteText(&text))
	r := rand.New(rand.NewPCG(seed, 1))
	run := &results.Run{Plans: map[string][]byte{"shift": text.Bytes()}}
	run.Summary.Cases = []results.Case{{Name: "shift", Mode: modes.Sync}}
	for src, dst := range tree.Pairs {
		sec := 1 + 0.02*r.NormFloat64()
		if src == 5 || dst == 5 {
			sec *= times
		}
		run.Pairs = append(run.Pairs, results.PairCount{Case: "shift", Src: src, Dst: dst, Bytes: 1000, Sec: sec})
	}
	return run
}

// Who became slower is named, and who was slow before is not.
func TestAgainst(t *testing.T) {
	for _, tt := range []struct {
		base, now float64
		want      string
	}{{1, 1.3, "server5 or its cable to leaf1"}, {1.3, 1.3, ""}, {1, 1, ""}} {
		got := culprit.Against(paired(t, 1, tt.base), paired(t, 2, tt.now), "shift", nil)
		name := ""
		if len(got) > 0 {
			name = got[0].Name
		}
		expect.True(t, name == tt.want && len(got) <= 1, "%v to %v: %+v", tt.base, tt.now, got)
	}
	one := paired(t, 1, 1)
	one.Pairs = one.Pairs[1:]
	expect.True(t, culprit.Against(one, paired(t, 2, 1.3), "shift", nil) == nil, "a pair is missing")
}

// A server is in its own evidence with its stops less its wait for a processor, and only where all have told.
func TestSlowness(t *testing.T) {
	run := paired(t, 3, 1)
	p := expect.Value(plan.Read(strings.NewReader(string(run.Plans["shift"])), nil))(t)
	var servers []results.ServerCount
	for s := range 16 {
		servers = append(servers, results.ServerCount{Server: s, StoodSec: 1, RunDelaySec: 0.9})
	}
	servers[9].StoodSec, servers[9].Stops = 7, 3
	e := culprit.Evidence(p, modes.Sync, 12, run.Pairs, servers, 0)
	expect.True(t, len(e.Servers) == 16 && e.Servers[0].Control && e.Servers[9].Stood > 6 && e.Timed, "%+v", e.Servers)
	expect.True(t, culprit.Evidence(p, modes.Unsync, 12, run.Pairs, servers[1:], 0).Servers == nil, "servers of a part")
}

// Courses of pairs come into parts as long as the longest, and the last one ends with the time.
func TestCourses(t *testing.T) {
	run := paired(t, 4, 1)
	p := expect.Value(plan.Read(strings.NewReader(string(run.Plans["shift"])), nil))(t)
	for i := range run.Pairs {
		x := &run.Pairs[i]
		if x.Sec, x.BucketSec, x.Course = 2, 0.5, "100 100 100 100 - 300"; i == 1 {
			x.BucketSec, x.Course = 1, "100 50"
		}
	}
	e := culprit.Evidence(p, modes.Sync, 2.8, run.Pairs, nil, -1)
	expect.Equal(t, fmt.Sprint(e.Parts, e.Pairs[0].Course, e.Pairs[1].Course), "[1 2 2.8] [0.002 0.002 0.006] [0.002 0.001 0]", "parts, courses")
	for i := range run.Pairs {
		run.Pairs[i].Course = ""
	}
	expect.True(t, culprit.Evidence(p, modes.Sync, 2.8, run.Pairs, nil, -1).Parts == nil, "parts of an older file")
}
