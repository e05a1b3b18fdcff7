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
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"

	"evbench/topology"
)

// Limits on sizes; they bound memory and keep sums below 2⁵³.
const (
	MaxServers = 4096    // 8 bytes for each ordered pair
	MaxBytes   = 1 << 40 // of one fragment
	maxSum     = 1 << 53 // of all
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

// Check is an error where fragments with sizes are not planned on a tree.
func Check(t *topology.Tree) error {
	if t.Levels() == 3 {
		return fmt.Errorf("%s: sizes are planned on trees of two levels", t.Notation())
	}
	if err := t.AllBoth("fragments with sizes are planned"); err != nil {
		return err
	}
	return t.OneCable("fragments with sizes are planned on trees")
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

// Window returns the exchanges of a table of events, see builder.ReadTable: server k of n builds event k of
// each exchange, and n lines are an exchange. What a server has for its own event it does not send.
func Window(t *topology.Tree, table []uint32) ([]*Matrix, error) {
	n := t.Servers()
	lines := len(table) / n
	if lines == 0 || lines%n > 0 || lines/n > MaxWindow {
		return nil, fmt.Errorf("%d lines: an exchange of %d servers has %d, and a window is 1 to %d exchanges", lines, n, n, MaxWindow)
	}
	window := make([]*Matrix, lines/n)
	sum := int64(0)
	for e := range window {
		m, err := Exchange(t, func(event uint64, source int) int { return int(table[int(event)*n+source]) }, uint64(e))
		if err != nil {
			return nil, err
		}
		window[e], sum = m, sum+m.Sum()
	}
	if sum == 0 {
		return nil, errors.New("no fragment between two servers has bytes")
	}
	return window, nil
}
