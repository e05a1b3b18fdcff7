// Package trust checks that a file, a folder or a process is the intended one, where other users
// could have replaced it: in /tmp, in a folder with several writers, or under a reused process
// number.
package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"evbench/internal/disk"
)

// An Error says why a file, a folder or a process is not trusted.
type Error struct {
	Name   string // as the user knows it
	reason string
}

func (e *Error) Error() string { return e.Name + ": " + e.reason }

// The mode bits that let others write.
const (
	byOthers       = 0o002
	byGroupOrOther = 0o022
)

// Open opens a file that controls this program. It must be a file itself, not a link; have one
// name; belong to the user or to root; and no other user may write to it, or replace it. Otherwise
// the error is an *Error. A file created by flags belongs to the user alone.
//
// A group may write to the folder: many systems give each user a group with write access to all the
// user's files. A file made there by another user belongs to that user, and is refused.
func Open(name string, flags int) (*os.File, error) {
	folder, err := os.Stat(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	if folder.Mode().Perm()&byOthers != 0 && folder.Mode()&fs.ModeSticky == 0 {
		return nil, &Error{name, fmt.Sprintf("others may write to its folder (mode %04o)", folder.Mode().Perm())}
	}
	// Opening a pipe would block.
	opened, err := disk.Open(name, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, &Error{name, "is a link"}
	}
	if err != nil {
		return nil, err
	}
	f := opened.File
	info, err := f.Stat()
	if err == nil {
		err = whose(name, info).file(os.Geteuid())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ErrLocked reports that another process has locked a file.
var ErrLocked = errors.New("in use by another process")

// Lock opens a file like Open and locks it until it is closed. The error wraps ErrLocked if another
// process has the lock. The holder of the lock may remove the file: the returned file still has the
// name.
func Lock(name string, flags int) (*os.File, error) {
	for {
		f, err := Open(name, flags)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrLocked
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, errors.Join(err, f.Close()))
		}
		same, err := named(f, name)
		if err == nil && same {
			return f, nil
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
}

// named reports whether a file still has its name.
func named(f *os.File, name string) (bool, error) {
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, now), err
}

// Folder reports why a folder with a well-known name is not the user's own: only the user may have
// made it and may write to it.
func Folder(name string) error {
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	return whose(name, info).folder(os.Geteuid())
}

// Link reports why a symbolic link must not be followed: in a folder writable for all, others may
// have made it to let the user write to a place of their choice. The kernel has the same rule for
// links that it follows (fs.protected_symlinks).
func Link(name string) error {
	link, err := os.Lstat(name)
	if err != nil {
		return err
	}
	folder, err := os.Stat(filepath.Dir(name))
	if err != nil || folder.Mode().Perm()&byOthers == 0 {
		return err
	}
	l, d := whose(name, link), whose(name, folder)
	if l.owner != d.owner && l.owner != os.Geteuid() {
		return &Error{name, fmt.Sprintf("is a link of user %d in a folder that others may write to; name the file itself", l.owner)}
	}
	return nil
}

// owned is the file system's data about a file.
type owned struct {
	name  string
	mode  fs.FileMode
	owner int
	names uint64
}

func whose(name string, info fs.FileInfo) owned {
	o := owned{name: name, mode: info.Mode(), owner: -1}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		o.owner, o.names = int(s.Uid), uint64(s.Nlink)
	}
	return o
}

func (o owned) file(user int) error {
	switch {
	case !o.mode.IsRegular():
		return &Error{o.name, "is not a file"}
	case o.names > 1:
		return &Error{o.name, fmt.Sprintf("the file has %d names", o.names)}
	case o.owner != user && o.owner != 0:
		return &Error{o.name, fmt.Sprintf("belongs to user %d, and this is user %d", o.owner, user)}
	case o.mode.Perm()&byGroupOrOther != 0:
		return &Error{o.name, fmt.Sprintf("others may write to it (mode %04o)", o.mode.Perm())}
	}
	return nil
}

func (o owned) folder(user int) error {
	switch {
	case o.mode.Type() == fs.ModeSymlink:
		return &Error{o.name, "is a link"}
	case !o.mode.IsDir():
		return &Error{o.name, "is not a folder"}
	case o.owner != user:
		return &Error{o.name, fmt.Sprintf("belongs to user %d, and this is user %d", o.owner, user)}
	case o.mode.Perm()&byGroupOrOther != 0:
		return &Error{o.name, fmt.Sprintf("others may write to it (mode %04o)", o.mode.Perm())}
	}
	return nil
}
