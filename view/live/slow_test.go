package live

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"evbench/bench"
	"evbench/builder"
	"evbench/builder/load"
	"evbench/builder/modes"
	"evbench/plan"
	"evbench/results"
	"evbench/results/attribution"
	"evbench/scenario"
	"evbench/testing/expect"
	"evbench/topology"
)

// Who is named as slow in a case is a metric, with the share of the usual rate.
func TestMetricOfSlow(t *testing.T) {
	causes := []attribution.Cause{{Name: "server5 or its cable to leaf1", Share: .5}}
	s := &State{Manifest: &results.Manifest{}, Summary: results.Summary{Cases: []results.Case{{Name: "sync", Causes: causes}}}}
	found := 0
	for _, f := range expect.Value(registryOf(s).Gather())(t) {
		if f.GetName() == "evbench_case_slow_ratio" {
			found++
			m := f.Metric[0]
			expect.True(t, len(f.Metric) == 1 && m.GetGauge().GetValue() == .5 && m.Label[1].GetValue() == causes[0].Name, "%v", f)
		}
	}
	expect.Equal(t, found, 1, "metrics")
}

// What a clock offers is metrics; a case without one has none of them.
func TestMetricsOfLoad(t *testing.T) {
	o := &results.Offered{Offered: 100, Complete: 90, Refused: 10, DeadSec: .5, Latency: load.Quantiles{P50: .01, P99: .02, P999: .03}}
	s := &State{Manifest: &results.Manifest{}, Summary: results.Summary{Cases: []results.Case{{Name: "loaded", Offered: o}, {Name: "plain"}}}}
	want := map[string]float64{
		"offered_events_total": 100, "refused_events_total": 10, "dead_time_seconds_total": .5,
		"latency_p50_seconds": .01, "latency_p99_seconds": .02, "latency_p999_seconds": .03,
	}
	for _, f := range expect.Value(registryOf(s).Gather())(t) {
		if v, ok := want[strings.TrimPrefix(f.GetName(), "evbench_case_")]; ok {
			m := f.Metric[0]
			expect.True(t, len(f.Metric) == 1 && m.GetGauge().GetValue()+m.GetCounter().GetValue() == v && m.Label[0].GetValue() == "loaded", "%v; want %g", f, v)
			delete(want, strings.TrimPrefix(f.GetName(), "evbench_case_"))
		}
	}
	expect.Equal(t, len(want), 0, "metrics that are missing")
}

// What servers and pairs count in the slices of a case is metrics of theirs, not a mean.
func TestMetricsOfServers(t *testing.T) {
	tree := expect.Value(topology.New(expect.Value(topology.Parse("FT(2;2,2)"))(t)))(t)
	s := &State{Manifest: &results.Manifest{}, Cases: []bench.Planned{{Case: scenario.Case{Setting: builder.Setting{Name: "sync"}}, Plan: &plan.Plan{Tree: tree}}}}
	for range 2 {
		s.Take(bench.Progress{Event: bench.Done{
			Slice:   results.Case{Name: "sync"},
			Servers: []results.ServerCount{{Server: 0, BarrierWaitSec: 2}, {Server: 3, BarrierWaitSec: .5}},
			Pairs:   []results.PairCount{{Src: 3, Dst: 0, Bytes: 10, Resent: 1}},
		}})
	}
	want := map[string]float64{"barrier_wait_seconds_total sync server0": 4, "barrier_wait_seconds_total sync server3": 1,
		"received_bytes_total sync server0 server3": 20, "resent_segments_total sync server0 server3": 2}
	for _, f := range expect.Value(registryOf(s).Gather())(t) {
		_, name, _ := strings.Cut(f.GetName(), "evbench_case_")
		_, name, _ = strings.Cut(name, "_")
		for _, m := range f.Metric {
			key := name
			for _, l := range m.Label {
				key += " " + l.GetValue()
			}
			if v, ok := want[key]; ok {
				expect.Equal(t, m.GetCounter().GetValue(), v, "%s", key)
				delete(want, key)
			}
		}
	}
	expect.Equal(t, len(want), 0, "metrics that are missing")
}

// The page has a row for each server in the last slice, the slowest first, and who is named.
func TestServersPart(t *testing.T) {
	tree := expect.Value(topology.New(expect.Value(topology.Parse("FT(2;2,2)"))(t)))(t)
	s := &State{Cases: []bench.Planned{{Case: scenario.Case{Setting: builder.Setting{Name: "sync", Mode: modes.Sync}}, Plan: &plan.Plan{Tree: tree}}}}
	expect.Contains(t, string(expect.Value(drawPart(partServers, s, ""))(t)), "No slice has been measured yet")
	d := bench.Done{Slice: results.Case{Name: "sync"}}
	for src := range 4 {
		d.Servers = append(d.Servers, results.ServerCount{Server: src, BarrierWaitSec: .5})
		for dst := range 4 {
			p := results.PairCount{Src: src, Dst: dst, Bytes: 1000, Sec: 1}
			if src == 2 || dst == 2 {
				p.Sec, p.Resent = 4, 7
			}
			if src != dst {
				d.Pairs = append(d.Pairs, p)
			}
		}
	}
	d.Servers[3].PausesSent = 12
	d.Summary.Cases = []results.Case{{Name: "sync", Causes: []attribution.Cause{{Name: "server2 or its cable to leaf1", Share: .25}}}}
	s.Take(bench.Progress{Event: d})
	v := serversOf(s)
	expect.Equal(t, v.Slow, "server2 or its cable to leaf1 carries a quarter of its usual rate", "named")
	expect.Equal(t, len(v.Rows), 4, "rows")
	expect.Equal(t, fmt.Sprint(v.Rows[0], v.Rows[3]), "[server2 50 % 42 0.5 0 0 0] [server3 100 % 14 0.5 0 0 12]", "the slowest and the last")
	expect.Contains(t, string(expect.Value(drawPart(partServers, s, ""))(t)), "Slow: server2 or its cable to leaf1", `<th scope="row">server2</th><td>50 %</td>`)
	s.Cases[0].Mode = modes.Unsync
	expect.Equal(t, serversOf(s).Rows[0][1], "–", "without phases")
}

func registryOf(s *State) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{func() *State { return s }})
	return registry
}
