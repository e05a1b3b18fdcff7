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
	worse, err := d.Worse(cmdline.Names(c, "fail-on"))
	if err != nil {
		return usagef("--fail-on: %w", err)
	}
	err = judged(c, true, answer.Document{Answer: d.Answer(c.Args().Get(0), c.Args().Get(1), worse), Text: d.WriteText, Schema: "evbench/diff/1", Fields: struct {
		plandiff.Diff
		Worse []plandiff.Regression `json:"worse"`
	}{d, worse}})
	if err == nil && len(worse) > 0 {
		err = gate(answer.Below)
	}
	return err
}

// loadPlan reads a complete and valid plan, from a file or, "-", standard input.
func loadPlan(name string) (*plan.Plan, error) {
	return opened(name, func(r io.Reader) (*plan.Plan, error) { return plan.ReadAtMost(r, host.Room(100)) })
}
