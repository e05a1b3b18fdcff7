package hostlist

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Line is a line of a list that says something, without its comment.
type Line struct {
	Line int // from 1
	Text string
}

// An Entry is hosts with so many ranks each.
type Entry struct {
	Line  int // from 1
	Names []string
	Slots int
}

// MaxSlots is how many ranks a host may have.
const MaxSlots = 4096

const maxLine = 16 << 20

// Lines returns the lines that say something; with an error those before it.
func Lines(r io.Reader) (out []Line, err error) {
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLine)
	line := 0
	for scan.Scan() {
		line++
		text, _, _ := strings.Cut(scan.Text(), "#")
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, Line{line, text})
		}
	}
	if err := scan.Err(); err != nil {
		return out, fmt.Errorf("line %d: %w", line+1, err)
	}
	return out, nil
}

// Read reads which hosts a job has, in one of these forms: a hostfile, what mpirun shows of its
// allocation and map, Slurm's variables, or what srun -l hostname prints. A host may come several
// times, and names stand as they are there.
func Read(r io.Reader) ([]Entry, error) {
	lines, err := Lines(r)
	if err != nil {
		return nil, err
	}
	return formOf(lines)(lines)
}

var (
	// Of mpirun --display-map; checked against Open MPI 4.1.4.
	mapNode = regexp.MustCompile("^" + MapLine + ` (\S+)\s.*Num procs: (\d+)`)
	// Of mpirun --display-allocation, with and without flags; checked against Open MPI 4.1.4.
	allocNode = regexp.MustCompile(`^(\S+): (?:flags=\S+ )?slots=(\d+) max_slots=`)
	// Of srun -l hostname: rank and host; after the manual of Slurm 22.05, not seen run.
	rankHost = regexp.MustCompile(`^(\d+): +(\S+)$`)
	// Of Slurm's variables, as env and scontrol print them; after the same manual.
	slurmWord = regexp.MustCompile(`^(?:export )?(SLURM_[A-Z_]+)="?([^"]*)"?$`)
	// Of SLURM_TASKS_PER_NODE, such as 4(x3).
	tasksTimes = regexp.MustCompile(`^(\d+)(?:\(x(\d+)\))?$`)
)

// formOf returns what reads these lines: those of mpirun may stand among others, a map goes
// before an allocation.
func formOf(lines []Line) func([]Line) ([]Entry, error) {
	has := func(re *regexp.Regexp) bool {
		return slices.ContainsFunc(lines, func(l Line) bool { return re.MatchString(l.Text) })
	}
	switch {
	case slices.ContainsFunc(lines, Line.ofMap):
		return ofMpirun
	case has(allocNode):
		return found(allocNode)
	case has(slurmWord):
		return slurmHosts
	case has(rankHost):
		return rankedHosts
	}
	return hostfile
}

// MapLine begins each line of a map that names a host.
const MapLine = "Data for node:"

func (l Line) ofMap() bool { return strings.HasPrefix(l.Text, MapLine) }

// ofMpirun reads a map, of which no line that names a host is passed over.
func ofMpirun(lines []Line) ([]Entry, error) {
	for _, l := range lines {
		if l.ofMap() && !mapNode.MatchString(l.Text) {
			return nil, fmt.Errorf("line %d: %q is no line of mpirun's map", l.Line, Short(l.Text))
		}
	}
	return found(mapNode)(lines)
}

// found reads the lines that match: a host and how many ranks it has. Hosts without any are left out.
func found(re *regexp.Regexp) func([]Line) ([]Entry, error) {
	return func(lines []Line) (out []Entry, err error) {
		for _, l := range lines {
			m := re.FindStringSubmatch(l.Text)
			if m == nil || m[2] == "0" {
				continue
			}
			slots, err := parseSlots(m[2])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", l.Line, err)
			}
			out = append(out, Entry{l.Line, []string{m[1]}, slots})
		}
		return out, nil
	}
}

// slurmHosts reads SLURM_JOB_NODELIST and SLURM_TASKS_PER_NODE, or the variables of a step;
// without the second each host has one rank.
func slurmHosts(lines []Line) ([]Entry, error) {
	at := map[string]Line{}
	for _, l := range lines {
		if m := slurmWord.FindStringSubmatch(l.Text); m != nil {
			at[m[1]] = Line{l.Line, m[2]}
		}
	}
	list, ok := at["SLURM_STEP_NODELIST"]
	tasks, counted := at["SLURM_STEP_TASKS_PER_NODE"]
	if !ok {
		if list, ok = at["SLURM_JOB_NODELIST"]; !ok {
			list, ok = at["SLURM_NODELIST"]
		}
		tasks, counted = at["SLURM_TASKS_PER_NODE"]
	}
	if !ok {
		return nil, errors.New("variables of Slurm without SLURM_JOB_NODELIST")
	}
	names, err := Expand(list.Text)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", list.Line, err)
	}
	each := slices.Repeat([]int{1}, len(names))
	if counted {
		if each, err = Tasks(tasks.Text, len(names)+1); err != nil {
			return nil, fmt.Errorf("line %d: %w", tasks.Line, err)
		}
	}
	if len(each) != len(names) {
		return nil, fmt.Errorf("line %d: tasks of other than %d nodes", tasks.Line, len(names))
	}
	var out []Entry
	for i, name := range names {
		out = append(out, Entry{list.Line, []string{name}, each[i]})
	}
	return out, nil
}

// Tasks returns how many tasks each node has by a list of Slurm, such as 4(x3),2, of at most so
// many nodes to each entry.
func Tasks(list string, most int) (each []int, err error) {
	for word := range strings.SplitSeq(list, ",") {
		m := tasksTimes.FindStringSubmatch(word)
		if m == nil {
			return nil, fmt.Errorf("tasks of nodes %q: such as 4(x3),2", Short(word))
		}
		slots, err := parseSlots(m[1])
		times := 1
		if err == nil && m[2] != "" {
			times, err = strconv.Atoi(m[2])
		}
		if err != nil || times > Max {
			return nil, errors.Join(fmt.Errorf("tasks of nodes %q", Short(word)), err)
		}
		each = append(each, slices.Repeat([]int{slots}, min(times, most))...)
	}
	return each, nil
}

func rankedHosts(lines []Line) ([]Entry, error) {
	out := make([]Entry, len(lines))
	for _, l := range lines {
		m := rankHost.FindStringSubmatch(l.Text)
		if m == nil {
			return nil, fmt.Errorf("line %d: %q is not a rank and its host, as 0: node1", l.Line, Short(l.Text))
		}
		rank, err := strconv.Atoi(m[1])
		if err != nil || rank >= len(lines) {
			return nil, fmt.Errorf("line %d: rank %s of %d", l.Line, Short(m[1]), len(lines))
		}
		if out[rank].Slots > 0 {
			return nil, fmt.Errorf("line %d: rank %d is given twice; first on line %d", l.Line, rank, out[rank].Line)
		}
		out[rank] = Entry{l.Line, []string{m[2]}, 1}
	}
	return out, nil
}

// hostfile reads lines of a hostfile of Open MPI ("name slots=4", "name"), of MPICH and Intel
// MPI ("name:4"), and host list expressions of Slurm ("node[001-016]").
func hostfile(lines []Line) (out []Entry, err error) {
	for _, l := range lines {
		names, slots, err := parseHosts(l.Text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", l.Line, err)
		}
		out = append(out, Entry{l.Line, names, slots})
	}
	return out, nil
}

func parseHosts(text string) (names []string, slots int, err error) {
	f := strings.Fields(text)
	expr, slots := f[0], 1
	if i := strings.LastIndexByte(expr, ':'); i >= 0 {
		if slots, err = parseSlots(expr[i+1:]); err != nil {
			return nil, 0, err
		}
		expr = expr[:i]
	}
	for _, word := range f[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "slots":
			if slots, err = parseSlots(value); err != nil {
				return nil, 0, err
			}
		case "max_slots", "max-slots":
		default:
			return nil, 0, fmt.Errorf("%q after a host: there is slots=N", Short(word))
		}
	}
	names, err = Expand(expr)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%q names no host", Short(text))
	}
	return names, slots, err
}

func parseSlots(s string) (int, error) {
	k, err := strconv.Atoi(s)
	if err != nil || k < 1 || k > MaxSlots {
		return 0, fmt.Errorf("slots %q: must be 1..%d", Short(s), MaxSlots)
	}
	return k, nil
}
