package main

import (
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"evbench/topology/netfile"
	"evbench/topology/network"
)

func topoCommand() *cli.Command {
	return command(&cli.Command{
		Name:        "topo",
		Usage:       "look at a network, and write it in another form",
		Subcommands: []*cli.Command{topoShowCommand(), topoConvertCommand()},
	}, "  evbench topo show -t 'FT(2;4,8)' --down leaf0-spine0")
}

func topoShowCommand() *cli.Command {
	return computing(&cli.Command{
		Name:  "show",
		Usage: "count the nodes, cables, levels and LIDs of a network, and say what is odd",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "topology", Aliases: []string{"t"}, Usage: "network in `NOTATION|FILE`: FT(2;4,8), FT(3;…), kary(k;n), XGFT, PGFT, QFT; " +
				"or what ibnetdiscover prints, ibsim reads, or YAML"},
		}, networkFlags(), []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
		}),
		Action: topoShowAction,
	}, "  evbench topo show -t 'FT(2;4,8)' --down leaf0-spine0")
}

func topoShowAction(c *cli.Context) error {
	src := c.String("topology")
	if src == "" {
		return usagef("--topology is missing, for example -t 'FT(2;4,8)'")
	}
	s, err := readSource(c, src)
	if err != nil {
		return err
	}
	r := network.Summarise(s.Whole, s.Net, s.Roots)
	r.Source, r.Form = src, s.Form
	return printed(c, r.WriteText, r.WriteJSON)
}

func topoConvertCommand() *cli.Command {
	return computing(&cli.Command{
		Name:      "convert",
		Usage:     "write a network in another form",
		ArgsUsage: "NOTATION|FILE",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "format", Value: "yaml", Usage: "`FORM` to write: yaml, ibnetdiscover, ibsim, guid2lid (LIDs alone, for OpenSM), dot (Graphviz)"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write to `FILE`, replacing it (default: standard output)"},
		}, networkFlags()),
		Action: topoConvertAction,
	}, "  evbench topo convert 'FT(2;4,8)' --down s1_0/5 --format ibsim -o fabric.net")
}

func topoConvertAction(c *cli.Context) error {
	if err := needArgs(c, 1, 1, "NOTATION|FILE"); err != nil {
		return err
	}
	write, ok := map[string]func(io.Writer, *netfile.Source) error{
		"yaml":          func(w io.Writer, s *netfile.Source) error { return netfile.WriteYAML(w, s.Net) },
		"ibnetdiscover": func(w io.Writer, s *netfile.Source) error { return netfile.WriteIB(w, s.Net) },
		"ibsim":         func(w io.Writer, s *netfile.Source) error { return netfile.WriteSim(w, s.Net) },
		"guid2lid":      func(w io.Writer, s *netfile.Source) error { return netfile.WriteGUID2LID(w, s.Net) },
		"dot":           writeDot,
	}[c.String("format")]
	if !ok {
		return usagef("--format %q: there are yaml, ibnetdiscover, ibsim, guid2lid and dot", c.String("format"))
	}
	s, err := readSource(c, c.Args().First())
	if err != nil {
		return err
	}
	return writeOut(c, func(w io.Writer) error { return write(w, s) })
}

func writeDot(w io.Writer, s *netfile.Source) error {
	level, err := network.Ranks(s.Net, s.Roots)
	if err != nil {
		return usage(err)
	}
	return network.WriteDot(w, s.Net, level)
}
