package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/results/store"
	"evbench/site/hdf5"
)

func exportAction(c *cli.Context) error {
	if !hdf5.Built {
		return usage(hdf5.ErrNotBuilt)
	}
	src, dst := c.Args().Get(0), c.Args().Get(1)
	info, err := os.Stat(src)
	if err != nil {
		return usage(err)
	}
	if isH5 := strings.HasSuffix(dst, ".h5"); isH5 != info.IsDir() {
		return usagef("results export: from a directory to a file that ends in .h5, or from such a file to a directory, not from %s to %s", src, dst)
	}
	if _, err := os.Lstat(dst); err == nil {
		return usagef("%s exists already; results are never overwritten", dst)
	}
	run, err := store.Read(src)
	if err != nil {
		return usage(err)
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	save := store.Save
	if info.IsDir() {
		save = hdf5.Save
	}
	if err := save(dst, run); err != nil {
		return err
	}
	if c.Bool("quiet") {
		return nil
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: %d cases, %d samples, %d link counts, %d plans\n",
		dst, len(run.Summary.Cases), len(run.Samples), len(run.Links), len(run.Plans))
	return err
}

// resultsRoot is the default parent of results. A link in it leads to the last run of this working
// directory, wherever its results are.
const resultsRoot = "runs"

// outDir returns the directory for the results of a run with a name. It is called before anything
// else, so that a run that would overwrite results starts nothing and contacts no host.
func outDir(c *cli.Context, name string) (string, error) {
	dir := c.String("out")
	if dir == "" {
		dir = filepath.Join(resultsRoot, name+"-"+time.Now().UTC().Format("20060102T150405Z"))
	}
	err := store.CanCreate(dir)
	if errors.Is(err, store.ErrThere) {
		err = fmt.Errorf("--out %w", err)
	}
	return dir, usage(err)
}

// createResults makes the files of a run, and links runs/latest to them. A failure of the link is
// reported, and is no error.
func createResults(dir string, said io.Writer) (*store.Files, error) {
	files, err := store.Create(dir)
	if err != nil {
		return nil, err
	}
	if err := store.PointLatest(resultsRoot, dir); err != nil {
		fmt.Fprintln(said, "evbench: warning:", err)
	}
	return files, nil
}
