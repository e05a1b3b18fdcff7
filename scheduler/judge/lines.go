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
)

// A reader reads the lines of a plan: a version line, header lines, then the rows.
type reader struct {
	*input
	header
	file  File
	form  form
	rows  bool  // the first row was read
	limit int   // most rows
	room  int   // bytes
	sum   int64 // of bytes and offsets
	path  pathForm
}

func newReader(in *input, memory int, engines []string) *reader {
	return &reader{input: in, room: memory, header: header{map[string]string{}, map[string]int{}, map[string][]string{}, engines}}
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
	if err := r.apply(f); err != nil {
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
	return r.keyed(fields)
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

// keyed notes a header line. It skips keys x-… of the writer.
func (r *reader) keyed(fields []string) error {
	if len(fields) == 0 {
		return errors.New("a header line without a key; comments start with ##")
	}
	key, value := fields[0], strings.Join(fields[1:], " ")
	switch first, again := r.at[key]; {
	case key == SwitchKey || key == CableKey || key == SlowKey || key == HostKey || key == portKey || key == WeightKey:
		r.listed[key] = append(r.listed[key], value)
		return nil
	case strings.HasPrefix(key, "x-"):
		return nil
	case r.form.keys != nil && !slices.Contains(r.form.keys, key):
		return fmt.Errorf("unknown header %q; there are %s, x-… for your own, and ## for comments", shorten([]byte(key)), strings.Join(r.form.keys, ", "))
	case again:
		return fmt.Errorf("header %q a second time, after line %d", key, first)
	case value == "":
		return fmt.Errorf("header %q has no value", key)
	}
	r.at[key], r.stated[key] = r.input.line, value
	return nil
}

// SwitchKey is the key of the lines "x-switch leaf0 NAME" with the network's names of switches, and
// CableKey of the lines "x-cable leaf0-spine3/1 16 2" with the ports at the ends of parallel cables. SlowKey is that of the
// lines "x-slow server5 0.32" and "x-slow leaf0-spine1 0.5" with the shares of the link rate of slower cables,
// HostKey that of "x-host 3 NAME …", which names a host, WeightKey that of "x-weight 12 LINK", which proves a bound over
// paths by ports: see portsNeed.
const (
	SwitchKey = "x-switch"
	CableKey  = "x-cable"
	SlowKey   = "x-slow"
	HostKey   = "x-host"
	portKey   = "x-port" // of the connections of a plan over paths
	WeightKey = "x-weight"
)

// count reads a whole number up to maxTime.
func count(text string) (int64, bool) {
	n, err := strconv.ParseUint(text, 10, 62)
	return int64(n), err == nil && n <= maxTime
}

func names(value string) []string {
	if value == "none" || value == "" {
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
