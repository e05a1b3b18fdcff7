package atomicfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"evbench/internal/trust"
)

// A ClashError says that two names lead to one file, which would hold only the last write.
type ClashError struct{ one, other, target string }

func (e *ClashError) Error() string {
	if e.one == e.other {
		return fmt.Sprintf("%s: to be written twice", e.one)
	}
	return fmt.Sprintf("%s and %s are one file, %s", e.one, e.other, e.target)
}

// Check reports why these files cannot all be written, as far as that can be known beforehand: see
// WriteAll.
func Check(names ...string) error {
	_, err := find(names)
	return err
}

// A place is the destination of a file.
type place struct {
	target string      // after following all links
	was    fs.FileInfo // the existing file, or nil
	staged string      // its neighbour
	kept   string      // a second name of the existing file, until all files are in place; "": none
	// stands: written directly. fd is its number if this process has it open, else -1.
	stands bool
	fd     int
}

// find returns the places of files; they must differ.
func find(names []string) ([]place, error) {
	places := make([]place, len(names))
	taken := map[string]string{}
	for i, name := range names {
		p, err := newPlace(name)
		if err != nil {
			return nil, err
		}
		if places[i] = p; p.stands {
			continue
		}
		key := whole(p.target)
		if first, ok := taken[key]; ok {
			return nil, &ClashError{first, name, p.target}
		}
		taken[key] = name
	}
	return places, nil
}

// whole resolves links on the way to a name.
func whole(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		name = filepath.Join(dir, filepath.Base(name))
	}
	return name
}

func newPlace(name string) (place, error) {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return place{}, &fs.PathError{Op: "write", Path: name, Err: syscall.EISDIR}
	}
	target, fd, err := follow(name)
	if err != nil {
		return place{}, err
	}
	stands := fd >= 0 || info != nil && !info.Mode().IsRegular()
	return place{target: target, was: info, fd: fd, stands: stands}, nil
}

// mostLinks is how many links the kernel follows.
const mostLinks = 40

// follow returns the target of links, existing or not, or its number if this process has it open.
func follow(name string) (target string, fd int, err error) {
	for at, n := name, 0; n <= mostLinks; n++ {
		dir, _ := filepath.EvalSymlinks(filepath.Dir(at))
		if n, err := strconv.Atoi(filepath.Base(at)); err == nil && n >= 0 && dir == fmt.Sprintf("/proc/%d/fd", os.Getpid()) {
			return at, n, nil
		}
		info, err := os.Lstat(at)
		if err != nil || info.Mode().Type() != fs.ModeSymlink {
			return at, -1, nil // opening it reports the error
		}
		if err := trust.Link(at); err != nil {
			return "", -1, err
		}
		to, err := os.Readlink(at)
		if err != nil {
			return "", -1, err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		at = to
	}
	return "", -1, &fs.PathError{Op: "write", Path: name, Err: syscall.ELOOP}
}

// open opens a place for direct writing. A file of this process continues at its position: opened
// by name it would start anew.
func (p *place) open() (*os.File, error) {
	if p.fd < 0 {
		return os.OpenFile(p.target, os.O_WRONLY, 0)
	}
	fd, err := syscall.Dup(p.fd)
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), p.target), nil
}
