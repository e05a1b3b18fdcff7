// A harness of somebody else's: a module of its own that runs scenarios on labs and hosts, over TCP and MPI, with results in
// directories and HDF5, a live page and a report, and adds a fabric. It needs no fork, and links nothing of InfiniBand's managers.
package main

import (
	"context"
	"fmt"
	"os"

	"evbench/bench"
	"evbench/cmd/open"
	"evbench/fabric"
	"evbench/plan"
	"evbench/report"
	"evbench/results"
	"evbench/scenario"
	"evbench/site/hdf5"
	"evbench/view/live"
)

// Stated is a fabric of our own: hosts on which somebody else has installed the routes of each plan.
type stated struct{ fabric.Fabric }

func (f stated) Install(_ context.Context, p *plan.Plan) error {
	fmt.Fprintln(os.Stderr, "routes of", p.Hash())
	return nil
}

var kinds = open.Kinds{scenario.Lab: open.Lab(nil), scenario.Hosts: {Open: func(ctx context.Context, s *scenario.Scenario) (fabric.Fabric, error) {
	under, err := open.Joined(ctx, s)
	return stated{under}, err
}}}

func run(ctx context.Context, name, dir string) error {
	s, err := scenario.ReadFile(name, scenario.Files{HDF5: hdf5.ReadSizes, HDF5Trace: hdf5.ReadTrace})
	if err != nil {
		return err
	}
	planned, err := bench.Prepare(s)
	if err != nil {
		return err
	}
	f, err := kinds.Of(s).Open(ctx, s)
	if err != nil {
		return err
	}
	defer f.Close()
	control, err := open.LocalControl()
	if err != nil {
		return err
	}
	defer control.Close()
	page, err := live.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer page.Close()
	sink := func() (results.Sink, error) { return hdf5.Format(nil).Create(dir) }
	sum, err := bench.Run(ctx, bench.Work{Scenario: s, Cases: planned, Fabric: f, Open: sink}, bench.Options{Listen: control.Address, Token: control.Token})
	for _, c := range report.Columns(sum.Cases, "") {
		fmt.Println(c.Head, c.Cell(sum.Cases[0]).Text)
	}
	return err
}

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
