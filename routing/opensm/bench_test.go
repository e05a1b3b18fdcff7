package opensm

import (
	"slices"
	"testing"
	"time"

	"evbench/internal/expect"
	"evbench/routing/ibtest"
	"evbench/routing/lft"
	"evbench/topology/network"
)

// big is a tree of 2,592 hosts with switches of 24 ports.
var big = network.PGFT{M: []int{12, 12, 18}, W: []int{1, 12, 12}, P: []int{1, 1, 1}}

func BenchmarkEngines(b *testing.B) {
	n := build(b, big, 0)
	roots := top(n, big)
	for _, engine := range []string{"minhop", "updn", "dnup", "ftree"} {
		b.Run(engine, func(b *testing.B) {
			for b.Loop() {
				compute(b, engine, n, roots)
			}
		})
	}
}

// BenchmarkOpenSM lets OpenSM route the same tree, and does so itself in the same
// run. OpenSM's time is that of routing alone, which its log gives; ours is the
// median of five.
func BenchmarkOpenSM(b *testing.B) {
	ibtest.Need(b)
	n := build(b, big, 0)
	for _, engine := range []string{"minhop", "ftree"} {
		b.Run(engine, func(b *testing.B) {
			for b.Loop() {
				theirs, ours := timeOpenSM(b, n, engine), timeOurs(b, n, engine)
				b.ReportMetric(theirs.Seconds()*1e3, "OpenSM-ms")
				b.ReportMetric(ours.Seconds()*1e3, "ours-ms")
				b.ReportMetric(float64(theirs)/float64(ours), "OpenSM/ours")
			}
		})
	}
}

func timeOpenSM(b *testing.B, n *network.Network, engine string) time.Duration {
	b.Helper()
	r := expect.Value(ibtest.Route(b.Context(), n, engine, top(n, big), ibtest.Timed...))(b)
	took := expect.Value(r.Routing())(b)
	return took
}

func timeOurs(b *testing.B, n *network.Network, engine string) time.Duration {
	b.Helper()
	var times []time.Duration
	for range 5 {
		start := time.Now()
		compute(b, engine, n, top(n, big))
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	return times[len(times)/2]
}

func BenchmarkNewTables(b *testing.B) {
	n := build(b, big, 0)
	for b.Loop() {
		lft.New("", n)
	}
}
