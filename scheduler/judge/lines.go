package judge

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"evbench/topology"
)

// A reader reads the lines of a plan: a version line, header lines, then the rows.
type reader struct {
	*input
	h     header
	file  File
	form  form
	at    map[string]int // line of each header key
	rows  bool           // the first row was read
	limit int            // most rows
	room  int            // bytes
	sum   int64          // of bytes and offsets
	path  pathForm
}

func newReader(in *input, memory int, engines []string) *reader {
	r := &reader{input: in, room: memory, at: map[string]int{}}
	r.h.engines = engines
	r.h.where = func(key string) string { return fmt.Sprintf("line %d", r.at[key]) }
	r.file.stated = map[string]string{}
	return r
}

// read reads to the end. Errors name the line.
func (r *reader) read() (*File, error) {
	for {
		line, err := r.readLine()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if err := r.one(bytes.TrimSpace(line)); err != nil {
			return nil, r.placed(err)
		}
		r.input.line++
		if r.rows && !r.file.sized {
			b, _ := r.Peek(r.Buffered())
			r.Discard(r.quick(b))
		}
	}
	if r.file.Form == 0 {
		return nil, r.placed(r.notAPlan(""))
	}
	if err := r.end(); err != nil {
		return nil, r.placed(err)
	}
	return &r.file, nil
}

// placed puts the line before an error that does not name one yet.
func (r *reader) placed(err error) error {
	if strings.HasPrefix(err.Error(), "line ") || errors.Is(err, errNoTopology) {
		return err
	}
	return fmt.Errorf("line %d: %w", r.input.line, err)
}

// end ends the header.
func (r *reader) end() error {
	if r.rows {
		return nil
	}
	r.rows = true
	f := &r.file
	if err := r.h.apply(f); err != nil {
		return err
	}
	r.path = portForm
	switch {
	case f.Over != nil && !f.ByPorts():
		r.path = noForm
	case f.Over == nil:
		r.path = pathFormOf(f.Tree.Shape)
	}
	each := MessageBytes
	if f.sized {
		each = PieceBytes
	}
	r.room /= each
	r.limit = min(r.room, f.Window*most(f.Servers()))
	return nil
}

func (r *reader) one(line []byte) error {
	switch {
	case len(line) == 0, bytes.HasPrefix(line, []byte("##")):
		return nil
	case line[0] != '#' && r.file.Form == 0:
		return r.notAPlan("")
	case line[0] != '#':
		if err := r.end(); err != nil {
			return err
		}
		return r.row(line)
	case r.rows:
		return fmt.Errorf("%q: header lines come before the first message", shorten(line))
	}
	fields := strings.Fields(string(line[1:]))
	if r.file.Form == 0 {
		return r.version(strings.Join(fields, " "))
	}
	key, value, err := r.keyed(fields)
	if err == nil && key != "" {
		err = r.h.value(key, value)
	}
	if slices.Contains(Covered, key) {
		r.file.stated[key] = value
	}
	return err
}

func (r *reader) version(line string) error {
	for n, f := range forms {
		if f.first == line {
			r.file.Form, r.form = n, f
			return nil
		}
	}
	return r.notAPlan(line)
}

func (r *reader) notAPlan(line string) error {
	if version, ok := strings.CutPrefix(line, "evbench plan "); ok {
		return fmt.Errorf("plan version %q; versions 1 to 4 are read", shorten([]byte(version)))
	}
	return fmt.Errorf("not a plan file: it starts with %q", First)
}

// keyed splits a header line into its key and its value, and notes the line of the key.
// The key is "" for a key x-… of the writer.
func (r *reader) keyed(fields []string) (key, value string, err error) {
	if len(fields) == 0 {
		return "", "", errors.New("a header line without a key; comments start with ##")
	}
	key, value = fields[0], strings.Join(fields[1:], " ")
	switch first, again := r.at[key]; {
	case key == SwitchKey || key == CableKey || key == SlowKey || key == HostKey:
		return key, value, nil
	case strings.HasPrefix(key, "x-"):
		return "", "", nil
	case r.form.keys != nil && !slices.Contains(r.form.keys, key):
		return "", "", fmt.Errorf("unknown header %q; there are %s, x-… for your own, and ## for comments", shorten([]byte(key)), strings.Join(r.form.keys, ", "))
	case again:
		return "", "", fmt.Errorf("header %q a second time, after line %d", key, first)
	}
	r.at[key] = r.input.line
	if value == "" {
		return "", "", fmt.Errorf("header %q has no value", key)
	}
	return key, value, nil
}

func (h *header) value(key, value string) (err error) {
	switch key {
	case "topology":
		h.topology = value
	case "fill":
		if h.fill, err = topology.ParseFill(value); err != nil {
			return err
		}
	case "spines":
		h.spines, err = number(key, value)
	case "down":
		h.down = names(value)
	case "readers":
		h.readers = value
	case "builders":
		h.builders = value
	case "unreachable":
		h.unreachable = names(value)
	case "schedule":
		h.schedule = value
	case "routing":
		h.routing = value
	case "phases":
		h.phases, err = number(key, value)
	case "window":
		n, ok := count(value)
		if !ok || n < 1 || n > maxWindow {
			return fmt.Errorf("window %q: must be a whole number of exchanges, 1..%d", shorten([]byte(value)), maxWindow)
		}
		h.window = int(n)
	case "sizes":
		h.sizes = value
	case "time":
		h.time = value
	case "bound":
		h.bound = value
	case "hash":
		h.hash = value
	case SwitchKey:
		h.switches = append(h.switches, value)
	case CableKey:
		h.cables = append(h.cables, value)
	case HostKey:
		h.hosts = append(h.hosts, value)
	case SlowKey:
		h.slow = append(h.slow, value)
	}
	return err
}

// SwitchKey is the key of the lines "x-switch leaf0 NAME" with the network's names of switches, and
// CableKey of the lines "x-cable leaf0-spine3/1 16 2" with the ports at the ends of parallel cables. SlowKey is that of the
// lines "x-slow server5 0.32" and "x-slow leaf0-spine1 0.5" with the shares of the link rate of slower cables,
// HostKey that of "x-host 3 NAME …", which names a host.
const (
	SwitchKey = "x-switch"
	CableKey  = "x-cable"
	SlowKey   = "x-slow"
	HostKey   = "x-host"
)

func number(key, value string) (*int, error) {
	n, err := strconv.Atoi(value)
	if err != nil {
		return nil, fmt.Errorf("%s %q is not a number", key, value)
	}
	return &n, nil
}

// count reads a whole number up to maxTime.
func count(text string) (int64, bool) {
	n, err := strconv.ParseUint(text, 10, 62)
	return int64(n), err == nil && n <= maxTime
}

func names(value string) []string {
	if value == "none" {
		return nil
	}
	list := strings.Split(value, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// shorten keeps a quoted part of a file readable in an error. It keeps a hash whole.
func shorten(b []byte) string {
	const most = len("sha256:") + 2*sha256.Size
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}
