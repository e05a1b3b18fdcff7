package capacity

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"evbench/bench"
	"evbench/results"
	"evbench/scenario"
	"evbench/testing/expect"
)

// What a small tree takes says what a large one will: barriers grow with the servers, and
// what all carry is shared among them.
func TestForecast(t *testing.T) {
	m, err := MeasureMachine("lab", func(s *scenario.Scenario) (results.TriedRate, error) {
		ideal := 8 * float64(s.Event.Fragment) / float64(s.Fabric.Rate)
		if s.Event.Phase == 0 {
			return results.TriedRate{Efficiency: ideal / 0.0015}, nil
		}
		return results.TriedRate{Efficiency: 0.1}, nil
	})
	expect.MustTrue(t, err == nil && m.Servers == 32 && m.PhaseSec >= 0.0014 && m.PhaseSec <= 0.0016 && m.BitPerSec == 3.2e9,
		"%+v, %v; want 32 servers, 1.5 ms, 3.2 Gbit/s", m, err)
	for _, tt := range []struct {
		event, cases string
		inOne        int
		free         uint64
		fits         bool
		answer, want string
	}{
		{"{phase: 400ms}\ndeliver: discard", "[{}]", 30, 8e9, true, "GOOD: 326 servers fit on this machine; it carries about 9Mbit/s on each link.", `  ok    326 servers, 38 switches, 105950 connections, processes: 11
  ok    memory: about 3.536GB (64.71MB for events) of 8GB that may be taken
  ok    links of 4Mbit/s: this machine carries about 9Mbit/s on each at a time
  ok    phases of 400ms: barriers of about 15ms take 4 % of the time
`},
		{"{phase: 100ms}", "[{}]", 0, 0, false, "BAD: No process may have the files of one server: raise ulimit -Hn. Barriers of about 15ms take 13 % of the time: take phase: 290ms or more.", `  no    326 servers, 38 switches: no process may have the files of one server; raise ulimit -Hn
  ok    links of 4Mbit/s: this machine carries about 9Mbit/s on each at a time
  no    phases of 100ms: barriers of about 15ms take 13 % of the time
        take event: {phase: 290ms} or more for 5 %
`},
		{"{fragment: 1MiB}", "[{mode: unsynchronised}]", 400, 1e9, false, "BAD: 326 servers take about 226.3GB of memory; 1GB may be taken: deliver: discard, smaller fragments or fewer credits take less.", `  ok    326 servers, 38 switches, 105950 connections, processes: 1
  no    memory: about 226.3GB (222.9GB for events) of 1GB that may be taken
        take deliver: discard, smaller fragments or fewer credits
  ok    links of 4Mbit/s: this machine carries about 9Mbit/s on each at a time
`},
	} {
		text := "topology: FT(2;20,18)\nfill: [19, 19, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18]\n" +
			"fabric: {rate: 4Mbit/s}\nevent: " + tt.event + "\ncases: " + tt.cases + "\n"
		s := expect.Value(scenario.Read("big", strings.NewReader(text)))(t)
		f := NewForecast(s, m, tt.inOne, tt.free)
		expect.Equal(t, f.Answer("big.yaml").String(), tt.answer, "answer")
		if got := f.String(); got != tt.want || f.Fits() != tt.fits {
			t.Errorf("%s %s: fits %v, want %v\n%s\nwant\n%s", tt.event, tt.cases, f.Fits(), tt.fits, got, tt.want)
		}
	}
}

// A phase that is auto lasts as long as nineteen barriers, and its fragment is ten bursts; a rate that is auto
// follows from the machine where the tree is too large for tries. The time is what the rounds within the limit take.
func TestSettle(t *testing.T) {
	m := Machine{Servers: 32, PhaseSec: 0.0015, BitPerSec: 3.2e9}
	for _, tt := range []struct {
		name, text string
		rate       float64
		phase      time.Duration
		time       string
	}{
		{"large, both", "topology: FT(2;20,18)\nfabric: {rate: auto}\nevent: {phase: auto}\nlimit: 10m\n", 1e6, 1700 * time.Millisecond, "one round of about 20m30s, for the limit is 10m0s: no interval"},
		{"large, phase", "topology: FT(2;20,18)\nfabric: {rate: 1Mbit/s}\nevent: {phase: auto}\nlimit: 5m\n", 1e6, 1700 * time.Millisecond, "one round of about 20m30s, for the limit is 5m0s: no interval"},
		{"large, rate", "topology: FT(2;20,18)\nfabric: {rate: auto}\nevent: {phase: 100ms}\nrounds: 2\n", 1e6, 100 * time.Millisecond, "2 rounds of about 1m20s, 2m50s in all"},
		{"small", "topology: FT(2;4,4)\nfabric: {rate: auto}\nevent: {phase: auto}\n", 100e6, 30 * time.Millisecond, "at most 21 rounds of about 5s, for the limit is 1m40s"},
		{"slow", "topology: FT(2;2,2)\nfabric: {rate: 1Mbit/s}\nevent: {phase: auto}\nrounds: 1\n", 1e6, 1700 * time.Millisecond, "1 round of about 20s, 20s in all"},
	} {
		s := expect.Value(scenario.Read("x", strings.NewReader(tt.text+"warmup: 0\ncases: [{schedule: fors}]\n")))(t)
		expect.OK(t, NewForecast(s, m, 30, 8e9).SettleRate(s), tt.name)
		expect.OK(t, NewForecast(s, m, 30, 8e9).SettlePhase(s), tt.name)
		f := NewForecast(s, m, 30, 8e9)
		f.Rounds(s, expect.Value(bench.Prepare(s))(t))
		expect.True(t, float64(s.Fabric.Rate) == tt.rate && s.Event.Phase == tt.phase && f.Time() == tt.time, "%s: %s, %s, %q", tt.name, s.Fabric.Rate, s.Event.Phase, f.Time())
	}
}

// The phases of a large tree are those measured on it, but for what links let pass at once; a fragment of its try
// is well above that.
func TestMeasureTree(t *testing.T) {
	for _, tt := range []struct {
		share   float64 // of the prediction
		barrier time.Duration
		phase   time.Duration
	}{
		{0.5, 14854362, 290 * time.Millisecond}, // 36 KiB at 20 Mbit/s, as long as they take with headers
		{1.1, 11250000, 220 * time.Millisecond}, // of 32 servers, in proportion
	} {
		s := expect.Value(scenario.Read("x", strings.NewReader("topology: FT(2;20,18)\nfabric: {rate: 20Mbit/s}\nevent: {phase: auto}\ncases: [{}]\n")))(t)
		m := Machine{Servers: 32, PhaseSec: 0.001, BitPerSec: 3.2e9}
		expect.OK(t, m.MeasureTree(s, func(s *scenario.Scenario) (tried results.TriedRate, err error) {
			return TryRate(t.Context(), s, s.Fabric.Rate, func(_ context.Context, at *scenario.Scenario, planned []bench.Planned) (results.Summary, error) {
				expect.True(t, at.Warmup == 0 && len(planned) == 1 && at.Event.Fragment > leastFragment-100 && at.Event.Fragment < leastFragment+100, "%d, %d, %s", at.Warmup, len(planned), at.Event.Fragment)
				return results.Summary{Cases: []results.Case{{Rates: results.Rates{MeasuredEfficiency: planned[0].Prediction.Efficiency * tt.share}}}}, nil
			})
		}), "")
		f := NewForecast(s, m, 30, 8e9)
		expect.OK(t, f.SettlePhase(s), "")
		barrier := time.Duration(math.Round(f.BarrierSec * 1e9))
		expect.True(t, barrier == tt.barrier && s.Event.Phase == tt.phase && m.BitPerSec == 3.2e9, "%v of the prediction: %d, %s", tt.share, barrier, s.Event.Phase)
	}
	m := Machine{Servers: 32}
	s := expect.Value(scenario.Read("x", strings.NewReader("topology: FT(2;20,18)\ncases: [{}]\n")))(t)
	expect.Error(t, m.MeasureTree(s, func(*scenario.Scenario) (tried results.TriedRate, err error) { return }), "no result from a lab of 360 servers")
}

// A machine that cannot be measured has no forecast.
func TestForecastFails(t *testing.T) {
	no := errors.New("no lab")
	for want, try := range map[string]func(*scenario.Scenario) (results.TriedRate, error){
		"no lab":         func(*scenario.Scenario) (tried results.TriedRate, err error) { return tried, no },
		"no result from": func(*scenario.Scenario) (tried results.TriedRate, err error) { return },
	} {
		_, err := MeasureMachine("lab", try)
		expect.Error(t, err, want)
	}
}
