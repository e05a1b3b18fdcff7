// Package verify answers: is this plan over given tables what it claims to be? It reads the plan file
// and the tables itself, follows the tables itself, and shares no code with what makes plans.
package verify

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// First begins plan files of this version.
const First = "# evbench plan 3"

// Covered are the keys of the header lines that the hash covers, in their order.
var Covered = []string{"hosts", "guids", "adapters", "path-bits", "readers", "builders", "undelivered", "tables", "sizes"}

// MessageBytes is the memory that a message takes.
const MessageBytes = 12

// A Message is a line of a plan file.
type Message struct{ Phase, Src, Dst int32 }

// A File is a plan file. Ranks are hosts.
type File struct {
	Header map[string]string
	Hosts  int
	GUIDs  []uint64
	Reads  []bool // by rank
	Builds []bool
	Phases int
	// Time and Bound are in message times; Witness is the link that needs Bound.
	Time, Bound float64
	Witness     string
	Lost        int       // messages that the tables do not deliver, left out
	Messages    []Message // by phase, then source
	// Fragments are those of a plan with sizes, by start, then source. It has no messages, and its times
	// are byte times.
	Fragments []Fragment

	host    []int  // of each rank: adapters of one host send each other nothing over the network
	bits    []int  // of each rank: what it adds to the first LID of a destination; nil: nothing
	covered string // by the hash
}

// mostHosts limits what a small file makes the reader take.
const mostHosts = 1 << 16

// Read reads a plan file with at most so many messages. Lines are in any order.
func Read(r io.Reader, most int) (*File, error) {
	in, err := unpacked(r)
	if err != nil {
		return nil, err
	}
	f, number := &File{Header: map[string]string{}, Hosts: -1}, 0
	for in.Scan() {
		line := strings.TrimSuffix(in.Text(), "\r")
		if number++; number == 1 {
			if strings.TrimSpace(line) != First {
				return nil, fmt.Errorf("line 1 is %.40q, not %q", line, First)
			}
			continue
		}
		var err error
		switch {
		case strings.TrimSpace(line) == "":
		case line[0] == '#':
			err = f.header(line)
		case len(f.Messages)+2*len(f.Fragments) >= most:
			return nil, fmt.Errorf("line %d: more than %d messages", number, most)
		default:
			err = f.message(line)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", number+1, err)
	}
	slices.SortFunc(f.Messages, func(a, b Message) int { return cmp.Or(int(a.Phase-b.Phase), int(a.Src-b.Src), int(a.Dst-b.Dst)) })
	slices.SortFunc(f.Fragments, func(a, b Fragment) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), int(a.Src-b.Src), int(a.Dst-b.Dst))
	})
	return f, f.complete()
}

// Sized reports whether the plan is one of fragments that differ in size.
func (f *File) Sized() bool { return f.Header["sizes"] != "" }

// unpacked reads lines, also of a file that gzip has packed.
func unpacked(r io.Reader) (*bufio.Scanner, error) {
	b := bufio.NewReader(r)
	var text io.Reader = b
	if magic, _ := b.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		text = z
	}
	in := bufio.NewScanner(text)
	in.Buffer(nil, 1<<22)
	return in, nil
}

// Is reports whether a file is of this version, packed or not, from its first bytes.
func Is(head []byte) bool {
	if in, err := unpacked(bytes.NewReader(head)); err == nil && in.Scan() {
		return strings.TrimSpace(in.Text()) == First
	}
	return false
}

func (f *File) header(line string) error {
	key, value, _ := strings.Cut(strings.TrimSpace(line[1:]), " ")
	if strings.HasPrefix(key, "x-") || key == "" {
		return nil
	}
	if _, twice := f.Header[key]; twice {
		return fmt.Errorf("%s stands twice", key)
	}
	f.Header[key] = strings.TrimSpace(value)
	return nil
}

func (f *File) message(line string) error {
	words := strings.Fields(line)
	if sizedLine(words) {
		return f.fragment(words)
	}
	if len(words) != 4 || words[3] != "-" {
		return fmt.Errorf("%.60q is no message: write phase, source, destination and -", line)
	}
	var n [3]int
	for i, w := range words[:3] {
		var err error
		if n[i], err = strconv.Atoi(w); err != nil || n[i] < 0 || n[i] > 1<<30 {
			return fmt.Errorf("%.20q is no number from 0", w)
		}
	}
	f.Messages = append(f.Messages, Message{int32(n[0]), int32(n[1]), int32(n[2])})
	return nil
}

func (f *File) complete() (err error) {
	if f.Hosts, err = f.number("hosts", 1, mostHosts); err != nil {
		return err
	}
	if f.Phases, err = f.number("phases", 0, 1<<30); err != nil {
		return err
	}
	if _, there := f.Header["undelivered"]; there {
		if f.Lost, err = f.number("undelivered", 1, 1<<30); err != nil {
			return err
		}
	}
	bound, witness, _ := strings.Cut(f.Header["bound"], " ")
	if f.Bound, err = strconv.ParseFloat(bound, 64); err != nil || witness == "" {
		return fmt.Errorf("bound: %q is no number with a link", f.Header["bound"])
	}
	if f.Time, err = strconv.ParseFloat(f.Header["time"], 64); err != nil {
		return fmt.Errorf("time: %q is no number", f.Header["time"])
	}
	f.Witness = witness
	for _, key := range []string{"guids", "tables", "hash"} {
		if f.Header[key] == "" {
			return fmt.Errorf("no line %q", "# "+key)
		}
	}
	for _, g := range strings.Split(f.Header["guids"], ",") {
		x, err := strconv.ParseUint(g, 0, 64)
		if err != nil {
			return fmt.Errorf("guids: %.40q is none", g)
		}
		f.GUIDs = append(f.GUIDs, x)
	}
	if len(f.GUIDs) != f.Hosts {
		return fmt.Errorf("guids: %d for %d hosts", len(f.GUIDs), f.Hosts)
	}
	if f.Reads, err = f.ranks("readers"); err == nil {
		f.Builds, err = f.ranks("builders")
	}
	if err == nil {
		err = f.adapters()
	}
	if err == nil {
		err = f.pathBits()
	}
	switch {
	case err == nil && f.Sized() && len(f.Messages) > 0:
		return errors.New("sizes: a message without bytes; write start, source, destination and bytes")
	case err == nil && !f.Sized() && len(f.Fragments) > 0:
		return fmt.Errorf("no line %q, and messages have bytes", "# sizes")
	}
	for _, key := range Covered {
		if value, there := f.Header[key]; there {
			f.covered += "# " + key + " " + value + "\n"
		}
	}
	return err
}

func (f *File) number(key string, least, most int) (int, error) {
	n, err := strconv.Atoi(f.Header[key])
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s: %q is no number from %d to %d", key, f.Header[key], least, most)
	}
	return n, nil
}

// ranks reads "0-3,7"; without the line it is all hosts.
func (f *File) ranks(key string) ([]bool, error) {
	out := make([]bool, f.Hosts)
	text, there := f.Header[key]
	for i := range out {
		out[i] = !there
	}
	if !there {
		return out, nil
	}
	for _, part := range strings.Split(text, ",") {
		a, b, ok := f.span(part)
		if !ok {
			return nil, fmt.Errorf("%s: %.40q is no rank, nor ranks from 0 to %d", key, part, f.Hosts-1)
		}
		for i := a; i <= b; i++ {
			out[i] = true
		}
	}
	return out, nil
}

// span reads "3" or "0-3".
func (f *File) span(text string) (first, last int, ok bool) {
	low, high, several := strings.Cut(text, "-")
	first, err := strconv.Atoi(low)
	if last = first; several && err == nil {
		last, err = strconv.Atoi(high)
	}
	return first, last, err == nil && first >= 0 && last >= first && last < f.Hosts
}

// adapters reads the ranks of each host where some have several adapters: "0-1,2-3". Without the line each has one.
func (f *File) adapters() error {
	text, there := f.Header["adapters"]
	for i := range f.Hosts {
		f.host = append(f.host, i)
	}
	if !there {
		return nil
	}
	next := 0
	for h, part := range strings.Split(text, ",") {
		first, last, ok := f.span(part)
		if !ok || first != next {
			return fmt.Errorf("adapters: %.40q: write the ranks of each host, in their order, all from 0 to %d", part, f.Hosts-1)
		}
		for next <= last {
			f.host[next], next = h, next+1
		}
	}
	if next < f.Hosts {
		return fmt.Errorf("adapters: rank %d has no host", next)
	}
	return nil
}

// pathBits reads what each rank adds to the first LID of a destination: "0,1,2,3".
func (f *File) pathBits() error {
	text, there := f.Header["path-bits"]
	if !there {
		return nil
	}
	for _, word := range strings.Split(text, ",") {
		k, err := strconv.Atoi(word)
		if err != nil || k < 0 || k > 127 {
			return fmt.Errorf("path-bits: %.40q is no number from 0 to 127", word)
		}
		f.bits = append(f.bits, k)
	}
	if len(f.bits) != f.Hosts {
		return fmt.Errorf("path-bits: %d for %d hosts", len(f.bits), f.Hosts)
	}
	return nil
}
