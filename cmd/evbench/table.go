package main

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/barrier"
	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/internal/cmdline"
	"evbench/internal/proc"
	"evbench/model/simulate"
	"evbench/model/sweep"
	"evbench/scenario"
	"evbench/study/survey"
	"evbench/topology"
)

func sizesTable(c *cli.Context, r survey.Run, t *topology.Tree) (*answer.Table, error) {
	return survey.SizesTable(r, t, c.Uint64("seed"))
}

func tokensTable(c *cli.Context, r survey.Run, t *topology.Tree) (*answer.Table, error) {
	return survey.TokensTable(r, t, c.Uint64("seed"))
}

// tableOf makes and prints a table of the tree given by the flags.
func tableOf(fill func(*cli.Context, survey.Run, *topology.Tree) (*answer.Table, error)) func(*cli.Context, *sweep.Sweep) error {
	return func(c *cli.Context, s *sweep.Sweep) error {
		t, err := singleTree(c)
		if err != nil {
			return err
		}
		if err := checkPlans(t.Servers(), runtime.GOMAXPROCS(0)); err != nil {
			return err
		}
		table, err := fill(c, survey.Run{Context: c.Context, Sweep: s}, t)
		if err != nil {
			return usage(err)
		}
		return writeTable(c, table)
	}
}

func writeTable(c *cli.Context, t *answer.Table) error {
	return answer.Document{Schema: "evbench/table/1", Table: t}.Write(c.App.Writer, c.String("format"))
}

func sprayingAction(c *cli.Context, s *sweep.Sweep) error {
	o, err := sprayingOptions(c)
	if err != nil {
		return err
	}
	o.Sweep = s
	figures, err := proc.Collect(c.Context, func(give func(survey.SprayingFigure) error) error { return survey.Spraying(c.Context, o, give) })
	if err != nil && (c.Context.Err() == nil || !s.Whole()) {
		return usage(err)
	}
	table := survey.SprayingTable(o, figures)
	if err != nil {
		table.Notes = append(table.Notes, "INCOMPLETE: stopped")
	}
	if file := c.String("svg"); file != "" && err == nil {
		if err := atomicfile.Write(file, func(w io.Writer) error { return survey.DrawSpraying(w, o, c.String("queues"), figures) }); err != nil {
			return err
		}
	}
	return writeTable(c, table)
}

func sprayingOptions(c *cli.Context) (o survey.SprayingOptions, err error) {
	t, err := written(c, "topology")
	if err == nil {
		err = twoLevels(c, t.Shape)
	}
	if err != nil {
		return o, err
	}
	o = survey.SprayingOptions{
		Tree: t, Draws: c.Int("draws"), Round: c.Duration("round"), Jitter: time.Microsecond, Barrier: barrier.Tournament,
		Exchanges: c.Float64("exchanges"), Seed: c.Uint64("seed"), Ways: survey.Ways(),
		Dead: cmdline.Numbers(c, "dead"), Buffers: cmdline.Numbers(c, "buffers"), Lanes: cmdline.Numbers(c, "lanes"),
		BitPerSec: float64(cmdline.Rate(c, "rate")), Fragment: int(cmdline.Size(c, "fragment")),
	}
	x := scenario.DefaultLossless() // switches and cables as in scenarios with only fabric.lossless
	x.Packet, x.Queues, x.Order = cmdline.Size(c, "packet"), c.String("queues"), c.String("order")
	o.Network = simulate.Lossless(x)
	if c.Bool("quick") {
		o.Dead, o.Draws = []int{0, 1}, 1
	}
	if !c.Bool("quiet") {
		o.Progress = func(work string) { fmt.Fprintln(c.App.ErrWriter, work) }
	}
	return o, nil
}
