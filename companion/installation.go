package companion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"evbench/internal/trust"
)

// Tables are the tables of all switches of a network, in the form that their Switches install.
type Tables interface {
	// Files are texts from which the tables can be restored.
	Files() ([]File, error)
}

// A File is a part of tables as text.
type File struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Switches are the switches of a network that takes its tables as a whole.
type Switches interface {
	// Before reports why want cannot be installed, as far as that can be known, and returns the
	// current tables. It changes nothing.
	Before(ctx context.Context, want Tables) (held Tables, err error)
	// Put makes the switches take tables, reads them back and compares. It returns how many entries
	// have changed; the error names a switch that has not taken its table.
	Put(ctx context.Context, want Tables) (changed int, err error)
}

// An Installation installs tables in switches, one set after the other, and finally restores those
// from before the first. Goroutines may share it.
type Installation struct {
	Switches Switches
	// Kind names the kind of switches in FormerFile; Undo needs switches of the same kind.
	Kind string
	// Dir is the directory of FormerFile, with which Undo restores the former tables if this
	// process could not; "": no file.
	Dir string
	// Lends says that the tables stay only as long as the Installation: until Undo no other process
	// installs in Dir.
	Lends bool

	mu     sync.Mutex // held while switches are changed
	former Tables
	now    Tables // installed last; nil at first and after Undo
	record *trust.Record
}

// FormerFile is the file, in the directory of an installation, with the former tables of the
// switches.
const FormerFile = "former.json"

// A Former is its content: a line of JSON.
type Former struct {
	Schema string    `json:"schema"` // evbench/routes-former/1
	Kind   string    `json:"kind"`
	Host   string    `json:"host"`
	PID    int       `json:"pid"`
	Since  time.Time `json:"since"`
	Lent   bool      `json:"lent"` // the process meant to restore them itself
	Files  []File    `json:"files"`
}

const formerSchema = "evbench/routes-former/1"

// An InstallError says that tables are not installed, and what is.
type InstallError struct {
	cause     error
	restoring error // why the earlier tables are not restored; nil: they are, read back
}

func (e *InstallError) Error() string {
	if e.restoring != nil {
		return fmt.Sprintf("%v; THE FORMER TABLES ARE NOT RESTORED: %v", e.cause, e.restoring)
	}
	return fmt.Sprintf("%v; the former tables are back, read back and compared", e.cause)
}

func (e *InstallError) Unwrap() error { return e.cause }

// Check reports why tables cannot be installed, as far as that can be known.
func (i *Installation) Check(ctx context.Context, want Tables) error {
	name := filepath.Join(i.Dir, FormerFile)
	line, err := trust.ReadRecord(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("former tables: %w", err)
	}
	if err := left(name, line); err != nil {
		return err
	}
	_, err = i.Switches.Before(ctx, want)
	return err
}

// Install installs tables. If that fails it restores the former ones and returns an *InstallError;
// other errors mean that nothing was changed.
func (i *Installation) Install(ctx context.Context, want Tables) (changed int, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	held, err := i.Switches.Before(ctx, want)
	if err != nil {
		return 0, err
	}
	if err := i.keep(held); err != nil {
		return 0, err
	}
	if changed, err = i.Switches.Put(ctx, want); err == nil {
		i.now = want
		return changed, nil
	}
	_, restoring := i.Switches.Put(context.WithoutCancel(ctx), held)
	return 0, &InstallError{err, restoring}
}

// Installed reports whether tables are installed, and not undone.
func (i *Installation) Installed() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.now != nil
}

// Again installs the last tables once more if they were changed from outside, as reported by holds.
// It returns whether that was necessary.
func (i *Installation) Again(ctx context.Context, holds func(context.Context, Tables) error) (done bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.now == nil || holds(ctx, i.now) == nil {
		return false, nil
	}
	if _, err = i.Switches.Before(ctx, i.now); err == nil {
		_, err = i.Switches.Put(ctx, i.now)
	}
	return true, err
}

// Undo restores the tables from before the first Install, if any, and lets others install. If it
// fails FormerFile stays.
func (i *Installation) Undo(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.former == nil {
		return nil
	}
	if _, err := i.Switches.Put(ctx, i.former); err != nil {
		where := ""
		if i.record != nil {
			where = fmt.Sprintf(" (evbench routes undo %s)", i.Dir)
			err = errors.Join(err, i.record.Close())
		}
		return fmt.Errorf("THE FORMER TABLES ARE NOT RESTORED%s: %w", where, err)
	}
	i.former, i.now = nil, nil
	if i.record == nil {
		return nil
	}
	return i.record.Remove()
}

// keep records the former tables, on disk before any change.
func (i *Installation) keep(held Tables) error {
	if i.former != nil {
		return nil
	}
	if i.Dir != "" {
		if err := i.write(held); err != nil {
			return err
		}
	}
	i.former = held
	return nil
}

func (i *Installation) write(held Tables) error {
	f := Former{Schema: formerSchema, Kind: i.Kind, PID: os.Getpid(), Since: time.Now().UTC(), Lent: i.Lends}
	var err error
	if f.Files, err = held.Files(); err != nil {
		return err
	}
	if f.Host, err = os.Hostname(); err != nil {
		return err
	}
	if err := os.MkdirAll(i.Dir, 0o777); err != nil {
		return err
	}
	name := filepath.Join(i.Dir, FormerFile)
	r, last, _, err := trust.OpenRecord(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("former tables: %w", err)
	}
	if err = left(name, last); err == nil {
		err = r.Write(f)
	}
	if err != nil || !i.Lends {
		return errors.Join(err, r.Close())
	}
	i.record = r
	return nil
}

// left reports tables that a process has lent and not restored.
func left(name string, line []byte) error {
	if len(line) == 0 {
		return nil
	}
	f, err := parseFormer(name, line)
	if err != nil || !f.Lent {
		return err
	}
	return fmt.Errorf("%s: process %d on %s has left tables in place since %s; evbench routes undo %s",
		name, f.PID, f.Host, f.Since.Format(time.RFC3339), filepath.Dir(name))
}

func parseFormer(name string, line []byte) (f Former, err error) {
	if err = json.Unmarshal(line, &f); err == nil && f.Schema != formerSchema {
		err = fmt.Errorf("schema %q; it must be %s", f.Schema, formerSchema)
	}
	if err != nil {
		return f, fmt.Errorf("%s: not the former tables of the switches: %w", name, err)
	}
	return f, nil
}

// Undo restores the tables in FormerFile of a directory, and removes the file. made creates
// switches and tables from it, without touching them.
func Undo(ctx context.Context, dir string, made func(Former) (Switches, Tables, error)) (f Former, changed int, err error) {
	name := filepath.Join(dir, FormerFile)
	r, line, _, err := trust.OpenRecord(name, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return f, 0, fmt.Errorf("%s: no tables were installed from here, or they are undone: %w", name, err)
	}
	if err != nil {
		return f, 0, fmt.Errorf("former tables: %w", err)
	}
	f, err = parseFormer(name, line)
	if err == nil {
		changed, err = undo(ctx, f, made)
	}
	if err != nil {
		return f, changed, errors.Join(err, r.Close())
	}
	return f, changed, r.Remove()
}

func undo(ctx context.Context, f Former, made func(Former) (Switches, Tables, error)) (changed int, err error) {
	s, former, err := made(f)
	if err != nil {
		return 0, err
	}
	if _, err := s.Before(ctx, former); err != nil {
		return 0, err
	}
	return s.Put(ctx, former)
}
