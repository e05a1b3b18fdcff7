package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"evbench/results/hdf5"
	"evbench/results/store"
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
		return usagef("%s is there already; results are never overwritten", dst)
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

// resultsRoot is where results go that were not sent elsewhere. A link in it leads to the
// last run of this working directory, wherever its results went.
const resultsRoot = "runs"

// outDir returns where the results of a run of this name go. It is asked before anything
// else, so that a run that would overwrite some starts nothing and asks no host.
func outDir(c *cli.Context, name string) (string, error) {
	dir := c.String("out")
	if dir == "" {
		dir = filepath.Join(resultsRoot, name+"-"+time.Now().UTC().Format("20060102T150405Z"))
	}
	if _, err := os.Lstat(dir); err == nil {
		return "", usagef("--out %s: exists already; results are never overwritten", dir)
	}
	parent := filepath.Dir(dir)
	for !present(parent) {
		parent = filepath.Dir(parent)
	}
	err := unix.Access(parent, unix.W_OK|unix.X_OK)
	if info, statErr := os.Stat(parent); statErr != nil || !info.IsDir() {
		err = cmp.Or(statErr, error(unix.ENOTDIR))
	}
	if err != nil {
		return "", usagef("%s cannot be made: %s: %w", dir, parent, err)
	}
	return dir, nil
}

func present(name string) bool { _, err := os.Lstat(name); return err == nil }

// createResults makes the files of a run, and has runs/latest lead to them. That the
// link could not be made is said, and is no error.
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
