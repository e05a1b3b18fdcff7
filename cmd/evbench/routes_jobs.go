package main

import (
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/companion/opensm"
	"evbench/internal/atomicfile"
	"evbench/routing/lft"
	"evbench/study/jobs"
)

func routesJobsCommand() *cli.Command {
	cmd := computing(&cli.Command{
		Name:      "jobs",
		Usage:     "route for the jobs that run: balance the routes within jobs, as those between jobs carry nothing",
		ArgsUsage: "JOBS",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "topology", Aliases: []string{"t"}, Usage: "network in `NOTATION|FILE`, as for evbench topo show"},
		}, networkFlags(), []cli.Flag{
			&cli.StringFlag{Name: "queue", Usage: "`COMMAND` that prints the jobs, in place of JOBS"},
			&cli.StringFlag{Name: "discover", Usage: "`COMMAND` that prints the network as it is, such as ibnetdiscover, in place of --topology"},
			&cli.StringFlag{Name: "classes", Usage: "`FILE` of lines \"io: node,node\" and \"other: node*\": what does not compute"},
			&cli.StringFlag{Name: "last", Usage: "list of the last time, `FILE`: say what has changed since, and replace it"},
			&cli.IntFlag{Name: "lanes", Usage: "where routes can deadlock, give them virtual lanes, at most `N`"},
			&cli.StringFlag{Name: "placement", Value: "listed", Usage: "`WHERE` jobs run: listed, or random, for which JOBS may be sizes such as 3x60"},
			&cli.IntFlag{Name: "draws", Value: 100, Usage: "random placements, `N`"},
			&cli.BoolFlag{Name: "steps", Usage: "random: every combination of the steps of the algorithm, not three"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write the tables to `FILE`, unless it has them already"},
			&cli.StringFlag{Name: "format", Value: "lft", Usage: "`FORM` of --out: lft (for OpenSM's engine file), json (with virtual lanes)"},
			&cli.StringFlag{Name: "heat", Usage: "draw the routes on each cable, before and after, to `FILE`, whose ending says how: .svg, .png or .csv"},
			&cli.IntFlag{Name: "pid", Usage: "OpenSM's process `N`: signal it (SIGHUP) when --out was written, or have it load the tables of --dir"},
		}, loadedFlags(), []cli.Flag{
			&cli.BoolFlag{Name: "follow", Usage: "look at the jobs again and again, and route anew when those across switches have changed"},
			&cli.DurationFlag{Name: "every", Value: 30 * time.Second, Usage: "how often --follow looks, `DURATION`"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document; with --follow one for each line"},
		}),
		Action: routesJobsAction,
	}, "  squeue -h -o %A:%N | evbench routes jobs - -t fabric.txt --last jobs.last -o lft.txt --pid $(pidof opensm)\n"+
		"  evbench routes jobs --follow --queue 'squeue -h -o %A:%N' --discover ibnetdiscover --dir /etc/evbench --pid $(pidof opensm)\n"+
		"  evbench routes jobs 3x60 -t 'FT(2;18,10)' --placement random --draws 20\n\n"+
		"JOBS is a file, or - for standard input, of lines \"job: node,node\" or of what squeue prints. With --dir OpenSM loads\n"+
		"the tables and they are read back, as by evbench routes install. --follow runs until it is interrupted; what is\n"+
		"installed stays.")
	compute := cmd.Action
	cmd.Action = func(c *cli.Context) error {
		if c.Bool("follow") || c.IsSet("dir") {
			return routesJobsAction(c) // puts earlier files back when it is told to end
		}
		return compute(c)
	}
	return cmd
}

func routesJobsAction(c *cli.Context) error {
	if err := jobsUsage(c); err != nil {
		return err
	}
	if c.String("placement") == "random" {
		return randomJobs(c)
	}
	f, err := newFollowing(c)
	if err != nil {
		return err
	}
	if c.Bool("follow") {
		return followJobs(c, f)
	}
	r, err := jobs.Once(c.Context, f, c.String("last"))
	if err != nil {
		return err
	}
	return printed(c, r.WriteText, r.WriteJSON)
}

func jobsUsage(c *cli.Context) error {
	if c.String("queue") == "" {
		if err := needArgs(c, 1, 1, "JOBS"); err != nil {
			return err
		}
	} else if c.Args().Present() {
		return usagef("%s: --queue prints the jobs", c.Args().First())
	}
	switch {
	case (c.String("topology") == "") == (c.String("discover") == ""):
		return usagef("--topology is missing, for example -t 'FT(2;4,8)', or --discover in place of it")
	case !slices.Contains([]string{"listed", "random"}, c.String("placement")):
		return usagef("--placement %q: there are listed and random", c.String("placement"))
	case !slices.Contains([]string{"lft", "json"}, c.String("format")):
		return usagef("--format %q: there are lft and json", c.String("format"))
	case c.Int("draws") < 1 || c.Int("draws") > mostPhases:
		return usagef("--draws %d: must be 1..%d", c.Int("draws"), mostPhases)
	case c.Int("lanes") < 0 || c.Int("lanes") > lft.MaxLanes || c.IsSet("lanes") && c.Int("lanes") == 0:
		return usagef("--lanes %d: must be 1..%d", c.Int("lanes"), lft.MaxLanes)
	case c.IsSet("pid") && c.Int("pid") < 1:
		return usagef("--pid %d is no process", c.Int("pid"))
	case c.Duration("every") <= 0:
		return usagef("--every %s: must be more than 0", c.Duration("every"))
	}
	if err := jobsFlagsFit(c); err != nil {
		return err
	}
	return jobsFiles(c)
}

// jobsFlagsFit refuses flags that say nothing together.
func jobsFlagsFit(c *cli.Context) error {
	refuse := func(why string, names ...string) error {
		for _, name := range names {
			if c.IsSet(name) {
				return usagef("--%s %s", name, why)
			}
		}
		return nil
	}
	var errs []error
	if c.String("placement") == "random" {
		errs = append(errs, refuse("is for --placement listed", "out", "format", "pid", "last", "classes", "dir", "queue", "discover", "lanes", "heat", "follow"))
	} else {
		errs = append(errs, refuse("is for --placement random", "steps", "draws"))
	}
	if c.Bool("follow") {
		errs = append(errs, refuse("is for one look at the jobs: --follow knows what it saw last", "last", "heat"))
		if c.Args().First() == "-" {
			errs = append(errs, usagef("standard input can be read once: --follow needs a file, or --queue"))
		}
	} else {
		errs = append(errs, refuse("is for --follow", "every"))
	}
	if c.IsSet("discover") {
		errs = append(errs, refuse("is for --topology", "down", "down-random", "lmc", "lids", "roots"))
	}
	if c.IsSet("dir") {
		errs = append(errs, refuse("is for tables without --dir", "out", "format"))
		if !c.IsSet("pid") {
			errs = append(errs, usagef("--dir: OpenSM's process is missing, --pid"))
		}
	} else {
		errs = append(errs, refuse("is for --dir", "log", "dump"))
	}
	if c.IsSet("pid") && c.String("format") == "json" {
		errs = append(errs, usagef("--format json is not what OpenSM reads, and --pid would have it read"))
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// jobsFiles checks what is outside: better now than when tables are there.
func jobsFiles(c *cli.Context) error {
	var names []string
	for _, flag := range []string{"out", "last", "heat"} {
		if name := c.String(flag); name != "" {
			names = append(names, name)
		}
	}
	if name := c.String("heat"); name != "" {
		if _, err := writerFor("heat", name); err != nil {
			return err
		}
	}
	if len(names) > 1 {
		if err := atomicfile.Check(names...); err != nil {
			return usage(err)
		}
	}
	switch {
	case c.IsSet("dir"):
		return canLoad(c)
	case c.IsSet("pid") && c.String("out") == "":
		return usagef("--pid: nothing to signal without --out or --dir")
	case c.IsSet("pid"):
		return isRunning(c.Int("pid"), "")
	}
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

// randomJobs scatters the jobs over the hosts, again and again.
func randomJobs(c *cli.Context) error {
	s, err := readSource(c, c.String("topology"))
	if err != nil {
		return err
	}
	sizes, err := jobSizes(c.Args().First())
	if err != nil {
		return err
	}
	ways := jobs.Compared
	if c.Bool("steps") {
		ways = jobs.AllWays
	}
	draws, err := jobs.DrawPlacements(c.Context, s.Net, sizes, c.Uint64("seed"), c.Int("draws"), ways)
	switch {
	case c.Context.Err() != nil:
		return err
	case err != nil:
		return usage(err)
	}
	draws.Source = c.String("topology")
	return printed(c, draws.WriteText, draws.WriteJSON)
}

// jobSizes reads sizes, or takes those of a list of jobs.
func jobSizes(arg string) ([]int, error) {
	if sizes, err := jobs.ParseSizes(arg); err == nil {
		return sizes, nil
	}
	list, err := jobs.ReadList(arg)
	if err != nil {
		return nil, err
	}
	var sizes []int
	for _, j := range list {
		sizes = append(sizes, len(j.Nodes))
	}
	return sizes, nil
}
