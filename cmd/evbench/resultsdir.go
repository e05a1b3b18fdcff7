package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/results/store"
)

// resultsRoot is where results go that were not sent elsewhere. A link in it leads to the
// last run of this working directory, wherever its results went.
const resultsRoot = "results"

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
	return dir, nil
}

// createResults makes the files of a run, and has results/latest lead to them. That the
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
