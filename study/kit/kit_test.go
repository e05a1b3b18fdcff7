package kit_test

import (
	"strings"
	"testing"
	"time"

	"evbench/internal/answer"
	"evbench/scenario"
	_ "evbench/site/engines"
	"evbench/study/kit"
	"evbench/testing/expect"
)

// Whatever a kit is asked for, its scenario is one, and only --inject takes a link down.
func TestKitScenario(t *testing.T) {
	for _, k := range []kit.Kit{
		{Hosts: []string{"a", "b"}, Duration: time.Second},
		{Hosts: []string{"a", "b", "c", "d"}, Topology: "FT(2;2,2)", Rate: "100Gbit/s", Launch: "user: daq, interface: ib0", Duration: time.Second},
		{Hosts: []string{"a", "b", "c", "d"}, Topology: "FT(2;2,2)", Inject: "kind: command, down: x, up: y, probe: z", Down: "leaf0-spine0", Duration: time.Second},
	} {
		text := k.Scenario()
		s, err := scenario.Read("kit", strings.NewReader(text))
		expect.MustTrue(t, err == nil, "%v: %s", err, text)
		dead := 0
		for _, c := range s.Cases {
			dead += len(c.Failures)
		}
		expect.True(t, s.Tree.Servers() == len(k.Hosts) && (dead > 0) == (k.Inject != ""), "%d servers, %d dead: %s", s.Tree.Servers(), dead, text)
		for _, step := range k.Steps() {
			expect.True(t, step.Name != "" && step.Out != "" && (step.Args[0] == "evbench" || step.Optional), "%s", step)
		}
	}
}

func TestKitAnswer(t *testing.T) {
	steps := kit.Kit{Hosts: []string{"a", "b"}}.Steps()
	done := make([]kit.Done, len(steps))
	for i := range steps {
		done[i].Step = steps[i].Name
	}
	verdict := &answer.Answer{Verdict: answer.Good, Sentence: "97 % of the link rate was measured.", Next: []string{"evbench plan"}}
	a := kit.Answer(steps, done, verdict, "kit.tar.gz")
	expect.True(t, a.Verdict == answer.Good && a.Sentence == verdict.Sentence && len(a.Next) == 2, "%+v", a)
	done[2].Absent = true
	done[5].Code, done[5].Said = 2, "no rate"
	a = kit.Answer(steps, done, nil, "kit.tar.gz")
	expect.True(t, a.Verdict == answer.Unknown && strings.Join(a.Why, "; ") == "the step network was left out: this machine has no ibnetdiscover; the step judge failed: no rate", "%+v", a)
	done[4].Code, done[4].Said = 4, "" // measured, and a case is wrong
	expect.Equal(t, kit.Answer(steps, done, verdict, "x").Verdict, answer.Good, "of a run that is marked")
	done[4].Code, done[4].Said = 1, "node7 does not answer"
	a = kit.Answer(steps, done, verdict, "x")
	expect.True(t, a.Verdict == answer.Bad && a.Why[0] == "node7 does not answer", "%+v", a)
}
