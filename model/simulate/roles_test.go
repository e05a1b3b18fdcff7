package simulate_test

import (
	"math"
	"testing"

	"evbench/builder/modes"
	"evbench/model/sim"
	"evbench/model/simulate"
	"evbench/testing/expect"
)

// Simulations of all models come to what is predicted.
func TestSimulatedRoles(t *testing.T) {
	for model, fabric := range map[string]string{"": "", sim.FluidModel: "", sim.CreditModel: "fabric: {kind: emulate, lossless: {packet: 16KiB}}"} {
		simulatedRoles(t, model, fabric)
	}
}

func simulatedRoles(t *testing.T, model, fabric string) {
	s, planned := preparedOf(t, fabric+`
topology: FT(2;4,4)
readers: leaf0-2
builders: leaf3
control: off
duration: 20s
sim: {round: 0s, overhead: 0s}
cases:
  - {name: healthy, schedule: fors}
  - {name: dead, schedule: fors, failures: &dead [leaf3-spine0]}
  - {name: shift, routing: minhop, failures: *dead}
  - {mode: unsynchronised, routing: minhop, failures: *dead}
  - {schedule: fors, mode: free-running, failures: *dead}
`)
	cases := expect.Value(simulate.Cases(s, planned, model))(t)
	for i, want := range []float64{1, 0.75, 0.5, 0.5, 0.75} {
		c := cases[i]
		of := map[string]sim.Model{sim.PhaseModel: sim.Phase, sim.FluidModel: sim.Fluid, sim.TCPModel: sim.Streams, sim.CreditModel: sim.Packets}[c.Model]
		o := expect.Value(of(t.Context(), &c.Job, nil))(t)
		got, near := c.Efficiency(o), 0.01
		if c.Model == sim.CreditModel { // packets wait for room, most where no phase keeps them apart
			near = 0.05 + map[bool]float64{true: 0.25}[c.Mode != modes.Sync]
		}
		expect.True(t, math.Abs(planned[i].Prediction.Efficiency-want) < 1e-9 && math.Abs(got-want) <= near*want, "%s, %s: %.4f, predicted %.4f, want %v",
			c.Name, c.Model, got, planned[i].Prediction.Efficiency, want)
		for rank, n := range o.Events {
			expect.True(t, (n > 0) == s.Tree.Builds(rank), "%s: %d events of rank %d", c.Name, n, rank)
		}
	}
}
