package opensm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"time"
)

type tail struct {
	name string
	file *os.File
	rest []byte // of a line that has no end yet
}

func follow(name string) (*tail, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		f.Close()
		return nil, err
	}
	return &tail{name: name, file: f}, nil
}

func (t *tail) close() { t.file.Close() }

// lines returns the whole lines that have been appended since the last call. A
// log that has been cut is read from its beginning, and so is one that has been
// replaced, after the rest of the old one.
func (t *tail) lines() ([]string, error) {
	if err := t.cut(); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(t.file)
	if err != nil {
		return nil, err
	}
	next, err := t.replaced()
	if err != nil {
		return nil, err
	}
	if next != nil {
		t.file.Close()
		t.file = next
		more, err := io.ReadAll(next)
		if err != nil {
			return nil, err
		}
		text = append(append(text, '\n'), more...)
	}
	return t.take(text), nil
}

func (t *tail) take(text []byte) []string {
	text = append(t.rest, text...)
	end := bytes.LastIndexByte(text, '\n') + 1
	t.rest = bytes.Clone(text[end:])
	return strings.Split(string(text[:end]), "\n")
}

func (t *tail) cut() error {
	at, err := t.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	now, err := t.file.Stat()
	if err != nil || now.Size() >= at {
		return err
	}
	t.rest = nil
	_, err = t.file.Seek(0, io.SeekStart)
	return err
}

func (t *tail) replaced() (*os.File, error) {
	next, err := os.Open(t.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // between two moves of a rotation
	}
	if err != nil {
		return nil, err
	}
	a, errA := t.file.Stat()
	b, errB := next.Stat()
	if err := errors.Join(errA, errB); err != nil || os.SameFile(a, b) {
		next.Close()
		return nil, err
	}
	return next, nil
}

var configured = regexp.MustCompile(`osm_ucast_mgr_process: (\S+) tables configured`)

// A loading is what the log has said since OpenSM was signalled.
type loading struct {
	engine  string
	up      bool
	trouble string // the last line that says that the engine has failed
}

// line takes one line of the log: which engine has configured tables, then that
// the switches have them.
func (l *loading) line(s string) {
	switch m := configured.FindStringSubmatch(s); {
	case m != nil:
		l.engine, l.up = m[1], false
	case strings.Contains(s, "SUBNET UP"):
		l.up = l.engine != ""
	case strings.Contains(s, "ucast_mgr") && strings.Contains(s, "ERR"), strings.Contains(s, "do_ucast_file_load") && strings.Contains(s, "ERR"):
		l.trouble = strings.TrimSpace(s)
	}
}

// poll is how often a log is looked at: a few system calls, some 10 µs. OpenSM itself
// needs 15 ms for ten switches and a second for a hundred. Inotify would be told at once,
// but not of what another machine writes to a shared file system, and needs the directory
// too, for rotations.
const poll = 5 * time.Millisecond

// settle is how long an OpenSM that buffers its log may take to write it, before it is told to
// load: longer where it is busy, and then what it has loaded before is taken for new.
const settle = 40 * poll

// pass passes over what OpenSM has buffered of earlier loadings.
func (t *tail) pass(ctx context.Context, flush func() error) error {
	if err := flush(); err != nil {
		return err
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for range settle / poll {
		if lines, err := t.lines(); err != nil || len(lines) > 1 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// late is how often OpenSM is asked to write what it has buffered of its log, while that is
// waited for. It costs OpenSM some 50 µs.
const late = 20 * poll

// loaded waits until the log says that the engine file has configured tables
// and that the subnet is up with them. flush has OpenSM write what it has to say.
func (t *tail) loaded(ctx context.Context, flush func() error) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	ask := time.NewTicker(late)
	defer ask.Stop()
	var l loading
	for {
		lines, err := t.lines()
		if err != nil {
			return err
		}
		for _, s := range lines {
			l.line(s)
		}
		switch {
		case l.up && l.engine == "file":
			return nil
		case l.up:
			return fmt.Errorf("OpenSM has configured tables by %s, not from the file: is routing_engine file,no_fallback set?%s", l.engine, l.why())
		}
		select {
		case <-tick.C:
		case <-ask.C:
			if err := flush(); err != nil {
				return fmt.Errorf("%w%s", err, l.why())
			}
		case <-ctx.Done():
			return fmt.Errorf("OpenSM's log has not said that tables are configured: %w%s", context.Cause(ctx), l.why())
		}
	}
}

func (l *loading) why() string {
	if l.trouble == "" {
		return ""
	}
	return "; its log: " + l.trouble
}
