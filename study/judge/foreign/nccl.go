package foreign

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/jsondoc"
	"evbench/internal/show"
)

// meanNCCL is the Limit of alltoall_perf, whose -a is 1 (the mean) unless it is given.
const meanNCCL = "the time is the mean of the ranks, and a call ends with the slowest (alltoall_perf -a 3 prints its time, which text does not say)"

const otherPrograms = `\b(all_reduce|all_gather|broadcast|gather|hypercube|reduce|reduce_scatter|scatter|sendrecv)_perf`

var otherNCCL = pattern(otherPrograms)

// isNCCL recognises outputs of nccl-tests and rccl-tests by unique JSON keys and text columns.
func isNCCL(data []byte) bool {
	if isRCCL(data) || !isJSON(data) {
		return isRCCL(data) || containing("algbw")(data) && containing("busbw")(data) && !containing("MSCCL")(data)
	}
	return containing(`"nccl_version"`)(data) || containing(`"rccl_version"`)(data)
}

func readNCCL(data []byte, o Options) (*Result, error) {
	switch {
	case isRCCL(data):
		return readRCCLJSON(data, o.Size)
	case isJSON(data):
		return readNCCLJSON(data, o.Size)
	}
	return readNCCLText(data, o)
}

// readNCCLText reads the text that alltoall_perf of nccl-tests and rccl-tests prints; checked
// against the forms of nccl-tests with NCCL 2.26 and 2.30, of nccl-tests 2.17 to the source of 2.19.6 (with -T and -I, too), and of
// rccl-tests 2.17:
//
//	# Collective test starting: alltoall_perf
//	#  Rank  0 Group  0 Pid 100 on node1 device  0 [0x07] NVIDIA A100
//	#       size         count      type   redop    root     time   algbw   busbw #wrong …
//	    16777216        262144     float    none      -1   1234.5   13.59   11.89    N/A …
//
// size is the whole buffer of a rank: it sends size/ranks to each rank (doc/PERFORMANCE.md).
// The columns of the exchange out of place are read. Only newer versions name the program,
// and all_gather_perf prints the same columns: where the text does not name alltoall_perf,
// sure must say that it is of that program.
func readNCCLText(data []byte, o Options) (*Result, error) {
	if bytes.Contains(data, []byte("alltoallv_perf")) {
		return nil, errors.New("alltoallv_perf wrote it: give that format")
	}
	x, err := ncclRows(data, o.Format == NCCL, o.Partial)
	if err != nil {
		return nil, err
	}
	return x.ofBuffers(o.Size)
}

// An ncclRun is what a run says, as text or as a report.
type ncclRun struct {
	rows  []row
	ranks int
	hosts []string // by rank, nil where it does not name them
	notes []string
	limit string // as in Result
}

// An ncclText is what the text of a run says, as far as it has been read.
type ncclText struct {
	ncclRun
	not         *regexp.Regexp // other programs
	of, op      string         // what it measures, and what each row has as redop
	others      []string       // programs before and behind it in the log
	named       bool           // each part says which program wrote it
	elsewhere   bool           // in the part of one of them
	at, columns int            // that of the time, and how many; 0: before the head
	group       string
	ended       bool
}

// ofBuffers is the result of rows whose size is the whole buffer of a rank. Less than a byte for each rank is no exchange.
func (x *ncclRun) ofBuffers(size int64) (*Result, error) {
	for i := range x.rows {
		x.rows[i].bytes /= int64(x.ranks)
	}
	x.rows = slices.DeleteFunc(x.rows, func(r row) bool { return r.bytes == 0 })
	return x.result("alltoall_perf", size)
}

func (x *ncclRun) result(program string, size int64) (*Result, error) {
	r, err := table{program, x.ranks, x.limit, x.rows}.result(size)
	if r != nil {
		r.Hosts, r.Notes = x.hosts, x.notes
	}
	return r, err
}

// alltoallvSummary is what alltoallv_perf prints within a row where NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY is set.
var alltoallvSummary = pattern(`# NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY:.*\n(?:#   rank=.*\n)*`)

func isAlltoallv(data []byte) bool {
	return bytes.Contains(data, []byte("alltoallv_perf")) && isNCCL(data)
}

// readAlltoallv reads the output of alltoallv_perf of nccl-tests, as text or with -J; checked
// against the source of 2.19.6, without a real run. The form is as for alltoall_perf, but size is
// the most bytes that a rank sends or receives, with those for itself.
func readAlltoallv(data []byte, o Options) (*Result, error) {
	const program = "alltoallv_perf"
	if !isJSON(data) && bytes.Contains(data, []byte("alltoall_perf")) {
		return nil, errors.New("alltoall_perf wrote it: give that format")
	}
	read := func() (*ncclRun, error) {
		return ncclRows(alltoallvSummary().ReplaceAll(data, []byte(" ")), true, o.Partial)
	}
	if isJSON(data) {
		read = func() (*ncclRun, error) { return ncclReportRows(data, program) }
	}
	x, err := read()
	if err != nil {
		return nil, err
	}
	x.limit = strings.ReplaceAll(x.limit, "alltoall_perf", program)
	r, err := x.result(program, o.Size)
	if err != nil {
		return nil, err
	}
	r.What = fmt.Sprintf("alltoallv_perf, %d bytes of the busiest rank", r.Bytes)
	r.Sized, r.Busiest, r.Bytes = true, r.Bytes, 0
	return r, nil
}

// ncclLog matches a line of NCCL's log, which other processes may write into a row.
var ncclLog = pattern(`[\w.-]+:\d+:\d+ \[\d+\] NCCL (?:INFO|WARN|TRACE)`)

// ncclEnd matches the lines with which all versions end.
var ncclEnd = pattern(`^# *(?:Out of bounds values|Avg bus bandwidth)`)

// rankHost is the host of a rank.
var rankHost = pattern(`\bPid +\d+ on +(\S+) device`)

// ncclStart begins the part of a program, in newer versions.
const ncclStart = "# Collective test starting:"

// ncclRows reads the rows of a text, and its ranks. Parts of other programs in one log are left out.
func ncclRows(data []byte, sure, partial bool) (*ncclRun, error) {
	if !sure && !bytes.Contains(data, []byte("alltoall_perf")) {
		if other := otherNCCL().Find(data); other != nil {
			return nil, fmt.Errorf("%s is not an all-to-all: run alltoall_perf", other)
		}
		return nil, fmt.Errorf("it does not name its program of nccl-tests: if that is alltoall_perf, give the format %s", NCCL)
	}
	x := &ncclText{ncclRun: ncclRun{limit: meanNCCL}, of: "an all-to-all", op: "none", not: otherNCCL()}
	return &x.ncclRun, x.read(data, partial)
}

// read reads the rows of one program.
func (x *ncclText) read(data []byte, partial bool) error {
	x.named = bytes.Contains(data, []byte(ncclStart))
	if err := lines(data, x.line); err != nil {
		return err
	}
	switch {
	case x.at == 0 && len(x.others) > 0:
		return fmt.Errorf("%s is not an all-to-all: run alltoall_perf", show.Few(x.others))
	case x.at == 0:
		return fmt.Errorf("no line with the columns size, redop, root, time, algbw and busbw")
	case x.ranks < 2:
		return fmt.Errorf("%d lines \"# Rank\": how many ranks took part is not known", x.ranks)
	case !x.ended && !partial:
		return fmt.Errorf("no line %q: the run ended before that%s; %s", "# Out of bounds values", because(endIn(data)), wholeRows)
	}
	if n := x.ranks - len(x.hosts); n > 0 {
		if n < x.ranks {
			x.notes = append(x.notes, fmt.Sprintf("%d of %d ranks have no host in the list of ranks: the hosts are not taken from there", n, x.ranks))
		}
		x.hosts = nil
	}
	if len(x.others) > 0 {
		x.notes = append(x.notes, "left out of the log: "+show.Few(x.others))
	}
	if rows, again := slowestOf(x.rows); again {
		x.rows = rows
		x.notes = append(x.notes, "several results for each size, of types (-d all) or of cycles (-N): the slowest counts")
	}
	return nil
}

func (x *ncclText) line(n int, text string, f []string) error {
	if started, is := strings.CutPrefix(text, ncclStart); is {
		x.elsewhere = x.not.MatchString(started)
		if x.elsewhere {
			x.others = append(x.others, strings.TrimSpace(started))
		}
	}
	switch {
	case x.elsewhere || strings.HasPrefix(text, "# Collective test concluded"):
		return nil
	case !x.named && x.not.MatchString(text):
		return fmt.Errorf("line %d: %q is not an all-to-all: give only that part", n, short(text))
	case len(f) > 2 && f[0] == "#" && f[1] == "Rank" && isCount(f[2]):
		return x.rank(n, text, f)
	case ncclEnd().MatchString(text):
		x.ended = true
		if strings.HasSuffix(text, "FAILED") {
			return fmt.Errorf("line %d: alltoall_perf found wrong elements", n)
		}
	case len(f) > 2 && f[0] == "#" && f[1] == "size" && slices.Contains(f, "busbw"):
		return x.head(n, text, f)
	case x.at == 0:
	case brokenRow().MatchString(text):
		return within(n, text)
	case ncclLog().MatchString(text):
		if len(f) > 0 && isCount(f[0]) {
			x.notes = append(x.notes, fmt.Sprintf("line %d: a line of NCCL's log is within the row of %s bytes, which is left out", n, short(f[0])))
		}
	case !x.ended && len(f) > 0 && isCount(f[0]):
		return x.row(n, text, f)
	}
	return nil
}

// rank takes a line of the list of ranks.
func (x *ncclText) rank(n int, text string, f []string) error {
	if f[2] == "0" && x.ranks == 1 {
		return errAlone
	}
	if f[2] != strconv.Itoa(x.ranks) {
		return fmt.Errorf("line %d: rank %s, after %d ranks: the list of a run has each once; give one whole run", n, short(f[2]), x.ranks)
	}
	x.ranks++
	if m := rankHost().FindStringSubmatch(text); m != nil {
		x.hosts = append(x.hosts, m[1])
	}
	if len(f) > 4 && f[3] == "Group" {
		if x.group != "" && f[4] != x.group {
			return fmt.Errorf("line %d: ranks in groups %s and %s: several exchanges at once (NCCL_TESTS_SPLIT)", n, short(x.group), short(f[4]))
		}
		x.group = f[4]
	}
	return nil
}

func (x *ncclText) head(n int, text string, f []string) error {
	if x.at = slices.Index(f, "time") - 1; x.at < 5 || f[x.at-1] != "redop" || f[x.at] != "root" { // one less without the #
		return fmt.Errorf("line %d: columns are size count type redop root time algbw busbw, not %q", n, short(text))
	}
	for i, name := range f {
		if name == "#wrong" || name == "error" {
			x.columns = i // less the #
		}
	}
	return nil
}

func (x *ncclText) row(n int, text string, f []string) error {
	at := x.at
	if len(f) < max(x.columns, at+1) {
		return fmt.Errorf("line %d: %d columns of %d: %q is cut, or without the exchange out of place", n, len(f), x.columns, short(text))
	}
	if f[at-1] != "-1" || f[at-2] != x.op {
		return fmt.Errorf("line %d: redop %s and root %s are not those of %s", n, short(f[at-2]), short(f[at-1]), x.of)
	}
	if w := at + 3; w < len(f) && f[w] != "0" && f[w] != "N/A" && f[w] != "0e+00" {
		return fmt.Errorf("line %d: %s wrong elements", n, short(f[w]))
	}
	r, err := timed(n, f[0], f[at])
	x.rows = append(x.rows, r)
	return err
}

// slowestOf returns the slowest row of each size, and whether a size has several.
func slowestOf(rows []row) (out []row, again bool) {
	at := map[int64]int{}
	for _, r := range rows {
		i, seen := at[r.bytes]
		if again = again || seen; !seen {
			at[r.bytes] = len(out)
			out = append(out, r)
		} else if r.seconds > out[i].seconds {
			out[i] = r
		}
	}
	return out, again
}

type ncclReport struct {
	Version int      `json:"version"`
	Args    []string `json:"args"`
	Config  struct {
		Threads int `json:"nthreads"`
		GPUs    int `json:"ngpus"`
		Devices []struct {
			Rank int    `json:"rank"`
			Host string `json:"hostname"`
		} `json:"devices"`
	} `json:"config"`
	Results []struct {
		Size  int64      `json:"size"`
		Redop string     `json:"redop"`
		Root  string     `json:"root"`
		Out   *ncclTimed `json:"out_of_place"`
		In    *ncclTimed `json:"in_place"`
	} `json:"results"`
	Ended string `json:"end_time"`
}

type ncclTimed struct {
	Time  *float64 `json:"time"` // µs
	Wrong *float64 `json:"nwrong"`
}

// readNCCLJSON reads the file that alltoall_perf of nccl-tests and rccl-tests writes with -J;
// checked against the source of nccl-tests from October 2025, where it begins, to 2.19.6
// (versions 1 to 3 of the form), and of rccl-tests of 2025 (version 1).
//
//	{"version": 3, "args": ["alltoall_perf", …], "nccl_version": 22809,
//	 "config": {"nthreads": 1, "ngpus": 1, "devices": [{"rank": 0, "hostname": "node1", …}, …]},
//	 "results": [{"size": 1048576, "redop": "none", "root": "    -1",
//	              "out_of_place": {"time": 123.4, "alg_bw": 8.5, "bus_bw": 7.4, "nwrong": 0.0}, …}], "end_time": "…"}
//
// size is the whole buffer of a rank. The list of devices has the first one of each process,
// so a run has as many ranks as it has devices, times threads and GPUs of a process.
func readNCCLJSON(data []byte, size int64) (*Result, error) {
	x, err := ncclReportRows(data, "alltoall_perf")
	if err != nil {
		return nil, err
	}
	return x.ofBuffers(size)
}

func ncclReportRows(data []byte, program string) (*ncclRun, error) {
	var x ncclReport
	if err := jsondoc.Unmarshal(data, &x); err != nil {
		return nil, fmt.Errorf("not a report of nccl-tests: %w", err)
	}
	switch {
	case len(x.Args) == 0 || !strings.HasPrefix(path.Base(x.Args[0]), program):
		return nil, fmt.Errorf("%s did not write it: args does not begin with that program", program)
	case x.Ended == "":
		return nil, fmt.Errorf("no end_time: the run ended before that")
	}
	ranks, err := x.ranks()
	if err != nil {
		return nil, err
	}
	out := &ncclRun{ranks: ranks, hosts: x.hosts(ranks)}
	if on := x.option("-C", "--report_cputime"); on != "" && on != "0" {
		return nil, fmt.Errorf("%s: times are those of the processor (-C %s), not of the exchange", program, short(on))
	}
	for i, r := range x.Results {
		t := r.Out
		t = cmp.Or(t, r.In)
		switch {
		case t == nil || t.Time == nil:
			return nil, fmt.Errorf("results[%d] has no time", i)
		case r.Redop != "none" || strings.TrimSpace(r.Root) != "-1":
			return nil, fmt.Errorf("results[%d]: redop %q and root %q are not those of an all-to-all", i, short(r.Redop), short(r.Root))
		case t.Wrong != nil && *t.Wrong != 0:
			return nil, fmt.Errorf("results[%d]: %v wrong elements", i, *t.Wrong)
		case r.Size < 0 || !(*t.Time >= 0):
			return nil, fmt.Errorf("results[%d]: size and time are at least 0", i)
		}
		out.rows = append(out.rows, row{r.Size, *t.Time / 1e6})
	}
	if !x.slowest() {
		out.limit = meanNCCL
	}
	return out, nil
}

// hosts are those of the ranks: each process has as many ranks as its neighbours.
func (x *ncclReport) hosts(ranks int) (out []string) {
	for _, d := range x.Config.Devices {
		for range ranks / len(x.Config.Devices) {
			out = append(out, d.Host)
		}
		if d.Host == "" {
			return nil
		}
	}
	return out
}

// slowest reports whether the times belong to the slowest rank: -a 3.
func (x *ncclReport) slowest() bool { return x.option("-a", "--average") == "3" }

// option returns the value of an option by its short and its long name, the last one given; "": it
// is not given.
func (x *ncclReport) option(brief, long string) (last string) {
	for i, a := range x.Args {
		value, is := strings.CutPrefix(a, brief)
		if v, ok := strings.CutPrefix(a, long); ok {
			value, is = strings.TrimPrefix(v, "="), true
		}
		if is && value == "" && i+1 < len(x.Args) {
			value = x.Args[i+1]
		}
		if is {
			last = value
		}
	}
	return last
}

func (x *ncclReport) ranks() (int, error) {
	n, each := len(x.Config.Devices), x.Config.Threads*x.Config.GPUs
	if n == 0 || x.Config.Threads < 1 || x.Config.GPUs < 1 || each > 1<<10 {
		return 0, errors.New("config does not say how many ranks took part: it needs devices, nthreads and ngpus")
	}
	if last := x.Config.Devices[n-1].Rank; n == 1 || last == (n-1)*each {
		n *= each // the first device of each process
	} else if last != n-1 {
		return 0, fmt.Errorf("config: the last of %d devices has rank %d", n, last)
	}
	if n < 2 {
		return 0, errors.New("one rank has no exchange")
	}
	return n, nil
}

// rcclResult is the output of alltoall_perf of rccl-tests with -x FILE -Z json for one size.
type rcclResult struct {
	Name    string  `json:"name"`
	Size    int64   `json:"size"`
	Redop   string  `json:"redop"`
	InPlace int     `json:"inPlace"`
	Time    float64 `json:"time"` // µs
	Wrong   string  `json:"wrong"`
	GPUs    int     `json:"gpus"` // without MPI: of the process
	// With MPI: processes in all, processes in a communicator, and GPUs of a process. "nodes" is
	// the number of communicators.
	Nodes        int `json:"nodes"`
	Ranks        int `json:"ranks"`
	RanksPerNode int `json:"ranksPerNode"`
	GPUsPerRank  int `json:"gpusPerRank"`
}

// isRCCL recognises JSON of rccl-tests' own, by keys that nccl-tests writes differently.
func isRCCL(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n["), []byte("{")) && bytes.Contains(data, []byte(`"algBw"`)) && bytes.Contains(data, []byte(`"inPlace"`))
}

// readRCCLJSON reads the file of -Z json; checked against the source of rccl-tests of 2024, which writes one object
// after the other, and of rocm-systems of 2026 (rccl-tests 2.17.9), which writes a list of them when all is measured:
//
//	[
//	{"numCycle":0, "name":"AlltoAll", "nodes":1, "ranks":16, "ranksPerNode":16, "gpusPerRank":1, "size":1048576,
//	 "type":"float", "redop":"none", "inPlace":0, "time":123.400000, "algBw":8.5, "busBw":7.9, "wrong":"0"},
//
// size is the whole buffer of a rank. The exchange out of place is read.
func readRCCLJSON(data []byte, size int64) (*Result, error) {
	var list []rcclResult
	err := each(data, func(document []byte) error {
		var r rcclResult
		if err := json.Unmarshal(document, &r); err != nil {
			return fmt.Errorf("result %d: %w", len(list)+1, err)
		}
		list = append(list, r)
		return nil
	})
	if err = cmp.Or(err, jsondoc.Once(data)); err != nil {
		return nil, fmt.Errorf("not a list of results of rccl-tests: %w", err)
	}
	x := &ncclRun{limit: meanNCCL}
	for i, r := range list {
		n := r.GPUs
		if r.Ranks > 0 {
			n = r.RanksPerNode * r.GPUsPerRank
		}
		switch {
		case r.Name != "AlltoAll":
			return nil, fmt.Errorf("result %d is of %q, not of AlltoAll", i+1, short(r.Name))
		case r.Redop != "none":
			return nil, fmt.Errorf("result %d: redop %q is not that of an all-to-all", i+1, short(r.Redop))
		case r.Nodes > 1 || r.Ranks != r.RanksPerNode:
			return nil, fmt.Errorf("result %d: %d communicators of %d ranks at once (NCCL_TESTS_SPLIT)", i+1, r.Nodes, r.RanksPerNode)
		case n < 2 || n > 1<<20 || x.ranks > 0 && n != x.ranks:
			return nil, fmt.Errorf("result %d: %d ranks, after %d", i+1, n, x.ranks)
		case r.Wrong != "0" && r.Wrong != "N/A":
			return nil, fmt.Errorf("result %d: %s wrong elements", i+1, short(r.Wrong))
		case r.Size < 0 || r.Size > most || !(r.Time > 0 && r.Time <= most):
			return nil, fmt.Errorf("result %d: %d bytes in %v µs", i+1, r.Size, r.Time)
		}
		x.ranks = n
		if r.InPlace == 0 {
			x.rows = append(x.rows, row{r.Size, r.Time / 1e6})
		}
	}
	return x.ofBuffers(size)
}
