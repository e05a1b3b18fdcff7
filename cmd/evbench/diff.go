package main

import (
	"io"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/cmdline"
	"evbench/plan"
	"evbench/site/host"
	"evbench/view/plandiff"
)

func diffAction(c *cli.Context) error {
	var plans [2]*plan.Plan
	for i := range plans {
		p, err := loadPlan(c.Args().Get(i))
		if err != nil {
			return usagef("%s: %w", c.Args().Get(i), err)
		}
		plans[i] = p
	}
	d := plandiff.Compare(plans[0], plans[1])
	worse, lacking, err := d.Worse(cmdline.Names(c, "fail-on"))
	if err != nil {
		return usagef("--fail-on: %w", err)
	}
	a := d.Answer(c.Args().Get(0), c.Args().Get(1), worse, lacking)
	err = judged(c, true, answer.Document{Answer: a, Text: d.WriteText, Schema: "evbench/diff/1", Fields: struct {
		plandiff.Diff
		Worse []plandiff.Regression `json:"worse"`
	}{d, worse}})
	switch {
	case err != nil || !c.IsSet("fail-on"):
		return err
	case a.Verdict == answer.Unknown:
		return gate(answer.Across)
	case len(worse) > 0:
		return gate(answer.Below)
	}
	return nil
}

// loadPlan reads a complete and valid plan, from a file or, "-", standard input.
func loadPlan(name string) (*plan.Plan, error) {
	return opened(name, func(r io.Reader) (*plan.Plan, error) { return plan.ReadAtMost(r, host.Room(100), known.Engines) })
}
