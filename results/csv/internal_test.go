package csv

import (
	"encoding/csv"
	"errors"
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
