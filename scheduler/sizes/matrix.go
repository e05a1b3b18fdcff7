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
	case t.Pods() != nil:
		return nil, fmt.Errorf("%s: sizes are planned on trees of two levels", t.Pods().Notation())
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

// Hash names the sizes: "sha256:" and the digest of the lines "src,dst,bytes" of all
// fragments that have bytes, servers by position, by src and then dst.
func (m *Matrix) Hash(t *topology.Tree) string {
	h := sha256.New()
	buf := make([]byte, 0, 1<<15+64)
	for i := range m.servers {
		for j := range m.servers {
			n := m.Size(i, j)
			if n == 0 {
				continue
			}
			buf = append(strconv.AppendInt(buf, int64(t.Position(i)), 10), ',')
			buf = append(strconv.AppendInt(buf, int64(t.Position(j)), 10), ',')
			if buf = append(strconv.AppendInt(buf, n, 10), '\n'); len(buf) >= 1<<15 {
				h.Write(buf)
				buf = buf[:0]
			}
		}
	}
	h.Write(buf)
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// columns are the fields of a line, and the header line that a file may start with.
var columns = []string{"src", "dst", "bytes"}

// Read reads sizes: lines "src,dst,bytes", in any order. A server is its position or its
// name (server17). A pair that no line names has no fragment. The first line may be
// "src,dst,bytes"; blank lines and lines that start with # say nothing. An error names
// the line and the field.
func Read(r io.Reader, t *topology.Tree) (*Matrix, error) {
	m, err := NewMatrix(t)
	if err != nil {
		return nil, err
	}
	named := make([]bool, len(m.bytes))
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, maxLine), maxLine)
	line, begun := 0, false
	for in.Scan() {
		line++
		text := strings.TrimSpace(in.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		first := !begun
		begun = true
		if first && strings.ReplaceAll(text, " ", "") == strings.Join(columns, ",") {
			continue
		}
		if err := m.line(t, text, named); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: longer than %d bytes", line+1, maxLine)
	case err != nil:
		return nil, fmt.Errorf("after line %d: %w", line, err)
	case m.sum == 0:
		return nil, errors.New("no fragment has bytes; a line is src,dst,bytes")
	}
	return m, nil
}

func (m *Matrix) line(t *topology.Tree, text string, named []bool) error {
	fields := strings.Split(text, ",")
	if len(fields) != len(columns) {
		return fmt.Errorf("%d fields, a line has 3: src,dst,bytes", len(fields))
	}
	var ends [2]int
	for i := range ends {
		rank, err := server(t, strings.TrimSpace(fields[i]))
		if err != nil {
			return fmt.Errorf("%s %w", columns[i], err)
		}
		ends[i] = rank
	}
	n, err := strconv.ParseInt(strings.TrimSpace(fields[2]), 10, 64)
	if err != nil || n < 0 || n > MaxBytes {
		return fmt.Errorf("bytes %q: must be a whole number, 0..%d", brief(fields[2]), int64(MaxBytes))
	}
	if at := ends[0]*m.servers + ends[1]; named[at] {
		return fmt.Errorf("%s to %s a second time", t.ServerName(ends[0]), t.ServerName(ends[1]))
	} else {
		named[at] = true
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

// brief keeps a quoted field readable.
func brief(s string) string {
	if s = strings.TrimSpace(s); len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
