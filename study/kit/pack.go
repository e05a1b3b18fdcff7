package kit

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/results"
	"evbench/results/store"
	"evbench/site/hdf5"
	"evbench/study/judge/foreign"
)

// Files that only an archive has.
const (
	answerFile = "answer.json"
	listFile   = "left-out.json"
)

// files are the texts of an archive, by name.
type files map[string][]byte

// Pack writes the archive of a kit: the answer, and the files that the kit has made. Results of other
// programs beside them go in by the fields that evbench reads, and all else stays out. A list in the
// archive says so.
func (k Kit) Pack(dir, archive string, a answer.Answer) error {
	list := ledger{}
	all, err := k.collect(dir, &list)
	if err == nil {
		err = errors.Join(all.json(answerFile, a), list.into(all))
	}
	if err != nil {
		return err
	}
	return all.write(archive, filepath.Base(dir))
}

// collect reads the files of a kit.
func (k Kit) collect(dir string, list *ledger) (files, error) {
	all, foreign := files{}, 0
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		inside, relErr := filepath.Rel(dir, name)
		switch {
		case err != nil || relErr != nil:
			return errors.Join(err, relErr)
		case inside == anonymousDir:
			return fs.SkipDir
		case !e.Type().IsRegular() || inside == JournalFile || inside == filepath.Join(RunDir, hdf5.File):
			return nil
		case k.made(inside):
			all[inside], err = os.ReadFile(name)
			return err
		}
		foreign++
		return all.foreign(name, fmt.Sprintf("foreign%d.json", foreign), list)
	})
	return all, err
}

// made reports whether a file is one that a kit makes.
func (k Kit) made(name string) bool {
	if name == ScenarioFile || name == TopologyFile && k.Topology == TopologyFile {
		return true
	}
	for _, s := range k.Steps() {
		if name == s.Out || name == s.Also || name == s.stderr() {
			return true
		}
	}
	dir, base := filepath.Split(name)
	switch dir {
	case RunDir + "/":
		return base == store.ManifestFile || base == store.SummaryFile || slices.ContainsFunc(tables, func(t *results.Table) bool { return base == t.Name+".csv" })
	case RunDir + "/" + store.PlansDir + "/":
		return strings.HasSuffix(base, ".txt")
	}
	return false
}

var tables = append(slices.Clip(results.Tables), results.Failovers, results.Spans)

// A measured is what goes into an archive of another program's result.
type measured struct {
	Format     string  `json:"format"`
	Ranks      int     `json:"ranks,omitempty"`
	Seconds    float64 `json:"seconds,omitempty"`
	Bytes      int64   `json:"bytes,omitempty"`
	HostRate   float64 `json:"host_bit_per_s,omitempty"`
	Efficiency float64 `json:"efficiency,omitempty"`
}

// foreign adds the fields of another program's result. A file that is none stays out.
func (f files) foreign(name, as string, list *ledger) error {
	data, err := atomicfile.Read(name, atomicfile.MaxList)
	var r *foreign.Result
	if err == nil {
		r, err = foreign.Read(data, foreign.Options{})
	}
	if err != nil || r.Format == foreign.Number {
		list.at("other files", "").LeftOut++
		return nil
	}
	list.at(as, "").Replaced++
	return f.json(as, measured{r.Format, r.Ranks, r.Seconds, r.Bytes, r.HostRate, r.Efficiency})
}

func (f files) json(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	f[name] = append(text, '\n')
	return err
}

// into adds the list, if anything was replaced or left out.
func (l ledger) into(f files) error {
	if len(l) == 0 {
		return nil
	}
	return f.json(listFile, struct {
		Schema  string  `json:"schema"`
		Entries []Entry `json:"entries"`
	}{"evbench/kit-left-out/1", l})
}

// write writes the archive, the answer first.
func (f files) write(archive, root string) error {
	names := slices.Sorted(maps.Keys(f))
	slices.SortStableFunc(names, func(a, b string) int { return first(b) - first(a) })
	return atomicfile.Write(archive, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		t := tar.NewWriter(z)
		var err error
		for _, name := range names {
			h := &tar.Header{Name: filepath.Join(root, name), Mode: 0o644, Size: int64(len(f[name])), ModTime: time.Now(), Format: tar.FormatPAX}
			if err = errors.Join(err, t.WriteHeader(h)); err == nil {
				_, err = io.Copy(t, bytes.NewReader(f[name]))
			}
		}
		return errors.Join(err, t.Close(), z.Close())
	})
}

func first(name string) int {
	if name == answerFile {
		return 1
	}
	return 0
}
