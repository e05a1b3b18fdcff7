package inject

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"evbench/topology"
)

const magic = "evbench injected links 1"

// A Header says who wrote a journal, and how its programs are run.
type Header struct {
	Host    string        `json:"host"`
	PID     int           `json:"pid"`
	Since   time.Time     `json:"since"`
	Kind    string        `json:"kind"`
	Dir     string        `json:"dir"` // where programs are run
	Timeout time.Duration `json:"timeout_ns"`
}

func newHeader(o Options) (Header, error) {
	host, err := os.Hostname()
	if err != nil {
		return Header{}, err
	}
	dir, err := os.Getwd()
	return Header{Host: host, PID: os.Getpid(), Since: time.Now().UTC(), Kind: o.Kind, Dir: dir, Timeout: o.Timeout}, err
}

func (h Header) check() error {
	switch {
	case fields[h.Kind] == nil:
		return fmt.Errorf("unknown kind %q", h.Kind)
	case h.Host == "" || h.Dir == "" || h.PID < 1 || h.Since.IsZero():
		return errors.New("host, pid, since and dir are wanted")
	case h.Timeout <= 0:
		return errors.New("timeout_ns must be above 0")
	}
	return nil
}

// A Pending link is down, or may be.
type Pending struct {
	link  topology.Link
	since time.Time
	Remedy
}

func (r Remedy) check() error {
	for _, p := range append([]Program{r.Up}, r.Probe...) {
		if len(p.Args) == 0 || p.Args[0] == "" {
			return errors.New("a program without a name")
		}
	}
	if len(r.Probe) == 0 {
		return errors.New("no probe")
	}
	return nil
}

// The lines of a journal.
func headLines(h Header) []byte                   { return fmt.Appendf(nil, "%s\nby %s\n", magic, encode(h)) }
func upLine(l topology.Link, at time.Time) []byte { return fmt.Appendf(nil, "up %s %s\n", l, nano(at)) }
func downLine(p Pending) []byte {
	return fmt.Appendf(nil, "down %s %s %s\n", p.link, nano(p.since), encode(p.Remedy))
}

func nano(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func decode(s string, v any) error {
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.InputOffset() != int64(len(s)) {
		return errors.New("more follows")
	}
	return nil
}

type record struct {
	header  Header
	pending []Pending // in the order in which they were taken down
	torn    string    // the last line, if the machine died while it was written
	whole   int64     // bytes before it
}

// parse reads a journal. A last line that does not end was never acted on: the
// link is touched when its line is on disk.
func parse(text []byte) (record, error) {
	var r record
	end := bytes.LastIndexByte(text, '\n') + 1
	r.torn, r.whole = string(text[end:]), int64(end)
	n := 0
	for line := range strings.Lines(string(text[:end])) {
		n++
		if err := r.line(n, strings.TrimSuffix(line, "\n")); err != nil {
			return record{}, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return r, nil
}

func (r *record) line(n int, s string) error {
	word, rest, _ := strings.Cut(s, " ")
	switch {
	case n == 1 && s != magic:
		return fmt.Errorf("not a journal of injected links: it does not begin with %q", magic)
	case n == 1:
		return nil
	case n == 2 && word == "by":
		if err := decode(rest, &r.header); err != nil {
			return fmt.Errorf("by: %w", err)
		}
		return r.header.check()
	case n == 2:
		return errors.New("by is missing: who wrote it")
	case word == "down":
		return r.wentDown(rest)
	case word == "up":
		return r.cameUp(rest)
	}
	return fmt.Errorf("unknown word %q", word)
}

func (r *record) wentDown(rest string) error {
	link, rest, err := linkAndRest(rest)
	if err != nil {
		return err
	}
	at, remedy, _ := strings.Cut(rest, " ")
	p := Pending{link: link}
	if p.since, err = time.Parse(time.RFC3339Nano, at); err != nil {
		return fmt.Errorf("%s: %q is not a time", link, at)
	}
	if err := decode(remedy, &p.Remedy); err != nil {
		return fmt.Errorf("%s: how it is brought up: %w", link, err)
	}
	if err := p.Remedy.check(); err != nil {
		return fmt.Errorf("%s: how it is brought up: %w", link, err)
	}
	if r.index(link) >= 0 {
		return fmt.Errorf("%s goes down twice", link)
	}
	r.pending = append(r.pending, p)
	return nil
}

func (r *record) cameUp(rest string) error {
	link, at, err := linkAndRest(rest)
	if err != nil {
		return err
	}
	if _, err := time.Parse(time.RFC3339Nano, at); err != nil {
		return fmt.Errorf("%s: %q is not a time", link, at)
	}
	i := r.index(link)
	if i < 0 {
		return fmt.Errorf("%s comes up, but was not down", link)
	}
	r.pending = slices.Delete(r.pending, i, i+1)
	return nil
}

func (r *record) index(l topology.Link) int {
	return slices.IndexFunc(r.pending, func(p Pending) bool { return p.link == l })
}

var linkRE = regexp.MustCompile(`^leaf(0|[1-9]\d{0,4})-spine(0|[1-9]\d{0,4})$`)

func linkAndRest(s string) (topology.Link, string, error) {
	name, rest, _ := strings.Cut(s, " ")
	m := linkRE.FindStringSubmatch(name)
	if m == nil {
		return topology.Link{}, "", fmt.Errorf("%q is not a link", name)
	}
	leaf, _ := strconv.Atoi(m[1]) // at most five digits
	spine, _ := strconv.Atoi(m[2])
	return topology.Link{Leaf: leaf, Spine: spine}, rest, nil
}
