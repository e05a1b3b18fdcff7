//go:build hdf5

package hdf5

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gonum.org/v1/hdf5"

	"evbench/results"
	"evbench/testing/expect"
)

var samples = results.Form{Table: results.Samples}

// numbered is a sample that tells its place.
func numbered(i int) results.Sample {
	return results.Sample{Case: "a", TSec: float64(i), Server: i % 16, Events: uint64(i)}
}

// runOf is a run of n samples.
func runOf(n int) *results.Run {
	run := &results.Run{Manifest: results.Manifest{Name: "x", Complete: true}, Summary: results.Summary{Schema: results.SummarySchema}, Plans: map[string][]byte{"a": []byte("plan")}}
	for i := range n {
		run.Samples = append(run.Samples, numbered(i))
	}
	return run
}

// sound is the bytes of a file.
func sound(t *testing.T) (name string, text []byte) {
	t.Helper()
	name = filepath.Join(t.TempDir(), File)
	expect.Must(t, Save(name, runOf(2000)))
	text = expect.Value(os.ReadFile(name))(t)
	return name, text
}

// change opens a sound file again and changes it.
func change(t *testing.T, f func(*hdf5.File) error) string {
	t.Helper()
	name, _ := sound(t)
	err := call(name, func() error {
		file, err := hdf5.OpenFile(name, hdf5.F_ACC_RDWR)
		if err != nil {
			return because("open", err)
		}
		return errors.Join(f(file), file.Close())
	})
	expect.Must(t, err)
	return name
}

func refused(t *testing.T, what, name, want string) {
	t.Helper()
	expect.Error(t, expect.Err(Read(name)), want, name)
}

func TestReadRefuses(t *testing.T) {
	refused(t, "absent", filepath.Join(t.TempDir(), "absent.h5"), "no such file")
	other := filepath.Join(t.TempDir(), "samples.csv")
	expect.Must(t, os.WriteFile(other, []byte("case,repeat\n"), 0o600))
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
		{"no pairs", func(f *hdf5.File) error { return remove(f, "pairs") }, "/pairs: open: "},
		{"no summary", func(f *hdf5.File) error { return remove(f, summaryName) }, "holds no /summary.json"},
		{"other table", func(f *hdf5.File) error {
			return retable(f, "links", func(t *results.Table) { t.Columns = results.Samples.Columns[:2] })
		}, `/links: no column "link"`},
		{"other columns", func(f *hdf5.File) error {
			return retable(f, "samples", func(t *results.Table) { t.Columns[2].Name = "t_ms" })
		}, `/samples: no column "t_s"`},
		{"other types", func(f *hdf5.File) error {
			return retable(f, "samples", func(t *results.Table) { t.Columns[1] = t.Columns[2]; t.Columns[1].Name = "repeat" })
		}, `/samples: column repeat has another type than evbench writes`},
		{"wide rows", func(f *hdf5.File) error {
			wide := []results.Sample{{Case: strings.Repeat("x", 2*maxRow)}}
			return errors.Join(remove(f, "samples"), writeTable(f, rowsOf(samples, wide)))
		}, "/samples: rows of "},
		{"text for a table", func(f *hdf5.File) error { return replaceText(f, "samples", nil) }, "/samples: not a table of rows"},
	} {
		refused(t, tt.name, change(t, tt.change), tt.want)
	}
}

// A file of another version lacks columns, and has others of every type that evbench writes. What was read is written again, also by way of CSV files.
func TestOtherColumns(t *testing.T) {
	names, kinds := []string{"big"}, []reflect.Kind{reflect.Uint64}
	for _, c := range results.Samples.Columns {
		if c.Name != "late" && c.Name != "repeat" {
			names, kinds = append(names, c.Name), append(kinds, c.Kind)
		}
	}
	names, kinds = append(names, "yes", "text", "minus", "share"), append(kinds, reflect.Bool, reflect.String, reflect.Int, reflect.Float64)
	form := results.Form{Table: expect.Value(results.Samples.With(names, kinds))(t)}
	form.Other = [][]string{{"18446744073709551615", "1", "größer", "-7", "0.1"}, {"0", "0", "", "0", ""}}
	lost := results.Form{Table: expect.Value(results.Failovers.With([]string{"case", "id", "why"}, nil))(t), Other: [][]string{{"because"}}}
	pair := results.Form{Table: expect.Value(results.Pairs.With([]string{"case", "dst", "src", "seconds"}, nil))(t)}
	run := runOf(2)
	run.Summary.Cases = []results.Case{{Name: "a", Failovers: []results.Failover{{ID: 1}}}}
	run.Pairs = []results.PairCount{{Case: "a", Src: 1, Dst: 2, Sec: 3}}
	run.Forms = results.Forms{results.Samples: form, results.Failovers: lost, results.Pairs: pair}
	name := filepath.Join(t.TempDir(), File)
	expect.Must(t, Save(name, run))
	for range 2 {
		got := expect.Value(Read(name))(t)
		expect.Equal(t, got.Samples, run.Samples, "samples")
		expect.Equal(t, got.Pairs, run.Pairs, "pairs")
		for of, want := range run.Forms {
			form := got.Forms.Of(of)
			expect.Equal(t, form.Other, want.Other, "%s", of.Name)
			expect.Equal(t, string(form.Header(nil)), string(want.Header(nil)), "%s", of.Name)
			expect.Equal(t, form.Lacks(), want.Lacks(), "%s", of.Name)
		}
		name = filepath.Join(t.TempDir(), File)
		expect.Must(t, Save(name, got))
	}
}

// A column of a type that this version does not write is left out, if its name is unknown too.
func TestUnknownType(t *testing.T) {
	saved := func(name string) string {
		numberTypes[reflect.Float32] = hdf5.T_IEEE_F32LE
		defer delete(numberTypes, reflect.Float32)
		return change(t, func(f *hdf5.File) error {
			return retable(f, "samples", func(t *results.Table) { t.Columns[1].Name, t.Columns[1].Kind = name, reflect.Float32 })
		})
	}
	got := expect.Value(Read(saved("new")))(t)
	expect.Equal(t, got.Forms.Of(results.Samples).Lacks(), []string{"repeat"}, "lacks")
	expect.False(t, got.Forms.Of(results.Samples).Has("new"), "the column was read")
	refused(t, "known", saved("repeat"), "/samples: column repeat has another type than evbench writes")
}

// retable puts an empty table with changed columns in the place of one.
func retable(f *hdf5.File, name string, change func(*results.Table)) error {
	other := *results.Samples
	other.Columns, other.Name = slices.Clone(other.Columns), name
	change(&other)
	return errors.Join(remove(f, name), writeTable(f, newRows(results.Form{Table: &other})))
}

func replaceText(f *hdf5.File, name string, text []byte) error {
	return errors.Join(remove(f, name), writeText(f, name, text))
}

// A file of which the end is missing is refused wherever it was cut.
func TestReadCut(t *testing.T) {
	_, text := sound(t)
	name := filepath.Join(t.TempDir(), "cut.h5")
	for n := 0; n < len(text); n += len(text)/40 + 1 {
		expect.Must(t, os.WriteFile(name, text[:n], 0o600))
		refused(t, "cut", name, "cannot be read")
	}
}

// A row that was wiped out is found, and what no run can have counted is not taken from a file.
func TestReadWrongRows(t *testing.T) {
	name, text := sound(t)
	one := rowsOf(samples, []results.Sample{numbered(7)})
	row, err := layoutOf(results.Samples, one.longest).encode(nil, one.last, one.texts)
	at := bytes.Index(text, row)
	expect.MustTrue(t, err == nil && at >= 0 && !bytes.Contains(text[at+1:], row), "row 7 is not there once, %v", err)
	clear(text[at:][:len(row)])
	expect.Must(t, os.WriteFile(name, text, 0o600))
	refused(t, "wiped", name, "/samples: row 7 was never written: the file is damaged")
	for _, tt := range []struct {
		change func(*results.Sample)
		want   string
	}{
		{func(s *results.Sample) { s.Server = -1 }, "row 1: server: not a number that fits"},
		{func(s *results.Sample) { s.TSec = -1 }, "row 1: t_s: not a number that fits"},
		{func(s *results.Sample) { s.TSec = math.NaN() }, "row 1: t_s: not a number that fits"},
		{func(s *results.Sample) { s.GoodputBitPerSec = 1e19 }, "row 1: goodput_bit_per_s: "},
	} {
		run := runOf(2)
		tt.change(&run.Samples[1])
		name := filepath.Join(t.TempDir(), File)
		expect.Must(t, Save(name, run))
		refused(t, tt.want, name, tt.want)
	}
}

// A disk that is full for rows that wait is told at once, and again instead of a file with fewer rows.
func TestRowsDiskFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	expect.Must(t, err)
	r := NewRows(t.TempDir())
	defer r.Close()
	r.rows(results.Samples).file = full
	for n := 0; err == nil && n < 9000; n++ {
		err = r.Add(results.Samples, reflect.ValueOf(numbered(n)))
	}
	name := filepath.Join(r.dir, File)
	for _, err := range []error{err, r.Add(results.Samples, reflect.ValueOf(numbered(0))), r.Save(name, runOf(0))} {
		expect.True(t, errors.Is(err, syscall.ENOSPC) && strings.Contains(err.Error(), "/dev/full"),
			"error %v, want no space left, and the file", err)
	}
	expect.True(t, expect.Err(os.Stat(name)) != nil, "a file is left")
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
		expect.False(t, err.Error() != tt.want || tt.is != nil && !errors.Is(err, tt.is), "%q: error %v, want %s", tt.says, err, tt.want)
	}
}

// FuzzRead: a file that is not as the library wrote it is an error that names it, or is read
// within its bounds; what is read can be saved, and then reads as the same.
//
// The bytes go through libhdf5, which is not made for files of strangers. It has its own
// checks; a crash inside of it is not ours to mend.
func FuzzRead(f *testing.F) {
	run := runOf(2)
	dir := f.TempDir()
	name, saved := filepath.Join(dir, "sound.h5"), filepath.Join(dir, "again.h5")
	expect.Must(f, Save(name, run))
	text := expect.Value(os.ReadFile(name))(f)
	// Places that differ, not whole files: those are 40 KB, of which few bytes matter.
	f.Add(uint32(0), []byte{})
	f.Add(uint32(8), []byte{0xff})
	f.Add(uint32(len(text)/2), []byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, at uint32, bytes []byte) {
		changed := slices.Clone(text)
		copy(changed[int(at)%len(changed):], bytes)
		expect.Must(t, os.WriteFile(name, changed, 0o600))
		run, err := Read(name)
		if err != nil {
			expect.MustTrue(t, strings.HasPrefix(err.Error(), name+": ") && len(err.Error()) <= 64<<10, "%.500s", err)
			return
		}
		os.Remove(saved)
		expect.Must(t, Save(saved, run), "what was read cannot be saved")
		again, err := Read(saved)
		expect.MustTrue(t, err == nil && slices.Equal(again.Samples, run.Samples) && slices.Equal(again.Links, run.Links),
			"%d samples, then %v: %v", len(run.Samples), again, err)
		expect.MustTrue(t, maps.EqualFunc(again.Plans, run.Plans, slices.Equal[[]byte]), "%d plans, then %d", len(run.Plans), len(again.Plans))
	})
}
