package compare_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/results"
	"evbench/results/compare"
)

// A synthetic run is one case as a network would have given it: each server
// receives at a rate that wanders around its mean.
type synthetic struct {
	repeats, intervals, servers int
	rate                        float64 // bit/s per server
	noise                       float64 // of one interval, relative
	alike                       float64 // correlation of neighbouring intervals
	between                     float64 // spread of the repeats, relative
	wait                        float64 // at the barrier, share of the time
	seed                        uint64
}

const (
	fragment = 125_000 // bytes
	eventsOf = 16 * fragment
)

// run makes the results. Servers of one interval share its noise.
func (s synthetic) run() *results.Run {
	rng := rand.New(rand.NewPCG(s.seed, 7))
	run := &results.Run{
		Manifest: results.Manifest{
			Fabric: results.Fabric{Kind: "lab", RateBitPerSec: 100e6, MTU: 9000}, Transport: "tcp",
			Versions: map[string]string{"evbench": "v1"},
		},
	}
	for r := range s.repeats {
		samples := s.repeat(rng, r)
		run.Samples = append(run.Samples, samples...)
		run.Summary.Cases = append(run.Summary.Cases, summary("shift", r, s, samples))
	}
	return run
}

func (s synthetic) repeat(rng *rand.Rand, r int) (out []results.Sample) {
	mean := s.rate * (1 + s.between*rng.NormFloat64())
	wander := rng.NormFloat64()
	for i := range s.intervals {
		if i > 0 {
			wander = s.alike*wander + math.Sqrt(1-s.alike*s.alike)*rng.NormFloat64()
		}
		for server := range s.servers {
			rate := max(0, mean*(1+s.noise*wander+s.noise/10*rng.NormFloat64()))
			out = append(out, results.Sample{
				Case: "shift", Repeat: r, Server: server, TSec: float64(i+1) + 1e-4*rng.Float64(), IntervalSec: 1,
				PayloadBytes: uint64(rate / 8), GoodputBitPerSec: rate,
				Events: uint64(rate / 8 / eventsOf), EventBytes: eventsOf, BarrierWaitSec: s.wait * (1 + s.noise*rng.NormFloat64()),
			})
		}
	}
	return out
}

// summary sums samples up as a run would have.
func summary(name string, repeat int, s synthetic, samples []results.Sample) results.Case {
	bytes, wait := 0.0, 0.0
	for _, x := range samples {
		bytes += float64(x.PayloadBytes) / float64(s.servers)
		wait += x.BarrierWaitSec / float64(s.servers)
	}
	sec := float64(s.intervals)
	return results.Case{
		Name: name, Repeat: repeat, Mode: "synchronised", PlanHash: "sha256:1", Complete: true, Valid: true, Counts: results.Counts{MeasuredSec: sec,
			Exchanges: uint64(bytes / eventsOf), BarrierWaitSec: wait},
		Rates: results.Rates{EventsPerSec: results.Stat{Mean: bytes / sec / eventsOf},
			GoodputBitPerSec: results.Stat{Mean: 8 * bytes / sec}, MeasuredEfficiency: 8 * bytes / sec / 100e6},
	}
}

// predicted is a run of which three cases were predicted by one model, and one by link loads alone.
func predicted() *results.Run {
	c := func(name string, events float64, valid bool) results.Case {
		return results.Case{Name: name, Rates: results.Rates{EventsPerSec: results.Stat{Mean: events}, MeasuredEfficiency: 0.5, PredictedEfficiency: 0.6}, Valid: valid}
	}
	p := func(name string) results.Prediction {
		return results.Prediction{Case: name, Model: "phase", EventsPerSec: 100, ModelEfficiency: 0.55}
	}
	return &results.Run{
		Manifest: results.Manifest{Predictions: []results.Prediction{p("near"), p("far"), p("wrong"), {Case: "loads", NotSimulated: "it takes too long"}}},
		Summary:  results.Summary{Cases: []results.Case{c("near", 99, true), c("far", 110, true), c("wrong", 10, false), c("loads", 50, true)}},
	}
}

// The worst of a model is the valid case that it was furthest from, on either side.
func TestAccuracyWorst(t *testing.T) {
	table := compare.NewAccuracy()
	table.Add("dir", predicted())
	table.Add("dir", nil)
	expect.MustTrue(t, !table.Valid() && len(table.Cases) == 4 && len(table.Worst) == 2, "%+v", table)
	loads, phase := table.Worst[0], table.Worst[1]
	if loads.Model != "loads" || loads.Cases != 1 || phase.Model != "phase" || phase.Cases != 2 || phase.Case != "far" || phase.Error > -0.09 {
		t.Errorf("%+v", table.Worst)
	}
}

// What was not simulated is held against link loads, and the reason is told.
func TestAccuracyText(t *testing.T) {
	table := compare.NewAccuracy()
	table.Add("dir", predicted())
	var b strings.Builder
	expect.Must(t, table.WriteText(&b))
	for _, want := range []string{
		"dir\ncase ", "-9.1 %", "invalid: not counted", "worst error of phase: -9.1 % (far; 2 valid cases)", "worst error of loads: +20.0 % (loads; 1 valid case)",
		"loads: what link loads allow, since it takes too long",
	} {
		expect.Contains(t, b.String(), want)
	}
}
