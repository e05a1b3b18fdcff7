package main

import (
	"errors"
	"fmt"
	"io"
	"os"
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

func routesNetwork(c *cli.Context) (*netfile.Source, error) {
	s, err := readSource(c, c.String("topology"))
	if err != nil {
		return nil, err
	}
	if s.Whole.MaxLID() == 0 {
		return nil, usagef("%s: no node has a LID, so there is nothing to route to; give --lids FILE or --lmc N", c.String("topology"))
	}
	return s, nil
}

func readRoutes(name string, n *network.Network) (*lft.Tables, error) {
	in, err := openRoutes(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	t, err := lft.Read(atomicfile.Text(in), n)
	return t, wrongIn(name, err)
}

func openRoutes(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	f, err := os.Open(name)
	return f, usage(err)
}

func computeRoutes(c *cli.Context, s *netfile.Source) (*lft.Tables, error) {
	name := c.String("engine")
	if name == "" {
		return nil, usagef("--engine is missing; there are %s", strings.Join(routing.Names(), ", "))
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

// routesForms write tables, by --format; that of none writes nothing.
var routesForms = map[string]func(*lft.Tables, io.Writer) error{
	"lft": (*lft.Tables).WriteSaved, "json": (*lft.Tables).WriteJSON, "ip": writeIP,
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
	s, err := routesNetwork(c)
	if err != nil {
		return err
	}
	t, err := computeRoutes(c, s)
	if err != nil {
		return err
	}
	return writeRoutes(c, t)
}

func writeRoutes(c *cli.Context, t *lft.Tables) error {
	write := routesForms[c.String("format")]
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

func routesExportAction(c *cli.Context) error {
	t, _, err := routesOf(c)
	if err != nil {
		return err
	}
	return writeRoutes(c, t)
}

// routesOf reads the tables that the argument names, or computes them where there
// is an engine instead.
func routesOf(c *cli.Context) (*lft.Tables, *netfile.Source, error) {
	if c.Args().Present() == (c.String("engine") != "") {
		return nil, nil, usagef("%s: either FILE, - for standard input, or --engine", c.Command.Name)
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

func routesDiffAction(c *cli.Context) error {
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
