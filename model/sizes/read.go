// Package sizes reads which sizes the fragments of an exchange have: a matrix as a file states it, or a table of events.
package sizes

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/lists"
	"evbench/scheduler/list"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// The first words of a matrix in a file.
const (
	headSource    = "source"    // then the name of each destination
	headAllToAllv = "alltoallv" // then the bytes of a rank for all ranks together
)

// maxRow bounds a line of a matrix, in bytes.
const maxRow = 1 << 18

// A Stated is a matrix as a file states it, by row and column.
type Stated struct {
	*list.Matrix
	Names []string // of rows and columns; nil: row and column r are rank r
}

// IsMatrix reports whether a file begins as a matrix does, which ReadMatrix reads. Another file is a
// table of events, see builder.ReadTable.
func IsMatrix(data []byte) bool {
	for line := range bytes.Lines(data) {
		if words := words(string(line)); words != nil {
			return words[0] == headSource || words[0] == headAllToAllv || plain(words)
		}
	}
	return false
}

// plain reports whether the first line of a file is a row of numbers with spaces between.
func plain(words []string) bool {
	row := strings.Fields(words[0])
	if len(words) > 1 || len(row) < 2 {
		return false
	}
	_, err := strconv.ParseFloat(row[0], 64)
	return err == nil
}

// words returns the columns of a line, nil for a blank line or a comment.
func words(line string) []string {
	line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
	if line == "" || line[0] == '#' {
		return nil
	}
	return lists.Map(strings.Split(line, ","), strings.TrimSpace)
}

// ReadMatrix reads what servers send each other: a row for each source, a column for each destination. The
// header decides what numbers mean:
//
//   - "source,NAME,NAME,…": bytes; each row begins with the name of its source, in the same order.
//   - numbers with spaces between, without a header: bytes, what nccl-tests 2.19's alltoallv_perf takes for its matrix file, of which it
//     sends whole multiples of 16. Row and column r are rank r.
//   - "alltoallv,SIZE": of N ranks, rank i sends rank j the part, 0..1, in row i and column j of SIZE/N bytes,
//     rounded down. nccl-tests 2.19.6 does not read this form.
//
// Blank lines and those that start with # say nothing, and what a server has for itself it does not send. Errors
// name the line.
func ReadMatrix(r io.Reader) (*Stated, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 1<<12), maxRow)
	var x matrixReader
	for in.Scan() {
		x.line++
		if words := words(in.Text()); words != nil {
			if err := x.read(words); err != nil {
				return nil, fmt.Errorf("line %d: %w", x.line, err)
			}
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: longer than %d bytes", x.line+1, maxRow)
	case err != nil:
		return nil, fmt.Errorf("after line %d: %w", x.line, err)
	case x.out.Matrix == nil || x.rows < x.out.Servers():
		return nil, fmt.Errorf("%d rows: a matrix has as many as columns, after a line %s,NAME,… or %s,SIZE", x.rows, headSource, headAllToAllv)
	case x.out.Sum() == 0:
		return nil, errors.New("no fragment between two servers has bytes")
	}
	return &x.out, nil
}

// A matrixReader reads a matrix line by line.
type matrixReader struct {
	out        Stated
	line, rows int
	size       int64 // of alltoallv
	plain      bool  // numbers alone
}

func (x *matrixReader) read(words []string) error {
	if x.out.Matrix == nil && x.size == 0 {
		x.plain = plain(words)
	}
	if x.plain {
		words = strings.Fields(strings.Join(words, ","))
	}
	switch {
	case x.out.Matrix == nil && x.size == 0 && !x.plain:
		return x.header(words)
	case x.out.Matrix == nil:
		if err := x.make(len(words)); err != nil {
			return err
		}
	}
	if x.out.Names != nil {
		if x.rows < x.out.Servers() && words[0] != x.out.Names[x.rows] {
			return fmt.Errorf("row %q: must be %q: rows are those of the header, in its order", brief(words[0]), brief(x.out.Names[x.rows]))
		}
		words = words[1:]
	}
	if x.rows == x.out.Servers() || len(words) != x.out.Servers() {
		return fmt.Errorf("row %d has %d numbers: %d rows of as many are a matrix", x.rows+1, len(words), x.out.Servers())
	}
	for dst, w := range words {
		n, err := x.number(w)
		if err == nil && dst != x.rows {
			err = x.out.Set(x.rows, dst, n)
		}
		if err != nil {
			return fmt.Errorf("column %d: %w", dst+1, err)
		}
	}
	x.rows++
	return nil
}

func (x *matrixReader) header(words []string) (err error) {
	switch {
	case words[0] == headAllToAllv && len(words) == 2:
		if x.size, err = strconv.ParseInt(words[1], 10, 64); err != nil || x.size < 1 {
			return fmt.Errorf("size %q: write bytes, a whole number above 0", brief(words[1]))
		}
		return nil
	case words[0] != headSource:
		return fmt.Errorf("%q: a matrix begins with a line %s,NAME,… or %s,SIZE", brief(words[0]), headSource, headAllToAllv)
	}
	x.out.Names = words[1:]
	for i, name := range x.out.Names {
		if name == "" || slices.Contains(x.out.Names[:i], name) {
			return fmt.Errorf("column %d: %q: each destination has a name of its own", i+1, brief(name))
		}
	}
	return x.make(len(x.out.Names))
}

func (x *matrixReader) make(servers int) (err error) {
	if servers < 2 || servers > list.MaxServers {
		return fmt.Errorf("%d columns: must be 2..%d servers", servers, list.MaxServers)
	}
	x.out.Matrix, err = list.NewMatrix(servers)
	return err
}

func (x *matrixReader) number(word string) (int64, error) {
	if x.plain {
		n, err := strconv.ParseFloat(word, 64)
		if err != nil || !(n >= 0 && n <= list.MaxBytes) {
			return 0, fmt.Errorf("%q: write bytes, a number 0..%d", brief(word), int64(list.MaxBytes))
		}
		return int64(n) &^ 15, nil
	}
	if x.size == 0 {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q: write bytes, a whole number 0..%d", brief(word), int64(list.MaxBytes))
		}
		return n, nil
	}
	part, err := strconv.ParseFloat(word, 64)
	if err != nil || !(part >= 0 && part <= 1) {
		return 0, fmt.Errorf("%q: must be a number 0..1, a part of the size", brief(word))
	}
	return int64(math.Floor(part * float64(x.size/int64(x.out.Servers())))), nil
}

func brief(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// Window returns the exchanges of a table of events, see builder.ReadTable. An exchange has one
// line for each builder; builder k builds its event k. A server does not send to itself.
func Window(t *topology.Tree, table []uint32) ([]*list.Matrix, error) {
	n, each := t.Servers(), t.Builders()
	lines := len(table) / n
	if lines == 0 || lines%each > 0 || lines/each > schedules.MaxWindow {
		return nil, fmt.Errorf("%d lines: an exchange of %d servers has %d, and a window is 1 to %d exchanges", lines, n, each, schedules.MaxWindow)
	}
	window := make([]*list.Matrix, lines/each)
	sum := int64(0)
	for e := range window {
		m, err := list.NewMatrix(n)
		if err != nil {
			return nil, err
		}
		event := table[e*each*n:]
		for dst := range n {
			if !t.Builds(dst) {
				continue
			}
			for src, bytes := range event[:n] {
				if src == dst {
					continue
				}
				if err := m.Set(src, dst, int64(bytes)); err != nil {
					return nil, err
				}
			}
			event = event[n:]
		}
		window[e], sum = m, sum+m.Sum()
	}
	if sum == 0 {
		return nil, errors.New("no fragment between two servers has bytes")
	}
	return window, nil
}

// For returns the matrix for servers by rank; rank says which one a name means.
func (s *Stated) For(servers int, rank func(name string) (int, bool)) (*list.Matrix, error) {
	if s.Servers() != servers {
		return nil, fmt.Errorf("a matrix of %d servers; there are %d", s.Servers(), servers)
	}
	if s.Names == nil {
		return s.Matrix, nil
	}
	at, named := make([]int, servers), make([]string, servers)
	for i, name := range s.Names {
		r, ok := rank(name)
		switch {
		case !ok:
			return nil, fmt.Errorf("%q is none of the %d servers", brief(name), servers)
		case named[r] != "":
			return nil, fmt.Errorf("%q and %q are one server", brief(named[r]), brief(name))
		}
		at[i], named[r] = r, name
	}
	return s.Moved(at), nil
}
