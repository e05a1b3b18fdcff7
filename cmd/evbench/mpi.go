package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/companion/wrapped"
	"evbench/internal/cmdline"
)

func mpiWrapAction(c *cli.Context) error {
	s, o, err := wrapOptions(c)
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
		r.Measured(before, after, float64(cmdline.Rate(c, "rate")))
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

func wrapOptions(c *cli.Context) (s *wrapped.Session, o wrapped.Options, err error) {
	alone := c.NArg() == 0
	switch {
	case alone && (c.String("out") == "" || c.String("hosts") == "" && !c.Bool("by-rank")):
		return nil, o, usagef("what is to run? for example: -- mpirun -n 16 ./program; without a program: --hosts FILE -o FILE")
	case c.String("routes") == wrapped.OpenSM && c.String("pid") == "" && !alone:
		return nil, o, usagef("--routes opensm needs --pid, the OpenSM that loads the tables before the program runs")
	}
	o = wrapped.Options{
		Network: c.String("network"), PlanFile: c.String("plan"), ByRank: c.Bool("by-rank"), Out: c.String("out"),
		Routes: c.String("routes"), Shell: strings.Fields(c.String("shell")), Load: loadedBy(c), Engine: c.String("engine"), Seed: c.Uint64("seed"),
	}
	if c.IsSet("hosts") {
		text, from, err := hostsText(c.String("hosts"))
		if err != nil {
			return nil, o, usagef("--hosts: %w", err)
		}
		o.Hosts, o.HostFile = string(text), from
	}
	if o.Network != "" {
		if o.Source, err = readSource(c, o.Network); err != nil {
			return nil, o, err
		}
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
