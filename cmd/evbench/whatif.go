package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench/progress"
	"evbench/plan"
	"evbench/plan/store"
	"evbench/routing/twolevel"
	"evbench/scheduler"
	"evbench/study/survey"
	"evbench/topology"
)

// kept is the case whose plans --save keeps.
var kept = survey.Case{Schedule: scheduler.NameFORS, Routing: twolevel.Pinned}

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
			&cli.StringFlag{Name: "save", Usage: "keep the plans of fors, pinned, in `DIR`, which is new or holds plans for this fabric"},
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
	o := survey.WhatIfOptions{K: c.Int("k"), Sample: c.Int("sample"), Seed: c.Uint64("seed"), KeepCase: kept}
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
	w, err := saver(c, t, &o)
	if err != nil {
		return err
	}
	if !c.Bool("quiet") {
		fmt.Fprintf(c.App.ErrWriter, "%s; cases: %d\n", sets, len(o.Cases))
		p := progress.NewSets(newTerminal(c.App.ErrWriter, false), time.Now)
		o.Progress = p.Update
		defer p.End()
	}
	report, err := survey.WhatIf(c.Context, t, o)
	if w != nil && (err == nil || w.Plans() > 0) {
		if saved := w.Close(); err == nil {
			err = saved
		}
	}
	if err != nil {
		return whatifError(err, report)
	}
	return printed(c, report.WriteText, report.WriteJSON)
}

// whatifError says what is wrong use: what no set can be planned with. What went
// wrong while plans were being kept is not.
func whatifError(err error, r *survey.WhatIfReport) error {
	if r == nil && !survey.IsKeepError(err) {
		return usage(err)
	}
	return err
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

// saver makes the store that --save asks for, or nil.
func saver(c *cli.Context, t *topology.Tree, o *survey.WhatIfOptions) (*store.Writer, error) {
	dir := c.String("save")
	if dir == "" {
		return nil, nil
	}
	if !slices.Contains(o.Cases, kept) {
		return nil, usagef("--save keeps the plans of %s, which is not among the cases", kept)
	}
	if err := t.Connected(); err != nil {
		return nil, usage(err)
	}
	w, err := store.Create(dir, t)
	if err != nil {
		return nil, usagef("--save: %w", err)
	}
	o.Keep = func(p *plan.Plan) error { return w.Add(p) }
	return w, nil
}
