package companion

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"evbench/internal/atomicfile"
	"evbench/internal/trust"
)

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
