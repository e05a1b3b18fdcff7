package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"evbench/internal/show"
	"evbench/topology/dot"
	"evbench/topology/ibnet"
	"evbench/topology/network"
	"evbench/topology/netyaml"
)

func topoCommand() *cli.Command {
	c := command(&cli.Command{
		Name:        "topo",
		Usage:       "look at a network, and write it in another form",
		Subcommands: []*cli.Command{topoShowCommand(), topoConvertCommand()},
	}, "  evbench topo show -t 'FT(2;4,8)' --down leaf0-spine0")
	c.Action = func(c *cli.Context) error {
		if c.Args().Present() {
			return usagef("topo has no command %q; there are show, convert", c.Args().First())
		}
		return cli.ShowSubcommandHelp(c)
	}
	return c
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

// A topoReport is what there is to say about a network.
type topoReport struct {
	Schema       string      `json:"schema"`
	Source       string      `json:"source"`
	Form         string      `json:"form"`
	Notation     string      `json:"notation,omitempty"`
	Hosts        int         `json:"hosts"`
	Switches     int         `json:"switches"`
	Levels       []topoLevel `json:"levels"`
	HostCables   int         `json:"host_cables"`
	SwitchCables int         `json:"switch_cables"`
	Roots        []string    `json:"roots"`
	RootsGiven   bool        `json:"roots_given"`
	Dead         []string    `json:"dead"`
	LIDs         topoLIDs    `json:"lids"`
	Isolated     []string    `json:"isolated"`
	Warnings     []string    `json:"warnings"`
}

type topoLevel struct {
	Level    int `json:"level"`
	Switches int `json:"switches"`
}

type topoLIDs struct {
	Used     int `json:"used"`
	Last     int `json:"last"`
	Capacity int `json:"capacity"`
	LMC      int `json:"lmc"` // the largest of a host
}

const lidCapacity = 0xBFFF

func topoShowAction(c *cli.Context) error {
	if err := needArgs(c, 0, 0, ""); err != nil {
		return err
	}
	src := c.String("topology")
	if src == "" {
		return usagef("--topology is missing, for example -t 'FT(2;4,8)'")
	}
	s, err := readSource(c, src)
	if err != nil {
		return err
	}
	r := reportOf(src, s)
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(r)
	}
	return r.print(c.App.Writer)
}

func reportOf(src string, s *source) *topoReport {
	n := s.net
	r := &topoReport{
		Schema: "evbench/topo/1", Source: src, Form: s.form, Notation: n.Notation, Hosts: n.Hosts(), Switches: n.Switches(),
		Levels: []topoLevel{}, Roots: []string{}, RootsGiven: s.roots != nil, Dead: []string{}, Isolated: []string{}, Warnings: []string{},
	}
	r.SwitchCables = len(n.SwitchCables())
	r.HostCables = len(n.Cables()) - r.SwitchCables
	for _, c := range s.whole.Cables() {
		if n.At(c.A.Node, int(c.A.Port)) != c.B {
			r.Dead = append(r.Dead, s.whole.CableName(c))
		}
	}
	for v := range network.Node(n.Nodes()) {
		if n.Isolated(v) {
			r.Isolated = append(r.Isolated, n.Info(v).Name)
		}
	}
	r.countLIDs(n)
	r.rank(n, s.roots)
	r.parts(n)
	return r
}

func (r *topoReport) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

func (r *topoReport) countLIDs(n *network.Network) {
	r.LIDs = topoLIDs{Last: n.MaxLID(), Capacity: lidCapacity}
	least, without := 0, 0
	for v := range network.Node(n.Nodes()) {
		i := n.Info(v)
		switch {
		case i.LID == 0:
			without++
		case n.IsHost(v):
			r.LIDs.Used += 1 << i.LMC
			r.LIDs.LMC = max(r.LIDs.LMC, int(i.LMC))
		default:
			r.LIDs.Used++
		}
		if n.IsHost(v) && (v == 0 || int(i.LMC) < least) {
			least = int(i.LMC)
		}
	}
	if least != r.LIDs.LMC {
		r.warn("the LMC of hosts differs: %d to %d", least, r.LIDs.LMC)
	}
	if without > 0 {
		r.warn("%d of %d nodes have no LID: give them with --lids or --lmc", without, n.Nodes())
	}
}

// rank counts the switches with cables of each level, if levels can be told.
func (r *topoReport) rank(n *network.Network, roots []network.Node) {
	var err error
	if roots == nil {
		roots, err = network.DetectRoots(n)
	}
	if err != nil {
		r.warn("%v", err)
		return
	}
	for _, v := range roots {
		r.Roots = append(r.Roots, n.Info(v).Name)
	}
	level, err := network.Ranks(n, roots)
	if err != nil {
		r.warn("%v", err)
		return
	}
	r.Levels = make([]topoLevel, slices.Max(level))
	for i := range r.Levels {
		r.Levels[i].Level = i + 1
	}
	for i := range n.Switches() {
		if s := n.Switch(i); !n.Isolated(s) {
			r.Levels[level[s]-1].Switches++
		}
	}
	if odd := n.NotLayered(level); len(odd) > 0 {
		c := odd[0]
		r.warn("%d cables join no neighbouring levels, the first %s on level %d with %s on level %d",
			len(odd), n.EndName(c.A), level[c.A.Node], n.EndName(c.B), level[c.B.Node])
	}
}

// parts says which hosts are cut off from most others.
func (r *topoReport) parts(n *network.Network) {
	if p := n.Parts(); len(p) > 1 {
		var names []string
		for _, v := range slices.Concat(p[1:]...) {
			names = append(names, n.Info(v).Name)
		}
		r.warn("%d hosts do not reach the other %d: %s", len(names), len(p[0]), show.Few(names))
	}
}

func (r *topoReport) print(w io.Writer) error {
	var levels []string
	for _, l := range r.Levels {
		levels = append(levels, fmt.Sprintf("%d on level %d", l.Switches, l.Level))
	}
	switches := fmt.Sprint(r.Switches)
	if len(levels) > 0 {
		switches += ": " + strings.Join(levels, ", ")
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "network\t%s\n", r.Source)
	if r.Notation != "" && r.Notation != r.Source {
		fmt.Fprintf(tab, "\t= %s\n", r.Notation)
	}
	fmt.Fprintf(tab, "hosts\t%d\n", r.Hosts)
	fmt.Fprintf(tab, "switches\t%s\n", switches)
	fmt.Fprintf(tab, "cables\t%d: %d to hosts, %d between switches\n", r.HostCables+r.SwitchCables, r.HostCables, r.SwitchCables)
	if len(r.Roots) > 0 {
		how := "found"
		if r.RootsGiven {
			how = "given"
		}
		fmt.Fprintf(tab, "roots\t%d, %s: %s\n", len(r.Roots), how, show.Few(r.Roots))
	}
	if r.LIDs.Used > 0 {
		fmt.Fprintf(tab, "LIDs\t%d of %d, the last %d; LMC %d\n", r.LIDs.Used, r.LIDs.Capacity, r.LIDs.Last, r.LIDs.LMC)
	}
	if len(r.Dead) > 0 {
		fmt.Fprintf(tab, "dead\t%d of %d cables: %s\n", len(r.Dead), len(r.Dead)+r.HostCables+r.SwitchCables, show.Few(r.Dead))
	}
	if len(r.Isolated) > 0 {
		fmt.Fprintf(tab, "isolated\t%d, without any cable: %s\n", len(r.Isolated), show.Few(r.Isolated))
	}
	for _, s := range r.Warnings {
		fmt.Fprintf(tab, "warning\t%s\n", s)
	}
	return tab.Flush()
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
	write, ok := map[string]func(io.Writer, *source) error{
		"yaml":          func(w io.Writer, s *source) error { return netyaml.Write(w, s.net) },
		"ibnetdiscover": func(w io.Writer, s *source) error { return ibnet.Write(w, s.net) },
		"ibsim":         func(w io.Writer, s *source) error { return ibnet.WriteSim(w, s.net) },
		"guid2lid":      func(w io.Writer, s *source) error { return ibnet.WriteGUID2LID(w, s.net) },
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

func writeDot(w io.Writer, s *source) error {
	level, err := network.Ranks(s.net, s.roots)
	if err != nil {
		return usage(err)
	}
	return dot.Write(w, s.net, level)
}
