package verify

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"evbench/topology"
)

const firstLine = "evbench plan 1"

// textKeys are the header keys of the text form, in the order of a written file.
var textKeys = []string{"topology", "fill", "spines", "down", "schedule", "routing", "phases", "bound", "hash"}

// A textReader reads the text form line by line.
type textReader struct {
	file  File
	line  int
	at    map[string]int // line of each header key
	h     header
	begun bool // the version line was read
	body  bool // the first message was read
	limit int  // most messages
}

func readText(in *input) (*File, error) {
	r := &textReader{line: in.line - 1, at: map[string]int{}}
	r.h.where = func(key string) string { return fmt.Sprintf("line %d", r.at[key]) }
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<16), maxHeader)
	for lines.Scan() {
		r.line++
		if err := r.read(lines.Bytes()); err != nil {
			return nil, err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d: longer than %d bytes", r.line+1, maxHeader)
	} else if err != nil {
		return nil, fmt.Errorf("read plan: after line %d: %w", r.line, err)
	}
	if !r.body {
		if err := r.endHeader(); err != nil {
			return nil, err
		}
	}
	return &r.file, nil
}

func (r *textReader) read(line []byte) error {
	if len(line) > 0 && line[0]-'0' < 10 && r.body { // nearly every line
		return r.message(line)
	}
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0, bytes.HasPrefix(line, []byte("##")):
		return nil
	case line[0] != '#':
		if !r.body {
			if err := r.endHeader(); err != nil {
				return err
			}
			r.body = true
		}
		return r.message(line)
	case r.body:
		return fmt.Errorf("line %d: %q: header lines come before the first message", r.line, shorten(line))
	}
	return r.header(strings.Fields(string(line[1:])))
}

// header reads "key value", split at blanks.
func (r *textReader) header(fields []string) error {
	if !r.begun {
		if strings.Join(fields, " ") != firstLine {
			return r.notAPlan(strings.Join(fields, " "))
		}
		r.begun = true
		return nil
	}
	if len(fields) == 0 {
		return fmt.Errorf("line %d: a header line without a key; comments start with ##", r.line)
	}
	key, value := fields[0], strings.Join(fields[1:], " ")
	if strings.HasPrefix(key, "x-") {
		return nil
	}
	if !slices.Contains(textKeys, key) {
		return fmt.Errorf("line %d: unknown header %q; there are %s, x-… for your own, and ## for comments",
			r.line, shorten([]byte(key)), strings.Join(textKeys, ", "))
	}
	if first, ok := r.at[key]; ok {
		return fmt.Errorf("line %d: header %q a second time, after line %d", r.line, key, first)
	}
	r.at[key] = r.line
	if value == "" {
		return fmt.Errorf("line %d: header %q has no value", r.line, key)
	}
	if err := r.value(key, value); err != nil {
		return fmt.Errorf("line %d: %w", r.line, err)
	}
	return nil
}

func (r *textReader) value(key, value string) (err error) {
	switch h := &r.h; key {
	case "topology":
		h.topology = value
	case "fill":
		h.fill, err = topology.ParseFill(value)
	case "spines":
		h.spines, err = number(key, value)
	case "down":
		h.down = names(value)
	case "schedule":
		h.schedule = value
	case "routing":
		h.routing = value
	case "phases":
		h.phases, err = number(key, value)
	case "bound":
		h.bound, err = textBound(value)
	case "hash":
		h.hash = value
	}
	return err
}

func (r *textReader) notAPlan(line string) error {
	if version, ok := strings.CutPrefix(line, "evbench plan "); ok {
		return fmt.Errorf("line %d: plan version %q; version 1 is read", r.line, shorten([]byte(version)))
	}
	return fmt.Errorf("line %d: not a plan file: it starts with \"# %s\"", r.line, firstLine)
}

// endHeader puts the header together when the first message or the end is met.
func (r *textReader) endHeader() error {
	if !r.begun {
		return r.notAPlan("")
	}
	if err := r.h.apply(&r.file); err != nil {
		return err
	}
	r.limit = most(r.file.Tree.Servers())
	return nil
}

func (r *textReader) message(line []byte) error {
	m, err := parseMessage(line)
	if err != nil {
		return fmt.Errorf("line %d: %q: %w", r.line, shorten(line), err)
	}
	if len(r.file.Messages) == r.limit {
		return fmt.Errorf("line %d: more than %d messages; all pairs of %d servers are %d",
			r.line, r.limit, r.file.Tree.Servers(), pairs(r.file.Tree.Servers()))
	}
	r.file.add(m)
	return nil
}

var columns = [4]string{"phase", "src", "dst", "spine"}

// parseMessage reads "phase src dst spine".
func parseMessage(line []byte) (Message, error) {
	var v [4]int32
	i := 0
	for c := range v {
		for i < len(line) && blank(line[i]) {
			i++
		}
		start, n := i, 0
		for i < len(line) && line[i]-'0' < 10 && n <= maxNumber {
			n = n*10 + int(line[i]-'0')
			i++
		}
		if c == 3 && start == i && i < len(line) && line[i] == '-' {
			i, n = i+1, NoSpine
		}
		switch {
		case n > maxNumber:
			return Message{}, fmt.Errorf("%s is larger than %d", columns[c], maxNumber)
		case start == len(line):
			return Message{}, fmt.Errorf("no %s; a message is \"phase src dst spine\"", columns[c])
		case start == i, i < len(line) && !blank(line[i]):
			return Message{}, fmt.Errorf("%s is not a number", columns[c])
		}
		v[c] = int32(n)
	}
	if len(bytes.TrimSpace(line[i:])) > 0 {
		return Message{}, errors.New("more than four columns; a message is \"phase src dst spine\"")
	}
	return Message{v[0], v[1], v[2], v[3]}, nil
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func number(key, value string) (*int, error) {
	n, err := strconv.Atoi(value)
	if err != nil {
		return nil, fmt.Errorf("%s %q is not a number", key, value)
	}
	return &n, nil
}

// names reads a comma separated list, or "none".
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

// textBound reads "38 leaf0".
func textBound(value string) (*bound, error) {
	phases, kind, ok := strings.Cut(value, " ")
	n, err := strconv.Atoi(phases)
	if !ok || err != nil {
		return nil, fmt.Errorf("bound %q: write a number of phases and what proves it, for example 38 leaf0", value)
	}
	return &bound{Phases: n, Kind: kind}, nil
}

// shorten keeps a quoted piece of a file readable in an error.
func shorten(b []byte) string {
	if len(b) > 60 {
		return string(b[:60]) + "…"
	}
	return string(b)
}
