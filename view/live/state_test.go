package live

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"evbench/bench"
	"evbench/internal/answer"
	"evbench/results"
	"evbench/scenario"
	"evbench/testing/expect"
	"evbench/topology"
)

// While a run goes on its answer is pending, and so is a case without a slice of the control beside it. In the
// end they are what the run came to.
func TestPending(t *testing.T) {
	var s State
	x := NewScript(t, "topology: FT(2;2,2)\nfabric: {kind: emulate, rate: 1Gbit/s}\nevent: {phase: 5ms}\nrounds: 1\ncases: [{name: a, schedule: fors}]\n", s.Take)
	verdicts := func(of string) (out []string) {
		sum := results.Summary{
			Answer: &results.Answer{Answer: answer.Answer{Verdict: answer.Good, Sentence: "All is well."}},
			Cases:  make([]results.Case, 2),
		}
		sum.Cases[0].Name, sum.Cases[0].Verdict, sum.Cases[0].Estimate = "a", results.Resolved, &results.Estimate{Of: of}
		sum.Cases[1].Name, sum.Cases[1].Verdict = "b", results.Unresolved
		for _, e := range []bench.Event{bench.RoundDone{Summary: sum}, bench.Ended{Summary: sum}} {
			x.Say(x.Of(1, 0), e)
			out = append(out, string(s.Summary.Answer.Verdict), s.Summary.Cases[0].Verdict, s.Summary.Cases[1].Verdict)
		}
		return out
	}
	expect.Equal(t, verdicts(results.OfRatio), []string{"PENDING", results.Resolved, results.Pending, "GOOD", results.Resolved, results.Unresolved}, "beside the control")
	expect.Equal(t, verdicts(results.OfGoodput), []string{"PENDING", results.Pending, results.Pending, "GOOD", results.Resolved, results.Unresolved}, "without it")
}

// nowhere is a browser that takes everything.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) WriteHeader(int)             {}
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) Flush()                      {}

// BenchmarkFollow is what a browser costs with 64 servers: drawing and sending what an
// interval changes, what a dead link does, and what the end of a slice does.
func BenchmarkFollow(b *testing.B) {
	text := "topology: FT(2;8,8)\ncontrol: off\nduration: 24s\nrounds: 2\ncases:\n"
	for _, name := range []string{"one", "two", "three", "four", "five"} {
		text += "  - {name: " + name + ", schedule: fors, failures: [leaf0-spine0]}\n"
	}
	l := expect.Value(Listen(b.Context(), "127.0.0.1:0"))(b)
	s := Serve(l, slog.New(slog.DiscardHandler))
	defer s.End("") //nolint:errcheck // nobody is there
	x := NewScript(b, strings.TrimSpace(text)+"\n", s.Take)
	for i := range x.Cases {
		x.Slice(1, i, 5)
	}
	out, sent := stream{nowhere{}, http.NewResponseController(nowhere{})}, map[string]int{}
	draw := func(b *testing.B, events ...bench.Event) {
		for n := 0; b.Loop(); n++ {
			if n%24 == 0 { // the next slice
				x.Say(x.Of(2, 1), bench.Installing{})
			}
			for _, e := range events {
				x.Say(x.Of(2, 1), e)
			}
			parts, _, err := s.draw()
			if err == nil {
				err = out.parts(parts, sent)
			}
			expect.Must(b, err)
		}
	}
	b.Run("interval", func(b *testing.B) {
		draw(b, bench.Measuring{Elapsed: time.Second, Interval: 5, EventsPerSec: 5})
	})
	b.Run("links", func(b *testing.B) {
		draw(b, bench.LinksChanged{Down: []topology.Link{{Leaf: 3, Spine: 3}}}, bench.LinksChanged{Up: []topology.Link{{Leaf: 3, Spine: 3}}})
	})
	b.Run("slice", func(b *testing.B) {
		draw(b, bench.Installing{}, bench.RoundDone{Summary: x.Standing()})
	})
}

// A Script is the events of a run that is made up, told one after the other. Its cases and plans are real.
type Script struct {
	tell     func(bench.Progress)
	at       time.Time
	Rounds   int
	Cases    []bench.Planned
	summary  results.Summary
	measured map[string]results.Case
}

// NewScript begins a run of a scenario.
func NewScript(t testing.TB, text string, tell func(bench.Progress)) *Script {
	t.Helper()
	s := expect.Value(scenario.Read("x.yaml", strings.NewReader(text)))(t)
	planned := expect.Value(bench.Prepare(s))(t)
	x := &Script{tell: tell, Rounds: s.Rounds.Count, Cases: planned, at: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC), measured: map[string]results.Case{}}
	x.Say(bench.Place{}, bench.Begun{Manifest: results.Manifest{Name: "x"}, Cases: planned, Limit: s.Rounds.Limit})
	return x
}

// Say tells an event now.
func (x *Script) Say(p bench.Place, e bench.Event) {
	x.tell(bench.Progress{At: x.at, Rounds: x.Rounds, Place: p, Event: e})
}

// Of is the place of a slice of a case in a round in which all cases have their turn.
func (x *Script) Of(round, index int) bench.Place {
	c := x.Cases[index]
	return bench.Place{Round: round, Case: c.Name, Index: index, Count: len(x.Cases), Duration: c.Duration}
}

// Slice tells a slice of a case of which each server builds so many events per second. It
// takes two seconds beside its measured part.
func (x *Script) Slice(round, index int, rate float64, beside ...bench.Event) {
	c, p := x.Cases[index], x.Of(round, index)
	x.Say(p, bench.Installing{})
	x.at = x.at.Add(2 * time.Second)
	x.Say(p, bench.WarmingUp{})
	x.Say(p, bench.Measuring{})
	for i := range 2 {
		x.at = x.at.Add(c.Duration / 2)
		x.Say(p, bench.Measuring{Elapsed: time.Duration(i+1) * c.Duration / 2, EventsPerSec: rate, Interval: rate})
		for _, e := range beside {
			x.Say(p, e)
		}
	}
	one := results.Case{Name: c.Name, Schedule: c.Schedule, Routing: "pinned", Control: c.Control, Counts: results.Counts{MeasuredSec: c.Duration.Seconds()},
		Rates: results.Rates{EventsPerSec: results.NewStat([]float64{rate}), MeasuredEfficiency: 0.9, PredictedEfficiency: 1}, Complete: true, Valid: true}
	for _, e := range beside {
		if e, ok := e.(bench.FailedOver); ok {
			one.Failovers = append(one.Failovers, e.Failover)
		}
	}
	x.measured[c.Name] = one
	x.summary.Slices = append(x.summary.Slices, results.Slice{Case: c.Name, Round: round - 1, EventsPerSec: rate, Efficiency: 0.9, Exchanges: 50, MeasuredSec: c.Duration.Seconds(), Complete: true})
	x.Say(p, bench.Done{Slice: one, Summary: x.Standing(), Links: []results.LinkCount{{Case: c.Name, Link: "leaf0-spine1", Direction: "up", Bytes: 1000}}})
}

// Standing is what the run has come to so far.
func (x *Script) Standing() results.Summary {
	sum := x.summary
	sum.Schema, sum.Name = results.SummarySchema, "x"
	for _, c := range x.Cases {
		if one, ok := x.measured[c.Name]; ok {
			sum.Cases = append(sum.Cases, one)
		}
	}
	return sum
}

// RoundDone tells that a round is over.
func (x *Script) RoundDone(round int) {
	x.Say(bench.Place{Round: round}, bench.RoundDone{Elapsed: time.Duration(round) * 24 * time.Second, Summary: x.Standing()})
}

// Ended tells that the run is over.
func (x *Script) Ended() { x.Say(bench.Place{}, bench.Ended{Summary: x.Standing()}) }

// Without a screen progress is a line every ten seconds.
func TestSets(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	p := NewSets(&Terminal{To: &b}, func() time.Time { return now })
	for range 11 {
		now = now.Add(time.Second)
		p.Update(int(5*now.Unix()), 2016)
	}
	expect.Equal(t, b.String(), "50 of 2016 sets, 5/s, about 6m33.2s left\n", "line")
}
