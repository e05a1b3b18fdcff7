package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench/live"
	"evbench/internal/cmdline"
	"evbench/study/survey"
)

func whatifAction(c *cli.Context) error {
	t, err := anyTree(c)
	if err != nil {
		return err
	}
	o := survey.WhatIfOptions{
		K: c.Int("k"), Sample: c.Int("sample"), Seed: c.Uint64("seed"), Cases: survey.Cases(cmdline.Names(c, "schedule"), cmdline.Names(c, "routing")),
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
		p := live.NewSets(newTerminal(c.App.ErrWriter, false), time.Now)
		o.Progress = p.Update
		defer p.End()
	}
	report, err := survey.WhatIf(c.Context, t, o)
	if err != nil {
		return usage(err)
	}
	text, json := report.Answer().Before(report.WriteText, report.WriteJSON)
	return printed(c, text, json)
}
