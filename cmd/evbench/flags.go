package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/topology"
)

// command completes what all commands share: how wrong use is reported, and
// help that ends with an example.
func command(c *cli.Command, example string) *cli.Command {
	c.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return usage(err) }
	c.Description = "Example:\n" + example
	c.HideHelpCommand = true
	return c
}

// flagsFirst moves the flags of a command before its arguments, so that they
// may be written in any order; after "--" nothing is moved.
func flagsFirst(app *cli.App, args []string) []string {
	if len(args) < 2 {
		return args
	}
	cmd := app.Command(args[1])
	head := args[:2:2]
	for cmd != nil && len(head) < len(args) && subcommand(cmd, args[len(head)]) != nil {
		cmd = subcommand(cmd, args[len(head)])
		head = args[: len(head)+1 : len(head)+1]
	}
	if cmd == nil || cmd.SkipFlagParsing {
		return args
	}
	var flags, rest []string
	for i := len(head); i < len(args); i++ {
		a := args[i]
		if a == "--" {
			rest = append(rest, args[i:]...)
			break
		}
		if len(a) < 2 || a[0] != '-' {
			rest = append(rest, a)
			continue
		}
		flags = append(flags, a)
		if !strings.Contains(a, "=") && takesValue(cmd, strings.TrimLeft(a, "-")) && i+1 < len(args) {
			i++
			flags = append(flags, args[i])
		}
	}
	return slices.Concat(head, flags, rest)
}

func subcommand(c *cli.Command, name string) *cli.Command {
	for _, s := range c.Subcommands {
		if s.HasName(name) {
			return s
		}
	}
	return nil
}

func takesValue(c *cli.Command, name string) bool {
	for _, f := range c.Flags {
		if slices.Contains(f.Names(), name) {
			_, isBool := f.(*cli.BoolFlag)
			return !isBool
		}
	}
	return false
}

// treeFlags describe a fabric; tree reads them.
func treeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "topology", Aliases: []string{"t"}, Usage: "fat tree in `NOTATION`, such as FT(2;4,8)"},
		&cli.StringFlag{Name: "fill", Usage: "servers on each leaf, `N,N,…` (default: all ports)"},
		&cli.IntFlag{Name: "spines", Usage: "number of spines, `N` (default: M0)"},
		&cli.StringFlag{Name: "down", Usage: "dead links and spines, `NAME[,NAME…]`: leaf0-spine3, spine2"},
		&cli.StringFlag{Name: "down-random", Usage: "`N` random dead links more, or N% of all"},
		&cli.IntFlag{Name: "reduction", Usage: "`F` spines dead on all leaves: spines M0-F..M0-1"},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "seed of everything random, `N`"},
	}
}

func tree(c *cli.Context) (*topology.Tree, error) {
	if c.String("topology") == "" {
		return nil, usagef("--topology is missing, for example -t 'FT(2;4,8)'")
	}
	o, err := topology.Parse(c.String("topology"))
	if err != nil {
		return nil, usagef("--topology: %w", err)
	}
	if s := c.String("fill"); s != "" {
		if o.Fill, err = topology.ParseFill(s); err != nil {
			return nil, usagef("--fill: %w", err)
		}
	}
	if c.IsSet("spines") {
		if o.Spines = c.Int("spines"); o.Spines < 1 {
			return nil, usagef("--spines %d: must be 1..%d", o.Spines, topology.MaxPorts)
		}
	}
	t, err := topology.New(o)
	if err != nil {
		return nil, usage(err)
	}
	return takeDown(c, t)
}

func takeDown(c *cli.Context, t *topology.Tree) (*topology.Tree, error) {
	var dead []topology.Link
	if s := c.String("down"); s != "" {
		for _, name := range strings.Split(s, ",") {
			links, err := t.Links(strings.TrimSpace(name))
			if err != nil {
				return nil, usagef("--down: %w", err)
			}
			dead = append(dead, links...)
		}
	}
	if f := c.Int("reduction"); f < 0 || f >= t.Spines() {
		return nil, usagef("--reduction %d: must be 0..%d, so that a spine is left", f, t.Spines()-1)
	} else {
		for k := t.Spines() - f; k < t.Spines(); k++ {
			links, err := t.Links(fmt.Sprintf("spine%d", k))
			if err != nil {
				return nil, usagef("--reduction: %w", err)
			}
			dead = append(dead, links...)
		}
	}
	t, err := t.Without(dead...)
	if err != nil {
		return nil, usage(err)
	}
	if s := c.String("down-random"); s != "" {
		n, err := randomCount(s, t)
		if err != nil {
			return nil, err
		}
		links, err := t.Random(n, c.Uint64("seed"))
		if err != nil {
			return nil, usagef("--down-random: %w", err)
		}
		if t, err = t.Without(links...); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func randomCount(s string, t *topology.Tree) (int, error) {
	num, percent := strings.CutSuffix(s, "%")
	n, err := strconv.Atoi(num)
	if err != nil || n < 0 {
		return 0, usagef("--down-random %q: write a number of links, or a share such as 5%%", s)
	}
	if percent {
		if n > 100 {
			return 0, usagef("--down-random %q: more than all links", s)
		}
		n = n * t.Leaves() * t.Spines() / 100
	}
	return n, nil
}

// needArgs checks the number of arguments.
func needArgs(c *cli.Context, atLeast, atMost int, what string) error {
	switch n := c.NArg(); {
	case n < atLeast:
		return usagef("%s: %s is missing; see evbench %s --help", c.Command.Name, what, c.Command.Name)
	case n > atMost:
		return usagef("%s: %q is one argument too many", c.Command.Name, c.Args().Get(atMost))
	}
	return nil
}
