package main

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/study/survey"
)

func routingTable() *cli.Command {
	return interruptible(&cli.Command{
		Name:  "routing",
		Usage: "measure the routing engines themselves, beside what is published of the same work",
		Flags: append(formatFlags(),
			&cli.BoolFlag{Name: "quick", Usage: "networks of up to 11,664 hosts, and fewer runs"},
			&cli.IntFlag{Name: "most", Usage: "networks of up to `N` hosts (default: all)"},
			&cli.BoolFlag{Name: "quiet", Usage: "no progress"}),
		Action: routingAction,
	}, "  evbench table routing --quick")
}

// routingAction owns the clock; an interrupted measurement prints what is done.
func routingAction(c *cli.Context) error {
	if err := needArgs(c, 0, 0, ""); err != nil {
		return err
	}
	write, err := tableWriter(c)
	if err != nil {
		return err
	}
	if c.Int("most") < 0 {
		return usagef("--most %d: must not be negative", c.Int("most"))
	}
	start := time.Now()
	o := survey.RoutesOptions{
		Clock: func() time.Duration { return time.Since(start) }, Allocated: allocated, Quick: c.Bool("quick"), Most: c.Int("most"),
	}
	if !c.Bool("quiet") {
		o.Progress = func(work string) { fmt.Fprintln(c.App.ErrWriter, work) }
	}
	figures, err := collect(c.Context, func(give func(survey.RouteFigure) error) error { return survey.Routes(c.Context, o, give) })
	if err != nil && c.Context.Err() == nil {
		return err
	}
	table := survey.RoutesTable(figures)
	if err != nil {
		table.Notes = append(table.Notes, "INCOMPLETE: stopped")
	}
	return write(table, c.App.Writer)
}
