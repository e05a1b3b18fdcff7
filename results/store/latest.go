package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// latest is the link to the last run.
const latest = "latest"

// PointLatest has the link latest in root lead to dir, which is there. Without a folder
// for results there is no link, and what is there and is no link stays.
func PointLatest(root, dir string) error {
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil
	}
	link := filepath.Join(root, latest)
	if info, err := os.Lstat(link); err == nil && info.Mode().Type() != fs.ModeSymlink {
		return fmt.Errorf("%s is no link: it stays as it is, and does not lead to %s", link, dir)
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
