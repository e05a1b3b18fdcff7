package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/internal/answer"
	"evbench/results"
	"evbench/testing/expect"
)

var update = flag.Bool("update", false, "rewrite golden files")

// measured is a synchronised case with an interval of two points to either side.
func measured(name string, predicted, ratio float64) results.Case {
	c := results.Case{
		Name: name, Mode: "synchronised", Rates: results.Rates{PredictedRatio: predicted, RatioToControl: ratio}, Valid: true, Assessment: results.Assessment{Rounds: 6,
			Verdict: results.Resolved, Compared: true},
	}
	if ratio > 0 {
		c.Estimate = &results.Estimate{Of: results.OfRatio, Over: results.OverRounds}
		c.Estimate.Median, c.Estimate.Lo, c.Estimate.Hi = ratio, new(ratio-0.02), new(ratio+0.02)
	}
	return c
}

// summary has a control, and compares all other cases that are synchronised.
func summary(cases ...results.Case) *results.Summary {
	control := measured("healthy", 1, 1)
	control.Control, control.Compared, control.Verdict, control.Rejected = true, false, results.Reference, 1
	s := &results.Summary{Cases: append([]results.Case{control}, cases...), Answer: &results.Answer{Answer: answer.Answer{Sentence: "An answer."}}}
	for _, c := range cases {
		if c.Mode == "synchronised" {
			s.Answer.Cases = append(s.Answer.Cases, c.Name)
		}
	}
	return s
}

func with(c results.Case, change func(*results.Case)) results.Case {
	change(&c)
	return c
}

func TestAnswered(t *testing.T) {
	shift, fors := measured("shift", 0.577, 0.58), measured("FORS", 0.9375, 0.93)
	for _, tt := range []struct {
		name string
		code int
		said string
		sum  *results.Summary
		want string // the reason why not
	}{
		{name: "right", sum: summary(shift, fors)},
		{name: "far off, but in order", sum: summary(measured("shift", 0.577, 0.9), fors)},
		{name: "equal predictions, any order", sum: summary(measured("a", 0.5, 0.51), measured("b", 0.5+1e-12, 0.49))},
		{name: "wrong order", sum: summary(shift, measured("FORS", 0.9375, 0.57)),
			want: "wrong order: shift 0.580, FORS 0.570; predicted 0.577, 0.938"},
		{name: "the same where an order is predicted", sum: summary(shift, measured("FORS", 0.9375, 0.58)),
			want: "wrong order: shift 0.580, FORS 0.580; predicted 0.577, 0.938"},
		{name: "not measured", sum: summary(measured("shift", 0.577, 0)), want: "shift was not measured"},
		{name: "no prediction", sum: summary(measured("shift", 0, 0.58)), want: "nothing is predicted for shift"},
		{name: "nothing compared", sum: summary(), want: "nothing is compared"},
		{name: "unresolved", code: 4, sum: summary(shift, with(fors, func(c *results.Case) { c.Verdict = results.Unresolved })),
			want: "exit code 4: unresolved: FORS"},
		{name: "wrong", code: 4, sum: summary(shift, with(fors, func(c *results.Case) { c.Valid, c.Reasons = false, []string{"3 events lost"} })),
			want: "exit code 4: FORS is invalid (3 events lost)"},
		{name: "no lab", code: 1, said: "evbench: no namespaces", want: "no results, exit code 1: evbench: no namespaces"},
		{name: "failed at the end", code: 1, said: "evbench: disk full", sum: summary(shift), want: "exit code 1: evbench: disk full"},
		{name: "failed on the way", code: 1, said: "evbench: server3 has ended", want: "exit code 1: evbench: server3 has ended",
			sum: summary(shift, with(fors, func(c *results.Case) { c.Valid = false }))},
		{name: "no reason found", code: 4, said: "evbench: odd", sum: summary(shift), want: "exit code 4: evbench: odd"},
	} {
		r := NewRun(Outcome{Condition: Idle, Number: 1, ExitCode: tt.code, Said: tt.said}, tt.sum)
		got := strings.Join(r.Reasons, "; ")
		expect.True(t, got == tt.want && r.Answered == (tt.want == ""), "%s: answered %v, %q, want %q", tt.name, r.Answered, got, tt.want)
	}
}

func TestErrors(t *testing.T) {
	text := func(c ...results.Case) string {
		e := New([]Run{NewRun(Outcome{Condition: Idle}, summary(c...))}).All.Errors
		return fmt.Sprintf("%s %s %d/%d %d/%d", points(e.Worst), points(e.WorstResolved), e.Held, e.Intervals, e.HeldNear, e.Intervals)
	}
	shift, far := measured("shift", 0.577, 0.59), measured("far", 0.5, 0.54)
	for _, tt := range []struct {
		name string
		got  string
		want string // worst, worst resolved, coverage, coverage with allowance
	}{
		{"one", text(shift), "1.3 1.3 1/1 1/1"},
		{"the worst counts", text(shift, far), "4.0 4.0 1/2 1/2"},
		{"within the allowance", text(measured("FORS", 0.94, 0.912)), "2.8 2.8 0/1 1/1"},
		{"ordered", text(shift, with(far, func(c *results.Case) { c.Verdict = results.Ranked })), "4.0 1.3 1/2 1/2"},
		{"unresolved", text(with(far, func(c *results.Case) { c.Verdict = results.Unresolved })), "4.0 – 0/0 0/0"},
		{"no phases", text(shift, with(far, func(c *results.Case) { c.Mode = "unsynchronised" })), "1.3 1.3 1/1 1/1"},
		{"no prediction", text(shift, measured("far", 0, 0.54)), "1.3 1.3 1/1 1/1"},
		{"an interval of something else", text(with(shift, func(c *results.Case) {
			c.Estimate = &results.Estimate{Of: results.OfGoodput, Interval: c.Estimate.Interval}
		})), "1.3 1.3 0/0 0/0"},
		{"nothing", text(), "– – 0/0 0/0"},
	} {
		expect.Equal(t, tt.got, tt.want, "%s", tt.name)
	}
}

func TestVerdict(t *testing.T) {
	run := func(c Condition, code int, cases ...results.Case) Run {
		return NewRun(Outcome{Condition: c, Number: 2, ExitCode: code, Said: "no"}, summary(cases...))
	}
	good := run(Idle, 0, measured("shift", 0.577, 0.58))
	far := measured("shift", 0.577, 0.61)
	for _, tt := range []struct {
		name string
		runs []Run
		want []string
	}{
		{"all good", []Run{good, good}, nil},
		{"one not answered", []Run{good, run(Freeze, 1, measured("shift", 0.577, 0.58))}, []string{"freeze, run 2: exit code 1: no"}},
		{"resolved and far off", []Run{good, run(Both, 0, far)},
			[]string{"both, run 2: shift is resolved at 0.610, 3.3 points from its prediction of 0.577"}},
		{"far off, but only ordered", []Run{run(Both, 0, with(far, func(c *results.Case) { c.Verdict = results.Ranked }))}, nil},
	} {
		got := New(tt.runs)
		expect.True(t, slices.Equal(got.Failures, tt.want) && got.Passed == (tt.want == nil),
			"%s: passed %v, %q, want %q", tt.name, got.Passed, got.Failures, tt.want)
	}
	expect.True(t, !New(nil).Passed, "passed without a run")
}

// What is printed: testdata/table.txt, which -update rewrites.
func TestTable(t *testing.T) {
	unsync := with(measured("unsync", 1, 0.87), func(c *results.Case) { c.Mode, c.Verdict, c.Compared = "unsynchronised", results.Unresolved, false })
	run := func(c Condition, number, code int, seconds, shift, fors float64) Run {
		o := Outcome{Condition: c, Number: number, ExitCode: code, Seconds: seconds, Said: "evbench: server3 has ended" + strings.Repeat(", as has another", 12)}
		if c.Freezes() {
			o.Stops, o.StoppedSec = 10, seconds/3
		}
		return NewRun(o, summary(measured("linear shift", 0.577, shift), unsync, measured("FORS", 0.9375, fors)))
	}
	runs := []Run{
		run(Idle, 1, 0, 41, 0.576, 0.938), run(Freeze, 1, 0, 88.6, 0.58, 0.97),
		run(Idle, 2, 0, 44, 0.579, 0.936), run(Freeze, 2, 1, 101, 0.60, 0.93),
	}
	var b strings.Builder
	for _, r := range runs {
		b.WriteString(r.String() + "\n")
	}
	b.WriteString("\n")
	expect.Must(t, New(runs).Print(&b, true))
	golden := filepath.Join("testdata", "table.txt")
	if *update {
		expect.Must(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want := expect.Value(os.ReadFile(golden))(t)
	expect.True(t, b.String() == string(want), "got\n%s\nwant\n%s", b.String(), want)
}
