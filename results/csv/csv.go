// Package csv keeps a run in a directory: samples.csv, links.csv, pairs.csv and
// exchanges.csv as they stream in, summary.json and manifest.json whole or not at all;
// and reads such a directory back. The columns carry their units and are a contract with
// people's scripts. It judges and computes nothing.
package csv

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"evbench/results"
)

// Names of the files of a run.
const (
	SamplesFile  = "samples.csv"
	LinksFile    = "links.csv"
	SummaryFile  = "summary.json"
	ManifestFile = "manifest.json"
	// These two are optional.
	PairsFile     = "pairs.csv"
	ExchangesFile = "exchanges.csv"
	// TraceFile is read by ReadTrace alone: few who read a run need it, and it is long.
	TraceFile = "trace.csv"
)

var sampleColumns = []string{
	"case", "repeat", "t_s", "interval_s", "server", "events", "event_size_byte", "payload_byte",
	"goodput_bit_per_s", "barrier_wait_s", "late", "duplicate", "corrupt", "retransmits",
}

var linkColumns = []string{"case", "repeat", "link", "direction", "bytes", "packets", "drops", "planned_bytes"}

var pairColumns = []string{"case", "repeat", "src", "dst", "bytes", "seconds"}

var exchangeColumns = []string{"case", "repeat", "exchange", "exchanges", "duration_s"}

var spanColumns = []string{"case", "repeat", "server", "what", "begin_s", "end_s", "exchange", "phase", "peer", "spine"}

// sampleRow is one line of samples.csv: seconds to the microsecond, rates to the
// bit/s.
func sampleRow(s results.Sample) []string {
	return []string{
		s.Case, strconv.Itoa(s.Repeat), seconds(s.TSec), seconds(s.IntervalSec), strconv.Itoa(s.Server), number(s.Events),
		number(s.EventBytes), number(s.PayloadBytes), strconv.FormatFloat(s.GoodputBitPerSec, 'f', 0, 64), seconds(s.BarrierWaitSec),
		number(s.Late), number(s.Duplicate), number(s.Corrupt), number(s.Retransmits),
	}
}

// linkRow is one line of links.csv; planned_bytes stays empty where the plan
// does not say.
func linkRow(l results.LinkCount) []string {
	planned := ""
	if l.Planned {
		planned = number(l.PlannedBytes)
	}
	return []string{
		l.Case, strconv.Itoa(l.Repeat), l.Link, l.Direction, number(l.Bytes), number(l.Packets), number(l.Drops), planned,
	}
}

// pairRow is one line of pairs.csv: seconds to the nanosecond, since a pair may
// take few of them.
func pairRow(p results.PairCount) []string {
	return []string{
		p.Case, strconv.Itoa(p.Repeat), strconv.Itoa(p.Src), strconv.Itoa(p.Dst), number(p.Bytes), strconv.FormatFloat(p.Sec, 'f', 9, 64),
	}
}

// exchangeRow is one line of exchanges.csv, to the nanosecond.
func exchangeRow(e results.ExchangeTime) []string {
	return []string{
		e.Case, strconv.Itoa(e.Repeat), number(e.Exchange), strconv.Itoa(e.Exchanges), strconv.FormatFloat(e.DurationSec, 'f', 9, 64),
	}
}

// spanRow is one line of trace.csv, to the nanosecond; phase, peer and spine stay empty where
// there is none.
func spanRow(s results.Span) []string {
	return []string{
		s.Case, strconv.Itoa(s.Repeat), strconv.Itoa(s.Server), s.What.String(), strconv.FormatFloat(s.BeginSec, 'f', 9, 64),
		strconv.FormatFloat(s.EndSec, 'f', 9, 64), number(s.Exchange), some(s.Phase), some(s.Peer), some(s.Spine),
	}
}

// some is a number, or nothing below 0.
func some(n int) string {
	if n < 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func seconds(x float64) string { return strconv.FormatFloat(x, 'f', 6, 64) }

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// ReadSamples reads samples.csv. Errors name line and column.
func ReadSamples(r io.Reader) ([]results.Sample, error) {
	var out []results.Sample
	err := rows(r, sampleColumns, func(p *parser) {
		out = append(out, results.Sample{
			Case: p.text(0), Repeat: p.int(1), TSec: p.float(2), IntervalSec: p.float(3), Server: p.int(4),
			Events: p.uint(5), EventBytes: p.uint(6), PayloadBytes: p.uint(7), GoodputBitPerSec: p.float(8), BarrierWaitSec: p.float(9),
			Late: p.uint(10), Duplicate: p.uint(11), Corrupt: p.uint(12), Retransmits: p.uint(13),
		})
	})
	return out, err
}

// ReadLinks reads links.csv. Errors name line and column.
func ReadLinks(r io.Reader) ([]results.LinkCount, error) {
	var out []results.LinkCount
	err := rows(r, linkColumns, func(p *parser) {
		l := results.LinkCount{
			Case: p.text(0), Repeat: p.int(1), Link: p.text(2), Direction: p.text(3),
			Bytes: p.uint(4), Packets: p.uint(5), Drops: p.uint(6), Planned: p.text(7) != "",
		}
		if l.Planned {
			l.PlannedBytes = p.uint(7)
		}
		out = append(out, l)
	})
	return out, err
}

// ReadPairs reads pairs.csv. Errors name line and column.
func ReadPairs(r io.Reader) ([]results.PairCount, error) {
	var out []results.PairCount
	err := rows(r, pairColumns, func(p *parser) {
		out = append(out, results.PairCount{
			Case: p.text(0), Repeat: p.int(1), Src: p.int(2), Dst: p.int(3), Bytes: p.uint(4), Sec: p.float(5),
		})
	})
	return out, err
}

// ReadExchanges reads exchanges.csv. Errors name line and column.
func ReadExchanges(r io.Reader) ([]results.ExchangeTime, error) {
	var out []results.ExchangeTime
	err := rows(r, exchangeColumns, func(p *parser) {
		out = append(out, results.ExchangeTime{
			Case: p.text(0), Repeat: p.int(1), Exchange: p.uint(2), Exchanges: p.int(3), DurationSec: p.float(4),
		})
	})
	return out, err
}

// ReadSpans reads trace.csv and hands on each span. Errors name line and column.
func ReadSpans(r io.Reader, take func(results.Span)) error {
	return rows(r, spanColumns, func(p *parser) {
		s := results.Span{
			Case: p.text(0), Repeat: p.int(1), Server: p.int(2), What: p.kind(3), BeginSec: p.float(4), EndSec: p.float(5),
			Exchange: p.uint(6), Phase: p.some(7), Peer: p.some(8), Spine: p.some(9),
		}
		take(s)
	})
}

// rows calls f for every line behind the header, which must be columns.
func rows(r io.Reader, columns []string, f func(*parser)) error {
	end := &lastByte{r: r}
	in := csv.NewReader(end)
	in.FieldsPerRecord = len(columns)
	in.ReuseRecord = true
	end.left = maxRow
	header, err := in.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("empty; the first line names the columns")
		}
		return err
	}
	for i, want := range columns {
		if header[i] != want {
			return fmt.Errorf("line 1: column %d is %.60q, not %q", i+1, header[i], want)
		}
	}
	for line := 1; ; {
		end.left = maxRow
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return end.closed(line)
		}
		if len(row) > 0 {
			line, _ = in.FieldPos(0)
		}
		if p := (parser{row: row, columns: columns}); err == nil {
			if f(&p); p.err != nil {
				err = fmt.Errorf("line %d: %w", line, p.err)
			}
		}
		if err != nil {
			return end.reason(in, line, err)
		}
	}
}

// maxRow bounds what is read for one line: what has no lines, such as a device,
// takes no more memory than that.
const maxRow = 1 << 20

// lastByte passes on what it reads, at most so much, and keeps the last byte.
type lastByte struct {
	r    io.Reader
	left int
	last byte
}

func (l *lastByte) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("a line of more than %d bytes", maxRow)
	}
	n, err := l.r.Read(p[:min(len(p), l.left)])
	l.left -= n
	if n > 0 {
		l.last = p[n-1]
	}
	return n, err
}

// reason returns the error of a line, or, where it is the last one and was cut
// off, that it was.
func (l *lastByte) reason(in *csv.Reader, line int, err error) error {
	if bad, ok := errors.AsType[*csv.ParseError](err); ok {
		line = bad.StartLine
	}
	l.left = maxRow
	if _, next := in.Read(); errors.Is(next, io.EOF) && l.closed(line) != nil {
		return l.closed(line)
	}
	return err
}

// closed says whether the file ends as it was written: a last number that lacks
// its end of line may lack digits too.
func (l *lastByte) closed(line int) error {
	if l.last != '\n' {
		return fmt.Errorf("line %d has no end: the file was cut off there", line)
	}
	return nil
}

// A parser reads the fields of one line and keeps the first error.
type parser struct {
	row, columns []string
	err          error
}

func (p *parser) text(i int) string { return results.Text(p.row[i]) }

func (p *parser) int(i int) int {
	n, err := strconv.ParseUint(p.row[i], 10, 31)
	p.check(i, err == nil)
	return int(n)
}

// some reads what some writes.
func (p *parser) some(i int) int {
	if p.row[i] == "" {
		return -1
	}
	return p.int(i)
}

// kind reads the name of a kind of span.
func (p *parser) kind(i int) results.SpanKind {
	k := slices.Index(results.SpanKinds(), p.row[i])
	if k < 0 {
		p.fail(i, "none of %v", results.SpanKinds())
		return 0
	}
	return results.SpanKind(k)
}

func (p *parser) uint(i int) uint64 {
	n, err := strconv.ParseUint(p.row[i], 10, 64)
	p.check(i, err == nil)
	return n
}

// maxFloat bounds what is taken for a quantity; nothing measured is near.
const maxFloat = 1e18

func (p *parser) float(i int) float64 {
	x, err := strconv.ParseFloat(p.row[i], 64)
	p.check(i, err == nil && x >= 0 && x <= maxFloat) // NaN fails too
	return x
}

func (p *parser) check(i int, ok bool) {
	if !ok {
		p.fail(i, "not a number that fits")
	}
}

func (p *parser) fail(i int, why string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%s: %.60q is %s", p.columns[i], p.row[i], fmt.Sprintf(why, args...))
	}
}
