package csv_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/results"
	"evbench/results/csv"
)

// Durations make their file, to the nanosecond, and it is read as it was written. A run
// without any has no such file.
func TestWriteExchanges(t *testing.T) {
	want := []results.ExchangeTime{
		{Case: "a, b", Repeat: 1, Exchanges: 4, DurationSec: 2.000000001}, {Case: "a, b", Repeat: 1, Exchange: 4, Exchanges: 1, DurationSec: 0.5},
	}
	for _, tt := range []struct {
		rows []results.ExchangeTime
		text string // "": no file
	}{
		{want, "case,repeat,exchange,exchanges,duration_s\n\"a, b\",1,0,4,2.000000001\n\"a, b\",1,4,1,0.500000000\n"},
		{nil, ""},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		w, err := csv.Create(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range tt.rows {
			err = errors.Join(err, w.Exchange(e))
		}
		err = errors.Join(err, w.Summary(results.Summary{Name: "x"}), w.Manifest(results.Manifest{Name: "x"}), w.Close())
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, csv.ExchangesFile))
		if string(text) != tt.text || (tt.text == "") != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: %s, want %s", err, text, tt.text)
		}
		if run, err := csv.Read(dir); err != nil || !slices.Equal(run.Exchanges, tt.rows) {
			t.Errorf("durations %+v, %v", run, err)
		}
	}
}

// The file is held to its columns where it is there.
func TestExchangesRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	write(t, dir)
	const head = "case,repeat,exchange,exchanges,duration_s\n"
	for _, tt := range []struct{ text, want string }{
		{head + "a,0,0,1\n", "exchanges.csv: record on line 2: wrong number of fields"},
		{head + "a,0,-1,1,0.5\n", `exchanges.csv: line 2: exchange: "-1" is not a number that fits`},
		{head + "a,0,0,1,0.5\na,0,1,1,NaN\n", `exchanges.csv: line 3: duration_s: "NaN" is not a number that fits`},
		{head + "a,0,0,1,0.5", "exchanges.csv: line 2 has no end: the file was cut off there"},
		{"case,repeat,exchange,n,duration_s\n", `exchanges.csv: line 1: column 4 is "n", not "exchanges"`},
	} {
		if err := os.WriteFile(filepath.Join(dir, csv.ExchangesFile), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := csv.Read(dir); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}

func FuzzReadExchanges(f *testing.F) {
	f.Add("a,0,0,1,0.5\n")
	f.Add("a,1,1024,2,0.000000001\n")
	header := strings.Join(csv.ExchangeColumns, ",") + "\n"
	f.Fuzz(func(t *testing.T, body string) {
		first, err := csv.ReadExchanges(strings.NewReader(header + body))
		if err != nil {
			return
		}
		text := csv.Exchanges(t, first)
		second, err := csv.ReadExchanges(strings.NewReader(text))
		if err != nil || csv.Exchanges(t, second) != text {
			t.Errorf("%q: read %+v, then %+v, %v", body, first, second, err)
		}
	})
}
