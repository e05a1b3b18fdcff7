package failures

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"evbench/internal/atomicfile"
	"evbench/site/osmlog"
)

type record struct {
	at   stamp
	held bool
	osmlog.Message
}

// A Log is the content of one log, before its years are known.
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

// maxLine bounds the bytes read of a line, maxRow the length of a row of a CSV file, and maxRecords
// the number of relevant lines.
const (
	maxLine    = 64 << 10
	maxRow     = 1 << 20
	maxRecords = 10_000_000
)

// Read reads a log of OpenSM, in either dialect, UFM's event log, or a CSV file of port states. It keeps only the
// relevant lines: memory grows with events, not with the log. A log without a single stamp or row
// is an error, unless it is empty.
func Read(r io.Reader, name string) (*Log, error) { return read(r, name, maxRecords) }

func read(r io.Reader, name string, most int) (*Log, error) {
	l := &Log{name: name, switches: map[string]uint64{}, most: most}
	b := bufio.NewReaderSize(r, maxLine)
	head, _ := b.Peek(4096)
	switch {
	case isCSV(b):
		return l, l.readCSV(b)
	case ufmLine.Match(head):
		return l, l.readUFM(b)
	case fabricManager.Match(head):
		return nil, fmt.Errorf("%s: this is the log of NVLink's fabric manager, which does not say when a port is up again; give that of its subnet manager, nvlsm.log", name)
	}
	var c clock
	if err := l.each(b, func(line []byte) { l.line(line, &c) }); err != nil {
		return nil, err
	}
	if l.lines > 0 && !c.started {
		return nil, fmt.Errorf("%s: no line begins with a time as OpenSM writes it (Nov 21 01:28:17 867263), "+
			"and the first is no CSV header with timestamp, switch, port, state", name)
	}
	l.span, l.stamped = [2]stamp{c.first, c.last}, c.started
	l.losses.ClockSteps, l.losses.Rollovers = c.steps, c.rollovers
	return l, nil
}

// each counts the lines, and hands each to do.
func (l *Log) each(b *bufio.Reader, do func(line []byte)) error {
	for {
		line, err := readLine(b)
		if len(line) > 0 {
			l.lines++
			do(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = l.full()
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", l.name, l.lines+1, err)
		}
	}
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

// hold withdraws the times of records after s: the clock was ahead.
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

// isCSV checks the first line: a header, or a row of four fields, the first a time with a year.
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

// A rowReader bounds the bytes read for one row: an unclosed quote makes a row as long as the file.
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

// readCSV reads timestamp, switch, port, state. The switch is a GUID or a name. The state is the
// one after the change (DOWN, INIT, ARMED, ACTIVE, UP), or both as in "ACTIVE to DOWN". Rows may be
// in any order.
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
	l.inOrder()
	if len(l.records) == 0 && l.losses.Cut > 0 {
		return fmt.Errorf("%s: no row was understood: there should be a time (2024-03-08T14:00:00), a switch (0x2c90401000000), a port (1) "+
			"and its state (DOWN)", l.name)
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

// Words are the user's settings for logs, "" and 0 where missing. Errors name flags of evbench.
type Words struct {
	Logs    []string // files; "-": standard input
	Flag    string   // that names the logs; "": they are arguments
	Year    int      // of the earliest line
	Cables  string   // file with a map of cables
	Exclude []string // test periods
}

func (w Words) Periods() (out []Period, err error) {
	for _, text := range w.Exclude {
		p, err := ParsePeriod(text)
		if err != nil {
			return nil, fmt.Errorf("--exclude %q: %w", text, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// Read joins the logs. A file of cables replaces the given cables; nil joins no ends.
func (w Words) Read(cables *Cables) (*History, error) {
	if w.Cables != "" {
		var err error
		if cables, err = readCables(w.Cables); err != nil {
			return nil, fmt.Errorf("--cables: %s: %w", w.Cables, err)
		}
	}
	var logs []*Log
	for _, name := range w.Logs {
		l, err := readLog(name)
		switch {
		case err != nil && w.Flag != "":
			return nil, fmt.Errorf("%s: %w", w.Flag, err)
		case err != nil:
			return nil, err
		case !l.Dated() && w.Year == 0:
			return nil, fmt.Errorf("%s: its times have no year; give the year of its first line, such as --year 2024", strings.TrimSpace(w.Flag+" "+name))
		}
		logs = append(logs, l)
	}
	return Join(logs, Options{Year: w.Year, Cables: cables})
}

func readCables(name string) (*Cables, error) {
	f, err := atomicfile.Open(name)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close()
	return ReadCables(atomicfile.Bound(atomicfile.Text(f), atomicfile.MaxList))
}

// readLog reads a log, which may be packed by gzip as rotated logs are.
func readLog(name string) (*Log, error) {
	var f io.Reader = os.Stdin
	if name == "-" {
		name = "standard input"
	} else {
		file, err := atomicfile.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		f = file
	}
	return Read(atomicfile.Text(f), name)
}
