package failures

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"evbench/internal/osmlog"
)

// isCSV looks at the first line: a header, or a row of four fields of which the
// first is a time with a year.
func isCSV(b *bufio.Reader) bool {
	head, _ := b.Peek(4096)
	line, _, _ := bytes.Cut(head, []byte("\n"))
	row, err := newCSV(bytes.NewReader(line)).Read()
	if err != nil || len(row) < 4 {
		return false
	}
	_, header := columns(row)
	_, err = readTime(strings.TrimSpace(row[0]))
	return header || err == nil
}

func newCSV(r io.Reader) *csv.Reader {
	c := csv.NewReader(r)
	c.FieldsPerRecord, c.ReuseRecord, c.LazyQuotes = -1, true, true
	return c
}

func columns(header []string) ([4]int, bool) {
	var at [4]int
	for i, name := range []string{"timestamp", "switch", "port", "state"} {
		at[i] = slices.IndexFunc(header, func(h string) bool {
			h = strings.Trim(strings.ToLower(strings.TrimPrefix(h, "\ufeff")), " @_")
			return h == name || h == "time" && i == 0
		})
		if at[i] < 0 {
			return [4]int{0, 1, 2, 3}, false
		}
	}
	return at, true
}

// A rowReader bounds what is read for one row, which a quote that is never closed
// makes as long as the file.
type rowReader struct {
	r    io.Reader
	left int
}

func (b *rowReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("a row of more than %d bytes", maxRow)
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// readCSV reads timestamp, switch, port, state. The switch is a GUID or a name;
// the state is that after the change (DOWN, INIT, ARMED, ACTIVE, UP), or both as
// in "ACTIVE to DOWN". Rows may stand in any order.
func (l *Log) readCSV(r io.Reader) error {
	bounded := &rowReader{r: r}
	c := newCSV(bounded)
	var at [4]int
	for {
		bounded.left = maxRow
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if _, bad := errors.AsType[*csv.ParseError](err); err != nil && !bad {
			return fmt.Errorf("%s:%d: %w", l.name, l.lines+1, err)
		}
		if l.lines++; l.lines == 1 && err == nil {
			header := false
			if at, header = columns(row); header {
				continue
			}
		}
		rec, ok := parseRow(row, at)
		if err != nil || !ok {
			l.losses.Cut++
			continue
		}
		if l.add(rec); l.full() != nil {
			return fmt.Errorf("%s:%d: %w", l.name, l.lines, l.full())
		}
	}
	slices.SortStableFunc(l.records, func(a, b record) int { return int(sign(a.at.micros() - b.at.micros())) })
	l.dated, l.stated = true, true
	if n := len(l.records); n == 0 && l.losses.Cut > 0 {
		return fmt.Errorf("%s: no row was understood: there should be a time (2024-03-08T14:00:00), a switch (0x2c90401000000), a port (1) "+
			"and its state (DOWN)", l.name)
	} else if n > 0 {
		l.span, l.stamped = [2]stamp{l.records[0].at, l.records[n-1].at}, true
	}
	return nil
}

func parseRow(row []string, at [4]int) (record, bool) {
	if len(row) <= slices.Max(at[:]) {
		return record{}, false
	}
	field := func(i int) string { return strings.TrimSpace(row[at[i]]) }
	t, err := readTime(field(0))
	port, ok := osmlog.Port(field(2))
	k, known := osmlog.States(field(3))
	if err != nil || !ok || !known || field(1) == "" || t.Year() < 1 {
		return record{}, false
	}
	r := record{at: stampOf(t), Message: osmlog.Message{Kind: k, Port: port}}
	if guid, ok := osmlog.GUID(strings.ToLower(field(1))); ok {
		r.GUID = guid
	} else {
		r.Name = field(1)
	}
	return r, true
}
