package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/internal/atomicfile"
	"evbench/internal/cmdline"
	"evbench/internal/proc"
	"evbench/scenario"
	"evbench/study/survey"
	"evbench/topology"
)

func sprayingAction(c *cli.Context) error {
	o, err := sprayingOptions(c)
	if err != nil {
		return err
	}
	figures, err := proc.Collect(c.Context, func(give func(survey.SprayingFigure) error) error { return survey.Spraying(c.Context, o, give) })
	if err != nil && c.Context.Err() == nil {
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
	t, err := treeOptions(c, "topology")
	if err != nil {
		return o, err
	}
	if t.Pods > 0 {
		return o, usagef("--topology %s: three levels; spraying takes trees of two, FT(2;M0,M1)", c.String("topology"))
	}
	o = survey.SprayingOptions{
		Draws: c.Int("draws"), Round: c.Duration("round"), Jitter: c.Duration("jitter"), Barrier: c.String("barrier"),
		Exchanges: c.Float64("exchanges"), Seed: c.Uint64("seed"), Ways: survey.Ways(),
		Dead: cmdline.Numbers(c, "dead"), Buffers: cmdline.Numbers(c, "buffers"), Lanes: cmdline.Numbers(c, "lanes"),
		BitPerSec: float64(cmdline.Rate(c, "rate")), Fragment: int(cmdline.Size(c, "fragment")),
	}
	x := scenario.DefaultLossless() // switches and cables are as in scenarios that say no more than fabric.lossless
	x.Packet, x.Queues, x.Order = cmdline.Size(c, "packet"), c.String("queues"), c.String("order")
	o.Network = bench.LosslessOf(x)
	if o.Tree, err = topology.New(t); err == nil {
		err = o.Tree.OneCable("spraying takes trees")
	}
	if err != nil {
		return o, usage(err)
	}
	if c.Bool("quick") {
		o.Dead, o.Draws = []int{0, 1}, 1
	}
	if !c.Bool("quiet") {
		o.Progress = func(work string) { fmt.Fprintln(c.App.ErrWriter, work) }
	}
	return o, nil
}
