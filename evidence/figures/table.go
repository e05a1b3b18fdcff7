package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/barrier"
	"evbench/evidence/tables"
	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/internal/cmdline"
	"evbench/internal/proc"
	"evbench/model/simulate"
	"evbench/model/sweep"
	"evbench/scenario"
	"evbench/site/host"
	"evbench/topology"
)

func sizesTable(c *cli.Context, r tables.Run, t *topology.Tree) (*answer.Table, error) {
	return tables.SizesTable(r, t, c.Uint64("seed"))
}

func tokensTable(c *cli.Context, r tables.Run, t *topology.Tree) (*answer.Table, error) {
	return tables.TokensTable(r, t, c.Uint64("seed"))
}

// tree is that of the notation, with single cables.
func tree(c *cli.Context) (*topology.Tree, error) {
	o, err := topology.Parse(c.String("topology"))
	if err != nil {
		return nil, proc.Usagef("--topology: %w", err)
	}
	if s := c.String("fill"); s != "" {
		if o.Fill, err = topology.ParseFill(s); err != nil {
			return nil, proc.Usagef("--fill: %w", err)
		}
	}
	o.Spines = cmp.Or(c.Int("spines"), o.Spines)
	t, err := topology.New(o)
	if err != nil {
		return nil, proc.Usage(err)
	}
	// The memory of a schedule: ten bytes for each pair of servers, on each processor.
	pairs := float64(t.Servers()) * float64(t.Servers())
	if err = host.Fits(fmt.Sprintf("schedules of %d servers need", t.Servers()), pairs*float64(10*runtime.GOMAXPROCS(0)), "take a smaller network"); err == nil {
		err = t.OneCable(c.Command.Name + " takes trees")
	}
	return t, proc.Usage(err)
}

// tableOf makes and prints a table of the tree given by the flags.
func tableOf(fill func(*cli.Context, tables.Run, *topology.Tree) (*answer.Table, error)) func(*cli.Context, *sweep.Sweep) error {
	return func(c *cli.Context, s *sweep.Sweep) error {
		t, err := tree(c)
		if err != nil {
			return err
		}
		table, err := fill(c, tables.Run{Context: c.Context, Sweep: s}, t)
		if err != nil {
			return proc.Usage(err)
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
	figures, err := collect(c.Context, func(give func(tables.SprayingFigure) error) error { return tables.Spraying(c.Context, o, give) })
	if err != nil && (c.Context.Err() == nil || !s.Whole()) {
		return proc.Usage(err)
	}
	table := tables.SprayingTable(o, figures)
	if err != nil {
		table.Notes = append(table.Notes, "INCOMPLETE: stopped")
	}
	if file := c.String("svg"); file != "" && err == nil {
		if err := atomicfile.Write(file, func(w io.Writer) error { return tables.DrawSpraying(w, o, c.String("queues"), figures) }); err != nil {
			return err
		}
	}
	return writeTable(c, table)
}

func sprayingOptions(c *cli.Context) (o tables.SprayingOptions, err error) {
	t, err := tree(c)
	if err != nil {
		return o, err
	}
	if t.Levels() == 3 {
		return o, proc.Usagef("--topology %s: three levels; %s takes trees of two, FT(2;M0,M1)", t.Notation(), c.Command.Name)
	}
	o = tables.SprayingOptions{
		Tree: t, Draws: c.Int("draws"), Round: c.Duration("round"), Jitter: time.Microsecond, Barrier: barrier.Tournament,
		Exchanges: c.Float64("exchanges"), Seed: c.Uint64("seed"), Ways: tables.Ways(),
		Dead: numbers(c, "dead"), Buffers: numbers(c, "buffers"), Lanes: numbers(c, "lanes"),
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

// numbers are the values of a flag of type numbers, which was checked.
func numbers(c *cli.Context, name string) (all []int) {
	for _, text := range cmdline.Names(c, name) {
		n, _ := strconv.Atoi(text)
		all = append(all, n)
	}
	return all
}

// collect returns all values given by work, one after the other. When ctx ends it returns the
// values so far, with the cause; the work is abandoned.
func collect[T any](ctx context.Context, work func(give func(T) error) error) (all []T, err error) {
	given, done := make(chan T), make(chan error, 1)
	go func() {
		done <- work(func(x T) error {
			select {
			case given <- x:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	for {
		select {
		case x := <-given:
			all = append(all, x)
		case err := <-done:
			return all, err
		case <-ctx.Done():
			return all, context.Cause(ctx)
		}
	}
}
