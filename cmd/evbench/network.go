package main

import (
	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/topology/netfile"
	"evbench/topology/network"
)

// maxList bounds what is read of a list with a name or two on a line: LIDs, roots,
// jobs, cables, hosts.
const maxList = atomicfile.MaxList

// networkFlags describe a network of any shape, but for where it comes from;
// network reads them.
func networkFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "down", Usage: "what is dead, `NAME[,NAME…]`: the cable at a port (s1_0/5), between two nodes (s1_0-s2_3, leaf0-spine3, of three levels pod1-spine0-top1), a whole node (s2_3)"},
		&cli.StringFlag{Name: "down-random", Usage: "`N` random dead cables between switches more, or N% of them"},
		seedFlag(),
		&cli.IntFlag{Name: "lmc", Usage: "number the LIDs anew, 2^`N` to a host (a notation: default 0)"},
		&cli.StringFlag{Name: "lids", Usage: "take LIDs from `FILE`, OpenSM's guid2lid"},
		&cli.StringFlag{Name: "roots", Usage: "`FILE` with the top switches, a name or GUID on a line (default: they are found)"},
	}
}

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
	if c.IsSet("lmc") && c.IsSet("lids") {
		return nil, usagef("--lids gives LIDs and LMC: --lmc says something else")
	}
	s, err := netfile.Read(src, c.Int("lmc"))
	if err != nil {
		return nil, usage(err)
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
	names, err := listed(c, "down")
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		if n, err = n.Degrade(names); err != nil {
			return nil, usagef("--down: %w", err)
		}
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
