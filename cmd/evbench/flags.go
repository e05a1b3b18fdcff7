package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/internal/cmdline"
	"evbench/internal/proc"
	"evbench/plan"
	"evbench/topology"
	"evbench/topology/network"
)

// tree returns the two-level tree that the flags describe.
func tree(c *cli.Context) (*topology.Tree, error) {
	t, err := singleTree(c)
	if err == nil && t.Names() != nil {
		return nil, usagef("--topology %s: %s writes the notation of a tree, and takes one", c.String("topology"), c.Command.Name)
	}
	if err == nil && t.Levels() == 3 {
		return nil, usagef("--topology %s: three levels; %s takes trees of two, FT(2;M0,M1)", t.Notation(), c.Command.Name)
	}
	return t, err
}

// singleTree returns the tree of two levels or three, with single cables, that the flags describe.
func singleTree(c *cli.Context) (*topology.Tree, error) {
	t, err := anyTree(c)
	if err == nil {
		err = usage(t.OneCable(c.Command.Name + " takes trees"))
	}
	return t, err
}

// anyTree returns the tree of two levels or three that the flags describe.
func anyTree(c *cli.Context) (*topology.Tree, error) {
	t, _, err := treeAndHosts(c)
	return t, err
}

// treeAndHosts returns the tree that the flags describe and, where it was found in a file, its hosts.
func treeAndHosts(c *cli.Context) (t *topology.Tree, hosts []plan.Host, err error) {
	if _, missing := os.Stat(c.String("topology")); missing == nil {
		t, hosts, err = fileTree(c)
	} else {
		t, err = written(c)
	}
	if err == nil {
		t, err = takeDown(c, t)
	}
	if err == nil && (c.IsSet("readers") || c.IsSet("builders")) {
		t, err = t.WithRoles(c.String("readers"), c.String("builders"))
		err = usage(err)
	}
	return t, hosts, err
}

// written returns the tree of a notation.
func written(c *cli.Context) (*topology.Tree, error) {
	if c.IsSet("hosts") {
		return nil, usagef("--hosts: only with a file in --topology, which names hosts")
	}
	o, err := treeOptions(c, "topology")
	if err != nil {
		return nil, err
	}
	t, err := topology.New(o)
	return t, usage(err)
}

// fileTree finds the tree in a file, with the hosts of --hosts, else all.
func fileTree(c *cli.Context) (*topology.Tree, []plan.Host, error) {
	for _, flag := range []string{"fill", "spines"} {
		if c.IsSet(flag) {
			return nil, nil, usagef("--%s: not with a file, which says it", flag)
		}
	}
	src := c.String("topology")
	s, err := readWhole(c, src)
	if err != nil {
		return nil, nil, err
	}
	p, err := network.TreeOf(s.Whole)
	if err != nil {
		return nil, nil, usagef("--topology %s: %w", src, err)
	}
	flags, ranks := []string{"-t", src}, 1
	if c.IsSet("hosts") {
		job, err := readHosts(c.String("hosts"), s.Whole)
		if err == nil {
			flags, ranks = append(flags, "--hosts", c.String("hosts")), job.Slots
			p, err = p.For(s.Whole, job.Nodes)
		}
		if err != nil {
			return nil, nil, usagef("--hosts: %w", err)
		}
	}
	if n := p.Tree.Names(); n != nil {
		n.Flags = flags
	}
	return p.Tree, hostsOf(p, s.Whole, ranks), nil
}

// hostsOf are the hosts of the servers, nil where two are called the same.
func hostsOf(p *network.Places, n *network.Network, ranks int) (hosts []plan.Host) {
	seen := map[string]bool{}
	for _, v := range p.Host {
		name, _, _ := strings.Cut(n.Info(v).Name, " ")
		if name == "" || len(name) > 63 || seen[name] {
			return nil
		}
		seen[name] = true
		hosts = append(hosts, plan.Host{Name: name, Ranks: ranks})
	}
	return hosts
}

// treeOptions reads the tree whose notation is in a flag, with --fill and --spines.
func treeOptions(c *cli.Context, notation string) (topology.Options, error) {
	o, err := topology.Parse(c.String(notation))
	if err != nil {
		return o, usagef("--%s: %w", notation, err)
	}
	if s := c.String("fill"); s != "" {
		if o.Fill, err = topology.ParseFill(s); err != nil {
			return o, usagef("--fill: %w", err)
		}
	}
	o.Spines = cmp.Or(c.Int("spines"), o.Spines)
	return o, nil
}

// downLinks returns what is dead by --down and --reduction.
func downLinks(c *cli.Context, t *topology.Tree) (dead []topology.Link, err error) {
	names := cmdline.Names(c, "down")
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, usagef("--down: %s is named twice", name)
		}
		links, err := network.Links(t, name)
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

func takeDown(c *cli.Context, t *topology.Tree) (*topology.Tree, error) {
	dead, err := downLinks(c, t)
	if err != nil {
		return nil, err
	}
	if t, err = t.Without(dead...); err != nil {
		return nil, usage(err)
	}
	n, err := downRandom(c, "links", t.AllLinks())
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

// printed prints a report for people, or with --json as one document.
func printed(c *cli.Context, text, document func(io.Writer) error) error {
	if c.Bool("json") {
		return document(c.App.Writer)
	}
	return text(c.App.Writer)
}

// judged is printed for a report whose exit code says the most: --quiet prints nothing, and
// what is not valid fails.
func judged(c *cli.Context, valid bool, text, document func(io.Writer) error) error {
	if !c.Bool("quiet") {
		if err := printed(c, text, document); err != nil {
			return err
		}
	}
	if !valid {
		return &exitError{code: exitFailed}
	}
	return nil
}

// text returns what writes x as it prints itself.
func text(x fmt.Stringer) func(io.Writer) error {
	return func(w io.Writer) error { _, err := fmt.Fprint(w, x); return err }
}

// document returns what writes x, a struct, as JSON that begins with the name of its schema.
func document(schema string, x any) func(io.Writer) error {
	return func(w io.Writer) error {
		text, err := json.Marshal(x)
		if err == nil {
			_, err = fmt.Fprintf(w, "{\"schema\":%q,%s\n", schema, text[1:])
		}
		return err
	}
}

// writeOut writes to --out, or to standard output.
func writeOut(c *cli.Context, write func(io.Writer) error) error {
	if name := c.String("out"); name != "" {
		return atomicfile.Write(name, func(w io.Writer) error { return write(proc.Writer(c.Context, w)) })
	}
	return write(c.App.Writer)
}
