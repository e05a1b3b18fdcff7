package compare_test

import (
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/results"
	"evbench/results/compare"
)

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
