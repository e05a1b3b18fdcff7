package live

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"evbench/results"
	"evbench/results/attribution"
	"evbench/testing/expect"
)

// Who is named as slow in a case is a metric, with the share of the usual rate.
func TestMetricOfSlow(t *testing.T) {
	causes := []attribution.Cause{{Name: "server5 or its cable to leaf1", Share: .5}}
	s := &State{Manifest: &results.Manifest{}, Summary: results.Summary{Cases: []results.Case{{Name: "sync", Causes: causes}}}}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{func() *State { return s }})
	found := 0
	for _, f := range expect.Value(registry.Gather())(t) {
		if f.GetName() == "evbench_case_slow_ratio" {
			found++
			m := f.Metric[0]
			expect.True(t, len(f.Metric) == 1 && m.GetGauge().GetValue() == .5 && m.Label[1].GetValue() == causes[0].Name, "%v", f)
		}
	}
	expect.Equal(t, found, 1, "metrics")
}
