package csv_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"evbench/results"
	"evbench/results/csv"
)

var (
	sample = results.Sample{
		Case: `FORS, "one" link`, Repeat: 2, TSec: 1.000125, IntervalSec: 0.999875, Server: 17, Events: 3, EventBytes: 9_305_745, PayloadBytes: 27_917_235,
		GoodputBitPerSec: 223_365_801, BarrierWaitSec: 0.012, Late: 1, Duplicate: 2, Corrupt: 4, Retransmits: 5,
	}
	planned   = results.LinkCount{Case: "a", Link: "leaf0-spine3", Direction: "up", Bytes: 100, Packets: 3, Drops: 1, PlannedBytes: 98, Planned: true}
	unplanned = results.LinkCount{Case: "a", Repeat: 1, Link: "server3-leaf0", Direction: "down", Bytes: 1 << 63}
)

func write(t *testing.T, dir string) {
	t.Helper()
	w, err := csv.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		w.Manifest(results.Manifest{Name: "x", Seed: 1<<64 - 1}),
		w.Sample(sample), w.Sample(results.Sample{Case: "b"}),
		w.Link(planned), w.Link(unplanned),
		w.Summary(results.Summary{Name: "x"}),
		w.Summary(results.Summary{Name: "x", Complete: true}),
		w.Manifest(results.Manifest{Name: "x", Seed: 1<<64 - 1, Complete: true}),
		w.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results", "run")
	write(t, dir)
	run, err := csv.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := []results.Sample{sample, {Case: "b"}}; !slices.Equal(run.Samples, want) {
		t.Errorf("samples %+v,\nwant %+v", run.Samples, want)
	}
	if want := []results.LinkCount{planned, unplanned}; !slices.Equal(run.Links, want) {
		t.Errorf("links %+v,\nwant %+v", run.Links, want)
	}
	if !run.Summary.Complete || !run.Manifest.Complete || run.Manifest.Seed != 1<<64-1 {
		t.Errorf("summary %+v, manifest %+v", run.Summary, run.Manifest)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		t.Errorf("%d files, %v; want the four and nothing left over", len(entries), err)
	}
}

// The columns are a contract with people's scripts.
func TestColumns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	write(t, dir)
	for name, want := range map[string]string{
		"samples.csv": "case,repeat,t_s,interval_s,server,events,event_size_byte,payload_byte,goodput_bit_per_s,barrier_wait_s,late,duplicate,corrupt,retransmits\n" +
			`"FORS, ""one"" link",2,1.000125,0.999875,17,3,9305745,27917235,223365801,0.012000,1,2,4,5` + "\n" +
			"b,0,0.000000,0.000000,0,0,0,0,0,0.000000,0,0,0,0\n",
		"links.csv": "case,repeat,link,direction,bytes,packets,drops,planned_bytes\n" +
			"a,0,leaf0-spine3,up,100,3,1,98\n" +
			"a,1,server3-leaf0,down,9223372036854775808,0,0,\n",
	} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != want {
			t.Errorf("%s, %v:\n%s\nwant\n%s", name, err, got, want)
		}
	}
}

func TestNeverOverwrites(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	write(t, dir)
	if _, err := csv.Create(dir); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "never overwritten") {
		t.Errorf("error %v", err)
	}
	if _, err := csv.Read(dir); err != nil {
		t.Errorf("the first run is damaged: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := csv.Create(filepath.Join(file, "run")); err == nil {
		t.Error("a directory was made inside a file")
	}
}

// What was measured before an interruption can be read: lines are on disk after
// each manifest and summary.
func TestInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := csv.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Sample(sample), w.Manifest(results.Manifest{Name: "x"})); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, csv.SamplesFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := csv.ReadSamples(f); err != nil || !slices.Equal(got, []results.Sample{sample}) {
		t.Errorf("samples %+v, %v", got, err)
	}
	if _, err := csv.Read(dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "holds no summary.json, but a manifest.json: the run is not complete, it was killed or is still going") {
		t.Errorf("error %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestReadRefuses(t *testing.T) {
	const samples = "case,repeat,t_s,interval_s,server,events,event_size_byte,payload_byte,goodput_bit_per_s,barrier_wait_s,late,duplicate,corrupt,retransmits\n"
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", "empty; the first line names the columns"},
		{"other columns", strings.Replace(samples, "t_s", "t_ms", 1), `line 1: column 3 is "t_ms", not "t_s"`},
		{"fewer columns", "case,repeat\n", "wrong number of fields"},
		{"fields missing", samples + "a,0,1.0,1.0,3,1\na,0,1,1,0,0,0,0,0,0,0,0,0,0\n", "record on line 2: wrong number of fields"},
		{"cut off", samples + "a,0,1.0,1.0,3,1", "line 2 has no end: the file was cut off there"},
		{"cut off behind a comma", samples + "a,0,1,1,0,0,0,0,0,0,0,0,0,", "line 2 has no end"},
		{"cut off in the last number", samples + "a,0,1,1,0,0,0,0,0,0,0,0,0,12", "line 2 has no end"},
		{"cut off in a name", samples + "a,0,1,1,0,0,0,0,0,0,0,0,0,0\n\"b", "line 3 has no end"},
		{"cut off in the header", samples[:len(samples)-1], "line 1 has no end"},
		{"not a number", samples + "a,0,1,1,0,0,0,0,0,0,0,0,0,0\na,0,1,1,0,x,0,0,0,0,0,0,0,0\n", `line 3: events: "x" is not a number that fits`},
		{"negative", samples + "a,-1,1,1,0,0,0,0,0,0,0,0,0,0\n", `repeat: "-1"`},
		{"NaN", samples + "a,0,NaN,1,0,0,0,0,0,0,0,0,0,0\n", `t_s: "NaN"`},
		{"too large", samples + "a,0,1,1,0,99999999999999999999,0,0,0,0,0,0,0,0\n", "events:"},
	} {
		if _, err := csv.ReadSamples(strings.NewReader(tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := csv.ReadLinks(strings.NewReader("case,repeat,link,direction,bytes,packets,drops,planned_bytes\na,0,l,up,1,1,1,x\n")); err == nil || !strings.Contains(err.Error(), "line 2: planned_bytes") {
		t.Errorf("links: error %v", err)
	}
	if _, err := csv.Read(t.TempDir()); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "it is no directory of results") {
		t.Errorf("an empty directory: error %v", err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	write(t, dir)
	name := filepath.Join(dir, csv.LinksFile)
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := csv.Read(dir); err == nil || !strings.Contains(err.Error(), "links.csv: ") {
		t.Errorf("the error does not name the file: %v", err)
	}
}

// What reads can be written, and then reads as the same.
func FuzzReadSamples(f *testing.F) {
	f.Add("a,0,1.5,0.5,3,1,2,3,4.5,0.1,0,0,0,0\n")
	f.Add("\"x\ny\",1,1,1,1,1,1,1,1,1,1,1,1,1\n")
	header := strings.Join(csv.SampleColumns, ",") + "\n"
	f.Fuzz(func(t *testing.T, body string) {
		first, err := csv.ReadSamples(strings.NewReader(header + body))
		if err != nil {
			return
		}
		text := csv.Samples(t, first)
		second, err := csv.ReadSamples(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%q was read and written, and does not read again: %v", body, err)
		}
		if again := csv.Samples(t, second); again != text || len(second) != len(first) {
			t.Errorf("%q is not stable:\n%s\n%s", body, text, again)
		}
	})
}

func FuzzReadLinks(f *testing.F) {
	f.Add("a,0,leaf0-spine3,up,1,2,3,4\n")
	f.Add("a,0,leaf0-spine3,down,1,2,3,\n")
	header := strings.Join(csv.LinkColumns, ",") + "\n"
	f.Fuzz(func(t *testing.T, body string) {
		first, err := csv.ReadLinks(strings.NewReader(header + body))
		if err != nil {
			return
		}
		second, err := csv.ReadLinks(strings.NewReader(csv.Links(t, first)))
		if err != nil || !reflect.DeepEqual(first, second) {
			t.Errorf("%q: read %+v, then %+v, %v", body, first, second, err)
		}
	})
}

func FuzzReadPairs(f *testing.F) {
	f.Add("a,0,3,17,1000,0.5\n")
	f.Add("a,0,17,3,0,0.000000001\n")
	header := strings.Join(csv.PairColumns, ",") + "\n"
	f.Fuzz(func(t *testing.T, body string) {
		first, err := csv.ReadPairs(strings.NewReader(header + body))
		if err != nil {
			return
		}
		text := csv.Pairs(t, first)
		second, err := csv.ReadPairs(strings.NewReader(text))
		if err != nil || csv.Pairs(t, second) != text {
			t.Errorf("%q: read %+v, then %+v, %v", body, first, second, err)
		}
	})
}

// Plans are files of their own, whatever the case is called.
func TestPlans(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := csv.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"FORS": []byte("a plan\n"), "../up & down/2": []byte("another\n")}
	for name, text := range want {
		if err := w.Plan(name, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := csv.Plans(dir); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("plans %q, %v; want %q", got, err, want)
	}
	if got, err := csv.Plans(t.TempDir()); err != nil || len(got) != 0 {
		t.Errorf("a run without plans: %q, %v", got, err)
	}
}

// A file of pairs is optional, and held to its columns where it is there.
func TestPairs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	write(t, dir)
	name := filepath.Join(dir, csv.PairsFile)
	const head = "case,repeat,src,dst,bytes,seconds\n"
	for _, tt := range []struct{ text, err string }{
		{head + "a,0,3,17,1000,0.5\n", ""},
		{head + "a,0,3,17,1000\n", "pairs.csv: record on line 2: wrong number of fields"},
		{head + "a,0,3,x,1000,0.5\n", `pairs.csv: line 2: dst: "x" is not a number that fits`},
		{"case,repeat,from,dst,bytes,seconds\n", `pairs.csv: line 1: column 3 is "from", not "src"`},
	} {
		if err := os.WriteFile(name, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		run, err := csv.Read(dir)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		case err != nil || !slices.Equal(run.Pairs, []results.PairCount{{Case: "a", Src: 3, Dst: 17, Bytes: 1000, Sec: 0.5}}):
			t.Errorf("pairs %+v, %v", run.Pairs, err)
		}
	}
}

// Pairs make their file, to the nanosecond, and it is read as it was written.
func TestWritePairs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := csv.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []results.PairCount{{Case: "a, b", Repeat: 1, Src: 3, Dst: 17, Bytes: 1 << 63, Sec: 1.000000001}, {Case: "a, b", Repeat: 1, Src: 17, Dst: 3}}
	err = errors.Join(w.Pair(want[0]), w.Pair(want[1]), w.Summary(results.Summary{Name: "x"}), w.Manifest(results.Manifest{Name: "x"}))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, csv.PairsFile))
	if err != nil || string(text) != "case,repeat,src,dst,bytes,seconds\n\"a, b\",1,3,17,9223372036854775808,1.000000001\n\"a, b\",1,17,3,0,0.000000000\n" {
		t.Errorf("%v: %s", err, text)
	}
	if run, err := csv.Read(dir); err != nil || !slices.Equal(run.Pairs, want) {
		t.Errorf("pairs %+v, %v", run.Pairs, err)
	}
}

// A file of pairs that cannot be made is named, then and in the end.
func TestPairsFail(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := csv.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, csv.PairsFile), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Pair(results.PairCount{}); err == nil || !strings.Contains(err.Error(), csv.PairsFile) {
			t.Errorf("error %v", err)
		}
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), csv.PairsFile) {
		t.Errorf("Close: error %v", err)
	}
}

// What a killed run leaves is read, but for a line that was being written.
func TestReadKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := csv.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Sample(sample), w.Sample(sample), w.Manifest(results.Manifest{Name: "x"}), w.Close()); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, csv.SamplesFile)
	for _, tt := range []struct {
		cut, samples, notes int64
	}{{0, 2, 1}, {10, 1, 2}} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, info.Size()-tt.cut); err != nil {
			t.Fatal(err)
		}
		run, notes, err := csv.ReadKilled(dir)
		if err != nil || len(run.Samples) != int(tt.samples) || len(notes) != int(tt.notes) || run.Summary.Complete || len(run.Summary.Cases) != 1 {
			t.Errorf("cut by %d: %+v, notes %q, %v", tt.cut, run, notes, err)
		}
	}
	if err := os.WriteFile(name, []byte("case\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := csv.ReadKilled(dir); err == nil || !strings.Contains(err.Error(), "samples.csv: ") {
		t.Errorf("error %v", err)
	}
	if _, _, err := csv.ReadKilled(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// What has no lines takes no more memory than a line may.
func TestLinesAreBounded(t *testing.T) {
	header, _, _ := strings.Cut(csv.Samples(t, []results.Sample{sample}), "\n")
	for name, text := range map[string]string{"line 1": "", "line 2": header + "\n"} {
		_, err := csv.ReadSamples(io.MultiReader(strings.NewReader(text), zeros{}))
		if err == nil || !strings.Contains(err.Error(), "a line of more than 1048576 bytes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// zeros never end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
