package scenario_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/internal/unit"
	"evbench/scenario"
	"evbench/testing/expect"
)

func TestDefaultRate(t *testing.T) {
	for servers, want := range map[int]unit.Rate{2: 100e6, 16: 100e6, 32: 100e6, 33: 25e6, 64: 25e6, 128: 12e6, 4096: 1e6} {
		expect.Equal(t, scenario.DefaultRate(servers), want, "DefaultRate(%d)", servers)
	}
}

// A rate is auto where evbench sets it and none is given; a written one is taken as it is.
func TestAutoRate(t *testing.T) {
	for _, tt := range []struct {
		fabric string
		rate   unit.Rate
		auto   bool
		text   string
	}{
		{"", 100e6, true, "auto (100Mbit/s)"},
		{"fabric: {rate: auto}\n", 100e6, true, "auto (100Mbit/s)"},
		{"fabric: {kind: emulate, rate: auto}\n", 100e6, true, "auto (100Mbit/s)"},
		{"fabric: {kind: emulate, rate: 40Mbit/s}\n", 40e6, false, "40Mbit/s"},
		{"fabric: {kind: hosts, rate: 10Gbit/s}\n", 10e9, false, "10Gbit/s"},
		{"fabric: hosts\n", 0, false, "0bit/s"},
	} {
		f := read(t, small+tt.fabric+"cases: [{}]").Fabric
		expect.False(t, f.Rate != tt.rate || f.AutoRate != tt.auto || f.RateText() != tt.text, "%q: %+v, %s", tt.fabric, f, f.RateText())
	}
}

func TestAutoRateRefused(t *testing.T) {
	_, err := shapes.Read("x.yaml", strings.NewReader(small+"fabric:\n  kind: hosts\n  rate: auto\ncases: [{}]"))
	want := "x.yaml:4: fabric.rate: evbench sets no link rate on hosts: auto is for lab and emulate"
	expect.True(t, err != nil && err.Error() == want, "error %v, want %s", err, want)
}

func TestOverrideAutoRate(t *testing.T) {
	for _, tt := range []struct {
		name, fabric string
		o            scenario.Overrides
		rate         unit.Rate
		auto         bool
	}{
		{"asked for", "fabric: {rate: 10Mbit/s}\n", scenario.Overrides{"rate": "auto"}, 100e6, true},
		{"given", "", scenario.Overrides{"rate": "10Mbit/s"}, 10e6, false},
		{"none on hosts", "", scenario.Overrides{"fabric": "hosts"}, 0, false},
		{"from hosts to the lab", "fabric: hosts\n", scenario.Overrides{"fabric": "lab"}, 100e6, true},
		{"from hosts with a rate", "fabric: {kind: hosts, rate: 1Gbit/s}\n", scenario.Overrides{"fabric": "lab"}, 1e9, false},
	} {
		s := read(t, small+tt.fabric+"cases: [{}]")
		expect.OK(t, s.Override(tt.o), "%s", tt.name)
		expect.True(t, s.Fabric.Rate == tt.rate && s.Fabric.AutoRate == tt.auto, "%s: %+v", tt.name, s.Fabric)
	}
	err := read(t, small+"cases: [{}]").Override(scenario.Overrides{"rate": "auto", "fabric": "hosts"})
	want := "--rate auto: evbench sets no link rate on hosts: auto is for lab and emulate"
	expect.True(t, err != nil && err.Error() == want, "error %v, want %s", err, want)
}

// Once the rate is settled, a fragment given as a phase follows it, one in bytes stays.
func TestSettleRate(t *testing.T) {
	const phase = 20 * time.Millisecond
	for event, want := range map[string]unit.Bytes{
		"{phase: 20ms}":                        scenario.FragmentOf(25e6, phase, 9000),
		"{phase: 20ms, sizes: {spread: 0.5}}":  scenario.FragmentOf(25e6, phase, 9000),
		"{fragment: 64KiB}":                    64 << 10,
		"{fragment: 1B, sizes: {spread: 0.1}}": 1,
	} {
		s := read(t, small+"event: "+event+"\ncases: [{}]")
		if err := s.SettleRate(25e6); err != nil || s.Event.Fragment != want || s.Fabric.Rate != 25e6 || s.Fabric.AutoRate {
			t.Errorf("%s: %+v %+v, %v; want fragments of %s", event, s.Fabric, s.Event, err, want)
		}
	}
	for rate, want := range map[unit.Rate]string{0: "must be more than 0", 10_000: "leave no room for a fragment"} {
		expect.Error(t, read(t, small+"event: {phase: 20ms}\ncases: [{}]").SettleRate(rate), want)
	}
}

// A phase is auto where that is asked for; once it is settled, the fragment follows it.
func TestAutoPhase(t *testing.T) {
	for event, auto := range map[string]bool{"{phase: auto}": true, "{phase: auto, sizes: {spread: 0.5}}": true, "{phase: 50ms}": false} {
		s := read(t, small+"fabric: {rate: 40Mbit/s}\nevent: "+event+"\ncases: [{}]")
		expect.True(t, s.Event.AutoPhase == auto && s.Event.Phase == 50*time.Millisecond && s.Event.Fragment == scenario.FragmentOf(40e6, 50*time.Millisecond, 9000), "%s: %+v", event, s.Event)
		expect.OK(t, s.SettlePhase(20*time.Millisecond), "%s", event)
		expect.True(t, !s.Event.AutoPhase && s.Event.Fragment == scenario.FragmentOf(40e6, 20*time.Millisecond, 9000), "%s settled: %+v", event, s.Event)
	}
	expect.Error(t, read(t, small+"event: {phase: auto}\ncases: [{}]").SettlePhase(time.Microsecond), "leave no room for a fragment")
	for text, want := range map[string]string{
		"event:\n  phase: auto\nfabric: hosts\n":     "x.yaml:3: event.phase: evbench does not measure what barriers take on hosts: auto is for lab and emulate",
		"event:\n  phase: often\n":                   "x.yaml:3: event.phase: duration \"often\"",
		"event:\n  phase: auto\n  fragment: 64KiB\n": "phase: not with fragment",
	} {
		_, err := shapes.Read("x.yaml", strings.NewReader(small+text+"cases: [{}]"))
		expect.Error(t, err, want)
	}
	expect.Error(t, read(t, small+"event: {phase: auto}\ncases: [{}]").Override(scenario.Overrides{"fabric": "hosts"}), "event.phase: evbench does not measure")
}

func TestRounds(t *testing.T) {
	const two = "cases: [{schedule: fors, failures: [leaf0-spine0]}, {routing: minhop, failures: [leaf0-spine0]}]"
	const timed = "cases: [{routing: minhop, failures: [{link: leaf0-spine0, at: 1s}]}, {}]"
	auto := func(limit time.Duration) scenario.Rounds { return scenario.Rounds{Limit: limit} }
	for _, tt := range []struct {
		name, text string
		want       scenario.Rounds
		slice      time.Duration
	}{
		{"nothing said", two, auto(100 * time.Second), 2 * time.Second},
		{"auto", "rounds: auto\nlimit: 30s\n" + two, auto(30 * time.Second), 2 * time.Second},
		{"a number", "rounds: 7\n" + two, scenario.Rounds{Count: 7, Limit: 100 * time.Second}, 10 * time.Second},
		{"links that change do so once", timed, scenario.Rounds{Count: 1, Limit: 100 * time.Second}, 10 * time.Second},
		{"as long as is written", "duration: 3s\n" + timed, scenario.Rounds{Count: 1, Limit: 100 * time.Second}, 3 * time.Second},
		{"unless that is asked for", "rounds: auto\n" + timed, auto(100 * time.Second), 10 * time.Second},
		{"nothing to compare", "control: off\ncases: [{}]", scenario.Rounds{Count: 1, Limit: 100 * time.Second}, 2 * time.Second},
	} {
		s := read(t, small+tt.text)
		expect.True(t, s.Rounds == tt.want && s.Cases[0].Duration == tt.slice, "%s: rounds %+v, slices of %s", tt.name, s.Rounds, s.Cases[0].Duration)
	}
}

func TestAnswerFields(t *testing.T) {
	s := read(t, small+"cases: [{name: a}, {name: b, routing: minhop}, {name: c, schedule: fors}]\nanswer: {cases: [c, a]}")
	expect.Equal(t, s.Answer, []string{"c", "a"}, "answer")
	if err := s.Override(scenario.Overrides{"case": "a"}); err != nil || !slices.Equal(s.Answer, []string{"a"}) {
		t.Errorf("answer of one case %q, %v", s.Answer, err)
	}
}
