package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"evbench/companion/opensm"
	"evbench/failover"
	"evbench/failover/loop"
	"evbench/plan"
	"evbench/scheduler"
	"evbench/topology"
	"evbench/topology/netfile"
	"evbench/topology/network"
)

// loadedBy is the OpenSM that the flags name.
func loadedBy(c *cli.Context) *opensm.Manager {
	return &opensm.Manager{
		Dir: c.String("dir"), Process: c.String("pid"), LogFile: c.String("log"), Wait: c.Duration("wait"),
		ReadBack: opensm.CommandLine(c.String("dump")), Master: opensm.CommandLine(c.String("sminfo")),
	}
}

func routesFollowAction(c *cli.Context) error {
	f, err := readFollowing(c)
	if err != nil {
		return err
	}
	err = opensm.Follow(c.Context, f)
	if c.Context.Err() != nil {
		return nil // asked to end, and what is installed stays
	}
	return err
}

func readFollowing(c *cli.Context) (o opensm.Following, err error) {
	if err := canLoad(c); err != nil {
		return o, err
	}
	o = opensm.Following{Policy: failover.Policy(c.String("policy")), Hold: c.Duration("hold"), Debounce: c.Duration("debounce"), Out: opensm.NewPrinter(c.App.Writer, c.Bool("json"))}
	if o.Hold == 0 { // held for no time
		o.Policy = failover.FORS
	}
	s, err := netfile.Read(c.String("topology"), c.Int("lmc"))
	if err != nil {
		return o, usagef("--topology: %w", err)
	}
	t, err := followTree(c, s.Whole)
	if err != nil {
		return o, err
	}
	o.About = fmt.Sprintf("%s with %d servers and %d spines", t.Notation(), t.Servers(), t.Spines())
	build := plan.Options{Schedule: scheduler.NameFORS, Objective: scheduler.Objective(c.String("objective")), Seed: 1} // as evbench plan
	o.Plans = &loop.Plans{Build: func(t *topology.Tree) (*plan.Plan, error) { return plan.Build(t, build) }}
	o.Subnet, err = opensm.NewSubnet(s.Whole, t, opensm.SubnetOptions{
		Manager:  loadedBy(c),
		Options:  opensm.Options{LMC: c.Int("lmc"), Capacity: c.Int("capacity")},
		Discover: opensm.CommandLine(c.String("discover")),
		Tell:     o.Out.Step,
	})
	return o, usage(err)
}

func canLoad(c *cli.Context) error {
	if err := isDir(c.String("dir")); err != nil {
		return usagef("--dir: %w", err)
	}
	if name := c.String("log"); name != "" {
		if _, err := os.Stat(name); err != nil {
			return usagef("--log: %w", err)
		}
	}
	return isRunning(c.String("pid"), c.String("dir"))
}

// isRunning checks that --pid is OpenSM, which reads the tables of a directory; "": any.
func isRunning(pid, dir string) error {
	if err := opensm.Check(pid, dir); err != nil {
		return usagef("--pid: %w", err)
	}
	return nil
}

func followTree(c *cli.Context, n *network.Network) (*topology.Tree, error) {
	if c.String("tree") == "" {
		p, err := network.TreeOf(n)
		if err != nil {
			return nil, usagef("--topology: %w; does --tree say which?", err)
		}
		return p.Tree, nil
	}
	o, err := treeOptions(c, "tree")
	if err != nil {
		return nil, err
	}
	t, err := topology.New(o)
	if err == nil {
		err = t.OneCable("follow takes trees")
	}
	return t, usage(err)
}
