package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"evbench/internal/cmdline"
	"evbench/routing/lft"
	"evbench/routing/opensm"
	"evbench/topology/netfile"
	"evbench/topology/network"
)

// previousRoutes reads the tables of --previous against the network that they were made
// for: what the file says, else what the flags say, else the network without failures,
// if they can have been made for it. nil where there are none.
func previousRoutes(c *cli.Context, s *netfile.Source) (*lft.Tables, error) {
	file, told := c.String("previous"), ""
	for _, flag := range []string{"previous-down", "previous-topology"} {
		if c.IsSet(flag) {
			told = flag
		}
	}
	if file == "" {
		return nil, nil
	}
	n, err := previousNetwork(c, s)
	if err != nil {
		return nil, err
	}
	in, err := openRoutes(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	t, said, err := lft.ReadSaved(in, n)
	switch {
	case err != nil:
		return nil, usagef("%s: %w", file, err)
	case said && told != "":
		return nil, usagef("--%s: %s says itself for which network its tables were made", told, file)
	case said:
		return t, nil
	}
	if err := opensm.Fits(t, told == ""); err != nil && told == "" {
		return nil, usagef("%s does not say for which network its tables were made, and it was not %s without failures: %w; give --previous-down", file, c.String("topology"), err)
	} else if err != nil {
		return nil, usagef("%s was not made for the network of --%s: %w", file, told, err)
	}
	if told == "" && !c.Bool("quiet") {
		fmt.Fprintf(c.App.ErrWriter, "note: %s does not say what was dead when its tables were made: nothing, as --previous-down is not given\n", file)
	}
	return t, nil
}

func previousNetwork(c *cli.Context, s *netfile.Source) (*network.Network, error) {
	n := s.Whole
	if src := c.String("previous-topology"); src != "" {
		old, err := readWhole(c, src)
		if err != nil {
			return nil, err
		}
		n = old.Whole
	}
	n, err := n.Degrade(cmdline.Names(c, "previous-down"))
	return n, wrongIn("--previous-down", err)
}
