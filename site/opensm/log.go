package opensm

import (
	"bytes"
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
	rest []byte // of an incomplete line
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

// lines returns the whole lines appended since the last call. A truncated log is read from its
// beginning. So is a replaced log, after the rest of the old one.
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
		return nil, nil // between two steps of a rotation
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

// reasons are the lines of a log that explain why tables are not loaded.
type reasons struct {
	engine  string // the last engine that configured tables
	trouble string // the last line about a failed engine
}

func (r *reasons) line(s string) {
	switch m := configured.FindStringSubmatch(s); {
	case m != nil:
		r.engine = m[1]
	case strings.Contains(s, "ucast_mgr") && strings.Contains(s, "ERR"), strings.Contains(s, "do_ucast_file_load") && strings.Contains(s, "ERR"):
		r.trouble = strings.TrimSpace(s)
	}
}

// why is empty if the log explains nothing.
func (r *reasons) why() string {
	var out string
	if r.engine != "" && r.engine != "file" {
		out = fmt.Sprintf("; OpenSM has configured tables by %s, not from the file: is routing_engine file,no_fallback set?", r.engine)
	}
	if r.trouble != "" {
		out += "; its log: " + r.trouble
	}
	return out
}

// poll is the interval of checks of a log: a few system calls, some 10 µs. Inotify would be
// immediate, but misses writes of another machine to a shared file system, and needs the directory
// too, for rotations.
const poll = 5 * time.Millisecond

// A listener follows the log of an OpenSM that is to load tables, if that is possible.
type listener struct {
	log     *tail // nil: impossible
	process func() (*Process, error)
	reopens bool
	reasons
}

// listen follows the log of OpenSM from now on.
func (m *Manager) listen() *listener {
	l := &listener{process: func() (*Process, error) { return m.process(m.guid) }}
	sm, err := l.process()
	if err != nil {
		return l
	}
	defer sm.Close()
	name := sm.log(m.LogFile)
	if l.reopens, _, err = sm.logging(name); err == nil {
		if l.log, err = follow(name); err != nil {
			l.log = nil
		}
	}
	return l
}

// why returns the log's explanation why tables are not loaded, or "".
func (l *listener) why() string {
	if l.log == nil {
		return ""
	}
	lines, err := l.log.lines()
	for _, s := range lines {
		l.line(s)
	}
	if sm, gone := l.process(); err == nil && gone == nil { // for the next call
		_ = sm.flush(l.reopens)
		sm.Close()
	}
	return l.reasons.why()
}

func (l *listener) close() {
	if l.log != nil {
		l.log.close()
	}
}
