package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/companion/linux"
	"evbench/internal/atomicfile"
	"evbench/internal/proc"
	"evbench/routing"
	"evbench/routing/lft"
	"evbench/routing/opensm"
	"evbench/topology/netfile"
	"evbench/topology/network"
)

// routesCommands are the commands below "routes".
func routesCommands() []*cli.Command {
	return []*cli.Command{
		routesComputeCommand(), routesCheckCommand(), routesDiffCommand(), routesExportCommand(),
		routesInstallCommand(), routesFollowCommand(), routesJobsCommand(),
	}
}

func routesCommand() *cli.Command {
	return command(&cli.Command{
		Name:        "routes",
		Usage:       "forwarding tables of a network: compute, check, compare, convert, install",
		Subcommands: routesCommands(),
	}, "  evbench routes check -t 'FT(2;4,8)' --down leaf0-spine0 -e opensm-minhop")
}

// routesFlags say which network tables are for, and which engine computes them;
// routesNetwork and computeRoutes read them.
func routesFlags() []cli.Flag {
	return append(append([]cli.Flag{
		&cli.StringFlag{Name: "topology", Aliases: []string{"t"}, Usage: "network in `NOTATION|FILE`, as for evbench topo show"},
		&cli.StringFlag{Name: "engine", Aliases: []string{"e"}, Usage: "`NAME`, or several with commas, tried from the left: " + strings.Join(routing.Names(), ", ")},
	}, networkFlags()...),
		&cli.StringFlag{Name: "file", Usage: "what the engine file reads, `FILE|-`: LFT text or JSON"},
		&cli.StringFlag{Name: "previous", Usage: "tables that the switches have, `FILE`: opensm-minhop, updn and dnup keep what OpenSM keeps"},
		&cli.StringFlag{Name: "previous-down", Usage: "what was dead when a dump of OpenSM, the file of --previous, was made, `NAME[,NAME…]` as in --down; '' if nothing was"},
		&cli.StringFlag{Name: "previous-topology", Usage: "network that the dump was made for, `NOTATION|FILE` (default: that of --topology)"},
		&cli.BoolFlag{Name: "restart", Usage: "OpenSM starts anew with the tables of --previous saved: keep what Table 1 of Zahavi and Kalka 2005 leaves valid"},
		&cli.StringFlag{Name: "weights", Usage: "what each host receives, beside others, lines host,weight of `FILE`: for ftree-weighted, and for check"},
		&cli.StringFlag{Name: "jobs", Usage: "the same from a list of jobs, `FILE` as for evbench routes jobs: a host receives from each other one of its jobs"},
		&cli.BoolFlag{Name: "partial", Usage: "leave pairs that cannot be joined without a route, where the engine would refuse"},
		&cli.IntFlag{Name: "lanes", Value: 8, Usage: "virtual lanes that an engine may use, `N`"},
		&cli.BoolFlag{Name: "time", Usage: "print how long the engine took"},
	)
}

// routesNetwork reads the network that tables are for.
func routesNetwork(c *cli.Context) (*netfile.Source, error) {
	if c.String("topology") == "" {
		return nil, usagef("--topology is missing, for example -t 'FT(2;4,8)'")
	}
	s, err := readSource(c, c.String("topology"))
	if err != nil {
		return nil, err
	}
	if s.Whole.MaxLID() == 0 {
		return nil, usagef("%s: no node has a LID, so there is nothing to route to; give --lids FILE or --lmc N", c.String("topology"))
	}
	return s, nil
}

// readRoutes reads tables of a network from a file, or standard input.
func readRoutes(name string, n *network.Network) (*lft.Tables, error) {
	in, err := openRoutes(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	t, err := lft.Read(atomicfile.Text(in), n)
	if err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	return t, nil
}

func openRoutes(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usage(err)
	}
	return f, nil
}

// computeRoutes runs the engine.
func computeRoutes(c *cli.Context, s *netfile.Source) (*lft.Tables, error) {
	name := c.String("engine")
	if name == "" {
		return nil, usagef("--engine is missing; there are %s", strings.Join(routing.Names(), ", "))
	}
	if l := c.Int("lanes"); l < 1 || l > lft.MaxLanes {
		return nil, usagef("--lanes %d: must be 1..%d", l, lft.MaxLanes)
	}
	o := routing.Options{Roots: s.Roots, Seed: c.Uint64("seed"), Lanes: c.Int("lanes"), Partial: c.Bool("partial")}
	var err error
	if o.Previous, err = previousRoutes(c, s); err != nil {
		return nil, err
	}
	if o.Weights, err = routesWeights(c, s.Net); err != nil {
		return nil, err
	}
	if c.Bool("restart") {
		o.Restart = new(opensm.Validity)
	}
	if name == "file" {
		if c.String("file") == "" {
			return nil, usagef("engine file: --file is missing")
		}
		return readRoutes(c.String("file"), s.Net)
	}
	start := time.Now()
	t, err := proc.Made(c.Context, func() (*lft.Tables, error) { return routing.Compute(name, s.Net, o) })
	if err != nil {
		return nil, usage(err)
	}
	if c.Bool("time") {
		fmt.Fprintf(c.App.ErrWriter, "computed in %.1f ms\n", time.Since(start).Seconds()*1e3)
	}
	if o.Restart != nil && !c.Bool("quiet") {
		if err := o.Restart.WriteText(c.App.ErrWriter); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func routesComputeCommand() *cli.Command {
	return computing(&cli.Command{
		Name:   "compute",
		Usage:  "compute forwarding tables with an engine",
		Flags:  slices.Concat(routesFlags(), routesOutFlags()),
		Action: routesComputeAction,
	}, "  evbench routes compute -t 'FT(2;4,8)' --down leaf0-spine0 -e ftree,minhop -o lft.txt\n"+enginesHelp())
}

// enginesHelp lists the engines.
func enginesHelp() string {
	var b strings.Builder
	b.WriteString("\nEngines:")
	for _, e := range routing.All() {
		fmt.Fprintf(&b, "\n  %-15s %s", e.Name, e.Text)
	}
	return b.String()
}

func routesOutFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "format", Value: "lft", Usage: "`FORM`: lft (OpenSM's dump, which its engine file loads), ip (for ip -batch, two levels), json, none"},
		&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write to `FILE`, replacing it (default: standard output)"},
		&cli.BoolFlag{Name: "quiet", Usage: "print nothing but the tables"},
	}
}

// routesForm returns what writes tables in the form that the flags say; nil
// writes nothing.
func routesForm(c *cli.Context) (func(*lft.Tables, io.Writer) error, error) {
	switch c.String("format") {
	case "lft":
		return (*lft.Tables).WriteSaved, nil
	case "json":
		return (*lft.Tables).WriteJSON, nil
	case "ip":
		return writeIP, nil
	case "none":
		return nil, nil
	}
	return nil, usagef("--format %q: there are lft, ip, json, none", c.String("format"))
}

// writeIP writes the tables of a two-level tree as what "ip -batch" takes, node
// after node; routes install --target iproute writes a file for each.
func writeIP(l *lft.Tables, w io.Writer) error {
	b, err := linux.OfTables(l)
	if err != nil {
		return usagef("--format ip: %w", err)
	}
	return b.WriteNodes(w)
}

func routesComputeAction(c *cli.Context) error {
	write, err := routesForm(c)
	if err != nil {
		return err
	}
	s, err := routesNetwork(c)
	if err != nil {
		return err
	}
	t, err := computeRoutes(c, s)
	if err != nil {
		return err
	}
	return writeRoutes(c, t, write)
}

func writeRoutes(c *cli.Context, t *lft.Tables, write func(*lft.Tables, io.Writer) error) error {
	if write != nil {
		if err := writeOut(c, func(w io.Writer) error { return write(t, w) }); err != nil {
			return err
		}
	}
	if !c.Bool("quiet") {
		fmt.Fprintf(c.App.ErrWriter, "%s: engine %s, %d LIDs, %d switches\n", c.String("topology"), t.Engine, t.LIDs-1, t.Net.Switches())
		if write != nil && t.Lanes() > 1 && c.String("format") == "lft" {
			fmt.Fprintf(c.App.ErrWriter, "warning: %d virtual lanes are needed, which this form cannot say; use --format json\n", t.Lanes())
		}
	}
	return nil
}

func routesExportCommand() *cli.Command {
	return computing(&cli.Command{
		Name:      "export",
		Usage:     "write forwarding tables in another form",
		ArgsUsage: "FILE|-",
		Flags:     slices.Concat(routesFlags(), routesOutFlags()),
		Action: func(c *cli.Context) error {
			write, err := routesForm(c)
			if err != nil {
				return err
			}
			t, _, err := routesOf(c)
			if err != nil {
				return err
			}
			return writeRoutes(c, t, write)
		},
	}, "  evbench routes export lft.txt -t 'FT(2;4,8)' --format json -o lft.json")
}

// routesOf reads the tables that the argument names, or computes them where there
// is an engine instead.
func routesOf(c *cli.Context) (*lft.Tables, *netfile.Source, error) {
	if c.Args().Present() == (c.String("engine") != "") {
		return nil, nil, usagef("%s: either FILE, - for standard input, or --engine", c.Command.Name)
	}
	if err := needArgs(c, 0, 1, ""); err != nil {
		return nil, nil, err
	}
	s, err := routesNetwork(c)
	if err != nil {
		return nil, nil, err
	}
	var t *lft.Tables
	if c.Args().Present() {
		t, err = readRoutes(c.Args().First(), s.Net)
	} else {
		t, err = computeRoutes(c, s)
	}
	return t, s, err
}

func routesDiffCommand() *cli.Command {
	return computing(&cli.Command{
		Name:      "diff",
		Usage:     "count the entries that differ, switch by switch",
		ArgsUsage: "OLD NEW",
		Flags: append(append([]cli.Flag{
			&cli.StringFlag{Name: "topology", Aliases: []string{"t"}, Usage: "network in `NOTATION|FILE`, as for evbench topo show"},
		}, networkFlags()...), &cli.BoolFlag{Name: "json", Usage: "print one JSON document"}),
		Action: routesDiffAction,
	}, "  evbench routes diff old.txt new.txt -t 'FT(2;4,8)'")
}

func routesDiffAction(c *cli.Context) error {
	if err := needArgs(c, 2, 2, "OLD NEW, files of tables,"); err != nil {
		return err
	}
	if c.Args().Get(0) == "-" && c.Args().Get(1) == "-" {
		return usage(errors.New("diff: only one of the two can be standard input"))
	}
	s, err := routesNetwork(c)
	if err != nil {
		return err
	}
	var t [2]*lft.Tables
	for i := range t {
		if t[i], err = readRoutes(c.Args().Get(i), s.Net); err != nil {
			return err
		}
	}
	d, err := lft.Diff(t[0], t[1])
	if err != nil {
		return usage(err)
	}
	return printed(c, d.WriteText, d.WriteJSON)
}
