//go:build hdf5

package hdf5

import (
	"errors"
	"maps"
	"os"
	"slices"

	"evbench/results"
)

// Save writes a run and its plans, by case, as a new file. On error there is
// none. A run without a summary, because it was killed, stays without.
func Save(name string, run *results.Run, plans map[string][]byte) error {
	w, err := Create(name)
	if err != nil {
		return err
	}
	w.samples.widen(run.Samples...)
	w.links.widen(run.Links...)
	w.pairs.widen(run.Pairs...)
	w.exchanges.widen(run.Exchanges...)
	err = w.save(run, plans)
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

func (w *Writer) save(run *results.Run, plans map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		if err := w.Plan(name, plans[name]); err != nil {
			return err
		}
	}
	if err := w.Manifest(run.Manifest); err != nil {
		return err
	}
	for _, s := range run.Samples {
		if err := w.Sample(s); err != nil {
			return err
		}
	}
	for _, l := range run.Links {
		if err := w.Link(l); err != nil {
			return err
		}
	}
	for _, p := range run.Pairs {
		if err := w.Pair(p); err != nil {
			return err
		}
	}
	for _, e := range run.Exchanges {
		if err := w.Exchange(e); err != nil {
			return err
		}
	}
	if run.Summary.Schema == "" {
		return nil
	}
	return w.Summary(run.Summary)
}
