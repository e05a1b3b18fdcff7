package live

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"evbench/bench"
	"evbench/internal/expect"
	"evbench/results"
	"evbench/scenario"
)

// A Story is the events of a run that is made up, told one after the other. Its cases and plans are real.
type Story struct {
	tell     func(bench.Progress)
	at       time.Time
	Rounds   int
	Cases    []bench.Planned
	summary  results.Summary
	measured map[string]results.Case
}

// NewStory begins a run of a scenario.
func NewStory(t testing.TB, text string, tell func(bench.Progress)) *Story {
	t.Helper()
	s := expect.Value(scenario.Read("x.yaml", strings.NewReader(text)))(t)
	planned := expect.Value(bench.Prepare(s))(t)
	x := &Story{tell: tell, Rounds: s.Rounds.Count, Cases: planned, at: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC), measured: map[string]results.Case{}}
	x.Say(bench.Place{}, bench.Begun{Manifest: results.Manifest{Name: "x"}, Cases: planned, Limit: s.Rounds.Limit})
	return x
}

// Say tells an event now.
func (x *Story) Say(p bench.Place, e bench.Event) {
	x.tell(bench.Progress{At: x.at, Rounds: x.Rounds, Place: p, Event: e})
}

// Of is the place of a slice of a case in a round in which all cases have their turn.
func (x *Story) Of(round, index int) bench.Place {
	c := x.Cases[index]
	return bench.Place{Round: round, Case: c.Name, Index: index, Count: len(x.Cases), Duration: c.Duration}
}

// Slice tells a slice of a case of which each server builds so many events per second. It
// takes two seconds beside its measured part.
func (x *Story) Slice(round, index int, rate float64, beside ...bench.Event) {
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
func (x *Story) Standing() results.Summary {
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
func (x *Story) RoundDone(round int) {
	x.Say(bench.Place{Round: round}, bench.RoundDone{Elapsed: time.Duration(round) * 24 * time.Second, Summary: x.Standing()})
}

// Ended tells that the run is over.
func (x *Story) Ended() { x.Say(bench.Place{}, bench.Ended{Summary: x.Standing()}) }

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
