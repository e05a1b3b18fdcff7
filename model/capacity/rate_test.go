package capacity_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/bench"
	"evbench/internal/unit"
	"evbench/model/capacity"
	"evbench/results"
	"evbench/scenario"
	"evbench/testing/expect"
)

// A machine is one that exists only in the test: its links carry so much, and a try takes so long.
type machine struct {
	carries float64              // bit/s of each link
	takes   func() time.Duration // a try
	noise   func() float64       // share of the time that is lost to others
}

func quiet() float64 { return 0 }

func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// find has a rate found on a machine, and holds the search to what always holds.
func (m machine) find(t *testing.T, text string) capacity.FoundRate {
	t.Helper()
	s := expect.Value(scenario.Read("x.yaml", strings.NewReader(text)))(t)
	search := capacity.NewRateSearch(s)
	now, longest := time.Duration(0), time.Duration(0)
	for range 100 {
		rate, more := search.Next(now)
		if !more {
			found := search.Found()
			m.check(t, s, found)
			return found
		}
		expect.True(t, now+longest <= capacity.RateLimit, "a try begins after %s, and others took %s", now, longest)
		took := m.takes()
		now, longest = now+took, max(longest, took)
		tried := results.TriedRate{RateBitPerSec: int64(rate), Efficiency: 0.9 * (1 - m.noise()) * min(1, m.carries/float64(rate)), Predicted: 0.9}
		search.Tell(tried, took)
	}
	t.Fatal("the search does not end")
	return capacity.FoundRate{}
}

// lowest reports whether half of a rate would leave fragments near the bursts of links.
func lowest(s *scenario.Scenario, rate unit.Rate) bool {
	at := *s
	return at.SettleRate(rate/2) != nil || at.Event.Fragment < 36<<10
}

// check holds what was found against what was tried.
func (m machine) check(t *testing.T, s *scenario.Scenario, f capacity.FoundRate) {
	t.Helper()
	if !slices.IsSortedFunc(f.Tried, func(a, b results.TriedRate) int { return int(b.RateBitPerSec - a.RateBitPerSec) }) {
		t.Errorf("%s: rates do not fall", f)
	}
	last := results.TriedRate{}
	if len(f.Tried) > 0 {
		last = f.Tried[len(f.Tried)-1]
	}
	enough := map[string]float64{scenario.Lab: 0.99, scenario.Emulate: 0.95}[s.Fabric.Kind]
	tried := last.RateBitPerSec == int64(f.Rate)
	switch {
	case (tried && last.Share() >= enough) != (f.Warning == ""):
		t.Errorf("%s: warning %q", f, f.Warning)
	case !tried && len(f.Tried) > 0 && (int64(f.Rate) >= last.RateBitPerSec || f.Rate > s.Fabric.Rate/4 && !lowest(s, f.Rate)):
		t.Errorf("%s: too high without a try", f)
	case tried == strings.Contains(f.String(), "not tried"):
		t.Errorf("%s: was it tried?", f)
	case f.Rate > s.Fabric.Rate || f.Rate < s.Fabric.Rate/16:
		t.Errorf("%s: out of range", f)
	}
}

const sixteen = "topology: FT(2;4,4)\ncases: [{}]\n"

// On a quiet machine the highest rate is taken that its links carry.
func TestRateSearchOnQuietMachine(t *testing.T) {
	for _, tt := range []struct {
		carries float64
		want    string
		tries   int
	}{
		{1e9, "100Mbit/s", 2}, {99.5e6, "100Mbit/s", 2}, {98e6, "50Mbit/s", 3}, {49.6e6, "50Mbit/s", 3}, {48e6, "25Mbit/s", 3},
		{20e6, "12.5Mbit/s", 3}, {1e6, "6.25Mbit/s", 2},
	} {
		got := machine{tt.carries, always(300 * time.Millisecond), quiet}.find(t, sixteen)
		expect.True(t, got.Rate.String() == tt.want && len(got.Tried) == tt.tries, "carries %g: %s, want %s", tt.carries, got, tt.want)
	}
}

// Whatever a machine does, the search ends in time at a rate that comes into question.
func TestRateSearchOnAnyMachine(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		lost, longest := rnd.Float64(), time.Duration(1+rnd.IntN(7000))*time.Millisecond
		m := machine{
			carries: 1e6 * float64(1+rnd.IntN(300)),
			takes:   func() time.Duration { return time.Duration(rnd.Int64N(int64(longest))) },
			noise:   func() float64 { return lost * rnd.Float64() },
		}
		fabric := []string{"lab", "emulate"}[rnd.IntN(2)]
		m.find(t, fmt.Sprintf("topology: FT(2;4,%d)\nfabric: %s\ncases: [{}]\n", 2+rnd.IntN(16), fabric))
	}
}

func TestFoundRate(t *testing.T) {
	slow := always(3 * time.Second)
	for _, tt := range []struct {
		name          string
		m             machine
		text          string
		want, warning string
	}{
		{"carried", machine{80e6, always(time.Second), quiet}, sixteen,
			"link rate: 50Mbit/s (this machine reached 0.800 of the prediction at 100Mbit/s, 1.000 at 50Mbit/s, 1.000 at 50Mbit/s)", ""},
		{"carried once, and no time left", machine{1e9, slow, quiet}, sixteen,
			"link rate: 100Mbit/s (this machine reached 1.000 of the prediction at 100Mbit/s)", ""},
		{"no time left", machine{80e6, slow, quiet}, sixteen,
			"link rate: 25Mbit/s, not tried (this machine reached 0.800 of the prediction at 100Mbit/s)",
			"link rate 25Mbit/s was not tried: at 100Mbit/s the healthy tree reached 0.800 of its prediction, and another try would have ended after 5s"},
		{"no time left, far below", machine{10e6, slow, quiet}, sixteen,
			"link rate: 6.25Mbit/s, not tried (this machine reached 0.100 of the prediction at 100Mbit/s)",
			"link rate 6.25Mbit/s was not tried: at 100Mbit/s the healthy tree reached 0.100 of its prediction, and another try would have ended after 5s"},
		{"never", machine{1e6, always(time.Second), quiet}, sixteen,
			"link rate: 6.25Mbit/s (this machine reached 0.010 of the prediction at 100Mbit/s, 0.160 at 6.25Mbit/s)",
			"at no link rate did the healthy tree reach its prediction within 1 %; at 6.25Mbit/s, the lowest, it reached 0.160 of it: the machine is busy"},
		{"the model takes its time", machine{1e9, always(time.Second), func() float64 { return 0.03 }}, "fabric: emulate\n" + sixteen,
			"link rate: 100Mbit/s (this machine reached 0.970 of the prediction at 100Mbit/s, 0.970 at 100Mbit/s)", ""},
		{"too large", machine{}, "topology: FT(2;16,16)\ncases: [{}]\n",
			"link rate: 6Mbit/s, not tried", "link rate 6Mbit/s was not tried: within 5s none could be"},
		{"short phases", machine{1e6, always(time.Second), quiet}, sixteen + "event: {phase: 10us}\n",
			"link rate: 100Mbit/s (this machine reached 0.010 of the prediction at 100Mbit/s)",
			"at no link rate did the healthy tree reach its prediction within 1 %; at 100Mbit/s, the lowest, it reached 0.010 of it: the machine is busy"},
		{"fragments near the bursts of the links", machine{1e6, always(time.Second), quiet}, sixteen + "event: {phase: 20ms}\n",
			"link rate: 25Mbit/s (this machine reached 0.010 of the prediction at 100Mbit/s, 0.040 at 25Mbit/s)",
			"at no link rate did the healthy tree reach its prediction within 1 %; at 25Mbit/s, the lowest, it reached 0.040 of it: the machine is busy"},
	} {
		got := tt.m.find(t, tt.text)
		expect.True(t, got.String() == tt.want && got.Warning == tt.warning,
			"%s: %s\n%s\nwant %s\n%s", tt.name, got, got.Warning, tt.want, tt.warning)
	}
}

// A try measures the healthy control alone, with fragments that follow the rate.
func TestTryRate(t *testing.T) {
	for _, tt := range []struct {
		event string
		want  unit.Bytes
	}{
		{"", scenario.FragmentOf(25e6, 25*time.Millisecond, 9000)},
		{"event: {phase: 10s, sizes: {spread: 0.5}}\n", scenario.FragmentOf(25e6, 25*time.Millisecond, 9000)},
		{"event: {phase: 5ms}\n", scenario.FragmentOf(25e6, 25*time.Millisecond, 9000)},
		{"event: {fragment: 2KiB}\n", 2048},
		{"event: {fragment: 20MiB}\n", scenario.FragmentOf(25e6, 25*time.Millisecond, 9000)},
	} {
		s := expect.Value(scenario.Read("x.yaml", strings.NewReader("topology: FT(2;2,2)\ncases: [{}]\n"+tt.event+"warmup: 7\nrounds: 3\nduration: 1h\n")))(t)
		before := *s
		run := func(_ context.Context, at *scenario.Scenario, planned []bench.Planned) (results.Summary, error) {
			expect.True(t, at.Fabric.Rate == 25e6 && at.Event.Fragment == tt.want && at.Event.Sizes.Spread == 0,
				"%q: %+v %+v, want fragments of %s", tt.event, at.Fabric, at.Event, tt.want)
			expect.True(t, len(planned) == 1 && planned[0].Control && at.Warmup == 1 && at.Duration < 2*time.Second, "%q: %v, %d, %v", tt.event, planned, at.Warmup, at.Duration)
			return results.Summary{Cases: []results.Case{{Rates: results.Rates{MeasuredEfficiency: 0.5}}}}, nil
		}
		got, err := capacity.TryRate(t.Context(), s, 25e6, run)
		expect.Must(t, err)
		expect.Equal(t, got, results.TriedRate{RateBitPerSec: 25e6, Efficiency: 0.5, Predicted: 1}, "%q", tt.event)
		if s.Fabric != before.Fabric || !reflect.DeepEqual(s.Event, before.Event) || s.Duration != before.Duration || !slices.Equal(s.CaseNames(), before.CaseNames()) {
			t.Errorf("%q: the scenario itself has changed", tt.event)
		}
	}
}

// A try without time has an error, as any run has; a search without a try is careful.
func TestTryRateEndsEarly(t *testing.T) {
	s := expect.Value(scenario.Read("x.yaml", strings.NewReader(sixteen)))(t)
	why := errors.New("interrupt")
	run := func(context.Context, *scenario.Scenario, []bench.Planned) (results.Summary, error) {
		return results.Summary{}, why
	}
	expect.Is(t, expect.Err(capacity.TryRate(t.Context(), s, 25e6, run)), why)
	got := capacity.NewRateSearch(s).Found()
	expect.True(t, got.String() == "link rate: 25Mbit/s, not tried" && got.Warning != "", "%s, warning %q", got, got.Warning)
}
