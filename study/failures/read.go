package failures

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// A kind is what a line tells.
type kind uint8

const (
	wentDown   kind = iota // a port: any state to DOWN
	cameUp                 // a port: DOWN to another state
	progressed             // a port: between other states
	unlinked               // upstream: a port of a switch lost its neighbour
	noticed                // upstream: a switch says that one of its ports changed
	nodeGone               // upstream: a node cannot be reached any more
	nodeBack               // upstream: a node can be reached again
	swept                  // upstream: the subnet is configured again
)

// A record is a line that matters.
type record struct {
	at   stamp
	held bool
	kind kind
	guid uint64 // of the switch; of a port for nodeGone and nodeBack
	name string
	port int
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

// line takes one line of OpenSM's log.
func (l *Log) line(line []byte, c *clock) {
	at, rest, ok := readStamp(line)
	if !ok {
		if told(line) {
			l.losses.Cut++
		}
		return
	}
	s, held := c.tick(at)
	if c.wasAhead {
		l.hold(s)
	}
	r, verdict := parseLine(bytes.TrimRight(rest, "\r\n"))
	switch verdict {
	case cut:
		l.losses.Cut++
	case good:
		r.at, r.held = s, held
		l.add(r)
	}
}

// hold takes back the times of records that lie after s: the clock was ahead.
func (l *Log) hold(s stamp) {
	for i := len(l.records) - 1; i >= 0 && s.less(l.records[i].at); i-- {
		l.records[i].at, l.records[i].held = s, true
	}
}

// full says that there are more records than one log may have: they are kept.
func (l *Log) full() error {
	if len(l.records) > l.most {
		return fmt.Errorf("more than %d changes of ports", l.most)
	}
	return nil
}

func (l *Log) add(r record) {
	if r.kind <= progressed {
		l.stated = true
	}
	if r.guid != 0 && r.name != "" {
		l.switches[r.name] = r.guid
	}
	l.records = append(l.records, r)
}
