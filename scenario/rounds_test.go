package scenario_test

import (
	"slices"
	"testing"
	"time"

	"evbench/internal/expect"
	"evbench/scenario"
)

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
