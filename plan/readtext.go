package plan

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"evbench/scheduler"
	"evbench/topology"
)

// Limits on what is read: one line, and one number of a message.
const (
	maxLine   = 1 << 22
	maxNumber = 1 << 24
)

// A textReader reads the text form line by line.
type textReader struct {
	*draft
	line  int
	keys  map[string]int // line of each header key
	lines []int32        // line of each message
	begun bool           // the version line was read
	runs  bool           // a line of the body is a row of the compact form
}

// ErrOrdered says that a file holds a plan of version 2, which Read does not take.
var ErrOrdered = errors.New("a plan of version 2, for fragments of unequal size, where one of version 1 is needed; evbench verify takes both")

func (d *draft) readText(in *bufio.Reader) error {
	r := &textReader{draft: d, keys: map[string]int{}}
	d.at = func(key string) string { return fmt.Sprintf("line %d", r.keys[key]) }
	d.line = r.place
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<16), maxLine)
	for lines.Scan() && lines.Err() == nil { // else the line is cut off
		r.line++
		if err := r.read(lines.Bytes()); err != nil {
			return err
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("line %d: longer than %d bytes", r.line+1, maxLine)
	case err != nil:
		return fmt.Errorf("read plan: after line %d: %w", r.line, err)
	}
	return nil
}

func (r *textReader) read(line []byte) (err error) {
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0, bytes.HasPrefix(line, []byte("##")):
		return nil
	case line[0] == '#' && len(r.messages) > 0:
		err = errors.New("header lines come before the first message")
	case line[0] == '#':
		err = r.header(strings.Join(strings.Fields(string(line[1:])), " "))
	case !r.begun:
		err = notAPlan("")
	default:
		if len(r.messages) == 0 {
			if err := r.bounded(); err != nil {
				return err
			}
		}
		if r.runs {
			err = r.row(line)
		} else {
			err = r.message(line)
		}
	}
	if err != nil {
		return fmt.Errorf("line %d: %w", r.line, err)
	}
	return nil
}

func notAPlan(line string) error {
	if line == firstOrdered {
		return ErrOrdered
	}
	if version, ok := strings.CutPrefix(line, "evbench plan "); ok {
		return fmt.Errorf("plan version %q; version 1 is read", shorten(version))
	}
	return errors.New("not a plan file: it starts with \"# evbench plan 1\"")
}

// header reads "key value".
func (r *textReader) header(line string) error {
	if !r.begun {
		r.begun, r.runs = true, line == firstCompact
		if line != firstLine && !r.runs {
			return notAPlan(line)
		}
		return nil
	}
	key, value, _ := strings.Cut(line, " ")
	if strings.HasPrefix(key, "x-") {
		return nil
	}
	if first, ok := r.keys[key]; ok {
		return fmt.Errorf("header %q a second time, after line %d", shorten(key), first)
	}
	r.keys[key] = r.line
	if value == "" {
		return fmt.Errorf("header %q has no value", shorten(key))
	}
	return r.set(key, value)
}

func (r *textReader) set(key, value string) (err error) {
	switch key {
	case "topology":
		r.topology = value
	case "fill":
		r.fill, err = topology.ParseFill(value)
	case "spines":
		r.spines, err = number(key, value)
	case "down":
		if value != "none" {
			r.down = list(value)
		}
	case "unreachable":
		r.unreachable = list(value)
	case "schedule":
		r.schedule = value
	case "routing":
		r.routing = value
	case "phases":
		r.phases, err = number(key, value)
	case "bound":
		r.bound, err = textBound(value)
	case "hash":
		r.hash = value
	default:
		err = fmt.Errorf("unknown header %q; x-… is for your own, and ## for comments", shorten(key))
	}
	return err
}

var columns = [3]string{"phase", "src", "dst"}

// message reads "phase src dst spine", in three levels "phase src dst plane.top".
func (r *textReader) message(line []byte) error {
	var v [3]int
	for i := range v {
		var field []byte
		var ok bool
		field, line = cut(line)
		if v[i], ok = digits(field); !ok {
			return fmt.Errorf("%s %q is not a number below %d; a message is \"phase src dst spine\"", columns[i], shorten(string(field)), maxNumber)
		}
	}
	m := scheduler.Message{Phase: v[0], Src: v[1], Dst: v[2], Spine: scheduler.None, Top: scheduler.None}
	field, rest := cut(line)
	if len(rest) > 0 {
		return errors.New("more than four columns; a message is \"phase src dst spine\"")
	}
	if string(field) != "-" {
		spine, top, two := bytes.Cut(field, []byte("."))
		k, ok := digits(spine)
		if m.Spine = k; ok && two {
			m.Top, ok = digits(top)
		}
		if !ok {
			return fmt.Errorf("spine %q: write a number, plane.top in three levels, or -", shorten(string(field)))
		}
	}
	return r.hold(m)
}

// hold adds a message of the line that is read.
func (r *textReader) hold(m scheduler.Message) error {
	if err := r.add(m); err != nil {
		return err
	}
	r.lines = append(r.lines, int32(r.line))
	return nil
}

// cut splits off the first field of a line that does not start with a blank.
func cut(line []byte) (field, rest []byte) {
	i := 0
	for i < len(line) && line[i] != ' ' && line[i] != '\t' {
		i++
	}
	field = line[:i]
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	return field, line[i:]
}

// digits reads a number below maxNumber.
func digits(b []byte) (n int, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' || n >= maxNumber {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(b) > 0 && n < maxNumber
}

func number(key, value string) (*int, error) {
	n, err := strconv.Atoi(value)
	if err != nil {
		return nil, fmt.Errorf("%s %q is not a number", key, shorten(value))
	}
	return &n, nil
}

func list(value string) []string {
	out := strings.Split(value, ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// textBound reads "38 leaf0" and "60 hall3 leaf1,leaf4".
func textBound(value string) (*bound, error) {
	f := strings.Fields(value)
	if len(f) == 2 || len(f) == 3 {
		if n, err := strconv.Atoi(f[0]); err == nil {
			b := &bound{Phases: n, Kind: f[1]}
			if len(f) == 3 {
				b.Subset = strings.Split(f[2], ",")
			}
			return b, nil
		}
	}
	return nil, fmt.Errorf("bound %q: write a number of phases and what proves it, for example 38 leaf0", shorten(value))
}

// shorten keeps a quoted piece of a file readable in an error.
func shorten(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}
