package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evbench/plan"
	"evbench/plan/verify"
	"evbench/results"
	"evbench/results/csv"
	"evbench/results/hdf5"
)

// ReadH5 reads a run, and its plans by case, from an HDF5 file.
func ReadH5(file string) (*results.Run, map[string][]byte, error) {
	run, err := hdf5.Read(file)
	if err != nil {
		return nil, nil, err
	}
	plans, err := hdf5.Plans(file)
	return run, plans, err
}

// ReadDir reads a run from a directory of results, and its plans by case if it has any.
func ReadDir(dir string) (*results.Run, map[string][]byte, error) {
	run, err := csv.Read(dir)
	if err != nil {
		return nil, nil, err
	}
	plans, err := csv.Plans(dir)
	return run, plans, err
}

// Read reads a run that came to its end, a directory or an HDF5 file.
func Read(name string) (*results.Run, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	read := ReadDir
	switch {
	case info.IsDir():
	case strings.HasSuffix(name, ".h5"):
		read = ReadH5
	default:
		return nil, fmt.Errorf("%s is neither a directory of results nor an .h5 file", name)
	}
	run, _, err := read(name)
	return run, err
}

// Loaded is a run for the eyes of people.
type Loaded struct {
	Run   *results.Run
	Plans map[string]*plan.Plan // by case
	Notes []string              // what reading it has to say
}

// Load reads the results of a run, a directory or an HDF5 file, for the eyes of people.
// What contradicts itself is refused; a run that was killed is taken for what it is.
func Load(name string) (Loaded, error) {
	run, texts, notes, err := readAny(name)
	if err != nil {
		return Loaded{}, err
	}
	if err := checkSamples(run); err != nil {
		return Loaded{}, fmt.Errorf("%s: %w", name, err)
	}
	plans, err := readPlans(run, texts)
	if err != nil {
		return Loaded{}, fmt.Errorf("%s: %w", filepath.Join(name, csv.PlansDir), err)
	}
	return Loaded{run.Merge(), plans, notes}, nil
}

// ReadAny reads a run, also one that was killed, as it is.
func ReadAny(name string) (*results.Run, error) {
	run, _, _, err := readAny(name)
	return run, err
}

func readAny(name string) (run *results.Run, plans map[string][]byte, notes []string, err error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case !info.IsDir() && strings.HasSuffix(name, ".h5"):
		if run, plans, err = ReadH5(name); err != nil {
			return nil, nil, nil, err
		}
		return run, plans, salvage(name, run), nil
	case !info.IsDir():
		return nil, nil, nil, fmt.Errorf("%s is no directory of results, nor a file that ends in .h5", name)
	}
	if _, err := os.Stat(filepath.Join(name, csv.ManifestFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil, fmt.Errorf("%s is no directory of results: it holds no %s", name, csv.ManifestFile)
	}
	if _, err := os.Stat(filepath.Join(name, csv.SummaryFile)); errors.Is(err, fs.ErrNotExist) {
		if run, notes, err = csv.ReadKilled(name); err != nil {
			return nil, nil, nil, err
		}
		plans, err = csv.Plans(name)
		return run, plans, notes, err
	}
	run, plans, err = ReadDir(name)
	return run, plans, nil, err
}

// salvage gives a run that was killed, of which a file holds no summary, the one that
// its samples make, and says so.
func salvage(name string, run *results.Run) (notes []string) {
	if run.Summary.Schema != "" {
		return nil
	}
	run.Summary = results.Salvage(run.Manifest, run.Samples)
	return []string{name + " holds no summary: the run was killed. What follows is read from its samples and marked incomplete."}
}

// checkSamples holds the samples against the summary: every case that came to an
// end has some, and there are none of other cases.
func checkSamples(run *results.Run) error {
	type id struct {
		name   string
		repeat int
	}
	missing := map[id]bool{} // by case; false: it has samples, or needs none
	measured := run.Summary.Measured()
	for _, c := range measured {
		missing[id{c.Name, c.Repeat}] = c.Complete && c.Exchanges > 0
	}
	for i, s := range run.Samples {
		k := id{s.Case, s.Repeat}
		if _, ok := missing[k]; !ok {
			return fmt.Errorf("%s: line %d: case %q, repeat %d, is not in %s", csv.SamplesFile, i+2, s.Case, s.Repeat, csv.SummaryFile)
		}
		missing[k] = false
	}
	for _, c := range measured {
		if missing[id{c.Name, c.Repeat}] {
			return fmt.Errorf("%s: no line of case %q, repeat %d, which %s has as complete: lines are missing",
				csv.SamplesFile, c.Name, c.Repeat, csv.SummaryFile)
		}
	}
	return nil
}

// readPlans reads the plans of a run and checks that they are those of its cases.
func readPlans(run *results.Run, texts map[string][]byte) (map[string]*plan.Plan, error) {
	plans := map[string]*plan.Plan{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		p, err := plan.Read(bytes.NewReader(texts[name]))
		if errors.Is(err, verify.ErrOrdered) {
			continue // it has no phases, and its paths are those of one exchange
		}
		if err != nil {
			return nil, fmt.Errorf("plan of case %q: %w", name, err)
		}
		for _, c := range run.Summary.Cases {
			if c.Name == name && c.PlanHash != "" && c.PlanHash != p.Hash() {
				return nil, fmt.Errorf("plan of case %q: its hash is %s; %s has %s", name, p.Hash(), csv.SummaryFile, c.PlanHash)
			}
		}
		plans[name] = p
	}
	return plans, nil
}
