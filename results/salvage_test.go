package results_test

import (
	"testing"

	"evbench/internal/expect"
	"evbench/results"
)

func TestSalvage(t *testing.T) {
	m := results.Manifest{Name: "x", Fabric: results.Fabric{Model: true}, Predictions: []results.Prediction{
		{Case: "b", Schedule: "fors", Routing: "pinned", PlanHash: "sha256:1", Phases: 16, Bound: 15, Efficiency: 0.9}, {Case: "never came"},
	}}
	sample := func(name string, repeat, server int, events uint64) results.Sample {
		return results.Sample{Case: name, Repeat: repeat, Server: server, IntervalSec: 0.5, Events: events, PayloadBytes: 1000 * events}
	}
	sum := results.Salvage(m, []results.Sample{sample("b", 0, 0, 1), sample("b", 0, 1, 2), sample("b", 0, 0, 3), sample("b", 1, 0, 1), sample("a", 0, 0, 1)})
	expect.MustTrue(t, !sum.Complete && sum.Name == "x" && len(sum.Cases) == 3, "summary %+v", sum)
	c := sum.Cases[0]
	if c.Name != "b" || c.Repeat != 0 || c.Schedule != "fors" || c.PlanHash != "sha256:1" || c.PredictedEfficiency != 0.9 || !c.Model || c.Complete || c.Valid || len(c.Reasons) != 1 {
		t.Errorf("case %+v", c)
	}
	if want := (results.Stat{Min: 4, Mean: 4, Median: 4, Max: 4}); c.EventsPerSec != want || c.GoodputBitPerSec.Max != 32000 {
		t.Errorf("events %+v, goodput %+v", c.EventsPerSec, c.GoodputBitPerSec)
	}
	if sum.Cases[1].Repeat != 1 || sum.Cases[2].Name != "a" || sum.Cases[2].Phases != 0 {
		t.Errorf("cases %+v", sum.Cases[1:])
	}
}
