package csv

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"evbench/internal/atomicfile"
)

// PlansDir is where the plans of a run are, beside its files: one text for each
// case that has a schedule, named after the case.
const PlansDir = "plans"

// Plan keeps the plan of a case.
func (w *Writer) Plan(name string, text []byte) error {
	dir := filepath.Join(w.dir, PlansDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return atomicfile.Write(planFile(w.dir, name), func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	})
}

func planFile(dir, name string) string {
	return filepath.Join(dir, PlansDir, url.PathEscape(name)+".txt")
}

// Plans reads the plans of a run, by case. A run without any is no error.
func Plans(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(filepath.Join(dir, PlansDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	plans := map[string][]byte{}
	for _, e := range entries {
		file := filepath.Join(dir, PlansDir, e.Name())
		name, err := url.PathUnescape(strings.TrimSuffix(e.Name(), ".txt"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if plans[name], err = atomicfile.Read(file, maxFile); err != nil {
			return nil, err
		}
	}
	return plans, nil
}
