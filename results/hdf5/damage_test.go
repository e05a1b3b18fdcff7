//go:build hdf5

package hdf5

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gonum.org/v1/hdf5"

	"evbench/results"
)

// sound is the bytes of a file with a manifest and some samples.
func sound(t *testing.T, complete bool) (name string, text []byte) {
	t.Helper()
	name = filepath.Join(t.TempDir(), File)
	run := &results.Run{Manifest: results.Manifest{Name: "x", Complete: complete}}
	for i := range 2000 {
		run.Samples = append(run.Samples, numbered(i))
	}
	if err := Save(name, run, map[string][]byte{"a": []byte("plan")}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return name, text
}

// change opens a sound file again and changes it.
func change(t *testing.T, f func(*hdf5.File) error) string {
	t.Helper()
	name, _ := sound(t, true)
	err := call(name, func() error {
		file, err := hdf5.OpenFile(name, hdf5.F_ACC_RDWR)
		if err != nil {
			return because("open", err)
		}
		return errors.Join(f(file), file.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func refused(t *testing.T, what, name, want string) {
	t.Helper()
	if _, err := Read(name); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
		t.Errorf("%s: error %v, want the file and %q", what, err, want)
	}
}

func TestReadRefuses(t *testing.T) {
	refused(t, "absent", filepath.Join(t.TempDir(), "absent.h5"), "no such file")
	other := filepath.Join(t.TempDir(), "samples.csv")
	if err := os.WriteFile(other, []byte("case,repeat\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, "no HDF5", other, "cannot be read: file signature not found")
	for _, tt := range []struct {
		name   string
		change func(*hdf5.File) error
		want   string
	}{
		{"no manifest", func(f *hdf5.File) error { return remove(f, manifestName) }, "holds no /manifest.json"},
		{"other document", func(f *hdf5.File) error { return replaceText(f, manifestName, []byte(`{"schema":"x"}`)) }, `/manifest.json: schema "x"`},
		{"cut document", func(f *hdf5.File) error { return replaceText(f, summaryName, []byte(`{"sch`)) }, "/summary.json: ends too early"},
		{"no samples", func(f *hdf5.File) error { return remove(f, "samples") }, "/samples: open: "},
		{"other table", func(f *hdf5.File) error {
			if err := remove(f, "links"); err != nil {
				return err
			}
			other := samples
			other.name = "links"
			g := grow(other)
			return errors.Join(g.open(f), g.close())
		}, "/links: 14 columns, not 9"},
		{"other columns", func(f *hdf5.File) error { return retable(f, func(c []column) { c[2].name = "t_ms" }) }, `/samples: column 3 is "t_ms", not "t_s"`},
		{"wide rows", func(f *hdf5.File) error {
			g := grow(samples)
			g.rooms[0], g.chunk = 2*maxRow, 1
			return errors.Join(remove(f, "samples"), g.open(f), g.close())
		}, "/samples: rows of "},
		{"text for a later table", func(f *hdf5.File) error { return replaceText(f, exchanges.name, nil) }, "/exchanges: not a table of rows"},
		{"text for a table", func(f *hdf5.File) error { return replaceText(f, "samples", nil) }, "/samples: not a table of rows"},
	} {
		refused(t, tt.name, change(t, tt.change), tt.want)
	}
}

// retable puts an empty table with changed columns in the place of samples.
func retable(f *hdf5.File, change func([]column)) error {
	if err := remove(f, "samples"); err != nil {
		return err
	}
	other := samples
	other.columns = append([]column(nil), samples.columns...)
	change(other.columns)
	g := grow(other)
	return errors.Join(g.open(f), g.close())
}

// A file of a release that did not count pairs, or keep durations, is read as it is.
func TestWithoutLaterTables(t *testing.T) {
	for _, gone := range [][]string{{exchanges.name}, {pairs.name, exchanges.name}} {
		name := change(t, func(f *hdf5.File) (err error) {
			for _, table := range gone {
				err = errors.Join(err, remove(f, table))
			}
			return err
		})
		run, err := Read(name)
		if err != nil || run.Pairs != nil || run.Exchanges != nil || len(run.Samples) != 2000 {
			t.Errorf("without %v: error %v", gone, err)
		}
	}
}

// A file of which the end is missing is refused wherever it was cut.
func TestReadCut(t *testing.T) {
	_, text := sound(t, true)
	name := filepath.Join(t.TempDir(), "cut.h5")
	for n := 0; n < len(text); n += len(text)/40 + 1 {
		if err := os.WriteFile(name, text[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, "cut", name, "cannot be read")
	}
}

// A row that was wiped out is found.
func TestReadWiped(t *testing.T) {
	for _, complete := range []bool{true, false} {
		name, text := sound(t, complete)
		row := bytesOf(t, numbered(7))
		at := bytes.Index(text, row)
		if at < 0 || bytes.Contains(text[at+1:], row) {
			t.Fatal("row 7 is not there once")
		}
		clear(text[at:][:len(row)])
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, "wiped", name, "/samples: row 7 was never written: the file is damaged")
	}
}

func sampleLayout() layout {
	g := grow(samples)
	return newLayout(g.columns, g.fields(&results.Sample{}), g.rooms)
}

func bytesOf(t *testing.T, s results.Sample) []byte {
	t.Helper()
	row, err := sampleLayout().encode(samples.fields(&s))
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// What no run can have counted is not taken from a file.
func TestDecodeRefuses(t *testing.T) {
	for _, tt := range []struct {
		change func(*results.Sample)
		want   string
	}{
		{func(s *results.Sample) { s.Server = -1 }, "server: not a number that fits"},
		{func(s *results.Sample) { s.TSec = -1 }, "t_s: not a number that fits"},
		{func(s *results.Sample) { s.TSec /= s.TSec }, "t_s: not a number that fits"},
		{func(s *results.Sample) { s.GoodputBitPerSec = 1e19 }, "goodput_bit_per_s: "},
	} {
		s := results.Sample{Case: "a"}
		tt.change(&s)
		if err := sampleLayout().decode(bytesOf(t, s), samples.fields(new(results.Sample))); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, want %q", s, err, tt.want)
		}
	}
}

func TestReason(t *testing.T) {
	for _, tt := range []struct {
		says, want string
		is         error
	}{
		{
			"file write failed: time = Sat Nov 21 13:16:57 2026\n, filename = 'a: b', file descriptor = 5, errno = 28, error message = 'No space left on device', buf = 0x7f",
			"file write failed: no space left on device", syscall.ENOSPC,
		},
		{"unable to lock file, errno = 11, error message = 'Resource temporarily unavailable'", "unable to lock file: resource temporarily unavailable", syscall.EAGAIN},
		{"truncated file: eof = 9000,\n stored_eof = 161032", "truncated file: eof = 9000, stored_eof = 161032", nil},
	} {
		err := reasonOf(tt.says)
		if err.Error() != tt.want || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%q: error %v, want %s", tt.says, err, tt.want)
		}
	}
}
