package live

import (
	"net/http"
	"reflect"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"evbench/bench"
	"evbench/results"
	"evbench/scenario"
)

// metrics serves the state as metrics of Prometheus, named by its conventions
// (prometheus.io/docs/practices/naming).
func (s *Server) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{s.snapshot})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true, MaxRequestsInFlight: mostWatching})
}

type collector struct{ state func() *State }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("evbench_"+name, help, labels, nil)
}

const (
	failoverName = "failover_duration_seconds"
	failoverHelp = "From the moment when a change of links was seen until a step of the fail-over was done."
)

// Metrics of the run.
var (
	runInfo   = desc("run_info", "1; what is run and on what.", "name", "fabric", "transport", "version")
	runEnded  = desc("run_ended", "Whether the run has ended: 0 or 1.")
	runTook   = desc("run_elapsed_seconds", "How long the run has been measuring.")
	runLeft   = desc("run_remaining_seconds", "How long the run still takes, about; with rounds auto at most.")
	runRound  = desc("run_round", "The round under way, from 1.")
	rateNow   = desc("server_events_per_second", "Events that one server of the case under way builds per second, the mean over all, in the last interval.", "case")
	buffers   = desc("load_buffer_events", "Events in the buffer of each source in the case under way: waiting, sending, and for how many more there is room (free).", "case", "state")
	deadTime  = desc("load_dead_time_ratio", "Share of the events offered in the slice under way that found no room.", "case")
	latency   = desc("load_latency_seconds", "Time from an event until it is built, the mean over those of the last interval.", "case")
	linkUp    = desc("link_up", "Whether a link between switches is alive in the case under way: 0 or 1; on hosts, where no link is looked at, 0 of those that are named dead.", "link")
	linkBytes = desc("link_carried_bytes_total", "Bytes that a direction of a cable has carried in the measured parts of a case.", "case", "link", "direction")
	linkDrops = desc("link_dropped_packets_total", "Packets that a direction of a cable has dropped in the measured parts of a case.", "case", "link", "direction")
)

type caseMetric struct {
	*prometheus.Desc
	kind prometheus.ValueType
	of   func(results.Case) (value float64, ok bool)
}

var caseMetrics = sync.OnceValue(func() []caseMetric {
	return append([]caseMetric{
		{desc("case_events_per_second", "Events that one server builds per second, the mean over servers and all slices that count.", "case"), prometheus.GaugeValue,
			func(c results.Case) (float64, bool) { return c.EventsPerSec.Mean, c.MeasuredSec > 0 }},
		{desc("case_goodput_bytes_per_second", "Payload that one server receives per second, the mean over servers and all slices that count.", "case"), prometheus.GaugeValue,
			func(c results.Case) (float64, bool) { return c.GoodputBitPerSec.Mean / 8, c.MeasuredSec > 0 }},
		{desc("case_efficiency_ratio", "Ideal time over measured time.", "case"), prometheus.GaugeValue,
			func(c results.Case) (float64, bool) { return c.MeasuredEfficiency, c.MeasuredEfficiency > 0 }},
		{desc("case_predicted_efficiency_ratio", "Ideal time over the time that the loads of links allow.", "case"), prometheus.GaugeValue,
			func(c results.Case) (float64, bool) { return c.PredictedEfficiency, c.PredictedEfficiency > 0 }},
		{desc("case_control_ratio", "The case over the control of the same round, the median over rounds.", "case"), prometheus.GaugeValue,
			func(c results.Case) (float64, bool) { return c.RatioToControl, c.RatioToControl > 0 }},
		{desc("case_valid", "Whether nothing about the case is wrong: 0 or 1.", "case"), prometheus.GaugeValue,
			func(c results.Case) (float64, bool) { return number(c.Valid), true }},
	}, append(loadMetrics(), countMetrics()...)...)
})

// loadMetrics are those of cases that a clock offers events.
func loadMetrics() []caseMetric {
	of := func(name, help string, kind prometheus.ValueType, value func(*results.Offered) float64) caseMetric {
		return caseMetric{desc(name, help, "case"), kind, func(c results.Case) (float64, bool) {
			if c.Offered == nil {
				return 0, false
			}
			return value(c.Offered), true
		}}
	}
	return []caseMetric{
		of("case_offered_events_total", "Events that a clock offered.", prometheus.CounterValue, func(o *results.Offered) float64 { return float64(o.Offered) }),
		of("case_refused_events_total", "Offered events that found the buffer of a source full.", prometheus.CounterValue, func(o *results.Offered) float64 { return float64(o.Refused) }),
		of("case_dead_time_seconds_total", "Time that the refused events stand for.", prometheus.CounterValue, func(o *results.Offered) float64 { return o.DeadSec }),
		of("case_latency_p50_seconds", "Median of the time from an event until it is built.", prometheus.GaugeValue, func(o *results.Offered) float64 { return o.Latency.P50 }),
		of("case_latency_p99_seconds", "Time from an event until it is built that 1 % of the events exceed.", prometheus.GaugeValue, func(o *results.Offered) float64 { return o.Latency.P99 }),
		of("case_latency_p999_seconds", "The same for 0.1 %.", prometheus.GaugeValue, func(o *results.Offered) float64 { return o.Latency.P999 }),
	}
}

// countMetrics returns the count metrics of a case, named after their columns.
func countMetrics() (all []caseMetric) {
	for i := range results.Cases.Columns {
		if c := &results.Cases.Columns[i]; c.Kind == reflect.Uint64 {
			all = append(all, caseMetric{
				desc("case_"+c.Name+"_total", "What "+c.Name+" of summary.json is so far, a number of "+c.Unit+"s.", "case"), prometheus.CounterValue,
				func(x results.Case) (float64, bool) {
					return float64(c.Bits(results.Row{Record: reflect.ValueOf(x)})), true
				},
			})
		}
	}
	return all
}

var (
	measured = desc("case_slices_total", "Slices that were measured.", "case")
	slow     = desc("case_slow_ratio", "Rate of a server, cable or direction that is named as slow, beside the usual one; 0: it stood still or loses segments at its usual rate.", "case", "name")
	rejected = desc("case_slices_rejected_total", "Slices that do not count, since something on the machine disturbed them.", "case")
)

// What a case counts for each server and each pair, slow or not.
var (
	serverMetrics = []rowMetric[results.ServerCount]{
		{desc("case_server_barrier_wait_seconds_total", "Time that a server has waited at barriers; the slow one waits least.", "case", "server"), func(c results.ServerCount) float64 { return c.BarrierWaitSec }},
		{desc("case_server_stood_seconds_total", "Time that the process of a server has stood still.", "case", "server"), func(c results.ServerCount) float64 { return c.StoodSec }},
		{desc("case_server_run_delay_seconds_total", "Time that the threads of a server have waited for a processor.", "case", "server"), func(c results.ServerCount) float64 { return c.RunDelaySec }},
		{desc("case_server_adapter_errors_total", "Errors that the adapters of a server have counted.", "case", "server"), func(c results.ServerCount) float64 { return float64(c.Errors) }},
	}
	pairMetrics = []rowMetric[results.PairCount]{
		{desc("case_pair_received_bytes_total", "Payload that a server (dst) has received from another (src).", "case", "src", "dst"), func(p results.PairCount) float64 { return float64(p.Bytes) }},
		{desc("case_pair_transfer_seconds_total", "Time in which that came.", "case", "src", "dst"), func(p results.PairCount) float64 { return p.Sec }},
		{desc("case_pair_resent_segments_total", "Segments of a pair that the network sent again.", "case", "src", "dst"), func(p results.PairCount) float64 { return float64(p.Resent) }},
	}
)

// mostPaired is up to how many servers pairs are metrics: those of 32 are 3,000 lines a case.
const mostPaired = 32

type rowMetric[T any] struct {
	*prometheus.Desc
	of func(T) float64
}

func collectServers(to chan<- prometheus.Metric, s *State) {
	for _, c := range s.Cases {
		t := c.Plan.Tree
		names := map[int]string{} // by position
		for rank := range t.Servers() {
			names[t.Position(rank)] = t.HostName(rank)
		}
		for _, row := range s.Servers[c.Name] {
			for _, m := range serverMetrics {
				to <- prometheus.MustNewConstMetric(m.Desc, prometheus.CounterValue, m.of(row), c.Name, names[row.Server])
			}
		}
		if len(names) > mostPaired {
			continue
		}
		for _, row := range s.Pairs[c.Name] {
			for _, m := range pairMetrics {
				to <- prometheus.MustNewConstMetric(m.Desc, prometheus.CounterValue, m.of(row), c.Name, names[row.Src], names[row.Dst])
			}
		}
	}
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// Describe implements prometheus.Collector. It describes none, because the metrics depend on the
// run.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	s := c.state()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(runEnded, number(s.Ended))
	if s.Manifest == nil {
		return
	}
	m := s.Manifest
	gauge(runInfo, 1, m.Name, m.Fabric.Kind, m.Transport, m.Versions["evbench"])
	left, _ := s.Left()
	gauge(runTook, s.Took().Seconds())
	gauge(runLeft, left.Seconds())
	gauge(runRound, float64(s.Last.Round))
	if under := s.Case(s.Last.Case); under != nil {
		if n := len(s.Rates); n > 0 {
			gauge(rateNow, s.Rates[n-1].EventsPerSec, under.Name)
		}
		if e, _ := s.Last.Event.(bench.Measuring); e.Buffers != nil {
			b := e.Buffers
			gauge(buffers, float64(b.Waiting), under.Name, "waiting")
			gauge(buffers, float64(b.Sending), under.Name, "sending")
			gauge(buffers, float64(b.Free), under.Name, "free")
			gauge(deadTime, b.Dead(), under.Name)
			gauge(latency, b.LatencySec, under.Name)
		}
		collectLinks(to, s)
	}
	collectCases(to, s)
	collectServers(to, s)
	collectFailovers(to, s.Failovers)
}

func collectCases(to chan<- prometheus.Metric, s *State) {
	for _, c := range s.Summary.Cases {
		for _, m := range caseMetrics() {
			if v, ok := m.of(c); ok {
				to <- prometheus.MustNewConstMetric(m.Desc, m.kind, v, c.Name)
			}
		}
		for _, x := range c.Causes {
			to <- prometheus.MustNewConstMetric(slow, prometheus.GaugeValue, x.Share, c.Name, x.Name)
		}
		all, not := 0, 0
		for _, x := range s.Summary.Slices {
			if x.Case == c.Name {
				all++
				not += int(number(!x.Counts()))
			}
		}
		to <- prometheus.MustNewConstMetric(measured, prometheus.CounterValue, float64(all), c.Name)
		to <- prometheus.MustNewConstMetric(rejected, prometheus.CounterValue, float64(not), c.Name)
	}
}

func collectLinks(to chan<- prometheus.Metric, s *State) {
	p, dead := s.Plan(s.Case(s.Last.Case))
	for id := range p.Tree.AllLinks() {
		l := p.Tree.LinkOf(id)
		up := !slices.Contains(dead, l)
		if up && s.Manifest.Fabric.Kind == scenario.Hosts {
			continue // nobody looked: only links named dead are known
		}
		to <- prometheus.MustNewConstMetric(linkUp, prometheus.GaugeValue, number(up), p.Tree.LinkName(l))
	}
	for _, c := range s.Cases {
		for _, l := range s.Links[c.Name] {
			to <- prometheus.MustNewConstMetric(linkBytes, prometheus.CounterValue, float64(l.Bytes), l.Case, l.Link, l.Direction)
			to <- prometheus.MustNewConstMetric(linkDrops, prometheus.CounterValue, float64(l.Drops), l.Case, l.Link, l.Direction)
		}
	}
}

var bounds = []float64{1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, .1, .25, .5, 1, 2.5, 5, 10}

func collectFailovers(to chan<- prometheus.Metric, all []results.Failover) {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "evbench", Name: failoverName, Help: failoverHelp, Buckets: bounds}, []string{"case", "step"})
	for _, f := range all {
		for _, step := range []struct {
			name string
			at   *float64
		}{{"aid", f.AidedSec}, {"plan", f.VerifiedSec}, {"routes", f.InstalledSec}, {"workers", f.UpdatedSec}, {"in_use", f.FirstNewSec}} {
			if f.SeenSec != nil && step.at != nil {
				h.WithLabelValues(f.Case, step.name).Observe(max(0, *step.at-*f.SeenSec))
			}
		}
	}
	h.Collect(to)
}
