package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tempPrefix begins the name of each folder of TempDir. What follows is its marker: the namespace of
// processes in which its process has its number, the number, and when the process started.
const tempPrefix = "evbench-"

// TempDir makes a folder for this process in dir, by default that of the system, which only the user
// may read. The caller removes it. First it removes those of this user whose process was killed: they
// may hold a token.
func TempDir(dir string) (string, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	space, err := processSpace()
	if err != nil { // nobody could say later whether this process runs
		return os.MkdirTemp(dir, tempPrefix)
	}
	id, err := Self()
	if err != nil {
		return "", err
	}
	sweep(dir, space, os.Geteuid())
	return os.MkdirTemp(dir, marker(space, id.PID, id.Start)+"-")
}

// processSpace is the number of the namespace of processes that this one is in, if /proc shows it.
func processSpace() (uint64, error) {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return 0, errors.Join(err, fs.ErrNotExist)
	}
	var space uint64
	text, err := os.Readlink("/proc/self/ns/pid")
	if err == nil {
		_, err = fmt.Sscanf(text, "pid:[%d]", &space)
	}
	return space, err
}

// marker is short: sockets are in these folders, and their paths are limited.
func marker(space uint64, pid int, start uint64) string {
	number := func(x uint64) string { return strconv.FormatUint(x, 36) }
	return tempPrefix + number(space) + "-" + number(uint64(pid)) + "-" + number(start)
}

// sweep removes the folders of killed processes. Those of another user, and of another namespace,
// whose processes cannot be seen, stay, as does all where others could put a folder in place of one.
// What cannot be removed is no reason not to run.
func sweep(dir string, space uint64, user int) {
	in, err := os.Stat(dir)
	if err != nil || in.Mode().Perm()&byOthers != 0 && in.Mode()&fs.ModeSticky == 0 {
		return
	}
	entries, _ := os.ReadDir(dir) // those that could be read
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if !ofKilled(e.Name(), space) {
			continue
		}
		if info, err := os.Lstat(name); err == nil && whose(name, info).folder(user) == nil {
			_ = os.RemoveAll(name)
		}
	}
}

// ofKilled reports whether a name has the marker of a process of a namespace that has ended.
func ofKilled(name string, space uint64) bool {
	rest, ours := strings.CutPrefix(name, tempPrefix)
	parts := strings.Split(rest, "-")
	if !ours || len(parts) != 4 {
		return false
	}
	var n [3]uint64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseUint(parts[i], 36, 64); err != nil {
			return false
		}
	}
	if n[0] != space || n[1] > 1<<31-1 {
		return false
	}
	p, err := Find(int(n[1]))
	if err != nil {
		return errors.Is(err, os.ErrProcessDone)
	}
	return p.Release() == nil && p.Start != n[2]
}
