package bench_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evbench/bench"
	"evbench/internal/answer"
	"evbench/results"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// Four servers build four events in three phases of linkTime.
const (
	rated    = "topology: FT(2;2,2)\nfabric: {kind: hosts, rate: 33Mbit/s}\nevent: {fragment: 4KiB}\nduration: 1s\ninterval: 1s\n"
	fourIn3  = 4e9 / float64(3*linkTime)
	twoCases = "cases: [{name: shift, load: {rate: 10%, buffer: 64KiB}}, {name: dead, schedule: fors, failures: [leaf0-spine0], load: {rate: 10%, buffer: 64KiB}}, {name: more, schedule: fors, failures: [leaf0-spine0], load: {rate: 30%, buffer: 64KiB}}]\n"
)

// search runs a search in virtual time, until it has begun stop measurements; 0: to its end.
func search(t *testing.T, text string, of bench.Search, stop int) (sum results.Summary, sink *memory) {
	t.Helper()
	s, _ := read(t, text)
	expect.OK(t, s.SearchRates())
	planned := expect.Value(bench.Parts{}.Prepare(s))(t)
	sink = &memory{}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f, begun := &inProcess{info: results.Fabric{Kind: "hosts", RateBitPerSec: 33e6, Factor: 1}}, 0
		o := bench.Options{Listener: f.listen(), Token: "secret", Progress: func(p bench.Progress) {
			if m, ok := p.Event.(bench.Measuring); ok && m.Elapsed == 0 {
				if begun++; begun == stop {
					cancel()
				}
			}
		}}
		var err error
		sum, err = bench.Run(ctx, bench.Work{Scenario: s, Cases: planned, Search: &of, Fabric: f, Open: into(sink)}, o)
		expect.Equal(t, err == nil, stop == 0, "%v", err)
	})
	return sum, sink
}

// A search finds what the network carries, each of its steps is a case with its plan, and nothing else is searched: cases that
// differ in their rates alone are one.
func TestSearch(t *testing.T) {
	need.Heavy(t)
	simulated := 0
	sum, _ := search(t, rated+twoCases, bench.Search{Simulate: func(_ context.Context, p *bench.Planned) *results.Offered {
		simulated++
		o := &results.Offered{RatePerSec: p.Load.Rate, Offered: 1000, Complete: 1000}
		if p.Load.Rate > .97*fourIn3 {
			o.Complete, o.Refused = 900, 100
		}
		p.Prediction.Model, p.Prediction.Load = "fake", &results.Expected{Complete: o.Taken()}
		return o
	}}, 0)
	expect.MustTrue(t, len(sum.Found) == 2, "%+v", sum.Found)
	expect.True(t, simulated <= 4*bench.SearchSteps, "%d simulations", simulated)
	for _, f := range sum.Found[:1] {
		expect.True(t, f.Model == "fake" && math.Abs(f.Predicted/(.97*fourIn3)-1) <= f.Finest && f.Bound > 0, "%+v", f)
		expect.True(t, f.Doubt == "" && f.Steps <= bench.SearchSteps && f.TakenPerSec <= fourIn3*(1+f.Finest) && f.RefusedPerSec >= fourIn3*(1-f.Finest) &&
			f.RefusedPerSec <= f.TakenPerSec*(1+f.Finest), "%+v; want %.1f", f, fourIn3)
		at := slices.IndexFunc(sum.Cases, func(c results.Case) bool { return c.Name == f.At })
		expect.MustTrue(t, at >= 0, "%s: no case", f.At)
		o := sum.Cases[at].Offered
		expect.True(t, o.RatePerSec == f.TakenPerSec && o.Refused == 0 && o.Offered == o.Complete+o.Incomplete+o.Refused, "%+v", o)
	}
	for _, c := range sum.Cases {
		o := c.Offered
		expect.True(t, o.Predicted != nil && (o.Predicted.Complete == 1) == (o.RatePerSec <= .97*fourIn3), "%s: %+v", c.Name, o.Predicted)
		expect.Equal(t, o.Offered, o.Complete+o.Incomplete+o.Refused, "%s", c.Name)
		expect.True(t, c.Valid, "%s: %v", c.Name, c.Reasons)
	}
	expect.True(t, strings.HasPrefix(sum.Answer.Sentence, "“shift” takes 1.3"), "%s", sum.Answer)
	expect.True(t, strings.Contains(sum.Answer.Why[0], "is taken, 1.3") || len(sum.Answer.Why) > 1, "%v", sum.Answer.Why)
}

// A limit of the latency below that of full buffers, and above that of an event alone, is kept.
func TestSearchLatency(t *testing.T) {
	sum, _ := search(t, rated+"cases: [{name: shift, load: {rate: 10%, arrival: poisson}}]\n", bench.Search{Latency: 20 * time.Millisecond}, 0)
	f := sum.Found[0]
	for _, c := range sum.Cases {
		taken := c.Offered.RatePerSec <= f.TakenPerSec
		expect.True(t, !taken || c.Offered.Latency.P999 <= .020 || c.Name != f.At, "%s: %+v", c.Name, c.Offered.Latency)
	}
	expect.True(t, f.TakenPerSec < fourIn3 && f.TakenPerSec > .3*fourIn3, "%+v", f)
}

// An interrupted search says how far it came, and nothing more.
//
//gate:race
func TestSearchInterrupted(t *testing.T) {
	sum, _ := search(t, rated+twoCases, bench.Search{}, 3)
	expect.True(t, len(sum.Found) == 1 && sum.Found[0].Steps == 2 && sum.Found[0].Doubt != "", "%+v", sum.Found)
	expect.True(t, sum.Answer.Verdict == answer.Unknown && strings.Contains(sum.Answer.Sentence, "nterrupted after 3 measurements"), "%s", sum.Answer)
	expect.True(t, !math.IsNaN(sum.Found[0].Finest), "%+v", sum.Found)
}
