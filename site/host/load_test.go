package host

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evbench/results"
	"evbench/testing/expect"
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

// A kernel is what the files of /proc say of a machine with two processors, in ticks of
// 10 ms, and of a process with two threads.
type kernel struct {
	user, system, steal int
	own                 int
	delays              [2]string // run, waited (ns), time slices
	pressure            int       // µs; -1: there is no such file
}

func (k kernel) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"stat": fmt.Sprintf("cpu  %d 10 %d 1000 20 30 40 %d 5 0\ncpu0 1 0 0 0 0 0 0 0 0 0\ncpu1 1 0 0 0 0 0 0 0 0 0\nintr 5 1\nctxt 7\n",
			k.user, k.system, k.steal),
		"42/stat": "42 (a b) R " + strings.Repeat("1 ", 10) + fmt.Sprint(k.own, " 0 ") + strings.Repeat("1 ", 37) + "\n",
	}
	for i, s := range k.delays {
		files[fmt.Sprintf("42/task/%d/schedstat", 42+i)] = s + "\n"
	}
	if k.pressure >= 0 {
		files["pressure/cpu"] = fmt.Sprintf("some avg10=1.00 avg60=0.50 avg300=0.10 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", k.pressure)
	}
	for name, text := range files {
		name = filepath.Join(dir, name)
		expect.Must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		expect.Must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	expect.Must(t, os.Symlink("42", filepath.Join(dir, "self")))
	return dir
}

func TestReadLoad(t *testing.T) {
	name, _ := os.Hostname()
	for _, tt := range []struct {
		name     string
		from, to kernel
		want     results.Load
	}{
		{
			"all is there",
			kernel{100, 200, 50, 30, [2]string{"0 1000000000 1", "0 0 1"}, 1_000_000},
			kernel{250, 300, 75, 130, [2]string{"0 1500000000 2", "0 250000000 2"}, 1_500_000},
			results.Load{CPUSec: known(1), OthersSec: known(1.5), StealSec: known(0.25), RunDelaySec: known(0.75), PressureSec: known(0.5)},
		},
		{
			"an old kernel counts no delay and knows no pressure",
			kernel{100, 200, 0, 30, [2]string{"0 0 0", "0 0 0"}, -1},
			kernel{250, 300, 0, 130, [2]string{"0 0 0", "0 0 0"}, -1},
			results.Load{CPUSec: known(1), OthersSec: known(1.5), StealSec: known(0)},
		},
	} {
		from, to := readLoad(tt.from.write(t)), readLoad(tt.to.write(t))
		got := to.since(from)
		tt.want.Host, tt.want.Cores, tt.want.WallSec = name, 2, got.WallSec
		same(t, tt.name, got, tt.want)
	}
}

// Where there is no /proc, nothing is known but the time.
func TestReadLoadNothing(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "absent")} {
		l := readLoad(dir).since(readLoad(dir))
		expect.True(t, l.CPUSec == nil && l.OthersSec == nil && l.StealSec == nil && l.RunDelaySec == nil && l.PressureSec == nil && l.Cores >= 1,
			"%+v", l)
	}
}

// This machine tells what every Linux does, and nothing that a controller would refuse.
func TestWatch(t *testing.T) {
	l := Watch()()
	expect.OK(t, l.Check())
	expect.True(t, l.Cores >= 1 && l.CPUSec != nil && l.OthersSec != nil && l.StealSec != nil, "%+v", l)
}
