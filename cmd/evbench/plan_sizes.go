package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"evbench/builder"
	"evbench/model/ordered"
	"evbench/model/sizes"
	"evbench/plan"
	"evbench/scheduler/judge"
	"evbench/scheduler/list"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// sizedPlans is how many schedules take the memory of a plan for sizes: 120 bytes for each pair of
// servers and exchange.
const sizedPlans = 12

func planSizes(c *cli.Context, t *topology.Tree, hosts []plan.Host, rates topology.Rates, watch *stopwatch) error {
	if err := checkPlans(t.Servers(), sizedPlans); err != nil {
		return err
	}
	window, err := readSizes(c, t, hosts)
	if err != nil {
		return err
	}
	if err := checkPlans(t.Servers(), sizedPlans*len(window)); err != nil {
		return err
	}
	watch.stage("plan")
	made, slow, takes, err := ordered.Slow(t, window, list.Options{Seed: c.Uint64("seed"), Split: true}, rates)
	if u, ok := errors.AsType[*topology.UnreachableError](err); ok {
		return usagef("%s: %w", withoutLinks(&t.Live), u)
	} else if err != nil {
		return wrongIn("--sizes "+c.String("sizes"), err)
	}
	watch.stage("")
	p := &ordered.Plan{Plan: made, Hosts: hosts}
	return writePlan(c, watch, p.WriteText, func(w io.Writer) {
		m := p.Promise(slow, takes)
		fmt.Fprintln(w, p.Answer(m))
		p.Describe(w, m)
	})
}

func readSizes(c *cli.Context, t *topology.Tree, hosts []plan.Host) ([]*list.Matrix, error) {
	name := c.String("sizes")
	window, err := opened(name, func(r io.Reader) ([]*list.Matrix, error) {
		in := bufio.NewReaderSize(r, 1<<16)
		if head, _ := in.Peek(1 << 16); sizes.IsMatrix(head) {
			return ordered.ReadMatrix(in, t.Shape, hosts)
		}
		n := t.Servers()
		table, err := builder.ReadTable(in, n, schedules.MaxWindow*n*n)
		if err != nil {
			return nil, err
		}
		return sizes.Window(t, table)
	})
	return window, wrongIn("--sizes "+name, err)
}

// sizesJudged are those of --sizes as the judge of a plan takes them, nil without the flag.
func sizesJudged(c *cli.Context, f *judge.File) ([]judge.Size, error) {
	if !c.IsSet("sizes") {
		return nil, nil
	}
	window, err := readSizes(c, f.Tree, nil)
	if err != nil {
		return nil, err
	}
	return ordered.StatedSizes(f.Tree.Shape, window), nil
}
