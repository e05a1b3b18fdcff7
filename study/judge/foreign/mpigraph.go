package foreign

import (
	"fmt"
	"strconv"
	"strings"
)

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
// In each of Procs-1 phases task i sends to task i+k and receives from task i-k. Numbers are
// MiB/s (2²⁰ bytes). Its table of receives is read, in which row and column say who receives
// of whom; that of sends ends when the data is out of the program.
func readMPIGraph(data []byte, _ Options) (*Result, error) {
	g := &mpiGraph{}
	if err := lines(data, func(n int, text string, f []string) error { return g.line(n, text, f) }); err != nil {
		return nil, err
	}
	switch {
	case g.title == "":
		return nil, fmt.Errorf("no line %q", mpiGraphTitle)
	case !g.head:
		return nil, fmt.Errorf("no table of receives: the run did not get so far")
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
