package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	run, err := stored.ReadRun(src)
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
	files, err := stored.Create(dir)
	if err != nil {
		return nil, err
	}
	if err := pointLatest(resultsRoot, dir); err != nil {
		fmt.Fprintln(said, "evbench: warning:", err)
	}
	return files, nil
}

// latest is the link to the last run.
const latest = "latest"

// pointLatest makes the link latest in root lead to the existing dir. Without a folder for results
// it makes no link, and it keeps anything there that is no link.
func pointLatest(root, dir string) error {
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil
	}
	link := filepath.Join(root, latest)
	if info, err := os.Lstat(link); err == nil && info.Mode().Type() != fs.ModeSymlink {
		return fmt.Errorf("%s is not a symbolic link, so it stays and does not lead to %s", link, dir)
	}
	from, err := realPath(root)
	if err != nil {
		return err
	}
	to, err := realPath(dir)
	if err != nil {
		return err
	}
	if to, err = filepath.Rel(from, to); err != nil {
		return err
	}
	// Rename is atomic: a reader finds either the old or the new link.
	tmp := filepath.Join(root, "."+latest+"-"+rand.Text())
	if err := os.Symlink(to, tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, link); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return nil
}

// realPath returns a path without links, over which .. would lead elsewhere.
func realPath(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(name)
}
