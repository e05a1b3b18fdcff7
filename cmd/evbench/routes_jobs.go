package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"evbench/companion/opensm"
	"evbench/internal/atomicfile"
	"evbench/routing/lft"
	"evbench/study/jobs"
	"evbench/topology/netfile"
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
	r := jobs.NewRouted(c.String("topology"))
	p := r.Place(s.Net, list, classes)
	if r.Change, err = changeSince(c.String("last"), list); err != nil {
		return err
	}
	tables, err := r.Route(s.Net, p)
	if err != nil {
		return usage(err)
	}
	if err := writeJobTables(c, r, tables); err != nil {
		return err
	}
	if err := saveJobs(c.String("last"), list); err != nil {
		return err
	}
	if c.Bool("json") {
		return r.WriteJSON(c.App.Writer)
	}
	return r.WriteText(c.App.Writer)
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

// changeSince compares with the list of the last time; there may be none yet.
func changeSince(name string, list []jobs.Job) (*jobs.Change, error) {
	if name == "" {
		return nil, nil
	}
	old, err := atomicfile.Read(name, maxList)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, usagef("--last: %w", err)
	}
	last, err := jobs.Read(bytes.NewReader(old))
	if err != nil {
		return nil, usagef("--last %s: %w", name, err)
	}
	change := jobs.Diff(last, list)
	return &change, nil
}

func saveJobs(name string, list []jobs.Job) error {
	if name == "" {
		return nil
	}
	return atomicfile.Write(name, func(w io.Writer) error { return jobs.Write(w, list) })
}

// writeJobTables writes tables that the file of --out does not have, and says so to OpenSM.
func writeJobTables(c *cli.Context, r *jobs.Routed, t *lft.Tables) error {
	name := c.String("out")
	if name == "" {
		return nil
	}
	if lost := r.Lost(); lost > 0 {
		return fmt.Errorf("%d routes within jobs lead nowhere: %s is not written", lost, name)
	}
	var text bytes.Buffer
	if err := t.WriteDump(&text); err != nil {
		return err
	}
	r.Asked = true
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

// randomJobs scatters the jobs over the hosts, again and again.
func randomJobs(c *cli.Context, s *netfile.Source) error {
	sizes, err := jobSizes(c.Args().First())
	if err != nil {
		return err
	}
	draws, err := jobs.DrawPlacements(c.Context, s.Net, sizes, c.Uint64("seed"), c.Int("draws"))
	switch {
	case c.Context.Err() != nil:
		return err
	case err != nil:
		return usage(err)
	}
	draws.Source = c.String("topology")
	if c.Bool("json") {
		return draws.WriteJSON(c.App.Writer)
	}
	return draws.WriteText(c.App.Writer)
}

// jobSizes reads sizes, or takes those of a list of jobs.
func jobSizes(arg string) ([]int, error) {
	if sizes, err := jobs.ParseSizes(arg); err == nil {
		return sizes, nil
	}
	list, err := readJobs(arg)
	if err != nil {
		return nil, err
	}
	var sizes []int
	for _, j := range list {
		sizes = append(sizes, len(j.Nodes))
	}
	return sizes, nil
}
