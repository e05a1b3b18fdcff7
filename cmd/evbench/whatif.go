package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/cmdline"
	"evbench/model/sweep"
	"evbench/study/survey"
	"evbench/view/live"
)

func whatifAction(c *cli.Context, s *sweep.Sweep) error {
	t, err := anyTree(c)
	if err != nil {
		return err
	}
	o := survey.WhatIfOptions{
		K: c.Int("k"), Sample: c.Int("sample"), Seed: c.Uint64("seed"), Cases: survey.Cases(cmdline.Names(c, "schedule"), cmdline.Names(c, "routing")), Sweep: s,
		Good: c.Float64("good") / 100,
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
	report, err := survey.WhatIf(c.Context, t, o)
	if err != nil {
		return usage(err)
	}
	return printed(c, report.Document())
}
