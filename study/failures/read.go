package failures

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"evbench/internal/osmlog"
)

type record struct {
	at   stamp
	held bool
	osmlog.Message
}

// A Log is what one log holds, before its years are known.
type Log struct {
	name     string
	lines    int
	dated    bool // stamps have years
	stated   bool // lines name the state of ports, so nothing is inferred
	records  []record
	span     [2]stamp
	stamped  bool
	losses   Losses
	switches map[string]uint64 // names seen together with a GUID
	most     int               // records
}

// Dated reports whether the stamps of the log have years.
func (l *Log) Dated() bool { return l.dated || !l.stamped }

// maxLine is how much of a line is looked at, maxRow how long a row of a CSV file
// may be, and maxRecords how many lines that matter there may be.
const (
	maxLine    = 64 << 10
	maxRow     = 1 << 20
	maxRecords = 10_000_000
)

// Read reads a log of OpenSM, in either dialect, or a CSV file of port states.
// It keeps the lines that matter only: memory grows with events, not with the
// log. A log without a single stamp or row is an error, unless it is empty.
func Read(r io.Reader, name string) (*Log, error) { return read(r, name, maxRecords) }

func read(r io.Reader, name string, most int) (*Log, error) {
	l := &Log{name: name, switches: map[string]uint64{}, most: most}
	b := bufio.NewReaderSize(r, maxLine)
	if isCSV(b) {
		return l, l.readCSV(b)
	}
	var c clock
	for {
		line, err := readLine(b)
		if len(line) > 0 {
			l.lines++
			l.line(line, &c)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = l.full()
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, l.lines+1, err)
		}
	}
	if l.lines > 0 && !c.started {
		return nil, fmt.Errorf("%s: no line begins with a time as OpenSM writes it (Nov 21 01:28:17 867263), "+
			"and the first is no CSV header with timestamp, switch, port, state", name)
	}
	l.span, l.stamped = [2]stamp{c.first, c.last}, c.started
	l.losses.ClockSteps, l.losses.Rollovers = c.steps, c.rollovers
	return l, nil
}

// readLine returns the next line, or the first maxLine bytes of it. The bytes
// are valid until the next call.
func readLine(b *bufio.Reader) ([]byte, error) {
	line, err := b.ReadSlice('\n')
	for more := err; errors.Is(more, bufio.ErrBufferFull); {
		line = bytes.Clone(line)
		_, more = b.ReadSlice('\n')
		if err = nil; more != nil && !errors.Is(more, bufio.ErrBufferFull) {
			err = more
		}
	}
	return line, err
}

func (l *Log) line(line []byte, c *clock) {
	said, verdict := osmlog.Parse(line)
	if verdict == osmlog.Cut {
		l.losses.Cut++
	}
	if !said.Stamped {
		return
	}
	s, held := c.tick(said.At.Microseconds())
	if c.wasAhead {
		l.hold(s)
	}
	if verdict == osmlog.Good {
		l.add(record{s, held, said.Message})
	}
}

// hold takes back the times of records that lie after s: the clock was ahead.
func (l *Log) hold(s stamp) {
	for i := len(l.records) - 1; i >= 0 && s.less(l.records[i].at); i-- {
		l.records[i].at, l.records[i].held = s, true
	}
}

func (l *Log) full() error {
	if len(l.records) > l.most {
		return fmt.Errorf("more than %d changes of ports", l.most)
	}
	return nil
}

func (l *Log) add(r record) {
	if r.Kind <= osmlog.Progressed {
		l.stated = true
	}
	if r.GUID != 0 && r.Name != "" {
		l.switches[r.Name] = r.GUID
	}
	l.records = append(l.records, r)
}
