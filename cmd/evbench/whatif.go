package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench/progress"
	"evbench/study/survey"
)

func whatifCommand() *cli.Command {
	return interruptible(&cli.Command{
		Name:  "whatif",
		Usage: "plan every failure of k links, and of k switches above the leaves, and say what they cost",
		Flags: append(treeFlags(),
			&cli.IntFlag{Name: "k", Value: 1, Usage: "`N` links, or switches, die at once: 1, 2 or 3"},
			&cli.IntFlag{Name: "sample", Usage: "plan `N` random sets of links and N of switches (default: all)"},
			&cli.StringFlag{Name: "schedule", Aliases: []string{"s"}, Usage: "`NAME,…` of plan --schedule (default: linear-shift, fors)"},
			&cli.StringFlag{Name: "routing", Aliases: []string{"r"}, Usage: "`NAME,…` of plan --routing, each with each schedule " +
				"(default: pinned where the schedule chooses spines, else ftree, minhop, spread)"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
			&cli.BoolFlag{Name: "quiet", Usage: "no progress"},
		),
		Action: whatifAction,
	}, "  evbench whatif -t 'FT(2;4,8)' --k 2 --sample 200")
}

func whatifAction(c *cli.Context) error {
	t, err := anyTree(c)
	if err != nil {
		return err
	}
	o := survey.WhatIfOptions{K: c.Int("k"), Sample: c.Int("sample"), Seed: c.Uint64("seed")}
	if o.Cases, err = cases(c); err != nil {
		return err
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
		p := progress.NewSets(newTerminal(c.App.ErrWriter, false), time.Now)
		o.Progress = p.Update
		defer p.End()
	}
	report, err := survey.WhatIf(c.Context, t, o)
	if err != nil {
		return usage(err)
	}
	return printed(c, report.WriteText, report.WriteJSON)
}

// cases joins the schedules and routings of the flags.
func cases(c *cli.Context) ([]survey.Case, error) {
	schedules, err := listed(c, "schedule")
	if err != nil {
		return nil, err
	}
	routings, err := listed(c, "routing")
	if err != nil {
		return nil, err
	}
	return survey.Cases(schedules, routings), nil
}
