package verify

import (
	"bytes"
	"cmp"
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
	firstOver    = "evbench plan 3" // of plans over given tables, which model/order/verify reads
)

// textKeys are the header keys, in the order of a written file.
var textKeys = []string{"topology", "fill", "spines", "down", "readers", "builders", "unreachable", "schedule", "routing", "phases", "bound", "hash"}

// A lineReader reads the lines of a plan: a version line, header lines, then the body.
type lineReader struct {
	*input
	h       header
	version string
	keys    []string
	at      map[string]int // line of each header key
	begun   bool           // the version line was read
	body    bool           // the first line of the body was read
	limit   int            // most lines of the body

	value     func(key, value string) error
	endHeader func() error // when the first line of the body or the end is met
	line      func([]byte) error
	ahead     func() // reads more lines of the body, nil: it does not
}

func newLineReader(in *input, version string, keys []string) *lineReader {
	r := &lineReader{input: in, version: version, keys: keys, at: map[string]int{}}
	r.h.where = func(key string) string { return fmt.Sprintf("line %d", r.at[key]) }
	return r
}

// read reads to the end. Errors name the line.
func (r *lineReader) read() error {
	for {
		line, err := r.readLine()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if err := r.one(bytes.TrimSpace(line)); err != nil {
			return r.placed(err)
		}
		r.input.line++
		if r.body && r.ahead != nil {
			r.ahead()
		}
	}
	if !r.begun {
		return r.placed(r.notAPlan(""))
	}
	return r.placed(r.end())
}

// placed puts the line before an error that does not name one yet.
func (r *lineReader) placed(err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "line ") || err == errNoTopology && r.version == firstLine {
		return err
	}
	return fmt.Errorf("line %d: %w", r.input.line, err)
}

func (r *lineReader) end() error {
	if r.body {
		return nil
	}
	r.body = true
	return r.endHeader()
}

func (r *lineReader) one(line []byte) error {
	switch {
	case len(line) == 0, bytes.HasPrefix(line, []byte("##")):
		return nil
	case line[0] != '#':
		if !r.begun {
			return r.notAPlan("")
		}
		if err := r.end(); err != nil {
			return err
		}
		return r.line(line)
	case r.body:
		return fmt.Errorf("%q: header lines come before the first message", shorten(line))
	}
	fields := strings.Fields(string(line[1:]))
	if !r.begun {
		first := strings.Join(fields, " ")
		if r.begun = true; first != r.version {
			return r.notAPlan(first)
		}
		return nil
	}
	key, value, err := keyed(fields, r.keys, r.at, r.input.line)
	if err == nil && key != "" {
		err = r.value(key, value)
	}
	return err
}

func (r *lineReader) notAPlan(line string) error {
	switch line {
	case firstOrdered:
		return ErrOrdered
	case firstOver:
		return ErrOver
	}
	if version, ok := strings.CutPrefix(line, "evbench plan "); ok {
		return fmt.Errorf("plan version %q; versions 1 and 2 are read here, and 3, over given tables, by verify and mpi wrap", shorten([]byte(version)))
	}
	return fmt.Errorf("not a plan file: it starts with \"# %s\"", firstLine)
}

// A textReader reads a plan of equal fragments.
type textReader struct {
	*lineReader
	file File
	form pathForm
}

func readText(in *input) (*File, error) {
	r := &textReader{lineReader: newLineReader(in, firstLine, textKeys)}
	r.lineReader.value, r.line = r.h.value, r.message
	r.endHeader = func() error {
		if err := r.h.apply(&r.file); err != nil {
			return err
		}
		r.form = pathFormOf(r.file.Tree.Shape)
		r.limit = min(r.room, most(r.file.Tree.Servers()))
		return nil
	}
	r.ahead = func() {
		b, _ := r.Peek(r.Buffered())
		r.Discard(r.quick(b))
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	return &r.file, nil
}

// keyed splits a header line into one of these keys and its value, and notes the line of the key.
// The key is "" for a key x-… of the writer.
func keyed(fields, known []string, at map[string]int, line int) (key, value string, err error) {
	if len(fields) == 0 {
		return "", "", errors.New("a header line without a key; comments start with ##")
	}
	key, value = fields[0], strings.Join(fields[1:], " ")
	switch first, again := at[key]; {
	case key == SwitchKey || key == CableKey || key == SlowKey:
		return key, value, nil
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

func (h *header) value(key, value string) (err error) {
	switch key {
	case "topology":
		h.topology = value
	case "fill":
		h.fill, err = topology.ParseFill(value)
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
	case "bound":
		h.bound, err = textBound(value)
	case "hash":
		h.hash = value
	case SwitchKey:
		h.switches = append(h.switches, value)
	case CableKey:
		h.cables = append(h.cables, value)
	case SlowKey:
		h.slow = append(h.slow, value)
	}
	return err
}

// SwitchKey is the key of the lines "x-switch leaf0 NAME" with the network's names of switches, and
// CableKey of the lines "x-cable leaf0-spine3/1 16 2" with the ports at the ends of parallel cables. SlowKey is that of the
// lines "x-slow server5 0.32" and "x-slow leaf0-spine1 0.5" with the shares of the link rate of slower cables.
const (
	SwitchKey = "x-switch"
	CableKey  = "x-cable"
	SlowKey   = "x-slow"
)

// rates are those of the slow cables.
func (h *header) rates(t *topology.Tree) (r topology.Rates, err error) {
	at := t.Positions()
	t = t.Named(nil)
	for _, line := range h.slow {
		f := strings.Fields(line)
		share := 0.0
		if len(f) == 2 {
			share, _ = strconv.ParseFloat(f[1], 64)
		}
		if !(share > 0 && share < 1) {
			return r, fmt.Errorf("%s %q: write a server or a link, and its share of the link rate, 0 to 1", SlowKey, shorten([]byte(line)))
		}
		if n, server := strings.CutPrefix(f[0], "server"); server {
			position, err := strconv.Atoi(n)
			rank := slices.Index(at, position)
			if err != nil || rank < 0 {
				return r, fmt.Errorf("%s: no server %q", SlowKey, shorten([]byte(f[0])))
			}
			r.Hosts = append(r.Hosts, topology.SlowHost{Rank: rank, Share: share})
			continue
		}
		links, err := t.Links(f[0])
		if err != nil {
			return r, fmt.Errorf("%s: %w", SlowKey, err)
		}
		for _, l := range links {
			r.Slow = append(r.Slow, topology.SlowLink{Link: l, Share: share})
		}
	}
	return r, nil
}

// named gives a tree the names of the header, if each switch has one. The names are for people; the
// ports also find the cables in a network.
func (h *header) named(t *topology.Tree) *topology.Tree {
	names := &topology.Names{}
	for sw := range t.Switches() {
		if sw == len(h.switches) || len(h.switches) > t.Switches() {
			return t
		}
		own, name, _ := strings.Cut(h.switches[sw], " ")
		if own != t.SwitchName(sw) || name == "" {
			return t
		}
		names.Switches = append(names.Switches, name)
	}
	names.Ports = h.ports(t)
	return t.Named(names)
}

// ports are the ports of the parallel cables, nil if no line names any.
func (h *header) ports(t *topology.Tree) (ports [][2]uint8) {
	for _, line := range h.cables {
		f := strings.Fields(line)
		if len(f) != 3 {
			return nil
		}
		links, err := t.Links(f[0])
		low, lowErr := strconv.ParseUint(f[1], 10, 8)
		high, highErr := strconv.ParseUint(f[2], 10, 8)
		if err != nil || len(links) != 1 || links[0].Cable == 0 || cmp.Or(lowErr, highErr) != nil {
			return nil
		}
		if ports == nil {
			ports = make([][2]uint8, t.AllLinks())
		}
		ports[t.LinkID(links[0])] = [2]uint8{uint8(low), uint8(high)}
	}
	return ports
}

func number(key, value string) (*int, error) {
	n, err := strconv.Atoi(value)
	if err != nil {
		return nil, fmt.Errorf("%s %q is not a number", key, value)
	}
	return &n, nil
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

// shorten keeps a quoted part of a file readable in an error. It keeps a hash whole.
func shorten(b []byte) string {
	const most = len("sha256:") + 2*sha256.Size
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}
