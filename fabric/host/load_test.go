package host

import (
	"math"
	"testing"
	"time"

	"evbench/internal/expect"
	"evbench/results"
)

func known(x float64) *float64 { return &x }

// is compares what is known, and whether it is.
func is(t *testing.T, what string, got, want *float64) {
	t.Helper()
	switch {
	case (got == nil) != (want == nil):
		t.Errorf("%s: known %v, want %v", what, got != nil, want != nil)
	case got != nil && math.Abs(*got-*want) > 1e-9:
		t.Errorf("%s: %v, want %v", what, *got, *want)
	}
}

func same(t *testing.T, name string, got, want results.Load) {
	t.Helper()
	expect.True(t, got.Host == want.Host && got.Cores == want.Cores && math.Abs(got.WallSec-want.WallSec) <= 1e-9,
		"%s: %+v, want %+v", name, got, want)
	is(t, name+": cpu", got.CPUSec, want.CPUSec)
	is(t, name+": others", got.OthersSec, want.OthersSec)
	is(t, name+": steal", got.StealSec, want.StealSec)
	is(t, name+": run delay", got.RunDelaySec, want.RunDelaySec)
	is(t, name+": pressure", got.PressureSec, want.PressureSec)
}

func TestSince(t *testing.T) {
	start := time.Now()
	from := reading{
		at: start, host: "node1", cores: 2, own: known(10), used: known(100), steal: known(5), pressure: known(3),
		delays: map[int]float64{7: 1, 8: 2, 9: 3},
	}
	for _, tt := range []struct {
		name   string
		change func(*reading)
		want   results.Load
	}{
		{"all known", func(*reading) {}, results.Load{
			CPUSec: known(1), OthersSec: known(2), StealSec: known(0.5), PressureSec: known(0.25), RunDelaySec: known(0.75),
		}},
		{"nothing known", func(r *reading) { *r = reading{at: r.at, host: r.host, cores: r.cores} }, results.Load{}},
		{"others cannot be told from us", func(r *reading) { r.own = nil }, results.Load{
			StealSec: known(0.5), PressureSec: known(0.25), RunDelaySec: known(0.75),
		}},
		{"we were counted for more than all", func(r *reading) { r.own = known(14) }, results.Load{
			CPUSec: known(4), OthersSec: known(0), StealSec: known(0.5), PressureSec: known(0.25), RunDelaySec: known(0.75),
		}},
		{"steal fell", func(r *reading) { r.steal = known(4) }, results.Load{
			CPUSec: known(1), OthersSec: known(2), StealSec: known(0), PressureSec: known(0.25), RunDelaySec: known(0.75),
		}},
		{"a thread ended, another began", func(r *reading) { r.delays = map[int]float64{7: 1.5, 8: 2, 11: 0.5} }, results.Load{
			CPUSec: known(1), OthersSec: known(2), StealSec: known(0.5), PressureSec: known(0.25), RunDelaySec: known(1),
		}},
		{"a thread got the number of another", func(r *reading) { r.delays = map[int]float64{7: 1, 8: 2, 9: 0.125} }, results.Load{
			CPUSec: known(1), OthersSec: known(2), StealSec: known(0.5), PressureSec: known(0.25), RunDelaySec: known(0.125),
		}},
	} {
		to := reading{
			at: start.Add(1500 * time.Millisecond), host: "node1", cores: 2, own: known(11), used: known(103), steal: known(5.5), pressure: known(3.25),
			delays: map[int]float64{7: 1.5, 8: 2.25, 9: 3},
		}
		tt.change(&to)
		tt.want.Host, tt.want.Cores, tt.want.WallSec = "node1", 2, 1.5
		same(t, tt.name, to.since(from), tt.want)
	}
}
