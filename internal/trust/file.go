// Package trust answers whether a file, a folder or a process is what it is taken for,
// where others than the user could have put another one in its place: in /tmp, in a
// folder that several write to, or under a process number that is used again.
package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// An Error says why a file, a folder or a process is not to be trusted.
type Error struct {
	Name   string // as the user knows it
	reason string
}

func (e *Error) Error() string { return e.Name + ": " + e.reason }

// The bits of a mode that let others write.
const (
	byOthers       = 0o002
	byGroupOrOther = 0o022
)

// Open opens a file that tells this program what to do. It must be a file itself, not a
// link; have one name; belong to the user or to root; and nobody else may write to it,
// nor put another one into its place. Else the error is an *Error. A file that flags
// make is the user's alone.
//
// A group may write to the folder: many systems give each user a group and let it write
// to all that he makes. What somebody else puts there belongs to him, and is refused.
func Open(name string, flags int) (*os.File, error) {
	folder, err := os.Stat(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	if folder.Mode().Perm()&byOthers != 0 && folder.Mode()&fs.ModeSticky == 0 {
		return nil, &Error{name, fmt.Sprintf("others may write to its folder (mode %04o)", folder.Mode().Perm())}
	}
	// A pipe would keep who opens it waiting.
	f, err := os.OpenFile(name, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, &Error{name, "is a link"}
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = whose(name, info).file(os.Geteuid())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ErrLocked says that another process has locked a file.
var ErrLocked = errors.New("in use by another process")

// Lock opens a file as Open does and locks it until it is closed. The error wraps
// ErrLocked where another process has it. Who is done with the file may remove it while
// it is locked: the one that is returned has the name.
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

// named reports whether a file has a name still.
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

// Folder reports why a folder with a name that all know is not the user's own: only he
// may have made it, and only he may write to it.
func Folder(name string) error {
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	return whose(name, info).folder(os.Geteuid())
}

// Link reports why a symbolic link is not to be followed: to a folder that all may write
// to, others may have put it for the user to write where only he can. The kernel has the
// same rule for what it follows itself (fs.protected_symlinks).
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

// An owned thing is what the file system says of it.
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

// file judges a file for a user.
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

// folder judges a folder for a user.
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
