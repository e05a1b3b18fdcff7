// A program of somebody else's: a module of its own that adds a fabric, a launcher, a routing engine and a format of judge, and
// uses each: it runs a scenario over its engine, and judges the output of its own program.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"evbench/bench"
	"evbench/cmd/open"
	"evbench/fabric"
	"evbench/plan"
	"evbench/results"
	"evbench/results/store"
	"evbench/routing"
	"evbench/scenario"
	"evbench/site/network"
	"evbench/study/judge"
	"evbench/study/judge/foreign"
	"evbench/topology"
	"evbench/transport/tcp"
)

// Mine is an engine: the tables of minhop, by another name.
var mine = routing.Engine{Name: "mine", Tables: func(t *topology.Tree, _ bool) (*routing.Tables, error) {
	return routing.TreeTables(t, routing.MinHop)
}}

// Loopback is a fabric of its own, whose routes somebody else installs.
type loopback struct {
	fabric.Fabric
	launcher  fabric.Launcher
	installed *string
}

func (f loopback) Install(_ context.Context, p *plan.Plan) error {
	*f.installed = p.Routing
	return nil
}

func (f loopback) Launch(ctx context.Context, j fabric.Job) (wait func() error, err error) {
	return f.launcher.Launch(ctx, j)
}

func (f loopback) MayOpen(servers, connections int) error {
	return f.launcher.MayOpen(servers, connections)
}

// Threads is a launcher of its own: all servers are in this process.
type threads struct{ open.Threads }

func (l threads) Launch(ctx context.Context, j fabric.Job) (wait func() error, err error) {
	fmt.Println("launched", j.Tree.Servers())
	return l.Threads.Launch(ctx, j)
}

const text = `topology: FT(2;2,2)
fabric: {kind: hosts}
event: {fragment: 4KiB}
duration: 100ms
rounds: 1
cases:
  - {name: mine, schedule: linear-shift, routing: mine}
`

func run(ctx context.Context) error {
	s, err := scenario.Files{Engines: routing.Engines{mine}}.Read("mine.yaml", strings.NewReader(text))
	if err != nil {
		return err
	}
	planned, err := bench.Prepare(s)
	if err != nil {
		return err
	}
	under, err := open.Joined(ctx, s)
	if err != nil {
		return err
	}
	installed := ""
	here := func(int) tcp.Options { return tcp.Options{Addr: "127.0.0.1:0"} }
	f := loopback{under, threads{open.Threads{Options: here}}, &installed}
	defer f.Close()
	control, err := open.LocalControl()
	if err != nil {
		return err
	}
	defer control.Close()
	sink := func() (results.Sink, error) { return store.Create(os.Args[1]) }
	sum, err := bench.Run(ctx, bench.Work{Scenario: s, Cases: planned, Fabric: f, Open: sink}, bench.Options{Listen: control.Address, Token: control.Token})
	if err != nil {
		return err
	}
	fmt.Println("installed", installed)
	for _, c := range sum.Cases {
		fmt.Println("ran", c.Name, c.Complete)
	}
	return nil
}

// Daq is the format of a program of ours, whose output is one line: the share of the link rate that hosts reached.
var daq = foreign.Format{
	Name: "daq",
	Is:   func(data []byte) bool { return bytes.HasPrefix(data, []byte("daq: ")) },
	Read: func(data []byte, _ foreign.Options) (*foreign.Result, error) {
		r := &foreign.Result{What: "daq"}
		if _, err := fmt.Sscanf(string(data), "daq: %f\n", &r.Efficiency); err != nil {
			return nil, fmt.Errorf("line 1: %w", err)
		}
		return r, nil
	},
}

func judged() error {
	n, err := network.Parse("FT(2;2,2)", 0)
	if err != nil {
		return err
	}
	in := judge.Input{Name: "FT(2;2,2)", Whole: n, Net: n, Good: judge.Usual}
	words := judge.Words{Result: "daq.txt", Format: foreign.Auto, More: []foreign.Format{daq}}
	if err = words.Read(&in, func(string) ([]byte, error) { return []byte("daq: 0.5\n"), nil }); err != nil {
		return err
	}
	v, err := judge.Judge(in)
	if err != nil {
		return err
	}
	fmt.Println("judged", in.Result.Format, v.Measured.What, v.Measured.Efficiency)
	return nil
}

func main() {
	err := run(context.Background())
	if err == nil {
		err = judged()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
