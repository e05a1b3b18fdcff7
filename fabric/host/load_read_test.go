package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/results"
)

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

func BenchmarkReadLoad(b *testing.B) {
	for b.Loop() {
		loadNow()
	}
}
