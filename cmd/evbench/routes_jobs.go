package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"evbench/companion/opensm"
	"evbench/internal/atomicfile"
	"evbench/internal/show"
	"evbench/routing/lft"
	"evbench/routing/sssp"
	"evbench/study/jobs"
	"evbench/topology/network"
)

func routesJobsCommand() *cli.Command {
	return computing(&cli.Command{
		Name:      "jobs",
		Usage:     "route for the jobs that run: balance the routes within jobs, as those between jobs carry nothing",
		ArgsUsage: "JOBS",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "topology", Aliases: []string{"t"}, Usage: "network in `NOTATION|FILE`, as for evbench topo show"},
		}, networkFlags(), []cli.Flag{
			&cli.StringFlag{Name: "classes", Usage: "`FILE` of lines \"io: node,node\" and \"other: node*\": what does not compute"},
			&cli.StringFlag{Name: "last", Usage: "list of the last time, `FILE`: say what has changed since, and replace it"},
			&cli.StringFlag{Name: "placement", Value: "listed", Usage: "`WHERE` jobs run: listed, or random, for which JOBS may be sizes such as 3x60"},
			&cli.IntFlag{Name: "draws", Value: 100, Usage: "random placements, `N`"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write the tables to `FILE` for OpenSM's engine file, unless it has them already"},
			&cli.IntFlag{Name: "pid", Usage: "OpenSM's process `N`: signal it (SIGHUP) when --out was written"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
		}),
		Action: routesJobsAction,
	}, "  squeue -h -o '%A %N' | evbench routes jobs - -t fabric.txt --last jobs.last -o lft.txt --pid $(pidof opensm)\n"+
		"  evbench routes jobs 3x60 -t 'FT(2;18,10)' --placement random --draws 20\n\n"+
		"JOBS is a file, or - for standard input, of lines \"job: node,node\" or of what squeue prints.")
}

// A jobsReport is what routing for jobs has brought.
type jobsReport struct {
	Schema    string       `json:"schema"`
	Source    string       `json:"source"`
	Jobs      int          `json:"jobs"`       // across switches
	OneSwitch int          `json:"one_switch"` // left out
	Hosts     int          `json:"hosts"`      // of the jobs across switches
	Unknown   []string     `json:"unknown"`    // nodes that the network does not have
	Change    *jobs.Change `json:"change,omitempty"`
	Routings  []jobsEFI    `json:"routings"`
	CanLock   bool         `json:"can_deadlock"` // without virtual lanes
	Written   bool         `json:"written"`
	Signalled bool         `json:"signalled"`

	asked bool // to write
}

// A jobsEFI is the edge forwarding index of the jobs under one routing.
type jobsEFI struct {
	Routing string `json:"routing"`
	*sssp.EFI
}

func routesJobsAction(c *cli.Context) error {
	if err := jobsUsage(c); err != nil {
		return err
	}
	s, err := readSource(c, c.String("topology"))
	if err != nil {
		return err
	}
	if c.String("placement") == "random" {
		return randomJobs(c, s)
	}
	list, err := readJobs(c.Args().First())
	if err != nil {
		return err
	}
	classes, err := readJobClasses(c.String("classes"))
	if err != nil {
		return err
	}
	r := &jobsReport{Schema: "evbench/routes-jobs/1", Source: c.String("topology"), Unknown: []string{}, Routings: []jobsEFI{}}
	p := r.place(s.Net, list, classes)
	if err := r.compare(c.String("last"), list); err != nil {
		return err
	}
	if err := r.route(c, s.Net, p); err != nil {
		return err
	}
	if err := saveJobs(c.String("last"), list); err != nil {
		return err
	}
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(r)
	}
	return r.print(c.App.Writer)
}

func jobsUsage(c *cli.Context) error {
	if err := needArgs(c, 1, 1, "JOBS"); err != nil {
		return err
	}
	switch {
	case c.String("topology") == "":
		return usagef("--topology is missing, for example -t 'FT(2;4,8)'")
	case !slices.Contains([]string{"listed", "random"}, c.String("placement")):
		return usagef("--placement %q: there are listed and random", c.String("placement"))
	case c.Int("draws") < 1 || c.Int("draws") > mostPhases:
		return usagef("--draws %d: must be 1..%d", c.Int("draws"), mostPhases)
	case c.IsSet("pid") && c.Int("pid") < 1:
		return usagef("--pid %d is no process", c.Int("pid"))
	case c.IsSet("pid") && c.String("out") == "":
		return usagef("--pid: nothing to signal without --out")
	case c.String("placement") == "random":
		for _, flag := range []string{"out", "pid", "last", "classes"} {
			if c.IsSet(flag) {
				return usagef("--%s is for --placement listed", flag)
			}
		}
	}
	if c.String("out") != "" && c.String("last") != "" {
		if err := atomicfile.Check(c.String("out"), c.String("last")); err != nil {
			return usage(err)
		}
	}
	if c.IsSet("pid") { // better now than when the file is written
		if err := isRunning(c.Int("pid"), ""); err != nil {
			return err
		}
	}
	return nil
}

func readJobs(name string) ([]jobs.Job, error) {
	in := io.Reader(os.Stdin)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usage(err)
		}
		defer f.Close()
		in = f
	}
	list, err := jobs.Read(atomicfile.Bound(in, maxList))
	if err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	return list, nil
}

func readJobClasses(name string) (*jobs.Classes, error) {
	if name == "" {
		return new(jobs.Classes), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usage(err)
	}
	defer f.Close()
	classes, err := jobs.ReadClasses(atomicfile.Bound(f, maxList))
	if err != nil {
		return nil, usagef("--classes %s: %w", name, err)
	}
	return classes, nil
}

// hostsByName finds the hosts of a node by the name of the host, or by its first
// word: adapters call themselves "node001 HCA-1". A node may have several.
func hostsByName(n *network.Network) map[string][]network.Node {
	at := map[string][]network.Node{}
	for h := range network.Node(n.Hosts()) {
		name := n.Info(h).Name
		at[name] = append(at[name], h)
		if word, _, more := strings.Cut(name, " "); more {
			at[word] = append(at[word], h)
		}
	}
	return at
}

// place finds the hosts of jobs and classes.
func (r *jobsReport) place(n *network.Network, list []jobs.Job, classes *jobs.Classes) sssp.Placement {
	var p sssp.Placement
	at := hostsByName(n)
	for _, j := range list {
		var hosts []network.Node
		for _, name := range j.Nodes {
			if len(at[name]) == 0 {
				r.Unknown = append(r.Unknown, name)
			}
			hosts = append(hosts, at[name]...)
		}
		p.Jobs = append(p.Jobs, hosts)
	}
	all := len(p.Jobs)
	p.Jobs = sssp.MultiSwitch(n, p.Jobs)
	r.Jobs, r.OneSwitch = len(p.Jobs), all-len(p.Jobs)
	for _, j := range p.Jobs {
		r.Hosts += len(j)
	}
	slices.Sort(r.Unknown)
	r.Unknown = slices.Compact(r.Unknown)
	for h := range network.Node(n.Hosts()) {
		name, _, _ := strings.Cut(n.Info(h).Name, " ")
		switch classes.Of(name) {
		case jobs.IO:
			p.IO = append(p.IO, h)
		case jobs.Other:
			p.Other = append(p.Other, h)
		}
	}
	return p
}

// compare compares with the list of the last time; there may be none yet.
func (r *jobsReport) compare(name string, list []jobs.Job) error {
	if name == "" {
		return nil
	}
	old, err := atomicfile.Read(name, maxList)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return usagef("--last: %w", err)
	}
	last, err := jobs.Read(bytes.NewReader(old))
	if err != nil {
		return usagef("--last %s: %w", name, err)
	}
	change := jobs.Diff(last, list)
	r.Change = &change
	return nil
}

func saveJobs(name string, list []jobs.Job) error {
	if name == "" {
		return nil
	}
	return atomicfile.Write(name, func(w io.Writer) error { return jobs.Write(w, list) })
}

// jobsTables routes without a look at jobs, as published, and better.
func jobsTables(n *network.Network, p sssp.Placement) ([]*lft.Tables, error) {
	plain, err := sssp.SSSP(n)
	if err != nil {
		return nil, usage(err)
	}
	tables := []*lft.Tables{plain}
	for _, p.Published = range []bool{true, false} {
		t, err := sssp.Jobs(n, p, 0)
		if err != nil {
			return nil, usage(err)
		}
		tables = append(tables, t)
	}
	return tables, nil
}

func (r *jobsReport) route(c *cli.Context, n *network.Network, p sssp.Placement) error {
	tables, err := jobsTables(n, p)
	if err != nil {
		return err
	}
	for _, t := range tables {
		r.Routings = append(r.Routings, jobsEFI{t.Engine, sssp.Index(t, p.Jobs)})
	}
	best := tables[len(tables)-1]
	r.CanLock = !lft.Deadlock(best, 0).Free()
	if c.String("out") == "" {
		return nil
	}
	if lost := r.Routings[len(r.Routings)-1].Lost; lost > 0 {
		return fmt.Errorf("%d routes within jobs lead nowhere: %s is not written", lost, c.String("out"))
	}
	return r.write(c, best)
}

// write writes tables that the file does not have, and says so to OpenSM.
func (r *jobsReport) write(c *cli.Context, t *lft.Tables) error {
	var text bytes.Buffer
	if err := t.WriteDump(&text); err != nil {
		return err
	}
	name := c.String("out")
	r.asked = true
	if old, err := atomicfile.Read(name, int64(text.Len())); err == nil && bytes.Equal(old, text.Bytes()) {
		return nil
	}
	if err := atomicfile.Write(name, func(w io.Writer) error { _, err := w.Write(text.Bytes()); return err }); err != nil {
		return err
	}
	if r.Written = true; !c.IsSet("pid") {
		return nil
	}
	if err := reload(c.Int("pid")); err != nil {
		return fmt.Errorf("%s is written, but not heard of: %w", name, err)
	}
	r.Signalled = true
	return nil
}

// isRunning checks that --pid is OpenSM, which writes this log.
func isRunning(pid int, log string) error {
	sm, err := opensm.Running(pid, log)
	if err != nil {
		return usagef("--pid: %w", err)
	}
	return sm.Close()
}

func reload(pid int) error {
	sm, err := opensm.Running(pid, "")
	if err != nil {
		return err
	}
	return errors.Join(sm.Reload(), sm.Close())
}

func (r *jobsReport) print(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "network\t%s\n", r.Source)
	fmt.Fprintf(tab, "jobs\t%d across switches on %d hosts, %d within one switch\n", r.Jobs, r.Hosts, r.OneSwitch)
	if c := r.Change; c != nil {
		fmt.Fprintf(tab, "since last\t%d started, %d ended, %d moved\n", len(c.Started), len(c.Ended), len(c.Moved))
	}
	for _, e := range r.Routings {
		fmt.Fprintf(tab, "%s\tat most %d routes of jobs on a cable, mean %.1f; %d of %d unused\n", e.Routing, e.Max, e.Mean, e.Unused, e.Cables)
		if e.Lost > 0 {
			fmt.Fprintf(tab, "warning\t%d routes of %s lead nowhere\n", e.Lost, e.Routing)
		}
	}
	if len(r.Unknown) > 0 {
		fmt.Fprintf(tab, "warning\tnot in the network: %s\n", show.Few(r.Unknown))
	}
	if r.CanLock {
		fmt.Fprintf(tab, "warning\troutes can deadlock without virtual lanes, which a file for OpenSM cannot give\n")
	}
	switch {
	case r.Signalled:
		fmt.Fprintf(tab, "done\twritten, and OpenSM signalled\n")
	case r.Written:
		fmt.Fprintf(tab, "done\twritten\n")
	case r.asked:
		fmt.Fprintf(tab, "done\tnothing: the file has these tables already\n")
	}
	return tab.Flush()
}
