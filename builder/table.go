package builder

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// MaxFragment bounds a fragment, in bytes.
const MaxFragment = 1 << 30

// maxTableLine bounds a line of a table of sizes, in bytes.
const maxTableLine = 1 << 16

// ErrLongTable reports a table with more numbers than the caller allows.
var ErrLongTable = errors.New("the table of sizes is too long")

// ReadTable reads the sizes of the fragments of events, in bytes: a line for each event, a number
// for each source by rank, separated by commas. It skips blank lines and lines that start with #.
// It takes at most most numbers. Errors name the line.
func ReadTable(r io.Reader, sources, most int) ([]uint32, error) {
	var out []uint32
	err := eachRow(r, func(words []string) error {
		switch {
		case len(words) != sources:
			return fmt.Errorf("%d numbers for %d servers", len(words), sources)
		case len(out)+len(words) > most:
			return fmt.Errorf("%w: more than %d numbers", ErrLongTable, most)
		}
		for i, w := range words {
			x, err := parseFragment(w)
			if err != nil {
				return fmt.Errorf("source %d: %w", i, err)
			}
			out = append(out, x)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, CheckTable(out)
}

func parseFragment(w string) (uint32, error) {
	x, err := strconv.ParseUint(strings.TrimSpace(w), 10, 32)
	if err != nil || x > MaxFragment {
		return 0, fmt.Errorf("%q: write bytes, a whole number 0..%d", brief(w), MaxFragment)
	}
	return uint32(x), nil
}

// eachRow calls f with the words of each line, separated by commas. It skips blank lines and lines that start with #.
// Errors name the line.
func eachRow(r io.Reader, f func(words []string) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 1<<12), maxTableLine)
	line := 0
	for in.Scan() {
		line++
		text := strings.TrimSpace(in.Text())
		if line == 1 {
			text = strings.TrimPrefix(text, "\ufeff") // spreadsheets write a BOM
		}
		if text == "" || text[0] == '#' {
			continue
		}
		if err := f(strings.Split(text, ",")); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("line %d: longer than %d bytes", line+1, maxTableLine)
	case err != nil:
		return fmt.Errorf("after line %d: %w", line, err)
	}
	return nil
}

// CheckTable returns an error if no fragment has bytes.
func CheckTable(table []uint32) error {
	if !slices.ContainsFunc(table, func(x uint32) bool { return x > 0 }) {
		return errors.New("no fragment has bytes")
	}
	return nil
}

func brief(s string) string {
	if s = strings.TrimSpace(s); len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
