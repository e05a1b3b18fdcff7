package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/internal/atomicfile"
	"evbench/internal/proc"
	"evbench/internal/unit"
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
	}
	if o.Tree, err = topology.New(t); err != nil {
		return o, usage(err)
	}
	for _, list := range []struct {
		flag string
		to   *[]int
	}{{"dead", &o.Dead}, {"buffers", &o.Buffers}, {"lanes", &o.Lanes}} {
		if *list.to, err = numbers(c, list.flag); err != nil {
			return o, err
		}
	}
	if c.Bool("quick") {
		o.Dead, o.Draws = []int{0, 1}, 1
	}
	if !c.Bool("quiet") {
		o.Progress = func(work string) { fmt.Fprintln(c.App.ErrWriter, work) }
	}
	return o, sprayingNetwork(c, &o)
}

// sprayingNetwork reads what the network is like. Switches and cables are as in scenarios
// that say no more than fabric.lossless.
func sprayingNetwork(c *cli.Context, o *survey.SprayingOptions) error {
	packet, err := sizeOf(c, "packet")
	if err != nil {
		return err
	}
	fragment, err := sizeOf(c, "fragment")
	if err != nil {
		return err
	}
	rate, err := unit.ParseRate(c.String("rate"))
	if err != nil {
		return usagef("--rate: %w", err)
	}
	o.BitPerSec, o.Fragment = float64(rate), int(fragment)
	x := scenario.DefaultLossless()
	x.Packet, x.Queues, x.Order = packet, c.String("queues"), c.String("order")
	o.Network = bench.LosslessOf(x)
	return nil
}

// sizeOf reads the size of something that is sent.
func sizeOf(c *cli.Context, flag string) (unit.Bytes, error) {
	size, err := unit.ParseBytes(c.String(flag))
	if err == nil && (size < 64 || size > 1<<30) {
		err = fmt.Errorf("%s: must be 64B to 1GiB", size)
	}
	if err != nil {
		return 0, usagef("--%s: %w", flag, err)
	}
	return size, nil
}

// numbers reads a list of whole numbers.
func numbers(c *cli.Context, flag string) ([]int, error) {
	names, err := listed(c, flag)
	if err != nil {
		return nil, err
	}
	out := make([]int, len(names))
	for i, s := range names {
		if out[i], err = strconv.Atoi(s); err != nil || out[i] < 0 || out[i] > 1<<20 {
			return nil, usagef("--%s %q: write whole numbers with commas, such as 1,4", flag, c.String(flag))
		}
	}
	return out, nil
}
