package builder

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Trace is when events happened, and how large their fragments were.
type Trace struct {
	Times []time.Duration // of each event since the first, in order
	Table []uint32        // bytes, [event][source by rank]
}

// traceHeader are the columns of a trace, and mostTime the latest time, in s.
const (
	traceHeader = "time,source,bytes"
	mostTime    = 4e9
)

// ReadTrace reads a trace: traceHeader, then a row for each fragment, in the order of time. Times are in seconds. Rows
// with one time are one event, in which sources without a row have 0 bytes. rank is that of a source, below 0 of what
// is none. There are at most most numbers, of servers for each event. Errors name the line.
func ReadTrace(r io.Reader, servers, most int, rank func(source string) int) (*Trace, error) {
	in := traceReader{seen: make([]bool, servers), most: most, rank: rank}
	if err := eachRow(r, in.row); err != nil {
		return nil, err
	}
	t := &in.Trace
	switch n := len(t.Times); {
	case !in.begun:
		return nil, fmt.Errorf("is empty; write the header %s, and rows", traceHeader)
	case n == 0:
		return nil, errors.New("has no events")
	case t.Times[n-1] == 0 || t.Rate() > 1e9:
		return nil, fmt.Errorf("events in %v: %d; a mean rate needs two times, and is at most 1e9 in a second", t.Times[n-1], n)
	}
	return t, CheckTable(t.Table)
}

// Rate is the mean rate, in events/s. A repetition begins that long after the last event.
func (t *Trace) Rate() float64 {
	last := len(t.Times) - 1
	return float64(last) / t.Times[last].Seconds()
}

// From is the sizes with the first event at number event.
func (t *Trace) From(event uint64) []uint32 {
	n := len(t.Times)
	at := (n - int(event%uint64(n))) % n * (len(t.Table) / n)
	return slices.Concat(t.Table[at:], t.Table[:at])
}

type traceReader struct {
	Trace
	begun       bool
	first, last float64
	seen        []bool // sources of the last event
	most        int
	rank        func(source string) int
}

func (t *traceReader) row(words []string) error {
	if !t.begun {
		if got := strings.ReplaceAll(strings.Join(words, ","), " ", ""); got != traceHeader {
			return fmt.Errorf("%q: write the header %s", brief(got), traceHeader)
		}
		t.begun = true
		return nil
	}
	if len(words) != 3 {
		return fmt.Errorf("%d columns; there are %s", len(words), traceHeader)
	}
	at, err := strconv.ParseFloat(strings.TrimSpace(words[0]), 64)
	if err != nil || !(at >= 0 && at <= mostTime) { // NaN fails too
		return fmt.Errorf("time %q: write seconds, 0..%g", brief(words[0]), mostTime)
	}
	if err := t.event(at); err != nil {
		return err
	}
	source := t.rank(strings.TrimSpace(words[1]))
	if source < 0 {
		return fmt.Errorf("source %q: no such server sends fragments", brief(words[1]))
	}
	if t.seen[source] {
		return fmt.Errorf("source %q: has a row at this time", brief(words[1]))
	}
	t.seen[source] = true
	t.Table[len(t.Table)-len(t.seen)+source], err = parseFragment(words[2])
	return err
}

// event begins an event where a row has another time than the last.
func (t *traceReader) event(at float64) error {
	switch {
	case len(t.Times) == 0:
		t.first = at
	case at < t.last:
		return fmt.Errorf("time %v is before %v; sort the rows by time", at, t.last)
	case at == t.last:
		return nil
	}
	if len(t.Table)+len(t.seen) > t.most {
		return fmt.Errorf("%w: more than %d numbers, %d events of %d servers", ErrLongTable, t.most, t.most/len(t.seen), len(t.seen))
	}
	t.last = at
	t.Times = append(t.Times, time.Duration(math.Round((at-t.first)*1e9)))
	t.Table = append(t.Table, make([]uint32, len(t.seen))...)
	clear(t.seen)
	return nil
}
