package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/internal/atomicfile"
	"evbench/internal/proc"
	"evbench/internal/unit"
	"evbench/scenario"
	"evbench/study/survey"
	"evbench/topology"
)

func sprayingTable() *cli.Command {
	return interruptible(&cli.Command{
		Name:  "spraying",
		Usage: "on a lossless network, planned event building beside packets sprayed over all paths",
		Flags: append(formatFlags(),
			&cli.StringFlag{Name: "topology", Aliases: []string{"t"}, Value: "FT(2;8,8)", Usage: "fat tree in `NOTATION`"},
			&cli.StringFlag{Name: "fill", Usage: "servers on each leaf, `N,N,…` (default: all ports)"},
			&cli.StringFlag{Name: "dead", Value: "0,1,3,9", Usage: "numbers of dead links, `N,N,…`"},
			&cli.IntFlag{Name: "draws", Value: 3, Usage: "of dead links, `N` for each number"},
			&cli.StringFlag{Name: "buffers", Value: "4,64", Usage: "packets that an input port and lane holds, `N,N,…`"},
			&cli.StringFlag{Name: "lanes", Value: "1,4", Usage: "virtual lanes, `N,N,…`, of which a packet takes any"},
			&cli.StringFlag{Name: "queues", Value: scenario.QueuesFIFO, Usage: "of an input port, `HOW`: fifo (one for each lane), per-output"},
			&cli.StringFlag{Name: "order", Value: scenario.OrderTurns, Usage: "in which a server sends fragments, `HOW`: turns (a packet of each), first (one after the other)"},
			&cli.StringFlag{Name: "fragment", Value: "512KiB", Usage: "`SIZE` of what a server sends to another for one event"},
			&cli.StringFlag{Name: "packet", Value: "32KiB", Usage: "`SIZE` of a packet"},
			&cli.StringFlag{Name: "rate", Value: "100Gbit/s", Usage: "`RATE` of every link"},
			&cli.DurationFlag{Name: "round", Value: 2 * time.Microsecond, Usage: "one round of the barrier, `D`"},
			&cli.StringFlag{Name: "barrier", Value: scenario.Tournament, Usage: "`NAME`: tournament, central, dissemination"},
			&cli.DurationFlag{Name: "jitter", Value: time.Microsecond, Usage: "a server begins what is next up to `D` late"},
			&cli.Float64Flag{Name: "exchanges", Value: 8, Usage: "let a case last `N` exchanges at the full rate"},
			seedFlag(),
			&cli.StringFlag{Name: "svg", Usage: "draw the shares against the number of dead links in `FILE`"},
			&cli.BoolFlag{Name: "quick", Usage: "0 and 1 dead links, one draw"},
			&cli.BoolFlag{Name: "quiet", Usage: "no progress"}),
		Action: sprayingAction,
	}, "  evbench table spraying --quick\n"+
		"  evbench table spraying -t 'FT(2;20,18)' --fill 19,19,18,18,18,18,18,18,18,18,18,18,18,18,18,18,18,18 --draws 1 --packet 64KiB --fragment 1MiB")
}

func sprayingAction(c *cli.Context) error {
	write, err := tableWriter(c)
	if err != nil {
		return err
	}
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
	return write(table, c.App.Writer)
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
	queues, order := c.String("queues"), c.String("order")
	if queues != scenario.QueuesFIFO && queues != scenario.QueuesPerOutput {
		return usagef("--queues %q: there are %s, %s", queues, scenario.QueuesFIFO, scenario.QueuesPerOutput)
	}
	if order != scenario.OrderTurns && order != scenario.OrderFirst {
		return usagef("--order %q: there are %s, %s", order, scenario.OrderTurns, scenario.OrderFirst)
	}
	o.BitPerSec, o.Fragment = float64(rate), int(fragment)
	x := scenario.DefaultLossless()
	x.Packet, x.Queues, x.Order = packet, queues, order
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
