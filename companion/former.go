package companion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"evbench/internal/atomicfile"
	"evbench/internal/trust"
)

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
	// Earlier is what the file contained before tables were lent: it counts again after them.
	Earlier json.RawMessage `json:"earlier,omitempty"`
}

const formerSchema = "evbench/routes-former/1"

// A record is the FormerFile of a directory.
type record struct {
	name string
	now  Former
	was  []byte // content before; nil: none
}

// newRecord prepares the record of tables that this process replaces.
func newRecord(dir, kind string, lends bool, held Tables, was []byte) (*record, error) {
	r := &record{name: filepath.Join(dir, FormerFile), was: was}
	r.now = Former{Schema: formerSchema, Kind: kind, PID: os.Getpid(), Since: time.Now().UTC(), Lent: lends}
	if lends {
		r.now.Earlier = was
	}
	var err error
	if r.now.Host, err = os.Hostname(); err != nil {
		return nil, err
	}
	return r, r.keep(held)
}

// keep writes the tables that are still to be restored.
func (r *record) keep(left Tables) (err error) {
	if r.now.Files, err = left.Files(); err != nil {
		return err
	}
	return trust.Replace(r.name, r.now)
}

// forget makes the file what it was before.
func (r *record) forget() error {
	if r.was != nil {
		return trust.Replace(r.name, json.RawMessage(r.was))
	}
	if err := os.Remove(r.name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// readFormer returns the content of the file; nil if there is none, or it is empty.
func readFormer(dir string) ([]byte, error) {
	line, err := trust.ReadRecord(filepath.Join(dir, FormerFile))
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(line) == 0:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("former tables: %w", err)
	}
	return line, nil
}

// left reports tables that a process has lent and not restored.
func left(dir string, line []byte) error {
	if line == nil {
		return nil
	}
	f, err := parseFormer(dir, line)
	if err != nil || !f.Lent {
		return err
	}
	return fmt.Errorf("%s: process %d on %s has left tables in place since %s; evbench routes undo %s",
		filepath.Join(dir, FormerFile), f.PID, f.Host, f.Since.Format(time.RFC3339), dir)
}

func parseFormer(dir string, line []byte) (f Former, err error) {
	if err = json.Unmarshal(line, &f); err == nil && f.Schema != formerSchema {
		err = fmt.Errorf("schema %q; it must be %s", f.Schema, formerSchema)
	}
	if err != nil {
		return f, fmt.Errorf("%s: not the former tables of the switches: %w", filepath.Join(dir, FormerFile), err)
	}
	return f, nil
}

// Undo restores the tables in FormerFile of a directory, and removes the file. made creates
// switches and tables from it. What cannot be restored stays in the file.
func Undo(ctx context.Context, dir string, made func(Former) (Switches, Tables, error)) (f Former, changed int, err error) {
	if _, err := toUndo(dir); err != nil {
		return f, 0, err
	}
	l, err := own(dir)
	if err != nil {
		return f, 0, err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	if f, err = toUndo(dir); err != nil {
		return Former{}, 0, err
	}
	s, former, err := made(f)
	if err != nil {
		return f, 0, err
	}
	r := &record{filepath.Join(dir, FormerFile), f, f.Earlier}
	changed, rest, err := s.Restore(ctx, former)
	if m, ok := s.(Marked); ok && err == nil { // of the process that is gone
		err = m.Unmark(ctx)
	}
	if err == nil {
		return f, changed, r.forget()
	}
	if rest != nil {
		err = errors.Join(err, r.keep(rest))
	}
	return f, changed, err
}

// toUndo reads the content of the file, which must exist.
func toUndo(dir string) (f Former, err error) {
	line, err := readFormer(dir)
	if err == nil && line == nil {
		err = fmt.Errorf("%s: no tables were installed from here, or they are undone", filepath.Join(dir, FormerFile))
	}
	if err != nil {
		return f, err
	}
	return parseFormer(dir, line)
}

// OwnerFile is the file, in the directory of an installation, that the one process which may change
// the tables has locked.
const OwnerFile = "owner.json"

// An Owner is its content: a line of JSON.
type Owner struct {
	Schema  string    `json:"schema"` // evbench/routes-owner/1
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Command string    `json:"command"`
}

const ownerSchema = "evbench/routes-owner/1"

// A lock makes this process the owner of a directory's tables.
type lock struct {
	*trust.Record
	made []string // folders made for it
}

// own locks a directory. The error names the process that has it locked.
func own(dir string) (*lock, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	made, err := atomicfile.MakeFolder(dir)
	l := &lock{made: made}
	name := filepath.Join(dir, OwnerFile)
	if err == nil {
		l.Record, _, _, err = trust.OpenRecord(name, os.O_RDWR|os.O_CREATE)
	}
	if errors.Is(err, trust.ErrLocked) {
		err = fmt.Errorf("%w%s", err, ownerOf(name))
	}
	if err != nil {
		return nil, errors.Join(err, atomicfile.Remove(made))
	}
	o := Owner{ownerSchema, host, os.Getpid(), time.Now().UTC(), strings.Join(os.Args, " ")}
	if err = l.Write(o); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), l.release())
	}
	return l, nil
}

// ownerOf describes the owner as its file does; "": it has not written it yet.
func ownerOf(name string) string {
	var o Owner
	line, err := trust.ReadRecord(name)
	if err != nil || json.Unmarshal(line, &o) != nil {
		return ""
	}
	return fmt.Sprintf(": process %d on %s, since %s: %.120s", o.PID, o.Host, o.Since.Format(time.RFC3339), o.Command)
}

// release lets others own the directory, and removes what own has made.
func (l *lock) release() error { return errors.Join(l.Remove(), atomicfile.Remove(l.made)) }
