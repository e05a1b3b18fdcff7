package verify

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

// The first lines of plans.
const (
	firstLine    = "evbench plan 1"
	firstOrdered = "evbench plan 2" // of ordered plans, which readOrdered reads
)

// textKeys are the header keys, in the order of a written file.
var textKeys = []string{"topology", "fill", "spines", "down", "unreachable", "schedule", "routing", "phases", "bound", "hash"}

// A textReader reads a plan line by line.
type textReader struct {
	*input
	file  File
	at    map[string]int // line of each header key
	h     header
	begun bool // the version line was read
	body  bool // the first message was read
	limit int  // most messages
}

func readText(in *input) (*File, error) {
	r := &textReader{input: in, at: map[string]int{}}
	r.h.where = func(key string) string { return fmt.Sprintf("line %d", r.at[key]) }
	for {
		line, err := r.readLine()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if err := r.read(line); err != nil {
			return nil, err
		}
		r.line++
		if r.body {
			ahead, _ := r.Peek(r.Buffered())
			r.Discard(r.quick(ahead))
		}
	}
	if !r.body {
		if err := r.endHeader(); err != nil {
			return nil, err
		}
	}
	return &r.file, nil
}

func (r *textReader) read(line []byte) error {
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
		first := strings.Join(fields, " ")
		if r.begun = true; first != firstLine {
			return r.notAPlan(first)
		}
		return nil
	}
	key, value, err := keyed(fields, textKeys, r.at, r.line)
	if err == nil && key != "" {
		err = r.value(key, value)
	}
	if err != nil {
		return fmt.Errorf("line %d: %w", r.line, err)
	}
	return nil
}

// keyed splits a header line into one of these keys and its value, and notes the line of the
// key. The key is "" for one of the writer's own, x-….
func keyed(fields, known []string, at map[string]int, line int) (key, value string, err error) {
	if len(fields) == 0 {
		return "", "", errors.New("a header line without a key; comments start with ##")
	}
	key, value = fields[0], strings.Join(fields[1:], " ")
	switch first, again := at[key]; {
	case strings.HasPrefix(key, "x-"):
		return "", "", nil
	case !slices.Contains(known, key):
		return "", "", fmt.Errorf("unknown header %q; there are %s, x-… for your own, and ## for comments", shorten([]byte(key)), strings.Join(known, ", "))
	case again:
		return "", "", fmt.Errorf("header %q a second time, after line %d", key, first)
	}
	at[key] = line
	if value == "" {
		return "", "", fmt.Errorf("header %q has no value", key)
	}
	return key, value, nil
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
	case "unreachable":
		h.unreachable = names(value)
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
	if line == firstOrdered {
		return fmt.Errorf("line %d: %w", r.line, ErrOrdered)
	}
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
	r.limit = min(r.room, most(r.file.Tree.Servers()))
	return nil
}

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

// textBound reads "38 leaf0", "60 hall3 leaf1,leaf4" or "18 lp leaf0-spine1/up=3,leaf2-spine1/down=5".
func textBound(value string) (*bound, error) {
	phases, rest, ok := strings.Cut(value, " ")
	n, err := strconv.Atoi(phases)
	if !ok || err != nil {
		return nil, fmt.Errorf("bound %q: write a number of phases and what proves it, for example 38 leaf0", shorten([]byte(value)))
	}
	b := &bound{phases: n}
	var witness string
	if b.kind, witness, ok = strings.Cut(rest, " "); ok {
		b.witness = names(witness)
	}
	return b, nil
}

// shorten keeps a quoted piece of a file readable in an error; a hash is whole.
func shorten(b []byte) string {
	const most = len("sha256:") + 2*sha256.Size
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}
