// Package sizes plans an exchange of fragments whose sizes differ, on a tree of two
// levels: when each starts, and over which spine, such that no port and no link has two
// at a time. There are no phases: a fragment starts when its four resources are free, the
// send port, the receive port, the up-link and the down-link.
//
// Servers are ranks 0..S-1 of a topology.Tree, in files positions. Times are byte times:
// what one byte takes on one link. The package draws no random number except from the
// seed it is given: equal input, equal plan.
package sizes

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"evbench/topology"
)

// Limits on sizes; they bound memory and keep sums below 2⁵³.
const (
	MaxServers = 4096    // 8 bytes for each ordered pair
	MaxBytes   = 1 << 40 // of one fragment
	maxSum     = 1 << 53 // of all
	maxLine    = 1 << 12 // bytes of a line of a file
)

// A Matrix holds the size of each fragment, in bytes; 0 is none.
type Matrix struct {
	servers int
	bytes   []int64 // by src·servers + dst
	sum     int64
}

// NewMatrix returns a matrix of no bytes for the servers of a tree.
func NewMatrix(t *topology.Tree) (*Matrix, error) {
	s := t.Servers()
	switch {
	case t.Levels() == 3:
		return nil, fmt.Errorf("%s: sizes are planned on trees of two levels", t.Notation())
	case s > MaxServers:
		return nil, fmt.Errorf("%d servers: sizes of at most %d are planned", s, MaxServers)
	}
	return &Matrix{servers: s, bytes: make([]int64, s*s)}, nil
}

// Set states the size of the fragment from src to dst, two ranks.
func (m *Matrix) Set(src, dst int, bytes int64) error {
	at := &m.bytes[src*m.servers+dst]
	switch {
	case src == dst:
		return errors.New("a server sends nothing to itself")
	case bytes < 0 || bytes > MaxBytes:
		return fmt.Errorf("%d bytes: must be 0..%d", bytes, int64(MaxBytes))
	case m.sum-*at+bytes > maxSum:
		return fmt.Errorf("all fragments together have more than %d bytes", int64(maxSum))
	}
	m.sum += bytes - *at
	*at = bytes
	return nil
}

// Size returns the bytes from src to dst, two ranks.
func (m *Matrix) Size(src, dst int) int64 { return m.bytes[src*m.servers+dst] }

// Sum returns the bytes of all fragments.
func (m *Matrix) Sum() int64 { return m.sum }

// Hash names the sizes of a window: "sha256:" and the digest of the lines "src,dst,bytes"
// of all fragments that have bytes, servers by position, by exchange, src and dst; from
// the second exchange on a line ends in ",1" and so on.
func Hash(t *topology.Tree, window ...*Matrix) string {
	h := sha256.New()
	buf := make([]byte, 0, 1<<15+128)
	number := func(n int64, end byte) { buf = append(strconv.AppendInt(buf, n, 10), end) }
	for e, m := range window {
		for at, n := range m.bytes {
			if n == 0 {
				continue
			}
			number(int64(t.Position(at/m.servers)), ',')
			number(int64(t.Position(at%m.servers)), ',')
			if e == 0 {
				number(n, '\n')
			} else {
				number(n, ',')
				number(int64(e), '\n')
			}
			if len(buf) >= 1<<15 {
				h.Write(buf)
				buf = buf[:0]
			}
		}
	}
	h.Write(buf)
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// columns are the fields of a line, and the header line that a file may start with; the
// last may be left out.
var columns = []string{"src", "dst", "bytes", "exchange"}

// A reader reads sizes line by line.
type reader struct {
	tree   *topology.Tree
	window []*Matrix
	named  [][]bool // pairs that a line names, by exchange
}

// Read reads the sizes of a window: lines "src,dst,bytes" or "src,dst,bytes,exchange", in any
// order. A server is its position or its name (server17); exchanges count from 0, which is where
// none is stated. A pair that no line names has no fragment. The first line may name the fields;
// blank lines and lines that start with # say nothing. An error names the line and the field.
func Read(in io.Reader, t *topology.Tree) ([]*Matrix, error) {
	r := &reader{tree: t}
	if err := r.grow(1); err != nil {
		return nil, err
	}
	scan := bufio.NewScanner(in)
	scan.Buffer(make([]byte, 0, maxLine), maxLine)
	line, begun := 0, false
	for scan.Scan() {
		line++
		text := strings.TrimSpace(scan.Text())
		if line == 1 {
			text = strings.TrimPrefix(text, "\ufeff") // as spreadsheets write
		}
		if text == "" || text[0] == '#' {
			continue
		}
		first := !begun
		begun = true
		if names := strings.ReplaceAll(text, " ", ""); first && (names == strings.Join(columns, ",") || names == strings.Join(columns[:3], ",")) {
			continue
		}
		if err := r.line(text); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	switch err := scan.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: longer than %d bytes", line+1, maxLine)
	case err != nil:
		return nil, fmt.Errorf("after line %d: %w", line, err)
	}
	if _, err := add(t, r.window); err != nil {
		return nil, fmt.Errorf("%w; a line is src,dst,bytes", err)
	}
	return r.window, nil
}

func (r *reader) grow(exchanges int) error {
	for len(r.window) < exchanges {
		m, err := NewMatrix(r.tree)
		if err != nil {
			return err
		}
		r.window, r.named = append(r.window, m), append(r.named, make([]bool, len(m.bytes)))
	}
	return nil
}

func (r *reader) line(text string) error {
	fields := strings.Split(text, ",")
	if len(fields) != 3 && len(fields) != len(columns) {
		return fmt.Errorf("fields: %d, a line has 3 or 4: src,dst,bytes,exchange", len(fields))
	}
	var ends [2]int
	for i := range ends {
		rank, err := server(r.tree, strings.TrimSpace(fields[i]))
		if err != nil {
			return fmt.Errorf("%s %w", columns[i], err)
		}
		ends[i] = rank
	}
	n, err := strconv.ParseInt(strings.TrimSpace(fields[2]), 10, 64)
	if err != nil || n < 0 || n > MaxBytes {
		return fmt.Errorf("bytes %q: must be a whole number, 0..%d", brief(fields[2]), int64(MaxBytes))
	}
	e := uint64(0)
	if len(fields) == len(columns) {
		if e, err = strconv.ParseUint(strings.TrimSpace(fields[3]), 10, 8); err != nil || e >= MaxWindow {
			return fmt.Errorf("exchange %q: must be a whole number, 0..%d", brief(fields[3]), MaxWindow-1)
		}
	}
	if err := r.grow(int(e) + 1); err != nil {
		return err
	}
	m := r.window[e]
	if at := ends[0]*m.servers + ends[1]; r.named[e][at] {
		return fmt.Errorf("%s to %s a second time", r.tree.ServerName(ends[0]), r.tree.ServerName(ends[1]))
	} else {
		r.named[e][at] = true
	}
	return m.Set(ends[0], ends[1], n)
}

// server reads a position, "17" or "server17", into a rank.
func server(t *topology.Tree, name string) (int, error) {
	digits := strings.TrimPrefix(name, "server")
	position, err := strconv.ParseUint(digits, 10, 24)
	if err != nil {
		return 0, fmt.Errorf("%q is not a server: write its position, 17 or server17", brief(name))
	}
	rank, ok := t.Rank(int(position))
	if !ok {
		return 0, fmt.Errorf("%q: no server%d in %s with this fill", brief(name), position, t.Notation())
	}
	return rank, nil
}

func brief(s string) string {
	if s = strings.TrimSpace(s); len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
