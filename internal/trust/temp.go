package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// tempPrefix begins the name of each folder of TempDir; the boot of its machine follows: a lock says nothing of a
// process on another machine, as not every file system shares locks.
const tempPrefix = "evbench-"

// tempLock is the file in a folder that its process has locked as long as it runs.
const tempLock = "lock"

// held are the locks of this process by folder; they end with it.
var held sync.Map

// TempDir makes a folder for this process in dir, by default that of the system, which only the user
// may read. RemoveTemp removes it. First it removes those of this user whose process was killed: they
// may hold a token.
func TempDir(dir string) (string, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	boot := Boot()
	if boot == "" { // nobody could say later where its process runs
		return os.MkdirTemp(dir, tempPrefix)
	}
	sweep(dir, boot, os.Geteuid())
	made, err := os.MkdirTemp(dir, tempPrefix+boot+"-")
	if err != nil {
		return "", err
	}
	// A folder without a lock stays, so the lock gets its name when it is one.
	f, err := Lock(filepath.Join(made, "."+tempLock), os.O_RDWR|os.O_CREATE)
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(made, tempLock))
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(made))
	}
	held.Store(made, f)
	return made, nil
}

// RemoveTemp removes a folder of TempDir.
func RemoveTemp(dir string) (err error) {
	if f, ok := held.LoadAndDelete(dir); ok {
		err = f.(*os.File).Close() // first: NFS has no folder removed with a file that is open
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// Boot names this machine since its boot, in some 13 letters: sockets are in folders with this name, and their paths are
// limited. "" if the kernel does not say.
func Boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	n, err := strconv.ParseUint(strings.ReplaceAll(string(id[:min(18, len(id))]), "-", ""), 16, 64)
	if err != nil {
		return ""
	}
	return strconv.FormatUint(n, 36)
}

// sweep removes the folders of killed processes of this machine: nobody has their locks. Those of another user stay, and
// all where others could put a folder in place of one. What cannot be removed is no reason not to run.
func sweep(dir, boot string, user int) {
	in, err := os.Stat(dir)
	if err != nil || in.Mode().Perm()&byOthers != 0 && in.Mode()&fs.ModeSticky == 0 {
		return
	}
	entries, _ := os.ReadDir(dir) // those that could be read
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if !strings.HasPrefix(e.Name(), tempPrefix+boot+"-") {
			continue
		}
		if info, err := os.Lstat(name); err != nil || whose(name, info).folder(user) != nil {
			continue
		}
		if f, err := Lock(filepath.Join(name, tempLock), os.O_RDWR); err == nil {
			_ = os.RemoveAll(name)
			f.Close()
		}
	}
}
