package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/internal/cmdline"
	"evbench/internal/lists"
	"evbench/internal/proc"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/site/engines/minmax"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/topology"
)

// tree returns the two-level tree given by the flags.
func tree(c *cli.Context) (*topology.Tree, error) {
	t, err := singleTree(c)
	if err == nil && t.Renamed() {
		return nil, usagef("--topology %s: %s writes the notation of a tree, and takes one", c.String("topology"), c.Command.Name)
	}
	if err == nil {
		err = twoLevels(c, t.Shape)
	}
	return t, err
}

// twoLevels refuses trees of three levels, and parallel cables.
func twoLevels(c *cli.Context, t *topology.Shape) error {
	if t.Levels() == 3 {
		return usagef("--topology %s: three levels; %s takes trees of two, FT(2;M0,M1)", t.Notation(), c.Command.Name)
	}
	return usage(t.OneCable(c.Command.Name + " takes trees"))
}

// singleTree returns the tree of two or three levels, with single cables, given by the flags.
func singleTree(c *cli.Context) (*topology.Tree, error) {
	t, err := anyTree(c)
	if err == nil {
		err = usage(t.OneCable(c.Command.Name + " takes trees"))
	}
	return t, err
}

// anyTree returns the tree of two or three levels given by the flags.
func anyTree(c *cli.Context) (*topology.Tree, error) {
	t, _, rates, err := treeAndHosts(c)
	if err != nil {
		return nil, err
	}
	if other := otherRates(&t.Live, rates); other != "" {
		fmt.Fprintf(c.App.ErrWriter, "%s: %s here (plan and judge count with their rates)\n", c.String("topology"), other)
	}
	return t, nil
}

// noteLanes says that tables of a tree may do better than is counted, where a cable is several links.
func noteLanes(c *cli.Context, t *topology.Live) {
	for id := range t.AllLinks() {
		if l := t.LinkOf(id); len(t.CableOf(l)) > 1 {
			fmt.Fprintf(c.App.ErrWriter, "%s: cables such as %s carry several messages at once, but over tables count as so many links, one for each destination: tables may do better than it says here (evbench routes check --engine NAME counts whole cables)\n", c.String("topology"), t.LinkName(l))
			return
		}
	}
}

// otherRates says what of the rates of hosts and links a command does not count with, "" where all are alike.
func otherRates(t *topology.Live, r topology.Rates) string {
	var out []string
	if len(r.Slow) > 0 {
		out = append(out, "slower than most links, and taken for whole ones: "+show.Few(lists.Map(r.Slow, func(x topology.SlowLink) string { return t.LinkName(x.Link) })))
	}
	if r.Faster {
		out = append(out, "links carry several messages at once, and count as one")
	}
	if len(r.Hosts) > 0 {
		names := lists.Map(r.Hosts, func(h topology.SlowHost) string { return t.HostName(h.Rank) })
		out = append(out, "hosts slower than most are taken for whole ones: "+show.Few(names))
	}
	return strings.Join(out, "; ")
}

// treeAndHosts returns the tree given by the flags and, if it is from a file, its hosts and slow
// links.
func treeAndHosts(c *cli.Context) (t *topology.Tree, hosts []plan.Host, rates topology.Rates, err error) {
	return treeOf(c, nil)
}

// treeOf is treeAndHosts with the hosts of a job; nil: those of --hosts, or all.
func treeOf(c *cli.Context, job *network.Job) (t *topology.Tree, hosts []plan.Host, rates topology.Rates, err error) {
	var places *network.Places // of a file
	if _, missing := os.Stat(c.String("topology")); missing == nil || netfile.Rails(c.String("topology")) != nil || c.IsSet("hosts") {
		t, places, hosts, rates, err = fileTree(c, job)
	} else {
		t, err = written(c, "topology")
	}
	if err == nil {
		t, err = takeDown(c, t, places)
	}
	if err == nil && places != nil {
		err = joined(c, places, t)
	}
	if err == nil && (c.IsSet("readers") || c.IsSet("builders")) {
		t, err = t.WithRoles(c.String("readers"), c.String("builders"))
		err = usage(err)
	}
	if err == nil && places != nil && (rates.Faster || !places.Exact(&t.Live)) {
		rates.Faster, rates.Least = true, minmax.OfTree(places, t)
	}
	return t, hosts, rates, err
}

// joined says that hosts are in several networks by design, so that there are no messages between these. A command that leaves
// out no messages refuses.
func joined(c *cli.Context, p *network.Places, t *topology.Tree) error {
	pairs, ok := p.Disconnected(t)
	if !ok || pairs == 0 {
		return nil
	}
	if c.Set("drop-unreachable", "true") != nil {
		return severalNetworks(c)
	}
	fmt.Fprintf(c.App.ErrWriter, "%s: %d pairs of hosts are in different networks and have no way by design: their messages are left out\n", c.String("topology"), pairs)
	return nil
}

func severalNetworks(c *cli.Context) error {
	return usagef("%s: several networks that no cable joins: --hosts takes the hosts of one", c.String("topology"))
}

// written returns the tree of the notation in a flag, with --fill and --spines.
func written(c *cli.Context, flag string) (*topology.Tree, error) {
	o, err := topology.Parse(c.String(flag))
	if name := c.String(flag); err != nil && strings.Contains(name, ".") && !strings.Contains(name, "(") {
		return nil, usagef("--%s %s: neither a file nor a notation such as FT(2;4,8)", flag, name)
	}
	if err != nil {
		return nil, usagef("--%s: %w", flag, err)
	}
	if s := c.String("fill"); s != "" {
		if o.Fill, err = topology.ParseFill(s); err != nil {
			return nil, usagef("--fill: %w", err)
		}
	}
	o.Spines = cmp.Or(c.Int("spines"), o.Spines)
	t, err := topology.New(o)
	return t, usage(err)
}

// fileTree finds the tree in a file, with the hosts of a job; nil: with those of --hosts, or all hosts.
func fileTree(c *cli.Context, only *network.Job) (t *topology.Tree, places *network.Places, hosts []plan.Host, rates topology.Rates, err error) {
	for _, flag := range []string{"fill", "spines"} {
		if c.IsSet(flag) {
			return nil, nil, nil, rates, usagef("--%s: not with a file, which states it", flag)
		}
	}
	src := c.String("topology")
	s, err := readWhole(c, src)
	if err != nil {
		return nil, nil, nil, rates, err
	}
	p, err := network.Spineless(s.Whole)
	if err != nil {
		return nil, nil, nil, rates, usagef("--topology %s: %w", src, err)
	}
	flags, ranks, job := []string{"-t", src}, 1, network.AllHosts(s.Whole)
	switch {
	case only != nil:
		job = *only
		if p, err = p.For(s.Whole, job.Nodes); err != nil {
			return nil, nil, nil, rates, usage(err)
		}
	case c.IsSet("hosts"):
		job, err = netfile.ReadHosts(c.String("hosts"), s.Whole)
		if err == nil {
			flags, ranks = append(flags, "--hosts", c.String("hosts")), job.Slots
			p, err = p.For(s.Whole, job.Nodes)
		}
		if err != nil {
			return nil, nil, nil, rates, usagef("--hosts: %w", err)
		}
	}
	if n := p.Tree.Names(); n != nil {
		n.Flags = flags
	}
	above := s.Whole.AboveNote()
	if c.IsSet("hosts") || only != nil {
		above = ""
	}
	several := ""
	if job.Host != nil {
		several = "messages of adapters of one host for each other count here; judge and plan --tables leave them out"
	}
	for _, note := range []string{p.Gaps(), p.AsBuilt(), p.Joints(), above, several} {
		if note != "" {
			fmt.Fprintf(c.App.ErrWriter, "%s: %s\n", src, note)
		}
	}
	return p.Tree, p, hostsOf(s.Whole, p.Host, nil, ranks), p.Rates(), nil
}

// hostsOf are the hosts of servers as the network names them, nil if two have the same name. host numbers the host of
// each server, which is one of its adapters; nil: each server is a host.
func hostsOf(n *network.Network, servers []network.Node, host []int, ranks int) (hosts []plan.Host) {
	seen := map[string]bool{}
	for i, v := range servers {
		name, again := n.HostName(v), host != nil && i > 0 && host[i] == host[i-1]
		if name == "" || len(name) > 63 || seen[name] != again || again && name != hosts[i-1].Name {
			return nil
		}
		seen[name] = true
		hosts = append(hosts, plan.Host{Name: name, Ranks: ranks, Order: i})
	}
	return hosts
}

// downLinks returns the dead links of --down and --reduction.
func downLinks(c *cli.Context, t *topology.Tree, places *network.Places) (dead []topology.Link, err error) {
	find := func(name string) ([]topology.Link, error) {
		links, err := t.Find(name)
		if err != nil && places != nil { // as topo and routes take it
			if own, unknown := places.Find(name); unknown == nil {
				return own, nil
			}
		}
		return links, err
	}
	names := cmdline.Known(c, "down", func(name string) bool { _, err := find(name); return err == nil })
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, usagef("--down: %s is named twice", name)
		}
		links, err := find(name)
		if err != nil {
			return nil, usagef("--down: %w", err)
		}
		dead = append(dead, links...)
	}
	f := c.Int("reduction")
	if f < 0 || f >= t.Spines() {
		return nil, usagef("--reduction %d: must be 0..%d, so that a spine is left", f, t.Spines()-1)
	}
	for k := t.Spines() - f; k < t.Spines(); k++ {
		links, err := t.Named(nil).Links(fmt.Sprintf("spine%d", k))
		if err != nil {
			return nil, err
		}
		dead = append(dead, links...)
	}
	return dead, nil
}

func takeDown(c *cli.Context, t *topology.Tree, places *network.Places) (*topology.Tree, error) {
	dead, err := downLinks(c, t, places)
	if err != nil {
		return nil, err
	}
	if t, err = t.Without(dead...); err != nil {
		return nil, usage(err)
	}
	_, all := t.Damage()
	n, err := downRandom(c, "links", all)
	if n == 0 || err != nil {
		return t, err
	}
	links, err := t.Random(n, c.Uint64("seed"))
	if err != nil {
		return nil, usagef("--down-random: %w", err)
	}
	return t.Without(links...)
}

// downRandom reads --down-random: a number of links or cables, or a share of all.
func downRandom(c *cli.Context, what string, all int) (int, error) {
	s := c.String("down-random")
	if s == "" {
		return 0, nil
	}
	num, percent := strings.CutSuffix(s, "%")
	n, err := strconv.Atoi(num)
	if err != nil || n < 0 {
		return 0, usagef("--down-random %q: write a number of %s, or a share such as 5%%", s, what)
	}
	if percent {
		if n > 100 {
			return 0, usagef("--down-random %q: more than all %s", s, what)
		}
		n = n * all / 100
	}
	return n, nil
}

// form is json with --json, else what --format says, if the command has it.
func form(c *cli.Context) string {
	if c.Bool("json") {
		return "json"
	}
	return c.String("format")
}

// printed writes a document as text, or with --json as JSON.
func printed(c *cli.Context, d answer.Document) error {
	if c.Bool("json") {
		return d.Write(c.App.Writer, "json")
	}
	return d.Write(c.App.Writer, "text")
}

// judged prints a report whose exit code matters most: --quiet prints nothing, and an invalid one
// fails.
func judged(c *cli.Context, valid bool, d answer.Document) error {
	if !c.Bool("quiet") {
		if err := printed(c, d); err != nil {
			return err
		}
	}
	if !valid {
		return &exitError{code: exitFailed}
	}
	return nil
}

// text returns a function that writes x by its String.
func text(x fmt.Stringer) func(io.Writer) error {
	return func(w io.Writer) error { _, err := fmt.Fprint(w, x); return err }
}

// writeOut writes to --out, or to standard output.
func writeOut(c *cli.Context, write func(io.Writer) error) error {
	if name := c.String("out"); name != "" {
		return atomicfile.Write(name, func(w io.Writer) error { return write(proc.Writer(c.Context, w)) })
	}
	return write(c.App.Writer)
}

// answerTo is where the answer on what --out gets goes: to standard output, or where that has it itself, to standard error.
func answerTo(c *cli.Context) io.Writer {
	if c.String("out") == "" {
		return c.App.ErrWriter
	}
	return c.App.Writer
}

// writeLong is writeOut for plans and tables, which have thousands of lines: a terminal gets the first.
func writeLong(c *cli.Context, write func(io.Writer) error) error {
	if _, ok := terminal(c.App.Writer); !ok || c.String("out") != "" {
		return writeOut(c, write)
	}
	head := show.Head{To: c.App.Writer, Lines: 20, Width: cmp.Or(textOptions(c.App.Writer).Width, 80)}
	if err := write(&head); err != nil {
		return err
	}
	left := "the ends of long lines are"
	if n := head.Omitted(); n > 0 {
		left = show.Commas(n) + " more lines,"
	}
	if head.Omitted() > 0 || head.Cut {
		fmt.Fprintf(c.App.ErrWriter, "… %s not shown on a terminal: -o FILE, or | less\n\n", left)
	}
	return nil
}

// readSource reads a notation or a file, with the changes by flags.
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

// readWhole reads a notation or a file, with the LIDs given by the flags.
func readWhole(c *cli.Context, src string) (*netfile.Source, error) {
	s, err := netfile.Read(src, c.Int("lmc"))
	if err != nil {
		return nil, usage(err)
	}
	if s.Whole.Adaptive = s.Whole.Adaptive || c.Bool("adaptive"); s.Whole.Adaptive {
		_ = c.Set("adaptive", "true") // where the command knows of it
	}
	for _, note := range s.Whole.Notes {
		fmt.Fprintf(c.App.ErrWriter, "%s: %s\n", src, note)
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

// networkNames are the names of a flag for parts of a network.
func networkNames(c *cli.Context, flag string, n *network.Network) []string {
	x := network.Names(n)
	return cmdline.Known(c, flag, func(name string) bool { _, err := x.Down(name); return err == nil })
}

// degrade removes the parts of --down and --down-random.
func degrade(c *cli.Context, n *network.Network) (*network.Network, error) {
	n, err := n.Degrade(networkNames(c, "down", n))
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
