package bench_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"evbench/bench"
	"evbench/results"
	"evbench/scenario"
	"evbench/testing/expect"
)

func predicted(t *testing.T, text string) []float64 {
	t.Helper()
	_, planned := read(t, text)
	var out []float64
	for _, p := range planned {
		out = append(out, p.Prediction.Efficiency)
	}
	return out
}

// A case with a timed failure is predicted as the mean over time of what the tables of each moment allow.
func TestPredictionOverTime(t *testing.T) {
	const text = `
topology: FT(2;4,4)
control: off
duration: 12s
cases:
  - {name: dead, routing: minhop, failures: [leaf0-spine0]}
  - {name: timed, routing: minhop, failures: [{link: leaf0-spine0, at: 3s, for: 4s}]}
  - {name: late, routing: minhop, failures: [{link: leaf0-spine0, at: 6s}]}
`
	e := predicted(t, text)
	want := (8 + 4*e[0]) / 12
	expect.True(t, math.Abs(e[1]-want) <= 1e-9, "timed: %.4f, want %.4f", e[1], want)
	if want := (6 + 6*e[0]) / 12; math.Abs(e[2]-want) > 1e-9 {
		t.Errorf("until the end: %.4f, want %.4f", e[2], want)
	}
}

// Unequal fragments cost a synchronised exchange the largest one of each phase.
func TestPredictionOfUnequalFragments(t *testing.T) {
	const text = `
topology: FT(2;4,4)
control: off
event: {phase: 50ms, sizes: {spread: 0.5}}
cases: [{name: sync}, {name: unsync, mode: unsynchronised}]
`
	e := predicted(t, text)
	expect.True(t, e[0] <= 0.85 && e[0] >= 0.6 && e[1] >= 0.9, "synchronised %.3f, unsynchronised %.3f", e[0], e[1])
}

func TestPrepareNamesTheCase(t *testing.T) {
	s := expect.Value(scenario.Read("x.yaml", strings.NewReader("topology: FT(2;3,5)\ncases: [{name: odd one, schedule: linear-shift}]")))(t)
	s.Cases[0].Schedule = "xor"
	_, err := bench.Parts{}.Prepare(s)
	expect.Error(t, err, `case "odd one": `)
}

// A sink gets that of every case with a schedule, as the manifest names it.
func TestKeepsPlans(t *testing.T) {
	sink := &memory{keeps: results.Keeps{Plans: true}, plans: map[string][]byte{}}
	expect.Must(t, expect.Err(run(t, small, &inProcess{}, sink)))
	m := sink.manifests[0]
	expect.True(t, len(sink.plans) == len(m.Predictions)-1 && sink.early,
		"%d plans of %d cases, one without a schedule; before the manifest: %v", len(sink.plans), len(m.Predictions), sink.early)
	for name, text := range sink.plans {
		expect.True(t, bytes.Contains(text, []byte("# hash "+m.Plans[name]+"\n")),
			"plan of %q is not the one of hash %s:\n%s", name, m.Plans[name], text)
	}
}

// A plan that cannot be kept ends the run before anything is measured.
//
//gate:race
func TestPlansFail(t *testing.T) {
	full := errors.New("disk full")
	sink := &memory{keeps: results.Keeps{Plans: true}, plans: map[string][]byte{}, full: full}
	if _, err := run(t, small, &inProcess{}, sink); !errors.Is(err, full) || len(sink.samples) > 0 {
		t.Errorf("error %v, %d samples", err, len(sink.samples))
	}
}
