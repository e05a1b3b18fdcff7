package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/topology"
)

func planCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "plan",
		Usage: "compute a schedule and its paths for a fat tree with dead links",
		Flags: append(treeFlags(),
			&cli.StringFlag{Name: "schedule", Aliases: []string{"s"}, Value: "fors", Usage: "`NAME`: " + strings.Join(scheduler.Names(), ", ")},
			&cli.StringFlag{Name: "routing", Aliases: []string{"r"}, Usage: "`NAME`: " + strings.Join(routing.Engines(), ", ") +
				", pinned, none (default: pinned where the schedule chooses spines, else ftree)"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORM` of the plan: text, json"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write the plan to `FILE`, replacing it (default: standard output)"},
			&cli.BoolFlag{Name: "json", Usage: "the same as --format json"},
			&cli.BoolFlag{Name: "time", Usage: "print how long planning took"},
			&cli.BoolFlag{Name: "quiet", Usage: "print nothing but the plan"},
		),
		Action: planAction,
	}, "  evbench plan -t 'FT(2;4,8)' --down leaf0-spine0 -s fors -o plan.txt")
}

func planAction(c *cli.Context) error {
	if err := needArgs(c, 0, 0, ""); err != nil {
		return err
	}
	write, err := planWriter(c)
	if err != nil {
		return err
	}
	t, err := tree(c)
	if err != nil {
		return err
	}
	start := time.Now()
	p, err := plan.Build(t, plan.Options{Schedule: c.String("schedule"), Routing: c.String("routing"), Seed: c.Uint64("seed")})
	if err != nil {
		if u, ok := errors.AsType[*topology.UnreachableError](err); ok {
			return usagef("%s without %s: %w", t.Notation(), strings.Join(t.DownNames(), ", "), u)
		}
		return usage(err)
	}
	took := time.Since(start)
	if name := c.String("out"); name != "" {
		err = atomicfile.Write(name, func(w io.Writer) error { return write(p, w) })
	} else {
		err = write(p, c.App.Writer)
	}
	if err != nil {
		return err
	}
	if !c.Bool("quiet") {
		describePlan(c, p)
	}
	if c.Bool("time") {
		fmt.Fprintf(c.App.ErrWriter, "planned in %.1f ms\n", took.Seconds()*1e3)
	}
	return nil
}

func planWriter(c *cli.Context) (func(*plan.Plan, io.Writer) error, error) {
	form := c.String("format")
	if c.Bool("json") {
		form = "json"
	}
	switch form {
	case "text":
		return (*plan.Plan).WriteText, nil
	case "json":
		return (*plan.Plan).WriteJSON, nil
	}
	return nil, usagef("--format %q: there are text and json", form)
}

// describePlan prints what a plan promises.
func describePlan(c *cli.Context, p *plan.Plan) {
	w, t := c.App.ErrWriter, p.Tree
	fmt.Fprintf(w, "%s, %d servers, %d of %d links dead, schedule %s, routing %s\n",
		t.Notation(), t.Servers(), len(t.Dead()), t.Leaves()*t.Spines(), p.ScheduleName(), p.Routing)
	if p.Routing == plan.NoRouting {
		fmt.Fprintf(w, "phases %d; without routes nothing is said about contention\n", p.Phases())
		return
	}
	cost := p.Cost(plan.Equal, c.Uint64("seed"))
	fmt.Fprintf(w, "phases %d, duration %.4g message times, bound %d (%s): %s\n",
		p.Phases(), cost.Duration, p.Bound.Phases, p.Bound, verdict(p, cost))
	fmt.Fprintf(w, "predicted efficiency synchronised %.3f, unsynchronised at most %.3f\n", cost.Synchronised(), cost.Unsynchronised())
}

// verdict says how far a plan is from the fewest message times.
func verdict(p *plan.Plan, cost plan.Cost) string {
	if over := cost.Duration - float64(p.Bound.Phases); over > 0 {
		return fmt.Sprintf("%.4g above it", over)
	}
	return "optimal, no plan is shorter"
}
