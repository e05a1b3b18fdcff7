package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"
)

// resultsRoot is where results go that were not sent elsewhere, and latest the link in
// it that leads to the last run of this working directory, wherever its results went.
const (
	resultsRoot = "results"
	latest      = "latest"
)

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

// pointLatest has results/latest lead to dir, which is there. Without a folder for
// results there is no link, and what is there and is no link stays.
func pointLatest(dir string) error {
	if info, err := os.Stat(resultsRoot); err != nil || !info.IsDir() {
		return nil
	}
	link := filepath.Join(resultsRoot, latest)
	if info, err := os.Lstat(link); err == nil && info.Mode().Type() != fs.ModeSymlink {
		return fmt.Errorf("%s is no link: it stays as it is, and does not lead to %s", link, dir)
	}
	root, err := realPath(resultsRoot)
	if err != nil {
		return err
	}
	to, err := realPath(dir)
	if err != nil {
		return err
	}
	if to, err = filepath.Rel(root, to); err != nil {
		return err
	}
	return replaceLink(to, link)
}

// realPath is without links on the way, over which .. would lead elsewhere.
func realPath(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(name)
}

// replaceLink makes the link under another name first: whoever follows it meanwhile
// finds the one or the other.
func replaceLink(target, link string) error {
	tmp := filepath.Join(filepath.Dir(link), "."+latest+"-"+rand.Text())
	if err := os.Symlink(target, tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, link); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return nil
}
