package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/cmdline"
	"evbench/internal/trust"
	"evbench/model/order"
	"evbench/plan"
	"evbench/scheduler/judge"
	"evbench/site/host"
	"evbench/site/lft"
	"evbench/site/mpi"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/site/ports"
	"evbench/site/wrapped"
)

// mpiOptionsAction prints options for scripts that start Open MPI's mpirun.
func mpiOptionsAction(c *cli.Context) error {
	command := c.Args().Slice()
	if len(command) == 0 {
		command = []string{"mpirun"}
	}
	l, err := mpi.FindLauncher(c.Context, command...)
	if err != nil {
		return usage(err)
	}
	needs := mpi.Needs{Network: c.String("network"), Agent: c.String("agent"), Scratch: c.String("scratch"), Bound: mentions(command, "-bind-to")}
	if needs.Network == "" && os.Getenv("OMPI_MCA_btl_tcp_if_include")+os.Getenv("OMPI_MCA_btl_tcp_if_exclude") == "" && !mentions(command, "btl_tcp_if_") {
		warnOfNetworks(c)
	}
	_, err = fmt.Fprintln(c.App.Writer, strings.Join(l.Options(needs), "\n"))
	return err
}

func mentions(command []string, part string) bool {
	return slices.ContainsFunc(command, func(s string) bool { return strings.Contains(s, part) })
}

// warnOfNetworks says if Open MPI would use several networks of this machine.
func warnOfNetworks(c *cli.Context) {
	facts, err := host.Read()
	if networks := facts.Networks(); err == nil && len(networks) > 1 {
		fmt.Fprintf(c.App.ErrWriter, "evbench: this machine has %d networks (%s): over TCP, Open MPI sends equal parts of each message over all that two hosts share, "+
			"and the slowest limits the rate; choose one by --network, or NETWORK of scripts/run-mpirun.sh\n", len(networks), strings.Trim(fmt.Sprint(networks), "[]"))
	}
}

func mpiWrapAction(c *cli.Context) (err error) {
	s, o, err := wrapOptions(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if o.Temp, err = trust.TempDir(""); err != nil {
		return err
	}
	defer trust.RemoveTemp(o.Temp)
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
		r.Measured(before, after, float64(cmdline.Rate(c, "rate")))
	} else if s.After != nil {
		if err := s.After(c.Context); err != nil {
			return err
		}
	}
	d := answer.Document{Answer: r.Answer(), Text: r.WriteText, Fields: r}
	switch {
	case c.Bool("json"):
		return d.Write(c.App.Writer, "json")
	case c.Bool("quiet"):
		return nil
	}
	return d.Write(c.App.ErrWriter, "text")
}

func wrapOptions(c *cli.Context) (s *wrapped.Session, o wrapped.Options, err error) {
	alone := c.NArg() == 0
	switch {
	case !c.IsSet("network") && !c.IsSet("plan") && !c.IsSet("paths"):
		return nil, o, usagef("--network, --plan or --paths is missing")
	case c.IsSet("network") && c.IsSet("plan") && !c.IsSet("tables"):
		return nil, o, usagef("--network and --plan: give one of them, or --tables, too, to check the plan")
	case alone && (c.String("out") == "" || c.String("hosts") == "" && !c.Bool("by-rank")):
		return nil, o, usagef("give the program to run, for example: -- mpirun -n 16 ./program; without a program: --hosts FILE -o FILE")
	case c.String("routes") == wrapped.OpenSM && c.String("pid") == "" && !alone:
		return nil, o, usagef("--routes opensm needs --pid, the OpenSM that loads the tables before the program runs")
	}
	o = wrapped.Options{
		Network: c.String("network"), PlanFile: c.String("plan"), Schedule: c.String("schedule"), ByRank: c.Bool("by-rank"), Out: c.String("out"),
		Routes: c.String("routes"), Shell: strings.Fields(c.String("shell")), Load: loadedBy(c), Engine: c.String("engine"), Seed: c.Uint64("seed"),
	}
	if c.IsSet("hosts") {
		text, from, err := netfile.HostsText(c.String("hosts"))
		if err != nil {
			return nil, o, usagef("--hosts: %w", err)
		}
		o.Hosts, o.HostFile = string(text), from
	}
	if c.IsSet("paths") {
		if o.Paths, err = ports.ReadFiles(cmdline.Names(c, "paths")...); err != nil {
			return nil, o, wrongIn("--paths", err)
		}
	}
	if o.Network != "" {
		if o.Source, err = readSource(c, o.Network); err != nil {
			return nil, o, err
		}
	}
	if c.IsSet("tables") {
		o.Order = func(nodes []network.Node, hosts []plan.Host) (*wrapped.Ordered, error) {
			return orderOf(c, o.Source, nodes, hosts)
		}
	}
	source := o.Source
	o.Judge = func(f *judge.File) (*wrapped.Ordered, error) { return judgeOrder(c, source, f) }
	if o.PlanFile != "" {
		o.Source = nil // only to check the plan
	}
	l := &wrapped.Launcher{Command: c.Args().Slice(), Stdout: c.App.Writer, Stderr: c.App.ErrWriter}
	if c.Bool("json") {
		l.Stdout = c.App.ErrWriter
	}
	return &wrapped.Session{
		Launcher: l, Compare: c.Bool("compare"), Rounds: c.Int("rounds"),
		Order: wrapped.Order{Library: c.String("library"), Min: int64(cmdline.Size(c, "min-size")), Eager: int64(cmdline.Size(c, "eager"))},
		Say: func(format string, a ...any) {
			if !c.Bool("quiet") {
				fmt.Fprintf(c.App.ErrWriter, format+"\n", a...)
			}
		},
	}, o, nil
}

// orderOf plans the order of messages between hosts over the tables of --tables.
func orderOf(c *cli.Context, s *netfile.Source, nodes []network.Node, hosts []plan.Host) (*wrapped.Ordered, error) {
	bits, err := pathBits(c, s.Net)
	if err != nil {
		return nil, err
	}
	t, err := givenTables(c, s, bits)
	if err != nil {
		return nil, err
	}
	p, err := order.Make(c.String("network"), t, lft.Job{Nodes: nodes, Host: wrapped.HostOf(hosts)}, 0)
	if err != nil {
		return nil, fmt.Errorf("--tables %s: %w", c.String("tables"), err)
	}
	p.Hosts = hosts
	return &wrapped.Ordered{Hash: p.Hash(), Phases: p.Phases, Least: p.Bound.Time, Write: p.WriteText, Answer: p.Answer(p.Figures())}, nil
}

// judgeOrder checks a plan for given tables with those of --tables.
func judgeOrder(c *cli.Context, s *netfile.Source, f *judge.File) (*wrapped.Ordered, error) {
	if f.Sized() {
		return nil, errors.New("it has no phases: its fragments differ in size, and evbench mpi wrap takes plans of messages of one size")
	}
	var o judge.Options
	switch {
	case c.IsSet("tables"):
		with, err := judgedWith(c.String("tables"), s)
		if err == nil {
			o.Tables, err = with.on(f)
		}
		if err != nil {
			return nil, err
		}
	case !c.Bool("any-tables"):
		return nil, errors.New("it orders messages over the tables that it was made for: give --network and --tables to check that the switches still have them, or --any-tables")
	}
	if report := judge.Check(f, o); !report.Valid {
		return nil, errors.New(report.Offences[0].Text)
	}
	return &wrapped.Ordered{Hash: f.Hash, Phases: f.Phases, Least: f.Bound.Value}, nil
}
