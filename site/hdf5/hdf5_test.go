//go:build hdf5

package hdf5_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"evbench/builder/load"
	"evbench/results"
	"evbench/site/hdf5"
	"evbench/testing/expect"
)

var (
	sample = results.Sample{
		Case: `FORS, "one" link`, Repeat: 2, TSec: 1.000125, IntervalSec: 0.999875, Server: 17, Events: 3, EventBytes: 9_305_745, PayloadBytes: 27_917_235,
		GoodputBitPerSec: 223_365_801, BarrierWaitSec: 0.012, Late: 1, Duplicate: 2, Corrupt: 4, Retransmits: 5,
	}
	planned   = results.LinkCount{Case: "a", Link: "leaf0-spine3", Direction: "up", Bytes: 100, Packets: 3, Drops: 1, PlannedBytes: 98, Planned: true}
	unplanned = results.LinkCount{Case: "a", Repeat: 1, Link: "server3-leaf0", Direction: "down", Bytes: 1 << 63}
	oneWay    = results.PairCount{Case: sample.Case, Repeat: 2, Src: 3, Dst: 17, Bytes: 123_456_789, Sec: 1.000000001}
	otherWay  = results.PairCount{Case: sample.Case, Repeat: 2, Src: 17, Dst: 3}
	early     = results.ExchangeTime{Case: sample.Case, Repeat: 2, Exchanges: 4, DurationSec: 2.000000001}
	late      = results.ExchangeTime{Case: sample.Case, Repeat: 2, Exchange: 1 << 40, Exchanges: 1, DurationSec: 0.5}
	manifest  = results.Manifest{
		Schema: results.ManifestSchema, Name: "x", Seed: 1<<64 - 1, Scenario: "topology: FT(2;2,2)\ncases: []\n",
		Predictions: []results.Prediction{{Case: sample.Case}, {Case: "größer/als: 3 %"}},
	}
	summary = results.Summary{Schema: results.SummarySchema, Name: "x", Complete: true, Cases: []results.Case{{
		Name: sample.Case, Mode: "synchronised", Routing: "pinned", Failures: []string{"leaf0-spine0", "leaf1-spine1"}, PlanHash: "sha256:0",
		Rates: results.Rates{EventsPerSec: results.Stat{Min: 1, Mean: 2, Median: 2.5, Max: 3}, GoodputBitPerSec: results.Stat{Max: 1e9},
			Phases: 16, PredictedEfficiency: 0.9375}, Valid: true, Reasons: []string{}, Warnings: []string{"odd"}, Failover: "fors",
		Offered: &results.Offered{Load: "10 kHz", Offered: 12, Complete: 7, Incomplete: 2, Refused: 3, Latency: load.Quantiles{P99: .125}},
		Failovers: []results.Failover{
			{ID: 1, Down: []string{"leaf0-spine0"}, Dead: []string{"leaf0-spine0", "leaf1-spine1"}, FailoverTimes: results.FailoverTimes{SeenSec: &seen}, Source: "computed", Phases: 16, From: 57},
			{ID: 2, Up: []string{"leaf0-spine0"}, Dead: []string{"leaf1-spine1"}, Superseded: true, Reason: "another"},
		},
	}}}
	seen  = 5.000125
	plans = map[string][]byte{
		sample.Case:       []byte("# evbench plan 1\n0 1 6 2\n"),
		"größer/als: 3 %": []byte("# evbench plan 1\n"),
		".":               nil,
	}
)

// run is a run of n samples.
func run(n int) *results.Run {
	m := manifest
	m.Complete = true
	r := &results.Run{
		Plans: plans, Manifest: m, Summary: summary, Links: []results.LinkCount{planned, unplanned}, Pairs: []results.PairCount{oneWay, otherWay},
		Exchanges: []results.ExchangeTime{early, late},
	}
	for i := range n {
		s := sample
		s.Server = i
		r.Samples = append(r.Samples, s)
	}
	return r
}

func save(t *testing.T, r *results.Run) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), hdf5.File)
	expect.Must(t, hdf5.Save(name, r))
	return name
}

func same(t *testing.T, got, want *results.Run) {
	t.Helper()
	for _, part := range [][2]any{
		{got.Manifest, want.Manifest}, {got.Summary, want.Summary}, {got.Links, want.Links}, {got.Pairs, want.Pairs}, {got.Exchanges, want.Exchanges},
	} {
		expect.Equal(t, part[0], part[1], "read")
	}
	expect.True(t, reflect.DeepEqual(got.Samples, want.Samples), "%d samples, want %d, or they differ", len(got.Samples), len(want.Samples))
	expect.True(t, maps.EqualFunc(got.Plans, want.Plans, bytes.Equal), "plans %q, want %q", got.Plans, want.Plans)
}

// What is read is what was written; chunks and blocks may end anywhere.
func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 511, 512, 513, 9000} {
		want := run(n)
		name := save(t, want)
		got := expect.Value(hdf5.Read(name))(t)
		same(t, got, want)
	}
}

// Rows that wait have no name in the directory; a directory that is gone is an error from then on.
func TestRowsHaveNoName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	for _, made := range []bool{true, false} {
		if made {
			expect.Must(t, os.Mkdir(dir, 0o700))
		}
		rows := hdf5.NewRows(dir)
		defer rows.Close()
		var err error
		for range 9000 {
			err = rows.Add(results.Samples, reflect.ValueOf(sample))
		}
		entries, _ := os.ReadDir(dir)
		expect.False(t, len(entries) > 0 || made != (err == nil) || !made && !errors.Is(err, fs.ErrNotExist),
			"directory %v: files %v, error %v", made, entries, err)
		expect.Must(t, os.RemoveAll(dir))
	}
}

// A closed file is closed: the process holds it no more.
func TestCloses(t *testing.T) {
	name := save(t, run(3))
	expect.Must(t, expect.Err(hdf5.Read(name)))
	entries := expect.Value(os.ReadDir("/proc/self/fd"))(t)
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		expect.False(t, err == nil && to == name, "descriptor %s is still %s", e.Name(), name)
	}
}

func TestNeverOverwrites(t *testing.T) {
	name := save(t, run(1))
	if err := hdf5.Save(name, run(2)); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "never overwritten") {
		t.Errorf("error %v", err)
	}
	got, err := hdf5.Read(name)
	expect.True(t, err == nil && len(got.Samples) == 1, "the first run is damaged: %v", err)
	expect.Error(t, hdf5.Save(filepath.Join(name, "x.h5"), run(1)), "x.h5")
}

// What cannot be kept is refused, and leaves no file.
func TestSaveRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*results.Run)
		want   string
	}{
		{"zero byte", func(r *results.Run) { r.Samples[1].Case = "a\x00b" }, `/samples: row 1: case: "a\x00b" holds a zero byte`},
		{"nothing", func(r *results.Run) { r.Samples[0] = results.Sample{} }, "/samples: row 0: case: empty"},
		{"not a number", func(r *results.Run) { r.Summary.Cases[0].CPUBusy = -1 / (r.Summary.Cases[0].CPUBusy * 0) }, "/summary.json: "},
	} {
		r := run(2)
		r.Summary.Cases = append([]results.Case(nil), r.Summary.Cases...)
		tt.change(r)
		name := filepath.Join(t.TempDir(), "refused.h5")
		expect.Error(t, hdf5.Save(name, r), "refused.h5: "+tt.want)
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a file is left, %v", tt.name, err)
		}
	}
}

// Several writers and readers at once take turns in the library.
func TestConcurrent(t *testing.T) {
	errs := make(chan error)
	dir := t.TempDir()
	const n = 8
	for i := range n {
		go func() {
			name := filepath.Join(dir, fmt.Sprint(i))
			err := hdf5.Save(name, run(1000))
			if got, e := hdf5.Read(name); err == nil && e == nil && len(got.Samples) != 1000 {
				err = fmt.Errorf("%d samples", len(got.Samples))
			} else {
				err = errors.Join(err, e)
			}
			errs <- err
		}()
	}
	for range n {
		expect.OK(t, <-errs)
	}
}

// h5dump runs the tool of the library, which knows nothing of this package.
func h5dump(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("h5dump", args...).CombinedOutput()
	expect.MustTrue(t, err == nil, "h5dump %v (package hdf5-tools): %v\n%s", args, err, out)
	return string(out)
}

func TestDump(t *testing.T) {
	name := save(t, run(2))
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"-H"}, []string{
			`DATASET "samples"`, `DATASET "links"`, `DATASET "pairs"`, `DATASET "exchanges"`, `DATASET "failovers"`, `DATASET "loads"`, `DATASET "summary"`, `DATASET "summary.json"`, `DATASET "manifest.json"`, `GROUP "plans"`,
			`H5T_STD_U64LE "event_size_byte";`, `H5T_IEEE_F64LE "t_s";`, `"planned_bytes";`, "( 2 ) / ( H5S_UNLIMITED )",
		}},
		{[]string{"-a", "/schema"}, []string{`"evbench/results/1"`}},
		{[]string{"-a", "/samples/units"}, []string{`"goodput_bit_per_s",`, `"bit/s"`, `"t_s",`, `"retransmits",`, `"segment"`}},
		{[]string{"-y", "-w", "0", "-d", "/samples"}, []string{`"FORS, "one" link",`, "1.00012,", "9305745,", "27917235,", "2.23366e+08,"}},
		{[]string{"-y", "-w", "0", "-d", "/links"}, []string{`"leaf0-spine3",`, `"up",`, "9223372036854775808,", `"server3-leaf0",`}},
		{[]string{"-y", "-w", "0", "-d", "/pairs"}, []string{`"FORS, "one" link",`, "3,", "17,", "123456789,"}},
		{[]string{"-y", "-w", "0", "-d", "/exchanges"}, []string{`"FORS, "one" link",`, "1099511627776,", "0.5"}},
		{[]string{"-a", "/exchanges/units"}, []string{`"exchanges",`, `"exchange"`, `"duration_s",`, `"s"`}},
		{[]string{"-a", "/pairs/units"}, []string{`"bytes",`, `"byte"`, `"seconds",`, `"s"`}},
		{[]string{"-y", "-w", "0", "-d", "/summary"}, []string{`"leaf0-spine0; leaf1-spine1",`, "0.9375,", "16,", `"odd"`}},
		{[]string{"-y", "-w", "0", "-d", "/failovers"}, []string{`"leaf0-spine0 leaf1-spine1",`, "5.00012,", "nan,", `"computed",`, "57,", `"another"`}},
		{[]string{"-y", "-w", "0", "-d", "/loads"}, []string{`"10 kHz",`, "12,", "0.125,"}},
		{[]string{"-a", "/loads/units"}, []string{`"offered",`, `"event"`, `"latency_s_p99",`, `"s"`}},
		{[]string{"-a", "/failovers/units"}, []string{`"seen_s",`, `"s"`, `"from_exchange",`, `"exchange"`}},
		{[]string{"-d", "/plans/größer%2Fals: 3 %25"}, []string{"# evbench plan 1"}},
	} {
		out := h5dump(t, append(tt.args, name)...)
		for _, want := range tt.want {
			expect.True(t, strings.Contains(out, want), "h5dump %v: no %s in\n%s", tt.args, want, out)
		}
	}
}

// The documents are the same bytes as in the files beside.
func TestDumpDocuments(t *testing.T) {
	r := run(1)
	name := save(t, r)
	var m, s bytes.Buffer
	expect.Must(t, errors.Join(r.Manifest.Write(&m), r.Summary.Write(&s)))
	for set, want := range map[string][]byte{"/manifest.json": m.Bytes(), "/summary.json": s.Bytes()} {
		file := filepath.Join(t.TempDir(), "text")
		h5dump(t, "-d", set, "-b", "FILE", "-o", file, name)
		got, err := os.ReadFile(file)
		expect.True(t, err == nil && bytes.Equal(bytes.TrimRight(got, "\x00"), want), "%s, %v:\n%s\nwant\n%s", set, err, got, want)
	}
}
