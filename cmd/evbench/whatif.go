package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/cmdline"
	"evbench/model/sweep"
	"evbench/routing"
	"evbench/site/network"
	"evbench/study/survey"
	"evbench/view/live"
)

func whatifAction(c *cli.Context, s *sweep.Sweep) error {
	if c.IsSet("tables-engine") {
		return whatifOver(c)
	}
	t, _, rates, err := treeAndHosts(c)
	if err != nil {
		if _, why := notTree(c); why != nil {
			err = usagef("%w\n%s is a network all the same: --tables-engine NAME, such as minmax, makes tables anew without each cable", err, c.String("topology"))
		}
		return err
	}
	if t.Leaves() == 1 && t.Renamed() {
		return usagef("--topology %s: one switch: no link between switches can die", c.String("topology"))
	}
	o := survey.WhatIfOptions{
		K: c.Int("k"), Sample: c.Int("sample"), Seed: c.Uint64("seed"), Cases: survey.Cases(cmdline.Names(c, "schedule"), cmdline.Names(c, "routing")), Sweep: s,
		Good: c.Float64("good") / 100, Assumes: otherRates(t, rates), Adaptive: c.Bool("adaptive"),
	}
	sets, err := survey.CountSets(t, o)
	if err != nil {
		return usage(err)
	}
	if err := checkPlans(t.Servers(), runtime.GOMAXPROCS(0)); err != nil {
		return err
	}
	if !c.Bool("quiet") {
		fmt.Fprintf(c.App.ErrWriter, "%s; cases: %d\n", sets, len(o.Cases))
		if s.Progress == nil {
			p := live.NewSets(newTerminal(c.App.ErrWriter, false), time.Now)
			s.Progress = p.Update
			defer p.End()
		}
	}
	if slices.ContainsFunc(o.Cases, func(x survey.Case) bool { return x.Routing != routing.Pinned }) {
		noteLanes(c, t)
	}
	report, err := survey.WhatIf(c.Context, t, o)
	if err != nil {
		return usage(err)
	}
	return printed(c, report.Document())
}

// whatifOver is whatif for a network of any shape: an engine makes its tables anew without the dead cables,
// and messages are ordered over them.
func whatifOver(c *cli.Context) error {
	for _, flag := range []string{"schedule", "routing", "readers", "builders", "shard", "journal"} {
		if c.IsSet(flag) {
			return usagef("--%s: not with --tables-engine, which orders the messages of all hosts over the tables of an engine", flag)
		}
	}
	s, err := readSource(c, c.String("topology"))
	if err != nil {
		return err
	}
	if s.Net, err = s.Net.WithSomeLIDs(); err != nil {
		return usage(err)
	}
	job, err := jobOf(c, s)
	if err != nil {
		return err
	}
	if apart := s.Whole.Apart(); apart != nil && slices.ContainsFunc(job.Nodes, func(v network.Node) bool { return apart(job.Nodes[0], v) }) {
		return severalNetworks(c)
	}
	if err := checkPlans(len(job.Nodes), runtime.GOMAXPROCS(0)); err != nil {
		return err
	}
	o := survey.OverOptions{
		Name: c.String("topology"), Engine: c.String("tables-engine"), Roots: s.Roots, Nodes: job.Nodes, Host: job.Host,
		K: c.Int("k"), Sample: c.Int("sample"), Seed: c.Uint64("seed"), Good: c.Float64("good") / 100,
	}
	if !c.Bool("quiet") {
		p := live.NewSets(newTerminal(c.App.ErrWriter, false), time.Now)
		o.Progress = p.Update
		defer p.End()
	}
	report, err := survey.WhatIfOver(c.Context, s.Net, o)
	if err != nil {
		return usage(err)
	}
	return printed(c, report.Document())
}
