package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/companion/wrapped"
	"evbench/internal/unit"
)

func mpiCommand() *cli.Command {
	return command(&cli.Command{
		Name:        "mpi",
		Usage:       "MPI programs of others, in the order of a plan",
		Subcommands: []*cli.Command{mpiWrapCommand()},
	}, "  evbench mpi wrap --network 'FT(2;4,4)' --down leaf0-spine0 --hosts hosts.txt -o plan.txt")
}

func mpiWrapCommand() *cli.Command {
	return command(&cli.Command{
		Name:      "wrap",
		Usage:     "run an MPI program whose all-to-all exchanges follow a plan for its hosts and today's dead links",
		ArgsUsage: "[-- mpirun OPTION… PROGRAM…]",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "network", Aliases: []string{"t", "topology"}, Usage: "tree of two levels in `NOTATION|FILE`, as for evbench topo show"},
		}, networkFlags(), []cli.Flag{
			&cli.StringFlag{Name: "hosts", Usage: "hosts of the job, `FILE` as for evbench judge (default: mpirun is asked)"},
			&cli.BoolFlag{Name: "by-rank", Usage: "ranks are the hosts of the network in their order, whatever they are called"},
			&cli.StringFlag{Name: "plan", Usage: "take the plan in `FILE` of evbench plan, or of -o, as it is"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write the plan with the hosts to `FILE`, for EVBENCH_PLAN; without a program nothing else is done"},
			&cli.StringFlag{Name: "routes", Value: "none", Usage: "put the plan's paths into tables first, `none|kernel|opensm`"},
			&cli.StringFlag{Name: "dir", Usage: "`DIR` that the files of --routes go to"},
			&cli.StringFlag{Name: "shell", Usage: "kernel: `COMMAND` that runs one on a switch, such as ssh or 'evbench lab exec'"},
			&cli.IntFlag{Name: "pid", Usage: "opensm: have the process `N` load the files, and read them back"},
			&cli.StringFlag{Name: "log", Value: "/var/log/opensm.log", Usage: "opensm: `FILE` that the process logs to"},
			&cli.StringFlag{Name: "dump", Value: "dump_lfts", Usage: "opensm: `COMMAND` that prints the tables of all switches"},
			&cli.DurationFlag{Name: "wait", Value: 2 * time.Minute, Usage: "opensm: how long the process may take, `DURATION`"},
			&cli.BoolFlag{Name: "compare", Usage: "run it without the plan, too, and compare"},
			&cli.StringFlag{Name: "engine", Aliases: []string{"e"}, Usage: "tables for runs without the plan, `NAME` (default: those that are there, and these runs come first)"},
			&cli.IntFlag{Name: "rounds", Value: 1, Usage: "`N` runs, with --compare of each"},
			&cli.StringFlag{Name: "min-size", Value: "16KiB", Usage: "leave calls with less than `BYTES` from a rank to another to the MPI"},
			&cli.StringFlag{Name: "eager", Value: "4MiB", Usage: "largest fragment, `BYTES`, that MPI sends over TCP without asking first (btl_tcp_eager_limit)"},
			&cli.StringFlag{Name: "rate", Usage: "rate of the links, `R` such as 100Gbit/s, for efficiencies"},
			&cli.StringFlag{Name: "library", Usage: "`FILE` of libevbench, on all hosts (default: beside evbench, in ../lib/evbench, else built by mpicc, for a job on this host alone)"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document; what the program prints goes to standard error"},
			&cli.BoolFlag{Name: "quiet", Usage: "print nothing but what the program prints"},
		}),
		Action: mpiWrapAction,
	}, "  evbench mpi wrap --network 'FT(2;4,4)' --down leaf0-spine0 --hosts hosts.txt -o plan.txt\n"+
		"  evbench mpi wrap --network fabric.txt --compare -- mpirun -n 16 python3 exchange.py")
}

func mpiWrapAction(c *cli.Context) error {
	s, o, rate, err := wrapOptions(c)
	if err != nil {
		return err
	}
	if o.Temp, err = os.MkdirTemp("", "evbench-mpi-"); err != nil {
		return err
	}
	defer os.RemoveAll(o.Temp)
	var r wrapped.Report
	if err := wrapped.Prepare(c.Context, o, s, &r); err != nil {
		if c.Context.Err() != nil {
			return context.Cause(c.Context)
		}
		return usage(err)
	}
	if c.NArg() > 0 {
		before, after, err := s.Run(c.Context)
		if err != nil {
			return err
		}
		r.Measured(before, after, rate)
	} else if s.After != nil {
		if err := s.After(c.Context); err != nil {
			return err
		}
	}
	switch {
	case c.Bool("json"):
		return json.NewEncoder(c.App.Writer).Encode(r)
	case c.Bool("quiet"):
		return nil
	}
	return r.WriteText(c.App.ErrWriter)
}

// wrapOptions checks the flags, and reads the network.
func wrapOptions(c *cli.Context) (s *wrapped.Session, o wrapped.Options, rate float64, err error) {
	least, err1 := unit.ParseBytes(c.String("min-size"))
	eager, err2 := unit.ParseBytes(c.String("eager"))
	var err3 error
	if text := c.String("rate"); text != "" {
		var r unit.Rate
		r, err3 = unit.ParseRate(text)
		rate = float64(r)
	}
	routes, dump, alone := c.String("routes"), strings.Fields(c.String("dump")), c.NArg() == 0
	for _, refuse := range []struct {
		when bool
		why  string
	}{
		{err1 != nil, fmt.Sprintf("--min-size: %v", err1)},
		{err2 != nil || eager < 1<<10 || eager > 1<<30, fmt.Sprintf("--eager %s: must be 1KiB to 1GiB", c.String("eager"))},
		{err3 != nil || rate < 0, fmt.Sprintf("--rate %s: %v", c.String("rate"), err3)},
		{c.Int("rounds") < 1, fmt.Sprintf("--rounds %d: must be at least 1", c.Int("rounds"))},
		{!slices.Contains([]string{wrapped.NoRoutes, wrapped.Kernel, wrapped.OpenSM}, routes), fmt.Sprintf("--routes %q: must be none, kernel or opensm", routes)},
		{(c.String("plan") == "") == (c.String("network") == ""), "say for which network, with --network, or which plan, with --plan: one of both"},
		{c.String("plan") != "" && (routes != wrapped.NoRoutes || c.IsSet("hosts") || c.IsSet("out") || c.Bool("by-rank")),
			"--plan takes a plan as it is: --routes, --hosts, --by-rank and --out need --network"},
		{c.String("hosts") != "" && c.Bool("by-rank"), "--hosts and --by-rank both say which hosts: give one"},
		{alone && (c.String("out") == "" || c.String("hosts") == "" && !c.Bool("by-rank")),
			"what is to run? for example: -- mpirun -n 16 ./program; without a program: --hosts FILE -o FILE"},
		{routes == wrapped.Kernel && len(strings.Fields(c.String("shell"))) == 0, "--routes kernel needs --shell: what runs a command on a switch, such as ssh?"},
		{routes == wrapped.OpenSM && c.String("dir") == "", "--routes opensm needs --dir: where do the files go?"},
		{routes == wrapped.OpenSM && c.Int("pid") == 0 && !alone, "--routes opensm needs --pid, the OpenSM that loads the tables before the program runs"},
		{len(dump) == 0, "--dump: names no command"},
		{c.String("engine") != "" && (routes == wrapped.NoRoutes || !c.Bool("compare")), "--engine is for --routes kernel or opensm with --compare"},
	} {
		if refuse.when {
			return nil, o, 0, usagef("%s", refuse.why)
		}
	}
	o = wrapped.Options{
		Network: c.String("network"), PlanFile: c.String("plan"), HostFile: c.String("hosts"), ByRank: c.Bool("by-rank"), Out: c.String("out"),
		Routes: routes, Shell: strings.Fields(c.String("shell")), Load: loadedBy(c), Engine: c.String("engine"), Seed: c.Uint64("seed"),
	}
	if o.Network != "" {
		if o.Source, err = readSource(c, o.Network); err != nil {
			return nil, o, 0, err
		}
	}
	l := &wrapped.Launcher{Command: c.Args().Slice(), Stdout: c.App.Writer, Stderr: c.App.ErrWriter}
	if c.Bool("json") {
		l.Stdout = c.App.ErrWriter
	}
	return &wrapped.Session{
		Launcher: l, Compare: c.Bool("compare"), Rounds: c.Int("rounds"),
		Order: wrapped.Order{Library: c.String("library"), Min: int64(least), Eager: int64(eager)},
		Say: func(format string, a ...any) {
			if !c.Bool("quiet") {
				fmt.Fprintf(c.App.ErrWriter, format+"\n", a...)
			}
		},
	}, o, rate, nil
}
