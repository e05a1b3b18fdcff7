package csv_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"evbench/results"
	"evbench/results/csv"
)

// told is a summary with two fail-overs: one that went through, and one that was
// overtaken before anything was in place.
func told() results.Summary {
	sec := func(x float64) *float64 { return &x }
	return results.Summary{Name: "x", Cases: []results.Case{{Name: "healthy"}, {Name: `FORS, "one" link`, Repeat: 1, Failover: "fors", Failovers: []results.Failover{
		{
			ID: 1, Down: []string{"leaf0-spine0", "leaf1-spine0"}, Dead: []string{"leaf0-spine0", "leaf1-spine0"},
			SetSec: sec(-0.5), SeenSec: sec(5.000125), AidedSec: sec(5.001), PlannedSec: sec(5.003), VerifiedSec: sec(5.004), InstalledSec: sec(5.007),
			UpdatedSec: sec(5.009), LastOldSec: sec(5.3), FirstNewSec: sec(5.7), CleanedSec: sec(5.71),
			Source: "computed", Phases: 16, PlanHash: "sha256:0", From: 17, Routes: 42, Attempts: 1,
			BeforeEventsPerSec: sec(53.25), DuringEventsPerSec: sec(0), AfterEventsPerSec: sec(50),
		},
		{ID: 2, Up: []string{"leaf0-spine0"}, Dead: []string{"leaf1-spine0"}, Held: []string{"leaf0-spine0"}, Superseded: true, Reason: "another, \"later\" one"},
	}}}}
}

func saveTold(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := csv.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{w.Manifest(results.Manifest{}), w.Summary(told()), w.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What the file says is what the summary says, also after reading both back.
func TestFailovers(t *testing.T) {
	dir := saveTold(t)
	run, err := csv.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := run.Summary.Failovers(), told().Failovers(); !reflect.DeepEqual(got, want) {
		t.Errorf("summary has\n%+v\nwant\n%+v", got, want)
	}
	f, err := os.Open(filepath.Join(dir, csv.FailoversFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := csv.ReadFailovers(f)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d fail-overs, %v", len(list), err)
	}
	for i, want := range told().Failovers() {
		got := list[i]
		if got.Case != want.Case || got.Repeat != 1 || strings.Join(got.Down, "+") != strings.Join(want.Down, "+") || strings.Join(got.Held, "+") != strings.Join(want.Held, "+") ||
			!reflect.DeepEqual(got.SeenSec, want.SeenSec) || !reflect.DeepEqual(got.SetSec, want.SetSec) || !reflect.DeepEqual(got.CleanedSec, want.CleanedSec) ||
			got.From != want.From || got.Superseded != want.Superseded || got.Reason != want.Reason || !reflect.DeepEqual(got.DuringEventsPerSec, want.DuringEventsPerSec) {
			t.Errorf("row %d\n%+v\nwant\n%+v", i, got, want)
		}
	}
}

func TestFailoverLines(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(saveTold(t), csv.FailoversFile))
	if err != nil {
		t.Fatal(err)
	}
	want := `case,repeat,id,down,up,dead,held,set_s,seen_s,aided_s,planned_s,verified_s,installed_s,updated_s,last_old_s,first_new_s,cleaned_s,source,phases,plan_hash,from_exchange,routes_changed,attempts,superseded,reason,before_events_per_s,during_events_per_s,after_events_per_s
"FORS, ""one"" link",1,1,leaf0-spine0 leaf1-spine0,,leaf0-spine0 leaf1-spine0,,-0.500000,5.000125,5.001000,5.003000,5.004000,5.007000,5.009000,5.300000,5.700000,5.710000,computed,16,sha256:0,17,42,1,false,,53.250000,0.000000,50.000000
"FORS, ""one"" link",1,2,,leaf0-spine0,leaf1-spine0,leaf0-spine0,,,,,,,,,,,,0,,0,0,0,true,"another, ""later"" one",,,
`
	if string(text) != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
}

// A run in which nothing was done has no such file; one whose file contradicts the
// summary is refused.
func TestFailoversRefuses(t *testing.T) {
	for _, tt := range []struct{ name, from, to, want string }{
		{"a time changed", "5.009000", "5.019000", "failovers.csv: row 1 is not what summary.json says"},
		{"no number", "5.009000", "soon", `failovers.csv: line 2: updated_s: "soon" is not a number that fits`},
		{"neither true nor false", ",true,", ",maybe,", `line 3: superseded: "maybe" is neither true nor false`},
		{"cut off", "one\",,,\n", "one\",,", "was cut off there"},
	} {
		dir := saveTold(t)
		name := filepath.Join(dir, csv.FailoversFile)
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.Replace(string(text), tt.from, tt.to, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := csv.Read(dir); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if _, err := csv.Read(dir); err != nil {
			t.Errorf("without the file, as of older runs: %v", err)
		}
	}
	dir := filepath.Join(t.TempDir(), "run")
	write(t, dir)
	if _, err := os.Stat(filepath.Join(dir, csv.FailoversFile)); !os.IsNotExist(err) {
		t.Errorf("nothing was done, and there is a file: %v", err)
	}
}

// FuzzReadFailovers: what is read can be written, and then reads as the same.
func FuzzReadFailovers(f *testing.F) {
	f.Add("a,0,1,leaf0-spine0,,leaf0-spine0 leaf1-spine0,,1,1.1,,,,,,,,,computed,16,sha256:0,3,4,1,false,,1,2,3\n")
	f.Add("a,0,1,,,,,-1,,,,,,,,,,kept,0,,0,0,0,true,\"a\nb\x1b\",,,\n")
	f.Add("a,0,1,,,,,-1,,,,,,,,,,kept,0,,0,0,0," + strings.Repeat("x", 20_000) + ",,,,\n")
	header := strings.Join(csv.FailoverColumns, ",") + "\n"
	f.Fuzz(func(t *testing.T, body string) {
		first, err := csv.ReadFailovers(strings.NewReader(header + body))
		if err != nil {
			if said := err.Error(); !strings.Contains(said, "line ") || len(said) > 1000 {
				t.Fatalf("%q: %.300s", body, said)
			}
			return
		}
		text := csv.Failovers(t, first)
		second, err := csv.ReadFailovers(strings.NewReader(text))
		if err != nil || csv.Failovers(t, second) != text || strings.ContainsRune(text, '\x1b') {
			t.Errorf("%q: read %+v, then %+v, %v", body, first, second, err)
		}
	})
}

// FuzzReadKilled: of a run that was killed every line is read that has its end, and cases are
// those of the lines.
func FuzzReadKilled(f *testing.F) {
	header := strings.Join(csv.SampleColumns, ",") + "\n"
	f.Add(header + "a,0,1.5,0.5,3,1,2,3,4.5,0.1,0,0,0,0\na,0,2,0.")
	f.Add(header)
	f.Add("")
	dir := f.TempDir()
	write := func(t testing.TB, name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(f, csv.ManifestFile, `{"schema":"`+results.ManifestSchema+`"}`)
	f.Fuzz(func(t *testing.T, samples string) {
		write(t, csv.SamplesFile, samples)
		run, notes, err := csv.ReadKilled(dir)
		if err != nil {
			if said := err.Error(); !strings.HasPrefix(said, filepath.Join(dir, csv.SamplesFile)+": ") {
				t.Fatalf("%q: %.300s", samples, said)
			}
			return
		}
		if cut := !strings.HasSuffix(samples, "\n"); len(notes) != 1+btoi(cut) || len(run.Samples) >= max(1, strings.Count(samples, "\n")) || len(run.Summary.Cases) > len(run.Samples) {
			t.Fatalf("%q: %d samples, %d cases, %q", samples, len(run.Samples), len(run.Summary.Cases), notes)
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
