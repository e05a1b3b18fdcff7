// Package jobs answers: which jobs run on which nodes of a cluster, and what is the effect of
// routing for them? It reads lists of "job: node,node" and the output of Slurm's squeue, with its
// host list expressions, from files or commands, says what has changed since the last list, and
// writes the tables for OpenSM or makes it load them.
package jobs

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"evbench/internal/hostlist"
	"evbench/site/lft"
	"evbench/site/network"
)

// A Job runs on nodes, which are sorted, each once.
type Job struct {
	ID    string   `json:"id"`
	Nodes []string `json:"nodes"`
}

const maxNodes = hostlist.Max

const maxID = 255 // characters

// Read reads a list of jobs, one on a line: "job: node,node…", or "job nodes" as squeue -h -o '%A
// %N' prints, both with host list expressions. It skips jobs without nodes, which do not run yet,
// empty lines, the header of squeue and text after #. Lines of one job add up, as do those of its steps
// that sacct -o JobID,NodeList prints, also with -P. Jobs are in the order of the list. A table with the head that squeue
// prints without options is read by it, and so is what squeue and sacct print with --json.
func Read(r io.Reader) ([]Job, error) {
	in := bufio.NewReader(r)
	if head, _ := in.Peek(1); string(head) == "{" {
		return readJSON(in)
	}
	var list []Job
	at, total := map[string]int{}, 0
	table := false          // squeue's own
	columns := [2]int{0, 1} // of sacct -P
	err := lines(in, func(line string) error {
		if f := strings.Split(line, "|"); len(f) > 1 {
			called := func(name string) int {
				return slices.IndexFunc(f, func(s string) bool { return strings.EqualFold(strings.TrimSpace(s), name) })
			}
			if nodes := called("NodeList"); nodes >= 0 {
				columns = [2]int{max(0, called("JobID")), nodes}
				return nil
			}
			if max(columns[0], columns[1]) >= len(f) {
				return fmt.Errorf("%q: no line of sacct -P; print it with sacct -P -o JobID,NodeList", hostlist.Short(line))
			}
			line = f[columns[0]] + " " + f[columns[1]]
		}
		if squeueHead.MatchString(line) || squeueDate.MatchString(line) {
			table = true
			return nil
		}
		if table {
			var err error
			if line, err = squeueRow(line); err != nil || line == "" {
				return err
			}
		}
		id, nodes, err := parseLine(line)
		if err != nil || len(nodes) == 0 {
			return err
		}
		if total += len(nodes); total > maxNodes {
			return fmt.Errorf("more than %d nodes in all jobs", maxNodes)
		}
		i, known := at[id]
		if !known {
			i, at[id] = len(list), len(list)
			list = append(list, Job{ID: id})
		}
		list[i].Nodes = append(list[i].Nodes, nodes...)
		return nil
	})
	for i, j := range list {
		slices.Sort(j.Nodes)
		list[i].Nodes = slices.Compact(j.Nodes)
	}
	return list, err
}

// readJSON reads what squeue and sacct print with --json: jobs with their ID and nodes.
func readJSON(r io.Reader) (list []Job, err error) {
	var doc struct {
		Jobs []struct {
			ID    json.Number `json:"job_id"`
			Nodes string      `json:"nodes"`
		} `json:"jobs"`
	}
	if err := json.NewDecoder(r).Decode(&doc); err != nil {
		return nil, fmt.Errorf("no output of squeue --json: %w", err)
	}
	if doc.Jobs == nil {
		return nil, errors.New("no output of squeue --json: it has no jobs")
	}
	total := 0
	for _, j := range doc.Jobs {
		_, nodes, err := parseLine(j.ID.String() + " " + j.Nodes)
		if err != nil {
			return nil, err
		}
		if total += len(nodes); total > maxNodes {
			return nil, fmt.Errorf("more than %d nodes in all jobs", maxNodes)
		}
		if len(nodes) > 0 {
			slices.Sort(nodes)
			list = append(list, Job{j.ID.String(), slices.Compact(nodes)})
		}
	}
	return list, nil
}

// The lines of the table that squeue prints without options: its head, with -l below a date, and a job with the number of
// its nodes and then their names or, in brackets, the reason why it does not run.
var (
	squeueHead = regexp.MustCompile(`^JOBID\s.*\sNODES\s+NODELIST(?:\(REASON\))?$`)
	squeueDate = regexp.MustCompile(`^\w{3} \w{3} +\d+ \d{2}:\d{2}:\d{2} (?:[AP]M )?(?:\w+ )?\d{4}$`)
	squeueJob  = regexp.MustCompile(`^(\S+)\s.*\s\d+\s+(\(.*\)|\S+)$`)
)

// squeueRow returns a line of squeue's table as "job nodes", "" of one that does not run.
func squeueRow(line string) (string, error) {
	m := squeueJob.FindStringSubmatch(line)
	switch {
	case m == nil:
		return "", fmt.Errorf("%q: no line of squeue's table; print it with squeue -h -o '%%A %%N'", hostlist.Short(line))
	case strings.HasPrefix(m[2], "("):
		return "", nil
	}
	return m[1] + " " + m[2], nil
}

// lines calls do for each line that is not empty, without its comment.
func lines(r io.Reader, do func(string) error) error {
	all, err := hostlist.Lines(r)
	for _, l := range all {
		if err := do(l.Text); err != nil {
			return fmt.Errorf("line %d: %w", l.Line, err)
		}
	}
	return err
}

// Of sacct: a step of a job, and the line below its head.
var (
	sacctStep = regexp.MustCompile(`^(\d+(?:[_+]\d+)?)\.(?:\d+|batch|extern|interactive)$`)
	sacctRule = regexp.MustCompile(`^-+\s+-+$`)
	// The tasks of an array that do not run yet.
	pendingArray = regexp.MustCompile(`^\d+_\[[\d,:%-]+(?:\.\.\.)?\]$`)
)

func parseLine(line string) (id string, nodes []string, err error) {
	id, rest := line, ""
	if i := strings.IndexAny(line, ": \t"); i >= 0 {
		id, rest = line[:i], strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line[i:]), ":"))
	}
	switch {
	case rest == "" && pendingArray.MatchString(id):
		return id, nil, nil
	case id == "" || hostlist.Check(id, maxID) != nil:
		return "", nil, fmt.Errorf("%q: a line is \"job: node,node\" or \"job nodes\", as squeue -h -o '%%A %%N' prints it", hostlist.Short(line))
	case rest == "" || rest == "(null)" || rest == "N/A" || rest == "None assigned" || sacctRule.MatchString(line) || strings.EqualFold(id, "JOBID") && strings.EqualFold(rest, "NODELIST"): // the last is what squeue and sacct head their lists with
		return id, nil, nil
	}
	if step := sacctStep.FindStringSubmatch(id); step != nil {
		id = step[1]
	}
	nodes, err = hostlist.Expand(rest)
	if err != nil {
		return "", nil, fmt.Errorf("job %s: %w", hostlist.Short(id), err)
	}
	return id, nodes, nil
}

// Write writes a list that Read reads.
func Write(w io.Writer, list []Job) error {
	b := bufio.NewWriter(w)
	for _, j := range list {
		fmt.Fprintf(b, "%s: %s\n", j.ID, hostlist.Compress(j.Nodes))
	}
	return b.Flush()
}

// A Change is the difference of two successive lists of jobs.
type Change struct {
	Started []string `json:"started"`
	Ended   []string `json:"ended"`
	Moved   []string `json:"moved"` // same job, other nodes
}

// Diff compares lists of jobs, whatever their order. O(nodes).
func Diff(old, new []Job) Change {
	c := Change{Started: []string{}, Ended: []string{}, Moved: []string{}}
	before := map[string][]string{}
	for _, j := range old {
		before[j.ID] = j.Nodes
	}
	for _, j := range new {
		nodes, ok := before[j.ID]
		switch {
		case !ok:
			c.Started = append(c.Started, j.ID)
		case !slices.Equal(nodes, j.Nodes):
			c.Moved = append(c.Moved, j.ID)
		}
		delete(before, j.ID)
	}
	for _, j := range old {
		if _, ok := before[j.ID]; ok {
			c.Ended = append(c.Ended, j.ID)
		}
	}
	return c
}

type nodeClass uint8

const (
	computeNode nodeClass = iota
	ioNode
	otherNode
)

func (c nodeClass) String() string { return [...]string{"compute", "io", "other"}[c] }

// Classes are the uses of nodes. The zero value says that all compute.
type Classes struct {
	exact    map[string]nodeClass
	patterns []pattern
}

type pattern struct {
	text  string
	class nodeClass
}

// ReadClasses reads lines "compute|io|other: node,node…". Nodes are host list expressions, in which
// * stands for any text and ? for one character. A node has the class that names it, else the class
// of the first matching pattern, else it computes.
func ReadClasses(r io.Reader) (*Classes, error) {
	c := &Classes{exact: map[string]nodeClass{}}
	return c, lines(r, func(line string) error {
		word, rest, _ := strings.Cut(line, ":")
		class, ok := map[string]nodeClass{"compute": computeNode, "io": ioNode, "other": otherNode}[strings.ToLower(strings.TrimSpace(word))]
		if !ok {
			return fmt.Errorf("%q: no line begins so; there are compute, io and other, with a colon", hostlist.Short(line))
		}
		names, err := hostlist.Expand(strings.TrimSpace(rest))
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := c.add(n, class); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Classes) add(name string, class nodeClass) error {
	if strings.ContainsAny(name, "*?") {
		c.patterns = append(c.patterns, pattern{name, class})
		return nil
	}
	if before, ok := c.exact[name]; ok && before != class {
		return fmt.Errorf("%s is in class %s and in class %s", name, before, class)
	}
	c.exact[name] = class
	return nil
}

func (c *Classes) of(name string) nodeClass {
	if class, ok := c.exact[name]; ok {
		return class
	}
	for _, p := range c.patterns {
		if ok, _ := path.Match(p.text, name); ok {
			return p.class
		}
	}
	return computeNode
}

// Weights returns how much each host receives: as many messages as it has other hosts in its jobs.
// Jobs on one switch do not load cables between switches, and do not count.
func Weights(n *network.Network, list []Job) (*lft.Weights, error) {
	var r Routed
	of := make([]float64, n.Hosts())
	for _, job := range r.Place(n, list, new(Classes)).Jobs {
		for _, h := range job {
			of[h] += float64(len(job) - 1)
		}
	}
	if len(r.Unknown) > 0 {
		return nil, fmt.Errorf("%s is not in the network", r.Unknown[0])
	}
	w, err := lft.NewWeights(of)
	if err != nil {
		return nil, errors.New("no job is on hosts of several switches")
	}
	return w, nil
}
