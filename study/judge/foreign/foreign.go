// Package foreign answers: how long did an all-to-all exchange take, by the outputs of other
// programs and by our own results? Bytes go in, numbers with units come out. Partial output,
// another benchmark, or several results at once are errors. The package opens no file and knows no
// network.
package foreign

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"evbench/internal/jsondoc"
	"evbench/internal/lists"
	"evbench/internal/unit"
	"evbench/results"
)

// A Result is one measured all-to-all exchange, in one of three ways: the time of a call with
// its size, the rate of a host, or the share of the link rate. Or it is rates of pairs.
type Result struct {
	Format string `json:"format"`
	// What names the measurement in words, such as "osu_alltoall v7.5, 1048576 bytes a pair".
	What string `json:"what"`
	// Ranks is the number of ranks, OnHost of those on each host. 0: the output does not say.
	Ranks  int `json:"ranks,omitempty"`
	OnHost int `json:"-"`
	// Seconds is the time of a call in which each rank sends Bytes to each other, until the slowest
	// is through, with the exception in Limit.
	Seconds float64 `json:"seconds,omitempty"`
	Bytes   int64   `json:"bytes,omitempty"`
	// Collective is that of another call than an all-to-all, in which each rank has a block for each other: Bytes is
	// that of a block or, if Whole, of the blocks of all ranks.
	Collective string `json:"collective,omitempty"`
	Whole      bool   `json:"-"`
	// Sized says that messages have sizes that the output does not state. Busiest is the most bytes
	// that a rank sends or receives, with those for itself, 0 if not known.
	Sized   bool  `json:"sized,omitempty"`
	Busiest int64 `json:"busiest_bytes,omitempty"`
	// HostRate is the rate at which a host receives from others, in bit/s.
	HostRate float64 `json:"host_bit_per_s,omitempty"`
	// Efficiency is the share of the link rate at which hosts receive.
	Efficiency float64 `json:"efficiency,omitempty"`
	// Down are the dead links of the measurement, if DownKnown says that they are stated.
	Down      []string `json:"down,omitempty"`
	DownKnown bool     `json:"-"`
	// Pairs are rates between each two, nil for an exchange.
	Pairs *Pairs `json:"-"`
	// Limit says why the exchange took longer than Seconds: they are a mean over ranks. "": it did
	// not.
	Limit string `json:"limit,omitempty"`
	// Hosts are those of the ranks, in their order; nil where the output does not name them.
	Hosts []string `json:"-"`
	// Slow says who was slow in a run of ours, as a clause; "" for nobody.
	Slow string `json:"slow,omitempty"`
	// Doubt says why a run of ours does not tell, "" where it does.
	Doubt string `json:"-"`
	// Notes are facts that the numbers do not show.
	Notes []string `json:"-"`
}

func (r *Result) note(format string, a ...any) { r.Notes = append(r.Notes, fmt.Sprintf(format, a...)) }

// Options choose among several results of one output.
type Options struct {
	Format string // one of Formats; "" or Auto finds it
	More   []Format
	Size   int64  // bytes from a rank to another; 0: the largest measured
	Case   string // of our own results; "": the only one that is not a control
	Sized  bool   // the time of a call needs no Size: messages have sizes of their own
	// Addresses are the names of hosts by their addresses.
	Addresses map[string]string
	// Partial takes the whole rows of a run that has not ended.
	Partial bool
}

// Formats that other packages use by name.
const (
	Auto     = "auto"
	OSU      = "osu"
	Iperf3   = "iperf3"
	Perftest = "perftest"
	NCCL     = "nccl"
	Own      = "evbench"
	Number   = "number"
)

// A Format is the output of a program. Main hands in those that this package does not have, in Options.More; it keeps these promises:
//   - Is tells its outputs from all others by their content. The first Format that recognises an output reads it, those of More before
//     ours.
//   - Read returns one measurement: What, and a time with its Bytes, a HostRate, an Efficiency or Pairs, in the units of Result. Output that
//     is cut, of a run that did not end, or of several results of which Options chooses none, is an error that names the line; a count
//     that the output does not state stays 0.
//   - Both are pure: bytes in, numbers out. Colours of a terminal and labels of a launcher were taken off before.
type Format struct {
	Name string
	Is   func(data []byte) bool
	Read func(data []byte, o Options) (*Result, error)
}

var formats = []Format{
	{OSU, matching(osuTitle), readOSU},
	{"imb", containing(imbTitle), readIMB},
	{"mpigraph", containing(mpiGraphTitle), readMPIGraph},
	{"clusterkit", matching(clusterKitHead), readClusterKit},
	{"nccl-alltoallv", isAlltoallv, readAlltoallv},
	{"nccl-sendrecv", isSendrecv, readSendrecv},
	{NCCL, isNCCL, readNCCL},
	{Iperf3, func(data []byte) bool {
		data = afterBanner(data)
		return documents(data) && (containing(`"connecting_to"`)(data) || containing(`"iperf 3`)(data))
	}, func(data []byte, o Options) (*Result, error) { return readIperf3(afterBanner(data), o) }},
	{Perftest, matching(perftestTitle), readPerftest},
	{"pairs", func(data []byte) bool { _, is := pairsHead(data); return is }, readPairs},
	{Own, func(data []byte) bool { return isJSON(data) && containing(`"schema"`)(data) }, readOwn},
}

// afterBanner returns a text from the first line that begins documents: a shell or a batch system
// may have written before it.
func afterBanner(data []byte) []byte {
	for rest := data; len(rest) > 0; {
		if documents(rest) {
			return rest
		}
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
	}
	return data
}

// documents reports whether a text begins as JSON objects, or a list of them.
func documents(data []byte) bool {
	rest, list := bytes.CutPrefix(bytes.TrimSpace(data), []byte("["))
	return isJSON(data) || list && isJSON(rest)
}

func containing(text string) func([]byte) bool {
	return func(data []byte) bool { return bytes.Contains(data, []byte(text)) }
}

func matching(p func() *regexp.Regexp) func([]byte) bool {
	return func(data []byte) bool { return p().Match(data) }
}

// Formats are the names that Options.Format takes, with those handed in.
func Formats(more ...Format) []string {
	return append([]string{Auto}, lists.Map(slices.Concat(more, formats), func(f Format) string { return f.Name })...)
}

// pattern is a regular expression that is compiled when it is first asked: most commands ask none.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// colours are escapes of terminals, which some tools write into files.
var colours = pattern(`\x1b\[[0-9;]*[A-Za-z]`)

// blanks are what pages and editors have in the place of blanks; the byte order mark has no width.
var blanks = strings.NewReplacer("\u00a0", " ", "\u2007", " ", "\u202f", " ", "\u2009", " ", "\u200b", "", "\ufeff", "")

// Read reads the output of a program, and what its log says of the ranks.
func Read(data []byte, o Options) (*Result, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("it is empty")
	}
	log := []byte(blanks.Replace(string(colours().ReplaceAll(data, nil))))
	data, labels := unlabelled(log)
	name, data, whole := collective(data)
	f, err := formatOf(data, o)
	if err != nil {
		return nil, err
	}
	r, err := f.Read(data, o)
	if err == nil && r.Pairs != nil {
		err = r.Pairs.check()
	}
	if err != nil && name != "" {
		err = errors.New(programs().ReplaceAllString(err.Error(), name))
	}
	if r == nil || err != nil {
		return nil, err
	}
	r.Format = f.Name
	r.of(name, whole)
	r.said(log)
	if labels {
		r.note("the launcher's labels before its lines were taken off")
	}
	if o.Partial {
		r.note("the output may be of a run that did not end (--partial)")
	}
	return r, nil
}

// formatOf returns the format of a name, or the first that recognises the output.
func formatOf(data []byte, o Options) (f Format, err error) {
	auto := o.Format == "" || o.Format == Auto
	for _, f := range slices.Concat(o.More, formats) {
		if auto && f.Is(data) || f.Name == o.Format {
			return f, nil
		}
	}
	if !auto {
		return f, fmt.Errorf("format %q: there are %s", o.Format, strings.Join(Formats(o.More...), ", "))
	}
	return f, cmp.Or(other(data), fmt.Errorf("this is none of the outputs that are read (%s): run one of these, %s", strings.Join(Formats(o.More...)[1:], ", "), givenNumber))
}

func isJSON(data []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) }

// ParseNumber reads a plain number with its unit: a rate ("9.1Gbit/s", what each host
// receives from others), the time of a call ("12.5ms", with the size of the message from a
// rank to another), or a share of the link rate ("61.6%").
func ParseNumber(s string, o Options) (*Result, error) {
	r := &Result{Format: Number, What: s}
	if num, ok := strings.CutSuffix(s, "%"); ok {
		v, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
		if err != nil || !(v > 0 && v <= 100) {
			return nil, fmt.Errorf("%q: a share of the link rate is above 0%% and at most 100%%", s)
		}
		r.Efficiency = v / 100
		return r, nil
	}
	if d, err := unit.ParseTime(s); err == nil {
		if d <= 0 {
			return nil, fmt.Errorf("%q: no call is that fast", s)
		}
		if o.Size <= 0 && !o.Sized {
			return nil, fmt.Errorf("%q is the time of a call: give --size, the bytes that a rank sends to each other rank", s)
		}
		r.Seconds, r.Bytes, r.Sized = d.Seconds(), o.Size, o.Sized
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

type row struct {
	bytes   int64 // from a rank to another
	seconds float64
}

// choose returns the row of a size, or of the largest size.
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
	return best, fmt.Errorf("no result of a message with bytes: the run ended before that")
}

// most bounds measured values: 31 years in µs, 8000 Tbit/s in MiB/s, a pebibyte.
const most = 1e15

// number reads a count. An error names the line number.
func number(line int, field, what string) (float64, error) {
	v, err := strconv.ParseFloat(field, 64)
	if err != nil || strings.Trim(field, "0123456789.eE+-") != "" || v < 0 {
		return 0, fmt.Errorf("line %d: %s %q is not a number", line, what, short(field))
	}
	if v > most {
		return 0, fmt.Errorf("line %d: %s %q is more than evbench can measure", line, what, short(field))
	}
	return v, nil
}

func whole(line int, field, what string) (int64, error) {
	v, err := strconv.ParseInt(field, 10, 64)
	if err != nil || v < 0 || v > most {
		return 0, fmt.Errorf("line %d: %s %q is not a number of bytes", line, what, short(field))
	}
	return v, nil
}

func short(s string) string {
	if len(s) <= 40 {
		return s
	}
	return s[:37] + "…"
}

// lines calls do for each line, with its number and fields. A last row of a table without an end of
// line may have lost digits.
func lines(data []byte, do func(number int, text string, fields []string) error) error {
	scan := bufio.NewScanner(bytes.NewReader(data))
	scan.Buffer(nil, 1<<20)
	n, at := 0, 0 // at: bytes up to the end of this line, at least
	for scan.Scan() {
		n++
		text := strings.TrimSpace(scan.Text())
		if strings.IndexByte(text, 0) >= 0 {
			return fmt.Errorf("line %d: %q is not text", n, short(text))
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

const ownSchema = "evbench/summary/1"

func readOwn(data []byte, o Options) (*Result, error) {
	var s results.Summary
	if err := jsondoc.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("no summary.json: %w", err)
	}
	if s.Schema != ownSchema {
		return nil, fmt.Errorf("schema %q: a summary.json has %s", short(s.Schema), ownSchema)
	}
	c, err := ownCase(s.Cases, o.Case)
	if err != nil {
		return nil, err
	}
	switch {
	case !s.Complete || !c.Complete:
		return nil, fmt.Errorf("case %s: the run was interrupted", c.Name)
	case !c.Valid:
		return nil, fmt.Errorf("case %s is not valid: %s", c.Name, strings.Join(c.Reasons, "; "))
	case c.MeasuredEfficiency < 0 || c.GoodputBitPerSec.Mean < 0:
		return nil, fmt.Errorf("case %s: efficiency and goodput are at least 0", c.Name)
	}
	r := &Result{
		What:       fmt.Sprintf("case %s of %s, %s", c.Name, s.Name, c.Mode),
		Efficiency: c.MeasuredEfficiency, Down: c.Failures, DownKnown: len(c.LinkEvents) == 0,
	}
	if c.Simulated != "" {
		r.What += ", simulated"
	}
	if r.Slow = s.Culprits(c); r.Slow == "" && o.Case == "" {
		for _, x := range s.Cases { // who is slow in another case, is so in this one
			r.Slow = cmp.Or(r.Slow, s.Culprits(x))
		}
	}
	if n := lists.CountIf(s.Cases, func(x results.Case) bool { return !x.Control }); o.Case == "" && n > 1 {
		r.note("of %d cases %s is the fastest; --case chooses another", n, c.Name)
	}
	for _, x := range s.Cases {
		if x.Control && !x.Valid && len(x.Reasons) > 0 {
			reason, _, _ := strings.Cut(x.Reasons[0], ": ")
			r.Doubt = "its run does not tell: " + reason
		}
	}
	if r.Efficiency == 0 {
		r.HostRate = c.GoodputBitPerSec.Mean
	}
	if r.Efficiency == 0 && r.HostRate == 0 {
		return nil, fmt.Errorf("case %s has neither an efficiency nor a goodput", c.Name)
	}
	return r, nil
}

// Cases are those of our own results that are no control, those without dead links first; nil for another output.
func Cases(data []byte) (names []string) {
	var s results.Summary
	if jsondoc.Unmarshal(data, &s) != nil || s.Schema != ownSchema {
		return nil
	}
	cases := lists.Filter(s.Cases, func(c results.Case) bool { return !c.Control })
	slices.SortStableFunc(cases, func(a, b results.Case) int { return cmp.Compare(min(1, len(a.Failures)), min(1, len(b.Failures))) })
	return lists.Map(cases, func(c results.Case) string { return c.Name })
}

// ownCase returns the case of a name, or of those that are no control the fastest, where all have the same dead links.
func ownCase(cases []results.Case, name string) (found results.Case, err error) {
	var names, open []string
	alike := true
	for _, c := range cases {
		names = append(names, c.Name)
		if name == "" && c.Control || name != "" && c.Name != name {
			continue
		}
		alike = alike && (len(open) == 0 || slices.Equal(c.Failures, found.Failures) && c.Valid)
		if len(open) == 0 || c.MeasuredEfficiency > found.MeasuredEfficiency {
			found = c
		}
		open = append(open, c.Name)
	}
	switch {
	case len(open) == 1, len(open) > 1 && name == "" && alike:
		return found, nil
	case len(open) == 0 && name != "":
		return found, fmt.Errorf("no case %q; there are %s", short(name), strings.Join(names, ", "))
	case len(names) == 0:
		return found, errors.New("it has no case")
	case len(open) == 0:
		return found, fmt.Errorf("no case but controls; choose one with --case: %s", strings.Join(names, ", "))
	case name != "":
		return found, fmt.Errorf("case %s is there %d times", name, len(open))
	}
	return found, fmt.Errorf("several cases with other dead links: choose one with --case: %s", strings.Join(open, ", "))
}

// Pairs are rates between each two ends of a benchmark.
type Pairs struct {
	Names []string // of the ends, as the output has them; a host may have several
	List  []Pair
	// Shifts: all pairs of the linear shift were measured, a phase at a time.
	Shifts bool
	// Both: a rate is that of a pair whose ends send to each other at the same time; the pair is in the list once.
	// Relative: rates show which pairs are slower than others, not what a link carries, nor which pairs shared one.
	Both, Relative bool

	at map[string]int // Names
}

// end returns the number of an end by its name.
func (p *Pairs) end(name string) int {
	i, known := p.at[name]
	if !known {
		if i = len(p.Names); i == 0 {
			p.at = map[string]int{}
		}
		p.at[name], p.Names = i, append(p.Names, name)
	}
	return i
}

// A Pair is what Dst received from Src, in bit/s. Pairs of one group ran at the same time.
type Pair struct {
	Src, Dst int // in Names
	Rate     float64
	Group    int
}

// maxEnds bounds the ends of pairs: a matrix of 8192 is half a gigabyte of text.
const maxEnds = 8192

// spans puts tests that ran at the same time into one group: a test that overlaps the first test of
// the group for more than half of the shorter of the two.
func (p *Pairs) spans(from, to []float64) {
	order := lists.Range[int](len(p.List))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(from[a], from[b]) })
	first, group := -1, -1
	for _, i := range order {
		together := first >= 0 && min(to[i], to[first])-from[i] > min(to[i]-from[i], to[first]-from[first])/2
		if !together {
			first = i
			group++
		}
		p.List[i].Group = group
	}
}

// check returns an error for a pair measured twice, and for a value that is no rate.
func (p *Pairs) check() error {
	seen := make(map[[2]int]bool, len(p.List))
	for _, x := range p.List {
		pair := [2]int{x.Src, x.Dst}
		switch {
		case x.Src == x.Dst:
			return fmt.Errorf("%s sends to itself", short(p.Names[x.Src]))
		case seen[pair]:
			return fmt.Errorf("two results from %s to %s, not of processes at the same time: give one run", short(p.Names[x.Src]), short(p.Names[x.Dst]))
		case !(x.Rate > 0):
			return fmt.Errorf("no rate from %s to %s", short(p.Names[x.Src]), short(p.Names[x.Dst]))
		case x.Rate > most*mib:
			return fmt.Errorf("%v bit/s from %s to %s is more than evbench can measure", x.Rate, short(p.Names[x.Src]), short(p.Names[x.Dst]))
		}
		seen[pair] = true
	}
	switch {
	case len(p.List) == 0:
		return fmt.Errorf("no pair was measured")
	case len(p.Names) > maxEnds:
		return fmt.Errorf("more than %d hosts", maxEnds)
	}
	return nil
}
