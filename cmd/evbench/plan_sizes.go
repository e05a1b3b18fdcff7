package main

import (
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"evbench/builder"
	"evbench/plan"
	"evbench/plan/verify"
	"evbench/scheduler/sizes"
	"evbench/topology"
)

// sizedPlans is how many schedules take the memory of a plan for sizes: 120 bytes for
// each pair of servers and exchange.
const sizedPlans = 12

func planSizes(c *cli.Context, t *topology.Tree, hosts []plan.Host, watch *stopwatch) error {
	if err := checkPlans(t.Servers(), sizedPlans); err != nil {
		return err
	}
	if err := sizes.Check(t); err != nil {
		return usage(err)
	}
	window, err := readSizes(c, t)
	if err != nil {
		return err
	}
	if err := checkPlans(t.Servers(), sizedPlans*len(window)); err != nil {
		return err
	}
	watch.stage("plan")
	made, err := sizes.MakeWindow(t, window, sizes.Options{Seed: c.Uint64("seed"), Split: true})
	if u, ok := errors.AsType[*topology.UnreachableError](err); ok {
		return usagef("%s: %w", withoutLinks(t), u)
	} else if err != nil {
		return usage(err)
	}
	watch.stage("")
	p := &plan.Ordered{Plan: made, Hosts: hosts}
	return writePlan(c, watch, p.WriteText, p.Describe)
}

func readSizes(c *cli.Context, t *topology.Tree) ([]*sizes.Matrix, error) {
	name := c.String("sizes")
	n := t.Servers()
	table, err := planFile(name, func(r io.Reader) ([]uint32, error) { return builder.ReadTable(r, n, sizes.MaxWindow*n*n) })
	var window []*sizes.Matrix
	if err == nil {
		window, err = sizes.Window(t, table)
	}
	return window, wrongIn("--sizes "+name, err)
}

func checkOrdered(c *cli.Context, f *verify.Ordered, o verify.Options) (*verify.OrderedReport, error) {
	var list []verify.Size
	if c.IsSet("sizes") {
		window, err := readSizes(c, f.Tree)
		if err != nil {
			return nil, err
		}
		s := f.Tree.Servers()
		list = make([]verify.Size, 0, len(window)*s*(s-1))
		for e, m := range window {
			for at := range s * s {
				if i, j := at/s, at%s; m.Size(i, j) > 0 {
					list = append(list, verify.Size{Src: int32(f.Tree.Position(i)), Dst: int32(f.Tree.Position(j)), Bytes: m.Size(i, j), Exchange: int32(e)})
				}
			}
		}
	}
	return verify.CheckOrdered(f, list, o), nil
}
