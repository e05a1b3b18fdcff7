package simulate_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"evbench/bench"
	"evbench/builder/modes"
	"evbench/model/ordered"
	"evbench/model/sim"
	"evbench/model/simulate"
	"evbench/scenario"
	"evbench/testing/expect"
)

// preparedOf returns a scenario and its cases with their plans.
func preparedOf(t *testing.T, text string) (*scenario.Scenario, []bench.Planned) {
	t.Helper()
	s := expect.Value(scenario.Read("x.yaml", strings.NewReader(text)))(t)
	planned := expect.Value(bench.Parts{Ordered: ordered.Orderer{}}.Prepare(s))(t)
	return s, planned
}

// predictedOf returns the cases of a scenario with what the simulation expects.
func predictedOf(t *testing.T, ctx context.Context, budget time.Duration, text string) []bench.Planned {
	t.Helper()
	s, planned := preparedOf(t, text)
	simulate.Predict(ctx, s, planned, budget)
	return planned
}

const twoModes = `
topology: FT(2;2,2)
fabric: {kind: lab, rate: 100Mbit/s}
duration: 4s
sim: {round: 0s, overhead: 0s}
cases:
  - {name: in step, routing: minhop, failures: [leaf0-spine0]}
  - {name: without, mode: unsynchronised, routing: minhop, failures: [leaf0-spine0]}
`

// Of a small scenario everything is predicted, the controls included, and near what link
// loads allow where nothing else is counted.
//
//gate:race
func TestSimulate(t *testing.T) {
	models := map[modes.Mode]string{modes.Sync: sim.PhaseModel, modes.Unsync: sim.TCPModel}
	for _, p := range predictedOf(t, t.Context(), time.Hour, twoModes) {
		x := p.Prediction
		expect.False(t, x.Model != models[p.Mode] || x.NotSimulated != "" || x.EventsPerSec <= 0 || math.Abs(x.ModelEfficiency/x.Efficiency-1) > 0.05,
			"%s: %+v", p.Name, x)
	}
}

// What takes too long, or cannot be worked out, says so.
func TestNotSimulated(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name   string
		ctx    context.Context
		budget time.Duration
		text   string
		want   string
	}{
		{"no time", t.Context(), 0, twoModes, "longer than 0s; run evbench sim"},
		{"interrupted", ctx, time.Hour, twoModes, "context canceled"},
		{"no rate", t.Context(), time.Hour, "topology: FT(2;2,2)\nfabric: hosts\ncases: [{name: one}]", "fabric.rate: a simulation needs the rate"},
		{"many flows", t.Context(), time.Minute,
			"topology: FT(2;20,18)\nfabric: {kind: hosts, rate: 200Gbit/s}\nevent: {fragment: 2MB}\nduration: 60s\ncases: [{name: one, mode: unsynchronised}]\ncontrol: off",
			"longer than 1m0s; run evbench sim"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, p := range predictedOf(t, tt.ctx, tt.budget, tt.text) {
				x := p.Prediction
				expect.True(t, strings.Contains(x.NotSimulated, tt.want) && x.Model == "" && x.EventsPerSec == 0, "%s: %+v", p.Name, x)
			}
		})
	}
}
