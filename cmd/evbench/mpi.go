package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/companion/wrapped"
	"evbench/internal/unit"
)

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
		{alone && (c.String("out") == "" || c.String("hosts") == "" && !c.Bool("by-rank")),
			"what is to run? for example: -- mpirun -n 16 ./program; without a program: --hosts FILE -o FILE"},
		{routes == wrapped.Kernel && len(strings.Fields(c.String("shell"))) == 0, "--routes kernel needs --shell: what runs a command on a switch, such as ssh?"},
		{routes == wrapped.OpenSM && c.Int("pid") == 0 && !alone, "--routes opensm needs --pid, the OpenSM that loads the tables before the program runs"},
		{len(dump) == 0, "--dump: names no command"},
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
