// Package list answers: when does each fragment of an exchange start whose sizes differ, and over
// which path, such that no port and no link has two at a time? There are no phases: a
// fragment starts when its resources are free, the send port, the receive port, and between
// leaves the links of its path, two, or four where three levels have it cross a top switch.
//
// Servers are ranks 0..S-1 of a topology.Tree, in files positions. Times are byte times:
// what one byte takes on one link. The package draws no random number except from the
// seed it is given: equal input, equal plan.
package list

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

// NewMatrix returns a matrix of no bytes for so many servers.
func NewMatrix(servers int) (*Matrix, error) {
	if servers > MaxServers {
		return nil, fmt.Errorf("%d servers: evbench plans sizes of at most %d", servers, MaxServers)
	}
	return newMatrix(servers), nil
}

func newMatrix(servers int) *Matrix {
	return &Matrix{servers: servers, bytes: make([]int64, servers*servers)}
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

// Servers returns how many servers send and receive.
func (m *Matrix) Servers() int { return m.servers }

// Size returns the bytes from src to dst, two ranks.
func (m *Matrix) Size(src, dst int) int64 { return m.bytes[src*m.servers+dst] }

// Sum returns the bytes of all fragments.
func (m *Matrix) Sum() int64 { return m.sum }

// Hash names the sizes of a window: "sha256:" and the digest of the lines "src,dst,bytes"
// of all fragments that have bytes, servers by position, by exchange, src and dst; from
// the second exchange on a line ends in ",1" and so on.
func Hash(t *topology.Shape, window ...*Matrix) string {
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

// Moved returns the matrix in which server i of this one is server at[i], a permutation.
func (m *Matrix) Moved(at []int) *Matrix {
	out := newMatrix(m.servers)
	out.sum = m.sum
	for i, a := range at {
		for j, b := range at {
			out.bytes[a*m.servers+b] = m.bytes[i*m.servers+j]
		}
	}
	return out
}

// meets returns an error where a server sends without reading, or receives without building.
func (m *Matrix) meets(t *topology.Tree) error {
	if !t.Divided() {
		return nil
	}
	for at, n := range m.bytes {
		switch src, dst := at/m.servers, at%m.servers; {
		case n == 0:
		case !t.Reads(src):
			return fmt.Errorf("%s to %s: %d bytes, but %s does not read", t.ServerName(src), t.ServerName(dst), n, t.ServerName(src))
		case !t.Builds(dst):
			return fmt.Errorf("%s to %s: %d bytes, but %s does not build", t.ServerName(src), t.ServerName(dst), n, t.ServerName(dst))
		}
	}
	return nil
}

// Exchange returns the sizes of one exchange of event building, in which rank r builds
// event exchange·S + r: size states the bytes of the fragment that a source has for an
// event, as builder.Sizes.Of does. Exchanges count from 0, warm-up included.
func Exchange(t *topology.Shape, size func(event uint64, source int) int, exchange uint64) (*Matrix, error) {
	m, err := NewMatrix(t.Servers())
	if err != nil {
		return nil, err
	}
	s := m.servers
	for src := range s {
		for dst := range s {
			if src == dst {
				continue
			}
			if err := m.Set(src, dst, int64(size(exchange*uint64(s)+uint64(dst), src))); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}
