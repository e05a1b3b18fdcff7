package live

import (
	"testing"

	"evbench/bench"
	"evbench/internal/answer"
	"evbench/internal/expect"
	"evbench/results"
)

// While a run goes on its answer is pending, and so is a case without a slice of the control beside it. In the
// end they are what the run came to.
func TestPending(t *testing.T) {
	var s State
	story := NewStory(t, "topology: FT(2;2,2)\nfabric: {kind: emulate, rate: 1Gbit/s}\nevent: {phase: 5ms}\nrounds: 1\ncases: [{name: a, schedule: fors}]\n", s.Take)
	verdicts := func(of string) (out []string) {
		sum := results.Summary{
			Answer: &results.Answer{Answer: answer.Answer{Verdict: answer.Good, Sentence: "All is well."}},
			Cases:  make([]results.Case, 2),
		}
		sum.Cases[0].Name, sum.Cases[0].Verdict, sum.Cases[0].Estimate = "a", results.Resolved, &results.Estimate{Of: of}
		sum.Cases[1].Name, sum.Cases[1].Verdict = "b", results.Unresolved
		for _, e := range []bench.Event{bench.RoundDone{Summary: sum}, bench.Ended{Summary: sum}} {
			story.Say(story.Of(1, 0), e)
			out = append(out, string(s.Summary.Answer.Verdict), s.Summary.Cases[0].Verdict, s.Summary.Cases[1].Verdict)
		}
		return out
	}
	expect.Equal(t, verdicts(results.OfRatio), []string{"PENDING", results.Resolved, results.Pending, "GOOD", results.Resolved, results.Unresolved}, "beside the control")
	expect.Equal(t, verdicts(results.OfGoodput), []string{"PENDING", results.Pending, results.Pending, "GOOD", results.Resolved, results.Unresolved}, "without it")
}
