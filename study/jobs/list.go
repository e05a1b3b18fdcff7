// Package jobs answers: which jobs run on which nodes of a cluster, and what does it bring to
// route for them? It reads lists of "job: node,node" and what Slurm's squeue prints, with its
// host list expressions, from files or commands, says what has changed since the last list, and
// writes the tables for OpenSM or has it load them.
package jobs

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"evbench/internal/hostlist"
)

// A Job runs on nodes, which are sorted, each once.
type Job struct {
	ID    string   `json:"id"`
	Nodes []string `json:"nodes"`
}

const maxNodes = hostlist.Max

const maxID = 255 // characters

// Read reads a list of jobs, one on a line: "job: node,node…", or "job nodes" as
// squeue -h -o '%A %N' prints, both with host list expressions. Jobs without
// nodes do not run yet and are left out, as are empty lines, the header of squeue
// and what follows #. Lines of one job add up. Jobs are in the order of the list.
func Read(r io.Reader) ([]Job, error) {
	var list []Job
	at, total := map[string]int{}, 0
	err := lines(r, func(line string) error {
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

// lines calls do for each line that says something, without its comment.
func lines(r io.Reader, do func(string) error) error {
	all, err := hostlist.Lines(r)
	for _, l := range all {
		if err := do(l.Text); err != nil {
			return fmt.Errorf("line %d: %w", l.Line, err)
		}
	}
	return err
}

func parseLine(line string) (id string, nodes []string, err error) {
	id, rest := line, ""
	if i := strings.IndexAny(line, ": \t"); i >= 0 {
		id, rest = line[:i], strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line[i:]), ":"))
	}
	switch {
	case id == "" || hostlist.Check(id, maxID) != nil:
		return "", nil, fmt.Errorf("%q: a line is \"job: node,node\" or \"job nodes\"", hostlist.Short(line))
	case rest == "" || rest == "(null)" || rest == "N/A" || header(line):
		return id, nil, nil
	}
	nodes, err = hostlist.Expand(rest)
	if err != nil {
		return "", nil, fmt.Errorf("job %s: %w", hostlist.Short(id), err)
	}
	return id, nodes, nil
}

// header is what squeue prints first without -h.
func header(line string) bool {
	return slices.Equal(strings.Fields(line), []string{"JOBID", "NODELIST"})
}

// Write writes a list that Read reads.
func Write(w io.Writer, list []Job) error {
	b := bufio.NewWriter(w)
	for _, j := range list {
		fmt.Fprintf(b, "%s: %s\n", j.ID, hostlist.Compress(j.Nodes))
	}
	return b.Flush()
}

// A Change is how one list of jobs differs from the one before.
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
