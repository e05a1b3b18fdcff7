package inject

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"evbench/internal/atomicfile"
	"evbench/internal/trust"
	"evbench/topology"
)

// A journal is the file, open and locked: only one process has it. Every line is
// on disk before what it announces is done.
type journal struct {
	record
	path string
	f    *os.File
	size int64 // of what is whole
}

const maxJournal = 64 << 20

// openJournal opens and locks a journal, and reads it. Without create it returns
// fs.ErrNotExist where there is none.
func openJournal(path string, create bool) (*journal, error) {
	j := &journal{path: path}
	if err := j.lock(create); err != nil {
		return nil, err
	}
	var err error
	if j.record, err = read(j.f); err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, errors.Join(err, j.f.Close()))
	}
	j.size = j.whole
	return j, nil
}

func read(r io.Reader) (record, error) {
	text, err := io.ReadAll(atomicfile.Bound(r, maxJournal))
	if err != nil {
		return record{}, err
	}
	return parse(text)
}

// lock opens and locks the file. It says what to run: it must be the user's own.
func (j *journal) lock(create bool) (err error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	j.f, err = trust.Lock(j.path, flags)
	switch {
	case errors.Is(err, trust.ErrLocked):
		return &busyError{Journal: j.path, By: user(j.path)}
	case err != nil:
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

func user(path string) Header {
	f, err := trust.Open(path, os.O_RDONLY)
	if err != nil {
		return Header{}
	}
	defer f.Close()
	r, err := read(f)
	if err != nil {
		return Header{}
	}
	return r.header
}

// begin empties a journal in which all is up, and says who uses it now.
func (j *journal) begin(h Header) error {
	if err := j.f.Truncate(0); err != nil {
		return err
	}
	j.size, j.header, j.torn = 0, h, ""
	if err := j.write(headLines(h)); err != nil {
		return err
	}
	return syncDir(filepath.Dir(j.path)) // the name must survive, too
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// write appends whole lines and returns when they are on disk. After an error
// the file ends where it did.
func (j *journal) write(lines []byte) error {
	_, err := j.f.WriteAt(lines, j.size)
	if err == nil {
		err = j.f.Sync()
	}
	if err != nil {
		return fmt.Errorf("journal %s: %w", j.path, errors.Join(err, j.f.Truncate(j.size)))
	}
	j.size += int64(len(lines))
	return nil
}

func (j *journal) down(p Pending) error {
	if err := j.write(downLine(p)); err != nil {
		return err
	}
	j.pending = append(j.pending, p)
	return nil
}

func (j *journal) up(l topology.Link, at time.Time) error {
	if err := j.write(upLine(l, at)); err != nil {
		return err
	}
	i := j.index(l)
	j.pending = slices.Delete(j.pending, i, i+1)
	return nil
}

func (j *journal) find(l topology.Link) (Pending, bool) {
	if i := j.index(l); i >= 0 {
		return j.pending[i], true
	}
	return Pending{}, false
}

func (j *journal) links() []topology.Link {
	var out []topology.Link
	for _, p := range j.pending {
		out = append(out, p.link)
	}
	return out
}

// cut drops a torn last line, so that what is written next stands on a line of
// its own.
func (j *journal) cut() error { return j.f.Truncate(j.size) }

// close gives the journal up, and removes it when nothing is down: while it is
// locked, so that nobody else's is removed. The lock is undone expressly: a child
// that has just been forked still has the file, until it runs its own program.
func (j *journal) close() error {
	var err error
	if len(j.pending) == 0 {
		err = os.Remove(j.path)
	}
	return errors.Join(err, syscall.Flock(int(j.f.Fd()), syscall.LOCK_UN), j.f.Close())
}
