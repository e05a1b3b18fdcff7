package trust

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"evbench/internal/disk"
)

// A Record is a locked file of JSON, one state a line. The last complete line counts: a process
// that dies during a write leaves the state before.
type Record struct {
	f    disk.File
	size int64 // of the complete lines
}

const maxRecord = 64 << 20

// OpenRecord opens and locks a record like Lock. last is its state, empty if there is none, and
// torn the unfinished write of a dead process.
func OpenRecord(name string, flags int) (r *Record, last []byte, torn string, err error) {
	f, err := Lock(name, flags)
	if err != nil {
		return nil, nil, "", err
	}
	text, err := readRecord(f)
	if err != nil {
		return nil, nil, "", errors.Join(err, f.Close())
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	return &Record{disk.File{File: f}, int64(end)}, lastLine(text), string(text[end:]), nil
}

// ReadRecord returns the state of a record that another process may have locked.
func ReadRecord(name string) (last []byte, err error) {
	f, err := Open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readRecord(f)
	return lastLine(text), err
}

func readRecord(f *os.File) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if len(text) > maxRecord {
		return nil, fmt.Errorf("%s: larger than %d bytes", f.Name(), maxRecord)
	}
	return text, err
}

func lastLine(text []byte) []byte {
	text = bytes.TrimSuffix(text[:bytes.LastIndexByte(text, '\n')+1], []byte("\n"))
	return text[bytes.LastIndexByte(text, '\n')+1:]
}

// Write adds a state, and returns when it is on disk. After an error the previous state counts.
func (r *Record) Write(state any) error {
	line, err := json.Marshal(state)
	if err == nil {
		err = r.f.Truncate(r.size)
	}
	if err == nil {
		_, err = r.f.WriteAt(append(line, '\n'), r.size)
	}
	if err == nil {
		err = r.f.Sync()
	}
	if err != nil {
		return errors.Join(err, r.f.Truncate(r.size))
	}
	r.size += int64(len(line) + 1)
	return nil
}

// Held reports a record that has lost its name: other processes no longer see that it is locked.
func (r *Record) Held() error {
	same, err := named(r.f.File, r.f.Name())
	if err == nil && !same {
		err = fmt.Errorf("%s: removed or replaced while this process had it locked", r.f.Name())
	}
	return err
}

// Replace makes a state the only one of a record that is not open, at once: after an error or a
// kill the record has this state or that before. The file belongs to the user alone.
func Replace(name string, state any) error {
	line, err := json.Marshal(state)
	if err != nil {
		return err
	}
	dir := filepath.Dir(name)
	f, err := disk.CreateTemp(dir, "."+filepath.Base(name)+"-*") // only for this user
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = disk.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", name, err), os.Remove(f.Name()))
	}
	return SyncName(name)
}

// SyncName returns when the name of a file is on disk.
func SyncName(name string) error {
	d, err := disk.Open(filepath.Dir(name), os.O_RDONLY, 0)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Remove removes the file while it is locked, so that it cannot be another process's, and closes
// it.
func (r *Record) Remove() error { return errors.Join(os.Remove(r.f.Name()), r.Close()) }

// Close closes the record. It unlocks explicitly: a child just forked still has the file, until it
// executes its own program.
func (r *Record) Close() error {
	return errors.Join(syscall.Flock(int(r.f.Fd()), syscall.LOCK_UN), r.f.Close())
}
