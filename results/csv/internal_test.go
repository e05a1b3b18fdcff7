package csv

import (
	"encoding/csv"
	"errors"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"

	"evbench/results"
)

// For the tests outside the package.
var (
	SampleColumns = sampleColumns
	LinkColumns   = linkColumns
	PairColumns   = pairColumns

	ExchangeColumns = exchangeColumns
	FailoverColumns = failoverColumns
)

// Failovers returns fail-overs as a file.
func Failovers(t *testing.T, list []results.Failover) string {
	rows := [][]string{failoverColumns}
	for _, f := range list {
		rows = append(rows, failoverRow(f))
	}
	return text(t, rows)
}

// Samples returns samples as a file.
func Samples(t *testing.T, samples []results.Sample) string {
	rows := [][]string{sampleColumns}
	for _, s := range samples {
		rows = append(rows, sampleRow(s))
	}
	return text(t, rows)
}

// Links returns links as a file.
func Links(t *testing.T, links []results.LinkCount) string {
	rows := [][]string{linkColumns}
	for _, l := range links {
		rows = append(rows, linkRow(l))
	}
	return text(t, rows)
}

// Pairs returns pairs as a file.
func Pairs(t *testing.T, pairs []results.PairCount) string {
	rows := [][]string{pairColumns}
	for _, p := range pairs {
		rows = append(rows, pairRow(p))
	}
	return text(t, rows)
}

// Exchanges returns durations of exchanges as a file.
func Exchanges(t *testing.T, exchanges []results.ExchangeTime) string {
	rows := [][]string{exchangeColumns}
	for _, e := range exchanges {
		rows = append(rows, exchangeRow(e))
	}
	return text(t, rows)
}

func text(t *testing.T, rows [][]string) string {
	t.Helper()
	var b strings.Builder
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// full is a table on a disk without room.
func full(t *testing.T) *table {
	t.Helper()
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &table{file: f, csv: csv.NewWriter(f)}
}

// A full disk is reported, with the file, as soon as lines are on their way to
// it, and by every call from then on.
func TestDiskFull(t *testing.T) {
	w := &Writer{dir: t.TempDir(), samples: full(t), links: full(t)}
	defer w.links.file.Close()
	var err error
	for n := 0; err == nil && n < 1000; n++ {
		err = w.Sample(results.Sample{Case: "a"})
	}
	for what, err := range map[string]error{
		"a line that fills the buffer": err,
		"the next line":                w.Sample(results.Sample{}),
		"Flush":                        w.flush(),
		"Summary":                      w.Summary(results.Summary{}),
		"Close":                        w.Close(),
	} {
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "/dev/full") {
			t.Errorf("%s: error %v, want no space left, and the file", what, err)
		}
	}
}

// Few lines stay in the buffer; Close then finds the disk full.
func TestDiskFullAtClose(t *testing.T) {
	w := &Writer{dir: t.TempDir(), samples: full(t), links: full(t)}
	if err := w.Link(results.LinkCount{Case: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v", err)
	}
}

// A manifest that cannot be written leaves the one before, and no debris.
func TestManifestFails(t *testing.T) {
	dir := t.TempDir()
	w := &Writer{dir: dir, samples: full(t), links: full(t)}
	if err := w.Manifest(results.Manifest{Name: "first"}); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	bad := results.Summary{Cases: []results.Case{{CPUBusy: nan()}}} // JSON has no NaN
	if err := w.Summary(bad); err == nil || !strings.Contains(err.Error(), SummaryFile) {
		t.Errorf("error %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != ManifestFile {
		t.Errorf("files %v, %v", entries, err)
	}
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}

// FuzzReadSpans: what is read is written again as it was.
func FuzzReadSpans(f *testing.F) {
	head := strings.Join(spanColumns, ",") + "\n"
	f.Add(head + "a,0,3,barrier,0.100000000,0.200000000,7,2,\n")
	f.Add(head + "a,1,3,request,0.100000000,0.200000000,7,,4\n")
	f.Add(head + "a,1,3,rest,0.1,0.2,7,,\n")
	f.Fuzz(func(t *testing.T, text string) {
		var first []results.Span
		if err := ReadSpans(strings.NewReader(text), func(s results.Span) { first = append(first, s) }); err != nil {
			return
		}
		var again strings.Builder
		w := csv.NewWriter(&again)
		_ = w.Write(spanColumns)
		for _, s := range first {
			_ = w.Write(spanRow(s))
		}
		w.Flush()
		var second []results.Span
		if err := ReadSpans(strings.NewReader(again.String()), func(s results.Span) { second = append(second, s) }); err != nil {
			t.Fatalf("%q: %v", again.String(), err)
		}
		if len(first) != len(second) {
			t.Fatalf("%d spans became %d", len(first), len(second))
		}
		for i, a := range first {
			b := second[i]
			if near(a.BeginSec, b.BeginSec) && near(a.EndSec, b.EndSec) {
				a.BeginSec, a.EndSec, b.BeginSec, b.EndSec = 0, 0, 0, 0
			}
			if a != b {
				t.Fatalf("%+v became %+v", first[i], second[i])
			}
		}
	})
}

// near: as near as nanoseconds are, or as numbers of that size can be.
func near(a, b float64) bool { return math.Abs(a-b) <= max(1e-9, 1e-12*a) }
