package bench

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"evbench/internal/expect"
	"evbench/scenario"
)

// preparedOf returns a scenario and its cases with their plans.
func preparedOf(t *testing.T, text string) (*scenario.Scenario, []Planned) {
	t.Helper()
	s := expect.Value(scenario.Read("x.yaml", strings.NewReader(text)))(t)
	planned := expect.Value(Prepare(s))(t)
	return s, planned
}

// predictedOf returns the cases of a scenario with what the simulation expects.
func predictedOf(t *testing.T, ctx context.Context, budget time.Duration, text string) []Planned {
	t.Helper()
	s, planned := preparedOf(t, text)
	Simulate(ctx, s, planned, budget)
	return planned
}

const twoModes = `
topology: FT(2;2,2)
fabric: {kind: lab, rate: 100Mbit/s}
duration: 4s
sim: {round: 0s, overhead: 0s}
cases:
  - {name: in step, routing: minhop, failures: [leaf0-spine0]}
  - {name: without, mode: unsynchronised, routing: minhop, failures: [leaf0-spine0]}
`

// Of a small scenario everything is predicted, the controls included, and near what link
// loads allow where nothing else is counted.
func TestSimulate(t *testing.T) {
	for _, p := range predictedOf(t, t.Context(), time.Hour, twoModes) {
		x := p.Prediction
		expect.False(t, x.Model != simModel(&scenario.Scenario{}, p) || x.NotSimulated != "" || x.EventsPerSec <= 0 || math.Abs(x.ModelEfficiency/x.Efficiency-1) > 0.05,
			"%s: %+v", p.Name, x)
	}
}

// What takes too long, or cannot be worked out, says so.
func TestNotSimulated(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name   string
		ctx    context.Context
		budget time.Duration
		text   string
		want   string
	}{
		{"no time", t.Context(), 0, twoModes, "longer than 0s; run evbench sim"},
		{"interrupted", ctx, time.Hour, twoModes, "context canceled"},
		{"no rate", t.Context(), time.Hour, "topology: FT(2;2,2)\nfabric: hosts\ncases: [{name: one}]", "fabric.rate: a simulation needs the rate"},
		{"many flows", t.Context(), time.Minute,
			"topology: FT(2;20,18)\nfabric: {kind: hosts, rate: 200Gbit/s}\nevent: {fragment: 2MB}\nduration: 60s\ncases: [{name: one, mode: unsynchronised}]\ncontrol: off",
			"longer than 1m0s; run evbench sim"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, p := range predictedOf(t, tt.ctx, tt.budget, tt.text) {
				x := p.Prediction
				expect.True(t, strings.Contains(x.NotSimulated, tt.want) && x.Model == "" && x.EventsPerSec == 0, "%s: %+v", p.Name, x)
			}
		})
	}
}

// What a small tree takes says what a large one will: barriers grow with the servers, and
// what all carry is shared among them.
func TestForecast(t *testing.T) {
	m, err := MeasureMachine(func(s *scenario.Scenario) (float64, error) {
		ideal := 8 * float64(s.Event.Fragment) / float64(s.Fabric.Rate)
		if s.Event.Phase == 0 {
			return ideal / 0.0015, nil
		}
		return 0.1, nil
	})
	expect.MustTrue(t, err == nil && m.Servers == 32 && m.PhaseSec >= 0.0014 && m.PhaseSec <= 0.0016 && m.BitPerSec == 3.2e9,
		"%+v, %v; want 32 servers, 1.5 ms, 3.2 Gbit/s", m, err)
	for _, tt := range []struct {
		event, cases string
		inOne        int
		free         uint64
		fits         bool
		want         string
	}{
		{"{phase: 400ms}\ndeliver: discard", "[{}]", 30, 8e9, true, `  ok    326 servers, 38 switches, 105950 connections, processes: 11
  ok    memory: about 3.536GB (64.71MB for events) of 8GB that may be taken
  ok    links of 4Mbit/s: this machine carries about 9Mbit/s on each at a time
  ok    phases of 400ms: barriers of about 15ms take 4 % of the time
`},
		{"{phase: 100ms}", "[{}]", 0, 0, false, `  no    326 servers, 38 switches: no process may have the files of one server; raise ulimit -Hn
  ok    links of 4Mbit/s: this machine carries about 9Mbit/s on each at a time
  no    phases of 100ms: barriers of about 15ms take 13 % of the time
        take event: {phase: 290ms} or more for 5 %
`},
		{"{fragment: 1MiB}", "[{mode: unsynchronised}]", 400, 1e9, false, `  ok    326 servers, 38 switches, 105950 connections, processes: 1
  no    memory: about 226.3GB (222.9GB for events) of 1GB that may be taken
        take deliver: discard, smaller fragments or fewer credits
  ok    links of 4Mbit/s: this machine carries about 9Mbit/s on each at a time
`},
	} {
		text := "topology: FT(2;20,18)\nfill: [19, 19, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18]\n" +
			"fabric: {rate: 4Mbit/s}\nevent: " + tt.event + "\ncases: " + tt.cases + "\n"
		s := expect.Value(scenario.Read("big", strings.NewReader(text)))(t)
		f := NewForecast(s, m, tt.inOne, tt.free)
		if got := f.String(); got != tt.want || f.Fits() != tt.fits {
			t.Errorf("%s %s: fits %v, want %v\n%s\nwant\n%s", tt.event, tt.cases, f.Fits(), tt.fits, got, tt.want)
		}
	}
}

// A machine that cannot be measured has no forecast.
func TestForecastFails(t *testing.T) {
	no := errors.New("no lab")
	for want, try := range map[string]func(*scenario.Scenario) (float64, error){
		"no lab":         func(*scenario.Scenario) (float64, error) { return 0, no },
		"no result from": func(*scenario.Scenario) (float64, error) { return 0, nil },
	} {
		_, err := MeasureMachine(try)
		expect.Error(t, err, want)
	}
}
