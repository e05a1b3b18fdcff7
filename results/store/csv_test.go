package store

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"evbench/internal/disk"
	"evbench/results"
	"evbench/testing/expect"
)

// full is a table on a disk without room.
func full(t *testing.T, of *results.Table) *table {
	t.Helper()
	f := expect.Value(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
	return &table{of: of, form: results.Form{Table: of}, file: disk.File{File: f}}
}

func fullFiles(t *testing.T) *Files {
	return &Files{dir: t.TempDir(), tables: []*table{full(t, results.Samples), full(t, results.Links)}}
}

// A full disk is reported, with the file, as soon as lines are on their way to
// it, and by every call from then on.
func TestDiskFull(t *testing.T) {
	w := fullFiles(t)
	var err error
	for n := 0; err == nil && n < 1000; n++ {
		err = w.Write(results.Sample{Case: "a"})
	}
	for what, err := range map[string]error{
		"a line that fills the buffer": err,
		"the next line":                w.Write(results.Sample{}),
		"Summary":                      w.Write(results.Summary{}),
		"Close":                        w.Close(),
	} {
		expect.True(t, errors.Is(err, syscall.ENOSPC) && strings.Contains(err.Error(), "/dev/full"),
			"%s: error %v, want no space left, and the file", what, err)
	}
}

// Few lines stay in the buffer; Close then finds the disk full.
func TestDiskFullAtClose(t *testing.T) {
	w := fullFiles(t)
	expect.Must(t, w.Write(results.LinkCount{Case: "a"}))
	expect.Is(t, w.Close(), syscall.ENOSPC)
}

// A summary that cannot be written leaves no debris.
func TestSummaryFails(t *testing.T) {
	w := &Files{dir: t.TempDir()}
	expect.Must(t, w.Write(results.Manifest{Name: "first"}))
	bad := results.Summary{Cases: []results.Case{{Counts: results.Counts{CPUBusy: math.NaN()}}}} // JSON has no NaN
	expect.Error(t, w.Write(bad), SummaryFile)
	entries, err := os.ReadDir(w.dir)
	expect.True(t, err == nil && len(entries) == 1 && entries[0].Name() == ManifestFile, "files %v, %v", entries, err)
}

// FuzzReadTable: what is read of a table, whichever columns it has, can be written, and then reads as
// the same.
func FuzzReadTable(f *testing.F) {
	tables := append(results.Tables[:len(results.Tables):len(results.Tables)], results.Spans)
	for i, lines := range [][]string{
		{"a,0,1.5,0.5,3,1,2,3,4.5,0.1,0,0,0,0\n", "\"x\ny\",1,1,1,1,1,1,1,1,1,1,1,1,1\n"},
		{"a,0,leaf0-spine3,up,1,2,3,4\n", "a,0,leaf0-spine3,down,1,2,3,\n"},
		{"a,0,3,17,1000,0.5\n", "a,0,17,3,0,0.000000001\n"},
		{"a,0,0,1,0.5\n", "a,1,1024,2,0.000000001\n"},
		{"a,0,3,barrier,0.1,0.2,7,2,,\n", "a,1,3,request,0.1,0.2,7,,4,\n", "a,1,3,rest,0.1,0.2,7,,,\n"},
	} {
		for _, line := range lines {
			f.Add(uint8(i), string(tables[i].Header(nil))+line)
		}
	}
	f.Add(uint8(0), "odd\x1b,server,interval_s,t_s,case\n\"x\ny\x1b\",3,1,2,a\n")
	f.Fuzz(func(t *testing.T, i uint8, body string) {
		table := tables[int(i)%len(tables)]
		text, err := again(table, body)
		if err != nil {
			said := err.Error()
			expect.MustTrue(t, len(said) <= 1000, "%q: %.300s", body, said)
			return
		}
		second, err := again(table, text)
		expect.Must(t, err, "%q was read and written, and does not read again", body)
		expect.True(t, second == text && !strings.ContainsRune(text, '\x1b'), "%q is not stable:\n%s", body, text)
	})
}

// again reads the text of a table, and writes it.
func again(t *results.Table, text string) (string, error) {
	var rows []results.Row
	form, err := readTable(strings.NewReader(text), t, func(row results.Row) error {
		rows = append(rows, results.Row{Record: reflect.ValueOf(row.Record.Interface()), Other: row.Other})
		return nil
	})
	if err != nil {
		return "", err
	}
	out := form.Header(nil)
	for _, row := range rows {
		out = form.Line(out, row)
	}
	return string(out), nil
}

// FuzzReadKilled: of a run that was killed every line is read that has its end, and cases are
// those of the lines.
func FuzzReadKilled(f *testing.F) {
	header := string(results.Samples.Header(nil))
	f.Add(header + "a,0,1.5,0.5,3,1,2,3,4.5,0.1,0,0,0,0\na,0,2,0.")
	f.Add(header)
	f.Add("")
	dir := f.TempDir()
	write := func(t testing.TB, name, text string) {
		expect.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write(f, ManifestFile, `{"schema":"`+results.ManifestSchema+`"}`)
	f.Fuzz(func(t *testing.T, samples string) {
		write(t, "samples.csv", samples)
		run, notes, err := Format{}.ReadAny(dir)
		if err != nil {
			said := err.Error()
			expect.MustTrue(t, strings.HasPrefix(said, filepath.Join(dir, "samples.csv")+": "), "%q: %.300s", samples, said)
			return
		}
		whole := 1
		if !strings.HasSuffix(samples, "\n") {
			whole = 2
		}
		expect.MustFalse(t, len(notes) != whole || len(run.Samples) >= max(1, strings.Count(samples, "\n")) || len(run.Summary.Cases) > len(run.Samples),
			"%q: %d samples, %d cases, %q", samples, len(run.Samples), len(run.Summary.Cases), notes)
	})
}
