package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

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

func routesFollowCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "follow",
		Usage: "stay beside a running OpenSM: when a link dies or comes back, plan anew and have OpenSM load the tables",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "topology", Aliases: []string{"t"}, Usage: "the network with all its cables, `FILE`, such as the output of ibnetdiscover on a good day"},
			&cli.StringFlag{Name: "tree", Usage: "fat tree in `NOTATION` that the network is (default: found in it, all hosts servers)"},
			&cli.StringFlag{Name: "fill", Usage: "with --tree: servers on each leaf, `N,N,…` (default: all ports)"},
			&cli.StringFlag{Name: "policy", Value: string(failover.FORSHold), Usage: "`fors|fors+hold`: use a link that has come back at once, or after --hold without a flap"},
			&cli.DurationFlag{Name: "hold", Value: failover.DefaultHold, Usage: "how long a link must have been up, `DURATION`"},
			&cli.DurationFlag{Name: "debounce", Value: 50 * time.Millisecond, Usage: "how long to wait for more after a link has changed, `DURATION`"},
			&cli.StringFlag{Name: "objective", Usage: "what plans make least: `phases|paths|balanced` (default: phases)"},
			&cli.IntFlag{Name: "lmc", Usage: "at least 2^`N` LIDs for a host; OpenSM must have given them"},
			&cli.IntFlag{Name: "capacity", Value: opensm.Capacity, Usage: "`ENTRIES` of a switch's forwarding table"},
			&cli.IntFlag{Name: "pid", Usage: "OpenSM's process `N`"},
			&cli.StringFlag{Name: "discover", Value: "ibnetdiscover", Usage: "`COMMAND` that prints the network as it is"},
			&cli.BoolFlag{Name: "json", Usage: "print a JSON document for each step, one a line"},
		}, loadedFlags()...),
		Action: routesFollowAction,
	}, "  ibnetdiscover > fabric.net\n"+
		"  evbench routes follow -t fabric.net --dir /etc/evbench --pid $(pidof opensm)\n\n"+
		"Before, start OpenSM with tables of a plan: evbench routes install --help. It runs until it is interrupted;\n"+
		"what is installed stays.")
}

// loadedFlags say how a running OpenSM loads tables, and what of it is seen; --pid is the
// command's own.
func loadedFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "dir", Usage: "`DIR` with OpenSM's lfts_file " + opensm.LFTsFile + "; it must exist"},
		&cli.StringFlag{Name: "log", Value: "/var/log/opensm.log", Usage: "`FILE` that OpenSM logs to; it may be rotated"},
		&cli.StringFlag{Name: "dump", Value: "dump_lfts", Usage: "`COMMAND` that prints the tables of all switches"},
		&cli.DurationFlag{Name: "wait", Value: 2 * time.Minute, Usage: "how long OpenSM and each command may take, `DURATION`"},
	}
}

// loadedBy is what those flags say.
func loadedBy(c *cli.Context) opensm.InstallOptions {
	dump := strings.Fields(c.String("dump"))
	return opensm.InstallOptions{
		Dir: c.String("dir"), PID: c.Int("pid"), LogFile: c.String("log"), Wait: c.Duration("wait"),
		ReadBack: opensm.Command(dump[0], dump[1:]...),
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

// readFollowing is what the flags ask for.
func readFollowing(c *cli.Context) (o opensm.Following, err error) {
	if err := followUsage(c); err != nil {
		return o, err
	}
	o = opensm.Following{Hold: c.Duration("hold"), Debounce: c.Duration("debounce"), Out: opensm.NewPrinter(c.App.Writer, c.Bool("json"))}
	if o.Policy, err = followPolicy(c); err != nil {
		return o, err
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
	if o.Plans, err = followPlans(c); err != nil {
		return o, err
	}
	discover := strings.Fields(c.String("discover"))
	o.Subnet, err = opensm.NewSubnet(s.Whole, t, opensm.SubnetOptions{
		InstallOptions: loadedBy(c),
		Options:        opensm.Options{LMC: c.Int("lmc"), Capacity: c.Int("capacity")},
		Discover:       opensm.Command(discover[0], discover[1:]...),
		Tell:           o.Out.Step,
	})
	return o, usage(err)
}

// followUsage checks what needs no network.
func followUsage(c *cli.Context) error {
	for _, name := range []string{"topology", "dir", "pid"} {
		if !c.IsSet(name) {
			return usagef("--%s is missing", name)
		}
	}
	if len(strings.Fields(c.String("discover"))) == 0 {
		return usagef("--discover: names no command")
	}
	for _, name := range []string{"hold", "debounce"} {
		if d := c.Duration(name); d < 0 {
			return usagef("--%s %s: must not be negative", name, d)
		}
	}
	if l := c.Int("lmc"); l < 0 || l > 7 {
		return usagef("--lmc %d: must be 0..7", l)
	}
	if n := c.Int("capacity"); n < 1 {
		return usagef("--capacity %d: must be at least 1", n)
	}
	return canLoad(c)
}

// canLoad checks that OpenSM, its log and its directory are there.
func canLoad(c *cli.Context) error {
	if d := c.Duration("wait"); d <= 0 {
		return usagef("--wait %s: must be more than 0", d)
	}
	if len(strings.Fields(c.String("dump"))) == 0 {
		return usagef("--dump: names no command")
	}
	if err := isDir(c.String("dir")); err != nil {
		return usagef("--dir: %w", err)
	}
	if _, err := os.Stat(c.String("log")); err != nil {
		return usagef("--log: %w", err)
	}
	if pid := c.Int("pid"); pid < 2 {
		return usagef("--pid %d is no process that can be signalled", pid)
	}
	return isRunning(c.Int("pid"), c.String("log"))
}

func followPolicy(c *cli.Context) (failover.Policy, error) {
	p := failover.Policy(c.String("policy"))
	switch {
	case p != failover.FORS && p != failover.FORSHold:
		return "", usagef("--policy %q: OpenSM gets whole plans, by fors or fors+hold", p)
	case p == failover.FORS && c.IsSet("hold"):
		return "", usagef("--hold is for --policy fors+hold")
	case p == failover.FORSHold && c.Duration("hold") == 0:
		return failover.FORS, nil // held for no time
	}
	return p, nil
}

// followTree is the tree of the plans.
func followTree(c *cli.Context, n *network.Network) (*topology.Tree, error) {
	if c.String("tree") == "" {
		if c.IsSet("fill") {
			return nil, usagef("--fill needs --tree")
		}
		t, err := opensm.TreeOf(n)
		if err != nil {
			return nil, usagef("--topology: no fat tree of two levels (%w); does --tree say which?", err)
		}
		return t, nil
	}
	o, err := treeOptions(c, "tree")
	if err != nil {
		return nil, err
	}
	t, err := topology.New(o)
	return t, usage(err)
}

// followPlans computes plans.
func followPlans(c *cli.Context) (*loop.Plans, error) {
	objective := scheduler.Objective(c.String("objective"))
	known := []scheduler.Objective{"", scheduler.FewestPhases, scheduler.FewestPaths, scheduler.Balanced}
	if !slices.Contains(known, objective) {
		return nil, usagef("--objective %q: must be phases, paths or balanced", objective)
	}
	return &loop.Plans{Build: func(t *topology.Tree) (*plan.Plan, error) {
		return plan.Build(t, plan.Options{Schedule: scheduler.NameFORS, Objective: objective, Seed: 1}) // as evbench plan
	}}, nil
}
