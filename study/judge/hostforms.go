package judge

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/hostlist"
)

// A hostLine is a line of a list of hosts that is not empty.
type hostLine struct {
	line int
	text string
}

// A hostEntry is hosts with so many ranks each.
type hostEntry struct {
	line  int
	names []string
	slots int
}

// maxLine bounds a line of a list of hosts.
const maxLine = 16 << 20

func hostLines(r io.Reader) (out []hostLine, err error) {
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLine)
	line := 0
	for scan.Scan() {
		line++
		text, _, _ := strings.Cut(scan.Text(), "#")
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, hostLine{line, text})
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", line+1, err)
	}
	return out, nil
}

// listedHosts reads the entries of a list, in whichever form it is.
func listedHosts(r io.Reader) ([]hostEntry, error) {
	lines, err := hostLines(r)
	if err != nil {
		return nil, err
	}
	return formOf(lines)(lines)
}

// HostNames returns the names in a list of hosts as they stand there, in its forms and with its
// errors as ReadHosts has them.
func HostNames(r io.Reader) (names []string, err error) {
	listed, err := listedHosts(r)
	for _, x := range listed {
		names = append(names, x.names...)
	}
	return names, err
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
func formOf(lines []hostLine) func([]hostLine) ([]hostEntry, error) {
	has := func(re *regexp.Regexp) bool {
		return slices.ContainsFunc(lines, func(l hostLine) bool { return re.MatchString(l.text) })
	}
	switch {
	case slices.ContainsFunc(lines, hostLine.ofMap):
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

func (l hostLine) ofMap() bool { return strings.HasPrefix(l.text, MapLine) }

// ofMpirun reads a map, of which no line that names a host is passed over.
func ofMpirun(lines []hostLine) ([]hostEntry, error) {
	for _, l := range lines {
		if l.ofMap() && !mapNode.MatchString(l.text) {
			return nil, fmt.Errorf("line %d: %q is no line of mpirun's map", l.line, brief(l.text))
		}
	}
	return found(mapNode)(lines)
}

// found reads the lines that match: a host and how many ranks it has. Hosts without any are left out.
func found(re *regexp.Regexp) func([]hostLine) ([]hostEntry, error) {
	return func(lines []hostLine) (out []hostEntry, err error) {
		for _, l := range lines {
			m := re.FindStringSubmatch(l.text)
			if m == nil || m[2] == "0" {
				continue
			}
			slots, err := parseSlots(m[2])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", l.line, err)
			}
			out = append(out, hostEntry{l.line, []string{m[1]}, slots})
		}
		return out, nil
	}
}

// slurmHosts reads SLURM_JOB_NODELIST and SLURM_TASKS_PER_NODE, or the variables of a step;
// without the second each host has one rank.
func slurmHosts(lines []hostLine) ([]hostEntry, error) {
	at := map[string]hostLine{}
	for _, l := range lines {
		if m := slurmWord.FindStringSubmatch(l.text); m != nil {
			at[m[1]] = hostLine{l.line, m[2]}
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
	names, err := hostlist.Expand(list.text)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", list.line, err)
	}
	var each []int
	for _, word := range strings.Split(tasks.text, ",") {
		m := tasksTimes.FindStringSubmatch(word)
		if !counted {
			m = []string{"", "1", strconv.Itoa(len(names))}
		}
		if m == nil {
			return nil, fmt.Errorf("line %d: tasks of nodes %q: such as 4(x3),2", tasks.line, brief(word))
		}
		slots, err := parseSlots(m[1])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", tasks.line, err)
		}
		times := 1
		if m[2] != "" {
			if times, err = strconv.Atoi(m[2]); err != nil || times > hostlist.Max {
				return nil, fmt.Errorf("line %d: tasks of nodes %q", tasks.line, brief(word))
			}
		}
		for range min(times, len(names)+1) {
			each = append(each, slots)
		}
	}
	if len(each) != len(names) {
		return nil, fmt.Errorf("line %d: tasks of other than %d nodes", tasks.line, len(names))
	}
	var out []hostEntry
	for i, name := range names {
		out = append(out, hostEntry{list.line, []string{name}, each[i]})
	}
	return out, nil
}

// rankedHosts reads a rank and its host on each line, in any order.
func rankedHosts(lines []hostLine) ([]hostEntry, error) {
	out := make([]hostEntry, len(lines))
	for _, l := range lines {
		m := rankHost.FindStringSubmatch(l.text)
		if m == nil {
			return nil, fmt.Errorf("line %d: %q is not a rank and its host, as 0: node1", l.line, brief(l.text))
		}
		rank, err := strconv.Atoi(m[1])
		if err != nil || rank >= len(lines) {
			return nil, fmt.Errorf("line %d: rank %s of %d", l.line, brief(m[1]), len(lines))
		}
		if out[rank].slots > 0 {
			return nil, fmt.Errorf("line %d: rank %d is given twice; first on line %d", l.line, rank, out[rank].line)
		}
		out[rank] = hostEntry{l.line, []string{m[2]}, 1}
	}
	return out, nil
}

// hostfile reads lines of a hostfile of Open MPI ("name slots=4", "name"), of MPICH and Intel
// MPI ("name:4"), and host list expressions of Slurm ("node[001-016]").
func hostfile(lines []hostLine) (out []hostEntry, err error) {
	for _, l := range lines {
		names, slots, err := parseHosts(l.text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", l.line, err)
		}
		out = append(out, hostEntry{l.line, names, slots})
	}
	return out, nil
}

// parseHosts reads a line: names, and how many slots each has.
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
			return nil, 0, fmt.Errorf("%q after a host: there is slots=N", brief(word))
		}
	}
	names, err = hostlist.Expand(expr)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%q names no host", brief(text))
	}
	return names, slots, err
}

func parseSlots(s string) (int, error) {
	k, err := strconv.Atoi(s)
	if err != nil || k < 1 || k > maxSlots {
		return 0, fmt.Errorf("slots %q: must be 1..%d", brief(s), maxSlots)
	}
	return k, nil
}
