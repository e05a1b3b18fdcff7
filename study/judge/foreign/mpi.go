package foreign

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/show"
)

// Titles of the OSU Micro-Benchmarks, and of those that are read: exchanges of equal messages that a call ends.
var (
	osuTitle    = pattern(`(?m)^[ \t]*# ?O(?:SU|MB)\b.*(?:Test|Benchmark).*$`)
	osuExchange = pattern(`^# ?O(?:SU|MB) [^ ]+ All-to-All([vw]?) Personalized Exchange Latency Test`)
)

// osuColumns are the columns of the table behind the size.
var (
	osuColumn  = pattern(`\(us\)|Iterations|Validation`)
	osuColumns = pattern(`^(?:(?:\w+ )+?(?:Latency|Lat)\(us\) ?|Iterations ?|Validation ?)+$`)
)

// osuLast is the size with which collective benchmarks end where -m does not say another.
const osuLast = 1 << 20

// osuRun is the table of a run, as far as it has been read.
type osuRun struct {
	table
	title     string
	in        bool     // behind the title of the exchange
	others    []string // titles of other benchmarks
	at, width int      // the column of the time; of all
	behind    bool     // the table has ended
	broken    error    // of a line that may be within a row
	odd       []string // lines
	end       string   // what says that a task was ended
}

// readOSU reads what osu_alltoall, osu_alltoallv and osu_alltoallw (equal sizes) of the OSU Micro-Benchmarks print;
// checked against the forms of versions 4.2, 5.3 to 5.6.3 and 7.1 to 7.5, with and without -f and validation:
//
//	# OSU MPI All-to-All Personalized Exchange Latency Test v7.5
//	# Datatype: MPI_CHAR.
//	# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
//	1048576             12345.67          11234.56          13456.78        1000
//
// Size is what a rank sends to each other. Avg is the mean over the ranks; Max, which -f adds, is that of the slowest rank,
// with which the exchange ends. The number of ranks is not printed, nor an end: a run is whole that has come to its last
// size, and not known to be whole where a task was ended before that. Other benchmarks in one log are left out.
func readOSU(data []byte, o Options) (*Result, error) {
	x := &osuRun{}
	if err := lines(data, x.line); err != nil {
		return nil, err
	}
	switch {
	case x.title == "" && len(x.others) > 0:
		return nil, fmt.Errorf("%s: run osu_alltoall -f, %s", osuOther(x.others[0]), givenNumber)
	case x.at == 0:
		return nil, fmt.Errorf("no line %q of osu_alltoall", "# Size       Avg Latency(us)")
	}
	ended, err := x.ended(commandIn(data, x.title).last, o)
	if err != nil {
		return nil, err
	}
	r, err := x.result(o.Size)
	if r == nil {
		return nil, err
	}
	if len(x.odd) > 0 {
		r.note("times without the two decimals of osu_alltoall, in line %s: somebody changed the output, or it is cut", show.Few(x.odd))
	}
	if ended {
		r.note("a task was ended after the last size: %q", short(x.end))
	}
	if len(x.others) > 0 {
		r.note("other benchmarks of the log are left out: %d", len(x.others))
	}
	return r, err
}

// osuOther says what a benchmark is that is no exchange of equal messages.
func osuOther(title string) string {
	program := ""
	for _, x := range []struct{ part, name string }{
		{"Non-blocking All-to-All", " (osu_ialltoall), whose time is that of computation, too"},
		{"Multiple Bandwidth", " (osu_mbw_mr), which measures pairs"},
	} {
		if strings.Contains(title, x.part) {
			program = x.name
		}
	}
	return fmt.Sprintf("this is %q%s", title, program)
}

// ended reports whether a task was ended behind the last size. Before that, it is an error.
func (x *osuRun) ended(last int64, o Options) (bool, error) {
	n := len(x.rows)
	switch {
	case n == 0 || o.Partial:
		return false, nil
	case last > 0 && x.rows[n-1].bytes < last:
		return false, fmt.Errorf("its last size is %d, and the command has -m to %d: the run was ended%s; %s", x.rows[n-1].bytes, last, because(x.end), wholeRows)
	case x.end != "" && x.rows[n-1].bytes != cmp.Or(last, osuLast):
		return false, fmt.Errorf("the program was ended: %q; %s", short(x.end), wholeRows)
	}
	return x.end != "", nil
}

func (x *osuRun) line(n int, text string, f []string) error {
	switch {
	case osuTitle().MatchString(text):
		return x.begin(n, text, f)
	case !x.in:
		return nil
	case strings.HasPrefix(text, "# Size"):
		return x.head(n, text, f)
	case x.at == 0:
		return nil
	case len(x.rows) > 0 && text == "":
		x.behind = true
	case x.behind || text == "":
	case numbers(f):
		return x.numbers(n, text, f)
	case brokenRow().MatchString(text) && text[len(leadingCount(text))] == ',':
		return within(n, text)
	case isCount(f[0]) || brokenRow().MatchString(text):
		x.broken = within(n, text) // if numbers follow that are the rest of a row
	}
	if x.end == "" && taskEnd(text) {
		x.end = text
	}
	return nil
}

// begin takes a title.
func (x *osuRun) begin(n int, text string, f []string) error {
	m := osuExchange().FindStringSubmatch(text)
	if x.in = m != nil; !x.in {
		x.others = append(x.others, strings.TrimSpace(strings.TrimLeft(text, "# ")))
		return nil
	}
	if x.title != "" {
		return fmt.Errorf("line %d: a second run of osu_alltoall: give one", n)
	}
	x.title = "osu_alltoall" + m[1] + " " + f[len(f)-1]
	x.what = x.title
	return nil
}

func (x *osuRun) head(n int, text string, f []string) error {
	columns := strings.Join(f[2:], " ")
	switch {
	case !strings.HasPrefix(columns, "Avg Latency(us)"):
		return fmt.Errorf("line %d: %q is not followed by mean times in µs", n, short(text))
	case x.at > 0:
		return fmt.Errorf("line %d: a second head of a table: give one run", n)
	case !osuColumns().MatchString(columns):
		return fmt.Errorf("line %d: the head %q is cut, or has something in it", n, short(text))
	}
	x.width = 1 + len(osuColumn().FindAllString(columns, -1))
	x.at, x.limit = 1, "the time is the mean of the ranks, and a call ends with the slowest (osu_alltoall -f prints its time)"
	if strings.HasPrefix(columns, "Avg Latency(us) Min Latency(us) Max Latency(us)") {
		x.at, x.limit = 3, ""
	}
	return nil
}

// numbers takes a line of numbers: a row, or the rest of one that a message has cut.
func (x *osuRun) numbers(n int, text string, f []string) error {
	if x.broken != nil {
		size, last := f[0], int64(0)
		if len(x.rows) > 0 {
			last = x.rows[len(x.rows)-1].bytes
		}
		if last == 0 || len(f) != x.width || size != strconv.FormatInt(2*last, 10) {
			return x.broken
		}
		x.broken = nil
	}
	if !isCount(f[0]) {
		return nil
	}
	return x.row(n, text, f)
}

// numbers reports whether fields are numbers, or what validation says.
func numbers(f []string) bool {
	return !slices.ContainsFunc(f, func(field string) bool {
		return (strings.Trim(field, "0123456789.eExpP+-") != "" || !strings.ContainsAny(field, "0123456789")) && field != "Pass" && field != "Fail"
	})
}

func within(n int, text string) error {
	return fmt.Errorf("line %d: %q is within a row", n, short(text))
}

func leadingCount(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
}

func (x *osuRun) row(n int, text string, f []string) error {
	if len(f) != x.width {
		return fmt.Errorf("line %d: %q is not a row of %d columns", n, short(text), x.width)
	}
	if slices.Contains(f[x.at+1:], "Fail") {
		return fmt.Errorf("line %d: osu_alltoall found wrong data", n)
	}
	r, err := slowest(n, f[0], f[1], f[x.at])
	if dot := strings.IndexByte(f[x.at], '.'); dot < 0 || dot > len(f[x.at])-3 { // %.2f
		x.odd = append(x.odd, strconv.Itoa(n))
	}
	x.rows = append(x.rows, r)
	return err
}

const imbTitle = "# Benchmarking "

// imbRun is the tables of a run of IMB, as far as they have been read.
type imbRun struct {
	tables    map[imbTable][]row
	at        imbTable
	in        bool     // in a benchmark that is read
	failed    bool     // the rest of the table
	finalized bool     // the program came to its end
	others    []string // benchmarks that are not read
	notes     []string
}

type imbTable struct {
	name      string
	processes int // 0: not yet known
}

// readIMB reads what IMB-MPI1 Alltoall and Alltoallv of the Intel MPI Benchmarks print; checked
// against the forms of 2006, of versions 2021.2 and 2021.7 and the source of 2021.11, in which the
// messages of Alltoallv have one size, too:
//
//	# Benchmarking Alltoall
//	# #processes = 36
//	#----------------
//	       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
//	     33554432            1    368774.69    377145.91    373427.99
//
// #bytes is what a rank sends to each other. The slowest rank ends the exchange, at t_max. Of
// several numbers of processes the largest counts; of both benchmarks Alltoall.
func readIMB(data []byte, o Options) (*Result, error) {
	x := &imbRun{tables: map[imbTable][]row{}}
	if err := lines(data, x.line); err != nil {
		return nil, err
	}
	best := imbTable{}
	for t := range x.tables {
		if best.processes == 0 || t.name < best.name || t.name == best.name && t.processes > best.processes {
			best = t
		}
	}
	timed := func(r row) bool { return r.bytes > 0 }
	switch {
	case best.processes == 0 && len(x.others) > 0:
		return nil, fmt.Errorf("this is IMB's %s, which is not read: take IMB-MPI1 Alltoall or Alltoallv, %s", short(x.others[0]), givenNumber)
	case best.processes == 0:
		return nil, fmt.Errorf("no table of the benchmark Alltoall")
	case best.processes == 1:
		return nil, errAlone
	case !x.finalized && !o.Partial:
		return nil, fmt.Errorf("no line %q: the run ended before that%s; %s", "# All processes entering MPI_Finalize", because(endIn(data)), wholeRows)
	case len(x.notes) > 0 && !slices.ContainsFunc(x.tables[best], timed):
		return nil, fmt.Errorf("no size has a time: %s: give IMB more time (-time 60)", show.Few(x.notes))
	}
	out, err := table{what: "IMB-MPI1 " + best.name, ranks: best.processes, rows: x.tables[best]}.result(o.Size)
	if out != nil {
		out.Notes = x.notes
	}
	return out, err
}

func (x *imbRun) line(n int, text string, f []string) error {
	switch {
	case strings.HasPrefix(text, imbTitle):
		return x.begin(n, text, f)
	case strings.HasPrefix(text, "# All processes entering MPI_Finalize"):
		x.finalized = true
	case !x.in:
	case x.at.processes == 0 && strings.HasPrefix(text, "#") && strings.Contains(text, "#processes ="):
		return x.processes(n, text)
	case strings.HasPrefix(text, "#bytes"):
		if len(f) < 5 || f[1] != "#repetitions" || f[4] != "t_avg[usec]" {
			return fmt.Errorf("line %d: columns are #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec], not %q", n, short(text))
		}
		if x.at.processes == 0 {
			return fmt.Errorf("line %d: a table without #processes", n)
		}
		x.failed = false
	case len(f) > 1 && isCount(f[0]) && imbFailed().MatchString(f[1]):
		x.failed = true
		x.tables[x.at] = append(x.tables[x.at], nil...) // there is one
		x.notes = append(x.notes, fmt.Sprintf("%s bytes: %s", f[0], strings.TrimRight(f[1], ".;")))
	case x.at.processes > 0 && brokenRow().MatchString(text):
		return within(n, text)
	case !x.failed && len(f) > 0 && isCount(f[0]):
		return x.row(n, text, f)
	}
	return nil
}

// begin takes the title of a benchmark.
func (x *imbRun) begin(n int, text string, f []string) error {
	name := strings.Join(f[2:], " ")
	if strings.HasPrefix("Alltoall", name) && name != "Alltoall" || !imbName().MatchString(name) {
		return fmt.Errorf("line %d: the title %q is cut, or has something in it", n, short(text))
	}
	x.at = imbTable{name: name}
	if x.in = name == "Alltoall" || name == "Alltoallv"; !x.in {
		if strings.Contains(strings.ToLower(name), "alltoall") {
			x.others = slices.Insert(x.others, 0, name)
		} else {
			x.others = append(x.others, name)
		}
	}
	return nil
}

func (x *imbRun) processes(n int, text string) error {
	_, after, _ := strings.Cut(text, "=")
	word, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	p, err := strconv.Atoi(word)
	if err != nil || p < 1 {
		return fmt.Errorf("line %d: #processes %q", n, short(word))
	}
	if x.at.processes = p; len(x.tables[x.at]) > 0 && p == 1 {
		return errAlone
	} else if len(x.tables[x.at]) > 0 {
		return fmt.Errorf("line %d: a second table of %d processes: give one run", n, p)
	}
	return nil
}

func (x *imbRun) row(n int, text string, f []string) error {
	if len(f) < 5 || x.at.processes == 0 {
		return fmt.Errorf("line %d: %q is not a row of five columns", n, short(text))
	}
	if len(f) > 5 && strings.Trim(f[5], "0.") != "" {
		return fmt.Errorf("line %d: defects %s: the data was wrong", n, short(f[5]))
	}
	r, err := slowest(n, f[0], f[4], f[3])
	x.tables[x.at] = append(x.tables[x.at], r)
	return err
}

// brokenRow is a message of another program behind the first digits of a row, or a size written with commas.
var brokenRow = pattern(`^[0-9]+(?:[A-Za-z\[#]|,[0-9]{3}\b)`)

// imbName are names of benchmarks.
var imbName = pattern(`^[A-Za-z_-]+$`)

// imbFailed are words in place of a row's times.
var imbFailed = pattern(`^(?:time-out|out-of-mem|int-overflow)`)

// timed makes a row from a size and a time in µs.
func timed(n int, size, usec string) (row, error) {
	b, err := whole(n, size, "size")
	if err != nil {
		return row{}, err
	}
	t, err := number(n, usec, "time")
	return row{b, t / 1e6}, err
}

// slowest is timed with the time of the slowest rank, which is at least the mean.
func slowest(n int, size, mean, usec string) (row, error) {
	m, err := timed(n, size, mean)
	r, err2 := timed(n, size, usec)
	if err = cmp.Or(err, err2); err == nil && r.seconds < m.seconds {
		err = fmt.Errorf("line %d: the slowest rank's time %q is below the mean %q", n, short(usec), short(mean))
	}
	return r, err
}

// A table is a program's output for an exchange, by size.
type table struct {
	what  string
	ranks int    // 0: not known
	limit string // as in Result
	rows  []row
}

func (t table) result(size int64) (*Result, error) {
	r, err := choose(t.rows, size)
	if err != nil {
		return nil, err
	}
	if r.seconds <= 0 {
		return nil, fmt.Errorf("the time of %d bytes is 0", r.bytes)
	}
	return &Result{
		What:  fmt.Sprintf("%s, %d bytes from a rank to each other", t.what, r.bytes),
		Ranks: t.ranks, Seconds: r.seconds, Bytes: r.bytes, Limit: t.limit,
	}, nil
}

const mpiGraphTitle = "START mpiGraph"

// mib is the unit of mpiGraph's tables, MiB/s, in bit/s.
const mib = 8 << 20

// readMPIGraph reads what mpiGraph prints; checked against its source at version 1.5 (2020),
// whose tables are those of the first public one (2017), and the manual page of 1.6:
//
//	START mpiGraph v1.5
//	MsgSize	1048576
//	…
//	Procs	2
//	…
//	Recv	node1:0	node2:1
//	node1:0 from	0.000	11890.123
//	node2:1 from	11901.456	0.000
//
// In each of Procs-1 phases task i sends to task i+k and receives from task i-k. Numbers are MiB/s
// (2²⁰ bytes). It reads the table of receives, with receivers as rows and senders as columns. Times
// of sends end when the data has left the program.
func readMPIGraph(data []byte, _ Options) (*Result, error) {
	g := &mpiGraph{}
	if err := lines(data, func(n int, text string, f []string) error { return g.line(n, text, f) }); err != nil {
		return nil, err
	}
	switch {
	case g.title == "":
		return nil, fmt.Errorf("no line %q", mpiGraphTitle)
	case !g.head:
		return nil, fmt.Errorf("no table of receives: the run ended before that")
	case g.row != len(g.p.Names):
		return nil, fmt.Errorf("the table of receives has %d rows of %d", g.row, len(g.p.Names))
	case g.procs > 0 && g.procs != len(g.p.Names):
		return nil, fmt.Errorf("a table of %d tasks in a run of %d", len(g.p.Names), g.procs)
	}
	return &Result{What: g.title + ", linear shift of pairs" + g.size, Ranks: len(g.p.Names), Pairs: &g.p}, nil
}

type mpiGraph struct {
	title, size string
	procs, row  int
	head        bool
	p           Pairs
}

func (g *mpiGraph) line(n int, text string, f []string) error {
	switch {
	case strings.HasPrefix(text, mpiGraphTitle):
		if g.title != "" {
			return fmt.Errorf("line %d: a second run of mpiGraph: give one", n)
		}
		g.title = "mpiGraph " + strings.Join(f[2:], " ")
		g.p.Shifts = true
	case len(f) == 2 && f[0] == "Procs":
		procs, err := strconv.Atoi(f[1])
		if err != nil || procs < 2 || procs > maxEnds {
			return fmt.Errorf("line %d: %s tasks: must be 2..%d", n, short(f[1]), maxEnds)
		}
		g.procs = procs
	case len(f) == 2 && f[0] == "MsgSize" && isCount(f[1]):
		g.size = ", messages of " + f[1] + " bytes"
	case len(f) > 1 && f[0] == "Recv" && strings.Contains(f[1], ":"):
		return g.names(n, f[1:])
	case g.head && g.row < len(g.p.Names) && len(f) > 1 && f[1] == "from":
		return g.rates(n, f)
	}
	return nil
}

// names reads the head of the table: the host and the number of each task.
func (g *mpiGraph) names(n int, f []string) error {
	if g.head {
		return fmt.Errorf("line %d: a second table of receives: give one run", n)
	}
	if len(f) > maxEnds {
		return fmt.Errorf("line %d: %d tasks, more than %d", n, len(f), maxEnds)
	}
	for i, word := range f {
		colon := strings.LastIndexByte(word, ':')
		if colon < 1 || word[colon+1:] != strconv.Itoa(i) {
			return fmt.Errorf("line %d: %q is not the host and number of task %d", n, short(word), i)
		}
		g.p.Names = append(g.p.Names, word[:colon])
	}
	g.head = true
	return nil
}

// rates reads the row of a task that receives.
func (g *mpiGraph) rates(n int, f []string) error {
	tasks, dst := len(g.p.Names), g.row
	if want := fmt.Sprintf("%s:%d", g.p.Names[dst], dst); f[0] != want {
		return fmt.Errorf("line %d: the row of %s, not of %s", n, short(f[0]), short(want))
	}
	if len(f) != tasks+2 {
		return fmt.Errorf("line %d: %d rates of %d", n, len(f)-2, tasks)
	}
	for src, word := range f[2:] {
		if src == dst {
			continue
		}
		rate, err := number(n, word, "rate")
		if err != nil {
			return err
		}
		g.p.List = append(g.p.List, Pair{src, dst, rate * mib, (dst - src + tasks) % tasks})
	}
	g.row++
	return nil
}
