package held

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"evbench/fabric/lab"
	"evbench/internal/proc"
	"evbench/internal/trust"
)

// A Lab is a lab that a process in the background keeps up, or builds, as described by its
// state file.
type Lab struct {
	trust.ID                // the process whose descriptors hold the namespaces
	User     bool           `json:"user"`            // they are in a user namespace of its own
	Nodes    map[string]int `json:"nodes,omitempty"` // node -> descriptor of its namespace; empty during the build
	Text     string         `json:"text"`            // description for people
}

func (h Lab) String() string {
	if h.Nodes == nil {
		return "being built: " + h.Text
	}
	return "up already: " + h.Text
}

var errNone = errors.New("no lab is up; start one: evbench lab up -t 'FT(2;4,4)'")

// StateFile is the path of the state of a user's lab, and whether the folder is evbench's own.
func StateFile() (name string, own bool) {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if own = dir == ""; own {
		user, _ := lab.User()
		dir = filepath.Join(os.TempDir(), "evbench-"+user)
	}
	return filepath.Join(dir, "evbench-lab.json"), own
}

// Find returns the lab that is up, or being built, and its process, or errNone. It trusts a file
// only if the user owns it, and a process only if it has written the file.
func Find() (h Lab, p *trust.Process, err error) {
	name, _ := StateFile()
	err = trust.Folder(filepath.Dir(name))
	var line []byte
	if err == nil {
		line, err = trust.ReadRecord(name)
	}
	if err == nil {
		if h, err = parse(line); err != nil && !errors.Is(err, errNone) {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}
	if err == nil {
		p, err = h.Find()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNone), errors.Is(err, os.ErrProcessDone): // killed, and its lab with it
		return h, nil, errNone
	case err != nil:
		return h, nil, fmt.Errorf("%w; if no lab of yours is up, remove %s", err, name)
	}
	return h, p, nil
}

// parse reads the state of a lab: one line before it is built, one when it is up. A file is empty
// until its process has written it.
func parse(line []byte) (h Lab, err error) {
	if len(line) == 0 {
		return Lab{}, errNone
	}
	if err := json.Unmarshal(line, &h); err != nil {
		return Lab{}, err
	}
	if err := h.ID.Check(); err != nil {
		return Lab{}, err
	}
	for name, fd := range h.Nodes {
		if fd < 0 {
			return Lab{}, fmt.Errorf("%s: %d is not a file descriptor", name, fd)
		}
	}
	return h, nil
}

// MayBuild returns an error if this user already has a lab.
func MayBuild() error {
	h, _, err := Find()
	switch {
	case err == nil:
		return proc.Usagef("a lab is %v; take it down first: evbench lab down", h)
	case errors.Is(err, errNone):
		return nil
	}
	return proc.Usage(err)
}

// A claim is the state file while this process holds it, so that a user has one lab at a time.
type claim struct {
	f *trust.Record
	h Lab
}

func claimed(text string) (*claim, error) {
	id, err := trust.Self()
	if err != nil {
		return nil, err
	}
	name, _ := StateFile()
	_, inside := lab.User()
	c := &claim{h: Lab{ID: id, User: inside, Text: text}}
	c.f, err = lockState(name)
	if errors.Is(err, trust.ErrLocked) {
		if err := MayBuild(); err != nil {
			return nil, err
		}
		return nil, proc.Usagef("a lab is being built or taken down by another evbench: %w", err)
	}
	if err != nil {
		return nil, proc.Usage(err)
	}
	if err = c.f.Write(c.h); err != nil {
		return nil, errors.Join(err, c.release())
	}
	return c, nil
}

// lockState makes the folder and locks the file in it. A process that takes a lab down meanwhile
// removes both.
func lockState(name string) (*trust.Record, error) {
	for {
		err := os.MkdirAll(filepath.Dir(name), 0o700)
		if err == nil {
			err = trust.Folder(filepath.Dir(name))
		}
		var f *trust.Record
		if err == nil {
			f, _, _, err = trust.OpenRecord(name, os.O_RDWR|os.O_CREATE)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
}

func (c *claim) up(l *lab.Lab) error {
	c.h.Nodes = map[string]int{}
	for n := range l.Nodes() {
		c.h.Nodes[l.Name(lab.Node(n))] = l.Descriptor(lab.Node(n))
	}
	return c.f.Write(c.h)
}

// release removes the file, while it is locked, and evbench's own folder if it is empty.
func (c *claim) release() error {
	name, own := StateFile()
	err := c.f.Remove()
	if own {
		_ = os.Remove(filepath.Dir(name))
	}
	return err
}
