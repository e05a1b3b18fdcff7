package foreign

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const imbTitle = "# Benchmarking Alltoall"

var osuTitle = regexp.MustCompile(`All-to-Allv? Personalized Exchange Latency Test`)

// readOSU reads what osu_alltoall and osu_alltoallv (equal sizes) of the OSU Micro-Benchmarks prints; checked against the
// forms of versions 4.2, 5.3 to 5.6.3 and 7.1 to 7.5, with and without -f and validation:
//
//	# OSU MPI All-to-All Personalized Exchange Latency Test v7.5
//	# Datatype: MPI_CHAR.
//	# Size       Avg Latency(us)
//	1048576             12345.67
//
// Size is what a rank sends to each other. The number of ranks is not printed.
func readOSU(data []byte, size int64) (*Result, error) {
	var rows []row
	title, head := "", false
	err := lines(data, func(n int, text string, f []string) error {
		switch {
		case osuTitle.MatchString(text):
			if title != "" {
				return fmt.Errorf("line %d: a second run of osu_alltoall: give one", n)
			}
			title = "osu_alltoall " + f[len(f)-1]
		case strings.HasPrefix(text, "#") && strings.Contains(text, "OSU"):
			return fmt.Errorf("line %d: %q is no all-to-all", n, short(text))
		case strings.HasPrefix(text, "# Size"):
			if title == "" || !strings.HasPrefix(strings.Join(f[2:], " "), "Avg Latency(us)") {
				return fmt.Errorf("line %d: %q is not followed by mean times in µs", n, short(text))
			}
			head = true
		case head && len(f) > 0 && isCount(f[0]):
			if len(f) < 2 {
				return fmt.Errorf("line %d: %q ends before the time", n, short(text))
			}
			if slices.Contains(f[2:], "Fail") {
				return fmt.Errorf("line %d: osu_alltoall found wrong data", n)
			}
			r, err := timed(n, f[0], f[1])
			rows = append(rows, r)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !head {
		return nil, fmt.Errorf("no line %q of osu_alltoall", "# Size       Avg Latency(us)")
	}
	return timedResult(OSU, title, 0, rows, size)
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
// #bytes is what a rank sends to each other. Of runs with several numbers of processes that
// with the most counts; of both benchmarks Alltoall.
func readIMB(data []byte, size int64) (*Result, error) {
	type run struct {
		name      string
		processes int
	}
	tables := map[run][]row{}
	in, processes, name := false, 0, ""
	err := lines(data, func(n int, text string, f []string) error {
		switch {
		case strings.HasPrefix(text, "# Benchmarking "):
			in, processes = strings.HasPrefix(text, imbTitle), 0
			name = strings.Join(f[2:], " ")
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
		case in && len(f) > 0 && isCount(f[0]):
			if len(f) < 5 || processes == 0 {
				return fmt.Errorf("line %d: %q is no row of five columns", n, short(text))
			}
			r, err := timed(n, f[0], f[4])
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
	return timedResult(IMB, "IMB-MPI1 "+best.name, best.processes, tables[best], size)
}

// timed makes a row of a size and a time in µs.
func timed(n int, size, usec string) (row, error) {
	b, err := whole(n, size, "size")
	if err != nil {
		return row{}, err
	}
	t, err := number(n, usec, "time")
	return row{b, t / 1e6}, err
}

func timedResult(format, what string, ranks int, rows []row, size int64) (*Result, error) {
	r, err := choose(rows, size)
	if err != nil {
		return nil, err
	}
	if r.seconds <= 0 {
		return nil, fmt.Errorf("the time of %d bytes is 0", r.bytes)
	}
	return &Result{
		Format: format, What: fmt.Sprintf("%s, %d bytes from a rank to each other", what, r.bytes),
		Ranks: ranks, Seconds: r.seconds, Bytes: r.bytes,
	}, nil
}
