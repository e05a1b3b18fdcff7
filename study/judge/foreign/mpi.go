package foreign

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/show"
)

const imbTitle = "# Benchmarking Alltoall"

var osuTitle = regexp.MustCompile(`All-to-Allv? Personalized Exchange Latency Test`)

// osuColumns are the columns of the table behind the size.
var (
	osuColumn  = regexp.MustCompile(`\(us\)|Iterations|Validation`)
	osuColumns = regexp.MustCompile(`^(?:(?:\w+ )+?(?:Latency|Lat)\(us\) ?|Iterations ?|Validation ?)+$`)
)

// readOSU reads what osu_alltoall and osu_alltoallv (equal sizes) of the OSU Micro-Benchmarks prints; checked against the
// forms of versions 4.2, 5.3 to 5.6.3 and 7.1 to 7.5, with and without -f and validation:
//
//	# OSU MPI All-to-All Personalized Exchange Latency Test v7.5
//	# Datatype: MPI_CHAR.
//	# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
//	1048576             12345.67          11234.56          13456.78        1000
//
// Size is what a rank sends to each other. Avg is the mean over the ranks; Max, which -f adds, is that of the slowest rank,
// with which the exchange ends. The number of ranks is not printed.
func readOSU(data []byte, o Options) (*Result, error) {
	out := table{}
	var odd []string                           // lines
	title, at, width, ended := "", 0, 0, false // at: the column of the time
	err := lines(data, func(n int, text string, f []string) error {
		switch {
		case osuTitle.MatchString(text):
			if title != "" {
				return fmt.Errorf("line %d: a second run of osu_alltoall: give one", n)
			}
			title = "osu_alltoall " + f[len(f)-1]
			out.what = title
		case strings.HasPrefix(text, "#") && strings.Contains(text, "OSU"):
			return fmt.Errorf("line %d: %q is not an all-to-all", n, short(text))
		case strings.HasPrefix(text, "# Size"):
			columns := strings.Join(f[2:], " ")
			switch {
			case title == "" || !strings.HasPrefix(columns, "Avg Latency(us)"):
				return fmt.Errorf("line %d: %q is not followed by mean times in µs", n, short(text))
			case at > 0:
				return fmt.Errorf("line %d: a second head of a table: give one run", n)
			case !osuColumns.MatchString(columns):
				return fmt.Errorf("line %d: the head %q is cut, or has something in it", n, short(text))
			}
			width = 1 + len(osuColumn.FindAllString(columns, -1))
			at, out.limit = 1, "the time is the mean of the ranks, and a call ends with the slowest (osu_alltoall -f prints its time)"
			if strings.HasPrefix(columns, "Avg Latency(us) Min Latency(us) Max Latency(us)") {
				at, out.limit = 3, ""
			}
		case at > 0 && !ended && brokenRow.MatchString(text):
			return fmt.Errorf("line %d: %q is within a row", n, short(text))
		case len(out.rows) > 0 && text == "":
			ended = true
		case at > 0 && !ended && len(f) > 0 && isCount(f[0]):
			if len(f) != width {
				return fmt.Errorf("line %d: %q is not a row of %d columns", n, short(text), width)
			}
			if slices.Contains(f[at+1:], "Fail") {
				return fmt.Errorf("line %d: osu_alltoall found wrong data", n)
			}
			r, err := slowest(n, f[0], f[1], f[at])
			if dot := strings.IndexByte(f[at], '.'); dot < 0 || dot > len(f[at])-3 { // %.2f
				odd = append(odd, strconv.Itoa(n))
			}
			out.rows = append(out.rows, r)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if at == 0 {
		return nil, fmt.Errorf("no line %q of osu_alltoall", "# Size       Avg Latency(us)")
	}
	r, err := out.result(o.Size)
	if r != nil && len(odd) > 0 {
		r.Notes = []string{"times without the two decimals of osu_alltoall, in line " + show.Few(odd) + ": somebody changed the output, or it is cut"}
	}
	return r, err
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
	type run struct {
		name      string
		processes int
	}
	tables := map[run][]row{}
	in, processes, name := false, 0, ""
	var notes []string
	finalized, failed := false, false
	err := lines(data, func(n int, text string, f []string) error {
		switch {
		case strings.HasPrefix(text, "# Benchmarking "):
			in, processes = strings.HasPrefix(text, imbTitle), 0
			name = strings.Join(f[2:], " ")
			if strings.HasPrefix("Alltoall", name) && name != "Alltoall" || !imbName.MatchString(name) {
				return fmt.Errorf("line %d: the title %q is cut, or has something in it", n, short(text))
			}
			if in && name != "Alltoall" && name != "Alltoallv" {
				return fmt.Errorf("line %d: %s is not read here: there are Alltoall and Alltoallv", n, short(name))
			}
		case in && processes == 0 && strings.HasPrefix(text, "#") && strings.Contains(text, "#processes ="):
			_, after, _ := strings.Cut(text, "=")
			word, _, _ := strings.Cut(strings.TrimSpace(after), " ")
			p, err := strconv.Atoi(word)
			if err != nil || p < 1 {
				return fmt.Errorf("line %d: #processes %q", n, short(word))
			}
			if len(tables[run{name, p}]) > 0 {
				return fmt.Errorf("line %d: a second table of %d processes: give one run", n, p)
			}
			processes = p
		case in && strings.HasPrefix(text, "#bytes"):
			if len(f) < 5 || f[1] != "#repetitions" || f[4] != "t_avg[usec]" {
				return fmt.Errorf("line %d: columns are #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec], not %q", n, short(text))
			}
			if processes == 0 {
				return fmt.Errorf("line %d: a table without #processes", n)
			}
			failed = false
		case strings.HasPrefix(text, "# All processes entering MPI_Finalize"):
			finalized = true
		case in && len(f) > 1 && isCount(f[0]) && imbFailed.MatchString(f[1]):
			failed = true
			notes = append(notes, fmt.Sprintf("%s bytes: %s", f[0], strings.TrimRight(f[1], ".;")))
		case in && processes > 0 && brokenRow.MatchString(text):
			return fmt.Errorf("line %d: %q is within a row", n, short(text))
		case in && !failed && len(f) > 0 && isCount(f[0]):
			if len(f) < 5 || processes == 0 {
				return fmt.Errorf("line %d: %q is not a row of five columns", n, short(text))
			}
			if len(f) > 5 && strings.Trim(f[5], "0.") != "" {
				return fmt.Errorf("line %d: defects %s: the data was wrong", n, short(f[5]))
			}
			r, err := slowest(n, f[0], f[4], f[3])
			tables[run{name, processes}] = append(tables[run{name, processes}], r)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	best := run{}
	for r := range tables {
		if best.processes == 0 || r.name < best.name || r.name == best.name && r.processes > best.processes {
			best = r
		}
	}
	if best.processes == 0 {
		return nil, fmt.Errorf("no table of the benchmark Alltoall")
	}
	if !finalized && !o.Partial {
		return nil, fmt.Errorf("no line %q: the run ended before that; --partial takes the rows that are whole", "# All processes entering MPI_Finalize")
	}
	out, err := table{what: "IMB-MPI1 " + best.name, ranks: best.processes, rows: tables[best]}.result(o.Size)
	if out != nil {
		out.Notes = notes
	}
	return out, err
}

// brokenRow is a message of another program behind the first digits of a row, or a size written with commas.
var brokenRow = regexp.MustCompile(`^[0-9]+(?:[A-Za-z\[#]|,[0-9]{3}\b)`)

// imbName are names of benchmarks.
var imbName = regexp.MustCompile(`^[A-Za-z_]+$`)

// imbFailed are words in place of a row's times.
var imbFailed = regexp.MustCompile(`^(?:time-out|out-of-mem|int-overflow)`)

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
	if err := g.p.check(); err != nil {
		return nil, err
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
