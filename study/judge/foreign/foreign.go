// Package foreign answers: what do the outputs of other programs, and our own results, say
// that an all-to-all exchange took? Bytes go in, numbers with units come out. What is
// partial, of another benchmark or of several results at once is an error. The package opens
// no file and knows no network.
package foreign

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"evbench/internal/unit"
)

// A Result is one measured all-to-all exchange, in one of three ways: the time of a call with
// its size, the rate of a host, or the share of the link rate. Or it is rates of pairs.
type Result struct {
	Format string `json:"format"`
	// What is measured, in words, such as "osu_alltoall v7.5, 1048576 bytes a pair".
	What string `json:"what"`
	// Ranks is how many took part. 0: the output does not say.
	Ranks int `json:"ranks,omitempty"`
	// Seconds is the time of a call in which each rank sends Bytes to each other, until the
	// slowest is through, but for what Limit says.
	Seconds float64 `json:"seconds,omitempty"`
	Bytes   int64   `json:"bytes,omitempty"`
	// HostRate is what a host receives from others, in bit/s.
	HostRate float64 `json:"host_bit_per_s,omitempty"`
	// Efficiency is the share of the link rate at which hosts receive.
	Efficiency float64 `json:"efficiency,omitempty"`
	// Down are the dead links of the measurement, where DownKnown says that they are stated.
	Down      []string `json:"down,omitempty"`
	DownKnown bool     `json:"-"`
	// Pairs are rates between each two, nil for an exchange.
	Pairs *Pairs `json:"-"`
	// Limit says why the exchange took longer than Seconds: they are a mean over ranks. "": they
	// are not.
	Limit string `json:"limit,omitempty"`
	// Notes are what the numbers do not show.
	Notes []string `json:"-"`
}

// Options choose among several results of one output.
type Options struct {
	Format string // one of Formats; "" or Auto finds it
	Size   int64  // bytes from a rank to another; 0: the largest measured
	Case   string // of our own results; "": the only one that is no control
}

// The names of formats that others ask for.
const (
	Auto   = "auto"
	OSU    = "osu"
	NCCL   = "nccl"
	Own    = "evbench"
	Number = "number"
)

// A format is the output of a program: how it is known, and read. The first that is known counts.
type format struct {
	name string
	is   func(data []byte) bool
	read func(data []byte, o Options) (*Result, error)
}

var formats = []format{
	{OSU, osuTitle.Match, readOSU},
	{"imb", containing(imbTitle), readIMB},
	{"mpigraph", containing(mpiGraphTitle), readMPIGraph},
	{NCCL, isNCCL, readNCCL},
	{"iperf3", func(data []byte) bool {
		return isJSON(data) && (containing(`"connecting_to"`)(data) || containing(`"iperf 3`)(data))
	}, readIperf3},
	{Own, isJSON, readOwn},
}

func containing(text string) func([]byte) bool {
	return func(data []byte) bool { return bytes.Contains(data, []byte(text)) }
}

// Formats are the names that Options.Format takes.
func Formats() []string {
	names := []string{Auto}
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// tagged is a line to which a launcher has put where it is from.
var tagged = regexp.MustCompile(`(?m)^(?:\[\S+\]<std(?:out|err)>:|\d+: +#).*`)

// Read reads the output of a program.
func Read(data []byte, o Options) (*Result, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("it is empty")
	}
	if line := tagged.Find(data); line != nil && !isJSON(data) {
		return nil, fmt.Errorf("lines such as %q begin with where they are from: run it without --tag-output of mpirun and -l of srun", short(string(line)))
	}
	auto := o.Format == "" || o.Format == Auto
	for _, f := range formats {
		if auto && f.is(data) || f.name == o.Format {
			r, err := f.read(data, o)
			if r != nil {
				r.Format = f.name
			}
			return r, err
		}
	}
	if auto {
		return nil, fmt.Errorf("the output of no program that is known here; there are %s", strings.Join(Formats()[1:], ", "))
	}
	return nil, fmt.Errorf("format %q: there are %s", o.Format, strings.Join(Formats(), ", "))
}

func isJSON(data []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) }

// ParseNumber reads a plain number with its unit: a rate ("9.1Gbit/s", what each host
// receives from others), the time of a call ("12.5ms", with the size of the message from a
// rank to another), or a share of the link rate ("61.6%").
func ParseNumber(s string, size int64) (*Result, error) {
	r := &Result{Format: Number, What: s}
	if num, ok := strings.CutSuffix(s, "%"); ok {
		v, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
		if err != nil || !(v > 0 && v <= 100) {
			return nil, fmt.Errorf("%q: a share of the link rate is above 0%% and at most 100%%", s)
		}
		r.Efficiency = v / 100
		return r, nil
	}
	if d, err := time.ParseDuration(s); err == nil {
		if d <= 0 {
			return nil, fmt.Errorf("%q: a call takes more time", s)
		}
		if size <= 0 {
			return nil, fmt.Errorf("%q is the time of a call: say with --size how many bytes a rank sends to each other", s)
		}
		r.Seconds, r.Bytes = d.Seconds(), size
		return r, nil
	}
	rate, err := unit.ParseRate(s)
	if err != nil {
		return nil, fmt.Errorf("%q: neither a file nor a number with a unit: a rate (9.1Gbit/s), a time (12.5ms) or a share of the link rate (61.6%%)", s)
	}
	if rate <= 0 {
		return nil, fmt.Errorf("%q: a rate is above 0", s)
	}
	r.HostRate = float64(rate)
	return r, nil
}

// A row is one line of a table of results.
type row struct {
	bytes   int64 // from a rank to another
	seconds float64
}

// choose returns the row of a size, or that of the largest.
func choose(rows []row, size int64) (row, error) {
	var best row
	seen := map[int64]bool{}
	var sizes []string
	for _, r := range rows {
		if seen[r.bytes] {
			return best, fmt.Errorf("two results for %d bytes: this is the output of more than one run", r.bytes)
		}
		seen[r.bytes] = true
		sizes = append(sizes, strconv.FormatInt(r.bytes, 10))
		if size == 0 && r.bytes > best.bytes || size > 0 && r.bytes == size {
			best = r
		}
	}
	switch {
	case best.bytes > 0:
		return best, nil
	case size > 0 && len(rows) > 0:
		return best, fmt.Errorf("no result for %d bytes; there are %s", size, strings.Join(sizes, ", "))
	}
	return best, fmt.Errorf("no result of a message with bytes: the run did not get so far")
}

// most bounds what was measured: 31 years in µs, 8000 Tbit/s in MiB/s, a pebibyte.
const most = 1e15

// number reads a field that counts, in a line of which an error names the number.
func number(line int, field, what string) (float64, error) {
	v, err := strconv.ParseFloat(field, 64)
	if err != nil || strings.Trim(field, "0123456789.eE+-") != "" || v < 0 {
		return 0, fmt.Errorf("line %d: %s %q is no number", line, what, short(field))
	}
	if v > most {
		return 0, fmt.Errorf("line %d: %s %q is more than can be measured", line, what, short(field))
	}
	return v, nil
}

func whole(line int, field, what string) (int64, error) {
	v, err := strconv.ParseInt(field, 10, 64)
	if err != nil || v < 0 || v > most {
		return 0, fmt.Errorf("line %d: %s %q is no number of bytes", line, what, short(field))
	}
	return v, nil
}

func short(s string) string {
	if len(s) <= 40 {
		return s
	}
	return s[:37] + "…"
}

// lines calls do for each line, with its number and fields. A row of a table that ends the text
// without the end of its line may have lost digits.
func lines(data []byte, do func(number int, text string, fields []string) error) error {
	scan := bufio.NewScanner(bytes.NewReader(data))
	scan.Buffer(nil, 1<<20)
	n, at := 0, 0 // at: bytes up to the end of this line, at least
	for scan.Scan() {
		n++
		text := strings.TrimSpace(scan.Text())
		if strings.IndexByte(text, 0) >= 0 {
			return fmt.Errorf("line %d: %q is no text", n, short(text))
		}
		f := strings.Fields(text)
		if err := do(n, text, f); err != nil {
			return err
		}
		at += len(scan.Bytes()) + 1
		if at > len(data) && (len(f) > 0 && isCount(f[0]) || len(f) > 1 && f[1] == "from") {
			return fmt.Errorf("line %d: the text ends within %q: it may be cut (a whole one ends with the end of a line)", n, short(text))
		}
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	return nil
}

func isCount(field string) bool { return strings.Trim(field, "0123456789") == "" }
