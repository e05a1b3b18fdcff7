package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/internal/cmdline"
	"evbench/topology/netfile"
	"evbench/topology/network"
)

// maxList bounds what is read of a list with a name or two on a line: LIDs, roots,
// jobs, cables, hosts.
const maxList = atomicfile.MaxList

// readSource reads a notation or a file, and what the flags say of it.
func readSource(c *cli.Context, src string) (*netfile.Source, error) {
	s, err := readWhole(c, src)
	if err != nil {
		return nil, err
	}
	if s.Net, err = degrade(c, s.Whole); err != nil {
		return nil, err
	}
	if name := c.String("roots"); name != "" {
		if s.Roots, err = netfile.ReadRoots(name, s.Whole); err != nil {
			return nil, usagef("--roots: %w", err)
		}
	}
	return s, nil
}

// readWhole reads a notation or a file, with the LIDs that the flags say.
func readWhole(c *cli.Context, src string) (*netfile.Source, error) {
	s, err := netfile.Read(src, c.Int("lmc"))
	if err != nil {
		return nil, usage(err)
	}
	if s.Form == netfile.Slurm {
		fmt.Fprintf(c.App.ErrWriter, "%s: Slurm does not say how many cables join two switches: taken for one; a switch that stands for several is one\n", src)
	}
	if s.Form != netfile.Notation && c.IsSet("lmc") {
		if s.Whole, err = s.Whole.Numbered(c.Int("lmc")); err != nil {
			return nil, usagef("--lmc: %w", err)
		}
	}
	if name := c.String("lids"); name != "" {
		if s.Whole, err = netfile.WithLIDs(s.Whole, name); err != nil {
			return nil, usagef("--lids: %w", err)
		}
	}
	return s, nil
}

// degrade takes away what --down and --down-random say.
func degrade(c *cli.Context, n *network.Network) (*network.Network, error) {
	n, err := n.Degrade(cmdline.Names(c, "down"))
	if err != nil {
		return nil, usagef("--down: %w", err)
	}
	count, err := downRandom(c, "cables", len(n.SwitchCables()))
	if count == 0 || err != nil {
		return n, err
	}
	dead, err := n.Random(count, c.Uint64("seed"))
	if err != nil {
		return nil, usagef("--down-random: %w", err)
	}
	return n.Without(dead, nil), nil
}
