package scenario_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"evbench/model/anyshape"
	"evbench/scenario"
	"evbench/site/engines"
	"evbench/testing/expect"
)

// shapes accept networks of any shape.
var shapes = scenario.Files{Networks: anyshape.Networks(), Engines: engines.Trees()}

// What a case leaves open depends on its policy.
func TestFailoverDefaults(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"failover: none", "linear-shift|ftree|none 0s 1ms end"},
		{"schedule: fors, failover: none", "fors|pinned|none 0s 1ms end"},
		{"failover: minhop", "linear-shift|minhop|minhop 0s 1ms end"},
		{"failover: spread, routing: ftree", "linear-shift|ftree|spread 0s 1ms end"},
		{"mode: unsync, failover: spread", "|spread|spread 0s 1ms end"},
		{"failover: unsync", "linear-shift|spread|unsync 0s 1ms end"},
		{"failover: unsync, routing: minhop, schedule: xor", "xor|minhop|unsync 0s 1ms end"},
		{"failover: fors", "fors|pinned|fors 0s 1ms end"},
		{"schedule: best", "best|pinned|-"},
		{"schedule: best, failover: fors", "best|pinned|fors 0s 1ms end"},
		{"failover: fors, schedule: fors-closed, routing: pinned", "fors-closed|pinned|fors 0s 1ms end"},
		{"failover: fors+hold", "fors|pinned|fors+hold 10m0s 1ms end"},
		{"failover: {policy: fors+hold, hold: 4s, debounce: 0s, on_disconnect: wait}", "fors|pinned|fors+hold 4s 0s wait"},
	} {
		c := read(t, small+"cases: [{"+tt.in+"}]").Cases[0]
		expect.Equal(t, (c.Schedule + "|" + c.Routing + "|" + failoverText(c)), tt.want, "%s", tt.in)
	}
}

func failoverText(c scenario.Case) string {
	f := c.Failover
	if f == nil {
		return "-"
	}
	return fmt.Sprintf("%s %s %s %s", f.Policy, f.Hold, f.Debounce, f.OnDisconnect)
}

// What stands at the top holds for cases that do not say, as far as their policy has it.
func TestFailoverOfAllCases(t *testing.T) {
	const top = small + "failover: {policy: fors+hold, hold: 4s, debounce: 5ms, on_disconnect: wait}\n"
	s := read(t, top+"cases: [{}, {failover: fors}, {failover: {policy: minhop, on_disconnect: end}}, {failover: fors+hold, name: x}]")
	want := []string{
		"fors+hold 4s 5ms wait", "fors 0s 5ms wait", "minhop 0s 5ms end", "fors+hold 4s 5ms wait",
	}
	for i, c := range s.Cases {
		expect.Equal(t, failoverText(c), want[i], "case %d", i)
	}
	expect.True(t, s.Cases[0].Failover != s.Cases[3].Failover, "two cases share what one of them may change")
	got := read(t, small+"cases: [{}]").Cases[0].Failover
	expect.True(t, got == nil, "nothing was asked for, and there is %+v", got)
}

// The matrix names cases by their policies; without it the default name has the policy.
func TestFailoverNames(t *testing.T) {
	s := read(t, small+"cases: [{name: link}]\nmatrix:\n  failover: [none, minhop, {policy: fors+hold, hold: 4s}]\n")
	expect.Equal(t, s.CaseNames(), []string{"link none", "link minhop", "link fors+hold"}, "cases")
	s = read(t, small+"cases: [{failover: fors, failures: [{link: leaf0-spine0, at: 1s, for: 2s}]}]")
	expect.Equal(t, s.CaseNames()[0], "fors pinned leaf0-spine0@1s failover fors", "case")
}

// Failures may cut servers off where the policy decides what happens then.
func TestFailoverMayDisconnect(t *testing.T) {
	const cut = "failures: [spine0, spine1, spine2, {link: spine3, at: 1s, for: 1s}]"
	s := read(t, small+"cases: [{"+cut+", failover: {policy: fors, on_disconnect: wait}}]")
	c := s.Cases[0]
	expect.True(t, len(c.Timed) == 1 && len(c.Timed[0].Links) == 4, "timed %+v", c.Timed)
}

// A flapping link is as many failures, and one in the words of names and results.
func TestFlapping(t *testing.T) {
	s := read(t, small+"cases: [{routing: minhop, failures: [{link: leaf0-spine0, at: 1s, for: 300ms, every: 1500ms, times: 5}, {link: spine1, at: 9s}]}]")
	c := s.Cases[0]
	expect.MustTrue(t, len(c.Timed) == 6, "%d failures, want 6", len(c.Timed))
	for i, f := range c.Timed[:5] {
		at := time.Second + time.Duration(i)*1500*time.Millisecond
		expect.True(t, f.At == at && f.For == 300*time.Millisecond && f.Name == "leaf0-spine0" && len(f.Links) == 1,
			"failure %d: %+v, want it at %s", i, f, at)
	}
	expect.Equal(t, c.Name, "linear-shift minhop 5*leaf0-spine0@1s+spine1@9s", "name")
	expect.Equal(t, c.FailureTexts(&s.Tree.Live), []string{"leaf0-spine0 at 1s for 300ms every 1.5s, 5 times", "spine1 at 9s"}, "in results")
}

func TestOverrideFabricOfFailover(t *testing.T) {
	for _, tt := range []struct{ in, fabric, want string }{
		{"failover: fors", scenario.Emulate, "emulated fabric cannot move pinned paths"},
		{"failover: minhop", scenario.Emulate, ""},
		{"failover: minhop", scenario.Hosts, "evbench routes follow"},
	} {
		err := read(t, small+"cases: [{"+tt.in+"}]").Override(scenario.Overrides{"fabric": tt.fabric})
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s, %s: %v", tt.in, tt.fabric, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "--fabric "+tt.fabric)):
			t.Errorf("%s, %s: error %v, want %q", tt.in, tt.fabric, err, tt.want)
		}
	}
}

func TestFailoverRefuses(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"policy", "cases: [{failover: four}]", `test.yaml:2: cases[0].failover.policy: no policy "four"; did you mean fors? there are none, minhop, spread, unsync, fors, fors+hold`},
		{"policy in fields", "cases: [{failover: {policy: four}}]", `cases[0].failover.policy: no policy "four"`},
		{"policy at the top", "failover: four\ncases: [{}]", `test.yaml:2: failover.policy: no policy "four"`},
		{"policy in the matrix", "matrix:\n  failover: [none,\n    four]", `test.yaml:4: matrix.failover[1].policy: no policy "four"`},
		{"empty", "cases: [{failover: }]", "cases[0].failover: is empty; write"},
		{"a list", "cases: [{failover: [fors]}]", "cases[0].failover: is a list; write fields"},
		{"no policy", "cases: [{failover: {hold: 4s}}]", "cases[0].failover: policy is missing; there are none,"},
		{"unknown field", "failover: {policy: fors, holdd: 4s}\ncases: [{}]", "failover.holdd: unknown field; did you mean hold?"},
		{"hold of fors", "failover: {policy: fors, hold: 4s}\ncases: [{}]", "failover.hold: only with policy=fors+hold"},
		{"hold without unit", "failover: {policy: fors+hold, hold: 4}\ncases: [{}]", `failover.hold: duration "4": no unit`},
		{"debounce", "failover: {policy: fors, debounce: 1m}\ncases: [{}]", "failover.debounce: 1m: must be 0s to 10s"},
		{"on_disconnect", "failover: {policy: fors, on_disconnect: stop}\ncases: [{}]", `failover.on_disconnect: no way to go on "stop"; there are end, wait`},
		{"fors unsynchronised", "cases: [{mode: unsync, failover: fors}]", "cases[0].mode: policy fors changes the plan of the phases between two exchanges, so the case must be synchronised; the mode is unsynchronised"},
		{"unsync free-running", "cases: [{mode: free-running, failover: unsync}]", "cases[0].mode: policy unsync changes"},
		{"unsync pinned", "cases: [{failover: unsync, routing: pinned}]", "cases[0].routing: policy unsync changes to event building without phases, over tables"},
		{"fors over minhop", "cases: [{failover: fors, routing: minhop}]", "cases[0].routing: policy fors changes to plans that bring their paths, which routing minhop does not take"},
		{"fors of linear shift", "cases: [{failover: fors+hold, schedule: linear-shift}]", "cases[0].schedule: policy fors+hold changes to plans that bring their paths, which those of linear-shift do not"},
		{"fors without", "cases: [{failover: fors, schedule: none}]", "cases[0].schedule: policy fors changes from one plan to another"},
		{"a wrong one and a pinned plan", "cases: [{failover: four, schedule: fors, routing: pinned, failures: [{link: spine0, at: 1s}]}]", `no policy "four"`},
		{"hosts", "fabric: hosts\nfailover: minhop\ncases: [{failures: [{link: spine0, at: 1s}]}]", "test.yaml:3: failover: evbench does not set the routes of plain hosts"},
		{"emulated and pinned", "fabric: emulate\ncases: [{failover: fors}]", "cases[0].failover: an emulated fabric cannot move pinned paths"},

		{"flapping without times", "cases: [{failures: [{link: spine0, at: 1s, for: 1s, every: 2s}]}]", "cases[0].failures[0]: times is missing, needed with every or times; a flapping link is {link:"},
		{"flapping without for", "cases: [{failures: [{link: spine0, at: 1s, every: 2s, times: 2}]}]", "for is missing, needed with every or times; a flapping link is"},
		{"flapping without a pause", "cases: [{failures: [{link: spine0, at: 1s, for: 2s, every: 2s, times: 2}]}]", "failures[0].every: 2s is not longer than for, 2s"},
		{"flapping once", "cases: [{failures: [{link: spine0, at: 1s, for: 1s, every: 2s, times: 1}]}]", `times: "1": write a whole number 2..1000`},
		{"flapping too long", "cases: [{failures: [{link: spine0, at: 1s, for: 1s, every: 2s, times: 6}]}]", "failures[0]: begins at 11s, but the case ends at 10s"},
	} {
		_, err := shapes.Read("test.yaml", strings.NewReader(small+tt.in))
		expect.Error(t, err, tt.want)
		expect.False(t, err != nil && strings.Contains(err.Error(), "\n"), "%s: one slip makes several errors:\n%v", tt.name, err)
	}
}
