package hostlist

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"evbench/internal/lists"
)

// A Line is a non-empty line of a list, without its comment.
type Line struct {
	Line int // from 1
	Text string
}

// rewritten is how a form of a line is written in another.
type rewritten struct {
	from *regexp.Regexp
	to   string
}

// An Entry is hosts with the given number of ranks each, or with an adapter each that has that
// number.
type Entry struct {
	Line    int // from 1
	Names   []string
	Slots   int
	Adapter string // "": the line names only hosts
}

// MaxSlots is how many ranks a host may have.
const MaxSlots = 4096

const maxLine = 16 << 20

// Lines returns the non-empty lines; with an error those before it.
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

// Read reads the hosts of a job, in one of these forms: a hostfile, mpirun's output of its
// allocation and map, variables of Slurm and LSF, exec_host and exec_vnode of PBS, a pe_hostfile, a configuration file of Intel's
// mpirun, a list in JSON, or ranks with their hosts. A host may appear several times, and names are unchanged.
func Read(r io.Reader) ([]Entry, error) {
	lines, err := Lines(r)
	if err != nil {
		return nil, err
	}
	if lines, err = ofJSON(lines); err != nil {
		return nil, err
	}
	return formOf(lines)(lines)
}

// ofJSON returns the lines of a list of strings in JSON, or the lines as they are.
func ofJSON(lines []Line) ([]Line, error) {
	var names []string
	if len(lines) == 0 || lines[0].Text[0] != '[' {
		return lines, nil
	}
	text := strings.Join(lists.Map(lines, func(l Line) string { return l.Text }), "\n")
	if json.Unmarshal([]byte(text), &names) != nil {
		return lines, nil
	}
	return lists.Map(names, func(name string) Line { return Line{lines[0].Line, name} }), nil
}

// Among reads the hosts of a job that a log holds among other lines: mpirun's map or allocation, or variables of Slurm or LSF.
// nil: it holds none, or one that is not whole.
func Among(r io.Reader) []Entry {
	lines, err := Lines(r)
	if f := amongOthers(lines); err == nil && f != nil {
		entries, _ := f(lines)
		return entries
	}
	return nil
}

var (
	// Of mpirun --display-allocation, with and without flags; checked against Open MPI 4.1.4.
	allocNode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\S+): (?:flags=\S+ )?slots=(\d+) max_slots=`) })
	// Rank and host: of srun -l hostname (from the manual of Slurm 22.05, not tested), of hostname under mpirun
	// --tag-output or --output tag, with the name of its job, and hydra's -l, and of a rankfile of Open MPI.
	rankHost = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:(?:\[(?:[^\s\]]+@)?\d+,)?\[?(\d+)(?:\]?: +|\] +|\]<stdout>: ?)|rank +(\d+) *= *)(\S+)(?: +slots?=\S+)?$`)
	})
	// Of LSF's variables, as env prints them; from the manual of LSF 10.1, not tested.
	lsfWord = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:export )?(LSB_MCPU_HOSTS|LSB_HOSTS)="?([^"]*)"?$`)
	})
	// Of qstat -f of PBS, joined by plus signs: hosts with the processors of each, or virtual nodes with what a
	// job has of each, in brackets where they are one chunk.
	pbsHosts = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:exec_(?:host|vnode) *= *)?(\(?[\w.-]+(?:/\d+(?:\*\d+)?|:\w+=[^+\s]+)(?:\+\(?[\w.-]+(?:/\d+(?:\*\d+)?|:\w+=[^+\s]+))*)$`)
	})
	// Lines that say the same as a hostfile in other words.
	asHostfile = sync.OnceValue(func() []rewritten {
		return []rewritten{
			{regexp.MustCompile(`\s*=\s*`), "="},
			{regexp.MustCompile(`\s*,\s*`), ","},
			{regexp.MustCompile(`^(\S+)\s+(\d+)\s+\S+@\S+\s+\S+$`), "$1 slots=$2"},              // a pe_hostfile of Grid Engine: host, slots, queue, processors
			{regexp.MustCompile(`^-np?\s+(\d+)\s+-hosts?\s+(\S+).*`), "$2 slots=$1"},            // a configuration file of Intel's mpirun
			{regexp.MustCompile(`^-hosts?\s+(\S+)\s+-np?\s+(\d+).*`), "$1 slots=$2"},            // the same
			{regexp.MustCompile(`^(\S+)\s+cpu=(\d+)(?:\s+user=\S+)?$`), "$1 slots=$2"},          // LAM
			{regexp.MustCompile(`^([^\s,\[\]]*[^\d\s,\[\]][^\s,\[\]]*),(\d+)$`), "$1 slots=$2"}, // a table
			{regexp.MustCompile(`^(\d+)\s+([^\s\d]\S*)$`), "$2 slots=$1"},                       // uniq -c
		}
	})
	// Of Slurm's variables, as printed by env and scontrol; from the same manual.
	slurmWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:export )?(SLURM_[A-Z_]+)="?([^"]*)"?$`) })
	// Of SLURM_TASKS_PER_NODE, such as 4(x3).
	tasksTimes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d+)(?:\(x(\d+)\))?$`) })
)

// formOf returns the reader of these lines.
func formOf(lines []Line) func([]Line) ([]Entry, error) {
	if f := amongOthers(lines); f != nil {
		return f
	}
	switch has := anyOf(lines); {
	case len(lines) == 1 && has(pbsHosts()):
		return ofPBS
	case has(rankHost()):
		return rankedHosts
	}
	return hostfile
}

// amongOthers returns the reader of forms whose lines may be among others: a map precedes an allocation; nil: there is none.
func amongOthers(lines []Line) func([]Line) ([]Entry, error) {
	switch has := anyOf(lines); {
	case slices.ContainsFunc(lines, Line.ofMap):
		return ofMpirun
	case has(allocNode()):
		return found(allocNode())
	case has(slurmWord()):
		return slurmHosts
	case has(lsfWord()):
		return lsfHosts
	}
	return nil
}

// anyOf returns what reports whether one of the lines matches.
func anyOf(lines []Line) func(*regexp.Regexp) bool {
	return func(re *regexp.Regexp) bool {
		return slices.ContainsFunc(lines, func(l Line) bool { return re.MatchString(l.Text) })
	}
}

// MapLine begins each line of a map with a host.
const MapLine = "Data for node:"

func (l Line) ofMap() bool { return strings.HasPrefix(l.Text, MapLine) }

// mapJob begins the map of a job.
const mapJob = "Data for JOB"

// mapProcs is the number of ranks of a host, in a line of its own in maps with --map-by or devel of
// Open MPI 5 (display map-devel).
var mapProcs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bNum procs: (\d+)`) })

// ofMpirun reads a map; it ignores no line with a host. Two maps are not one of a larger job.
func ofMpirun(lines []Line) (out []Entry, err error) {
	jobs := 0
	for i, l := range lines {
		if strings.HasPrefix(l.Text, mapJob) {
			if jobs++; jobs > 1 {
				return nil, fmt.Errorf("line %d: a second map of mpirun: give one", l.Line)
			}
		}
		if !l.ofMap() {
			continue
		}
		host := strings.Fields(strings.TrimPrefix(l.Text, MapLine))
		procs := mapProcs().FindStringSubmatch(l.Text)
		for _, next := range lines[i+1:] {
			if procs != nil || next.ofMap() {
				break
			}
			procs = mapProcs().FindStringSubmatch(next.Text)
		}
		if len(host) == 0 || procs == nil {
			return nil, fmt.Errorf("line %d: %q is not a host of mpirun's map with its number of ranks", l.Line, Short(l.Text))
		}
		if procs[1] == "0" {
			continue
		}
		slots, err := parseSlots(procs[1])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", l.Line, err)
		}
		out = append(out, Entry{Line: l.Line, Names: host[:1], Slots: slots})
	}
	return out, nil
}

// found reads the lines that match: a host and its number of ranks. Hosts without ranks are left
// out.
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
			out = append(out, Entry{Line: l.Line, Names: []string{m[1]}, Slots: slots})
		}
		return out, nil
	}
}

// slurmHosts reads SLURM_JOB_NODELIST and SLURM_TASKS_PER_NODE, or the variables of a step; without
// the second each host has one rank.
func slurmHosts(lines []Line) ([]Entry, error) {
	at := map[string]Line{}
	for _, l := range lines {
		if m := slurmWord().FindStringSubmatch(l.Text); m != nil {
			at[m[1]] = Line{l.Line, m[2]}
		}
	}
	const ask = "Slurm's variables do not say which rank runs where then; give the output of srun -l hostname"
	how, stated := at["SLURM_DISTRIBUTION"]
	if stated && !strings.HasPrefix(how.Text, "block") {
		return nil, fmt.Errorf("line %d: SLURM_DISTRIBUTION is %q: %s", how.Line, Short(how.Text), ask)
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
	if !stated {
		return nil, errors.New("SLURM_DISTRIBUTION is missing: " + ask + ", or add SLURM_DISTRIBUTION=block if that is how the job ran")
	}
	entry := func(i int) Entry { return Entry{Line: list.Line, Names: names[i : i+1], Slots: each[i]} }
	return lists.Tabulate(len(names), entry), nil
}

// Tasks returns the number of tasks of each node in a list of Slurm, such as 4(x3),2, with at most
// most nodes for each entry.
func Tasks(list string, most int) (each []int, err error) {
	for word := range strings.SplitSeq(list, ",") {
		m := tasksTimes().FindStringSubmatch(word)
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
		m := rankHost().FindStringSubmatch(l.Text)
		if m == nil {
			return nil, fmt.Errorf("line %d: %q is not a rank and its host, as 0: node1", l.Line, Short(l.Text))
		}
		number := m[1] + m[2]
		rank, err := strconv.Atoi(number)
		if err != nil || rank >= len(lines) {
			return nil, fmt.Errorf("line %d: rank %s of %d", l.Line, Short(number), len(lines))
		}
		if out[rank].Slots > 0 {
			return nil, fmt.Errorf("line %d: rank %d is given twice; first on line %d", l.Line, rank, out[rank].Line)
		}
		out[rank] = Entry{Line: l.Line, Names: []string{m[3]}, Slots: 1}
	}
	return out, nil
}

// lsfHosts reads LSB_MCPU_HOSTS, hosts each with its number of ranks, or else LSB_HOSTS, a host for each
// rank.
func lsfHosts(lines []Line) (out []Entry, err error) {
	at := map[string]Line{}
	for _, l := range lines {
		if m := lsfWord().FindStringSubmatch(l.Text); m != nil {
			at[m[1]] = Line{l.Line, m[2]}
		}
	}
	if l, ok := at["LSB_HOSTS"]; ok {
		one := func(name string) Entry { return Entry{Line: l.Line, Names: []string{name}, Slots: 1} }
		return lists.Map(strings.Fields(l.Text), one), nil
	}
	l := at["LSB_MCPU_HOSTS"]
	f := strings.Fields(l.Text)
	if len(f)%2 > 0 {
		return nil, fmt.Errorf("line %d: LSB_MCPU_HOSTS has a host without its number of ranks", l.Line)
	}
	if out, err = counted(f); err != nil {
		return nil, fmt.Errorf("line %d: %w", l.Line, err)
	}
	for i := range out {
		out[i].Line = l.Line
	}
	return out, nil
}

// counted reads hosts, each with its number of ranks behind it.
func counted(words []string) (out []Entry, err error) {
	for pair := range slices.Chunk(words, 2) {
		slots, err := parseSlots(pair[1])
		if err != nil {
			return nil, err
		}
		out = append(out, Entry{Names: pair[:1], Slots: slots})
	}
	return out, nil
}

// pbsRanks is the number of ranks in an item of PBS: behind the star, or of its processes, or else of its processors.
var pbsRanks = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{regexp.MustCompile(`\*(\d+)`), regexp.MustCompile(`:mpiprocs=(\d+)`), regexp.MustCompile(`:ncpus=(\d+)`)}
})

// ofPBS reads a list such as node1/0*2+node2/0*2 or (node1:ncpus=2:mpiprocs=2)+(node2:ncpus=2:mpiprocs=2): an item that
// says no number of ranks is one.
func ofPBS(lines []Line) (out []Entry, err error) {
	l := lines[0]
	for item := range strings.SplitSeq(strings.NewReplacer("(", "", ")", "").Replace(pbsHosts().FindStringSubmatch(l.Text)[1]), "+") {
		name, slots := item[:strings.IndexAny(item, "/:")], 1
		for _, re := range pbsRanks() {
			m := re.FindStringSubmatch(item)
			if m == nil {
				continue
			}
			if slots, err = parseSlots(m[1]); err != nil {
				return nil, fmt.Errorf("line %d: %w", l.Line, err)
			}
			break
		}
		out = append(out, Entry{Line: l.Line, Names: []string{name}, Slots: slots})
	}
	return out, nil
}

// hostfile reads lines of a hostfile of Open MPI ("user@name slots=4 port=22", "name"), of MPICH and
// Intel MPI ("name:4,name:2", as mpirun's -H, too), host list expressions of Slurm ("node[001-016]"), a host and one of its adapters
// ("node001 mlx5_0"), and more hosts, all with their number of ranks or none ("n1 2 n2 2", "n1 n1 n2"). The head of a table is skipped.
func hostfile(lines []Line) (out []Entry, err error) {
	for i, l := range lines {
		if i == 0 && len(lines) > 1 && tableHead().MatchString(l.Text) {
			continue
		}
		entries, err := parseHosts(l.Text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", l.Line, err)
		}
		for _, x := range entries {
			x.Line = l.Line
			out = append(out, x)
		}
	}
	return out, nil
}

// tableHead is the head of a list that squeue, sinfo or a spreadsheet printed.
var tableHead = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:(?:node|host)_?(?:list|names?|s)?(?:\(reason\))?(?:, *\w+)?)$`)
})

// parseHosts reads a line. Hosts of zero slots take no part.
func parseHosts(text string) (out []Entry, err error) {
	for _, r := range asHostfile() {
		text = r.from.ReplaceAllString(text, r.to)
	}
	f := strings.Fields(text)
	number := func(word string) bool { return strings.Trim(word, "0123456789") == "" }
	switch {
	case len(f) > 1 && len(f)%2 == 0 && number(f[1]):
		return counted(f)
	case len(f) > 2 && !strings.ContainsAny(text, "=:"):
		f = []string{strings.Join(f, ",")}
	}
	return hostsOf(f, text)
}

// hostsOf reads a line of a hostfile.
func hostsOf(f []string, text string) (out []Entry, err error) {
	slots, adapter, given := 1, "", false
	for i, word := range f[1:] {
		key, value, assigned := strings.Cut(word, "=")
		switch {
		case key == "slots" && assigned:
			given = true
			if slots = 0; value == "0" {
				continue
			}
			if slots, err = parseSlots(value); err != nil {
				return nil, err
			}
		case assigned && (key == "max_slots" || key == "max-slots" || key == "port" || key == "user" || key == "username" || key == "binding" || key == "ifname"):
		case i == 0 && !assigned && key != "slots":
			adapter = word
		default:
			return nil, fmt.Errorf("%q after a host: there is slots=N, or first the name of an adapter", Short(word))
		}
	}
	for _, item := range splitList(f[0]) {
		x := Entry{Slots: slots, Adapter: adapter}
		if _, after, ok := strings.Cut(item, "@"); ok {
			item = after
		}
		if i := strings.LastIndexByte(item, ':'); i >= 0 && !given {
			if x.Slots, err = parseSlots(item[i+1:]); err != nil {
				return nil, err
			}
			item = item[:i]
		}
		if x.Names, err = Expand(item); err == nil && len(x.Names) == 0 {
			err = fmt.Errorf("%q names no host", Short(text))
		}
		if err != nil {
			return nil, err
		}
		if x.Slots > 0 {
			out = append(out, x)
		}
	}
	return out, nil
}

func parseSlots(s string) (int, error) {
	k, err := strconv.Atoi(s)
	if err != nil || k < 1 || k > MaxSlots {
		return 0, fmt.Errorf("slots %q: must be 1..%d", Short(s), MaxSlots)
	}
	return k, nil
}
