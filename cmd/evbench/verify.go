package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/internal/lists"
	"evbench/scheduler/judge"
	"evbench/site/host"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/topology"
	"evbench/view/plans"
)

func verifyAction(c *cli.Context) error {
	name := c.Args().First()
	if text, is, err := ringIn(c, name); err != nil {
		return err
	} else if is {
		return verifyRing(c, name, text)
	}
	f, err := opened(name, func(r io.Reader) (*judge.File, error) {
		return judge.ReadWithin(r, host.Room(1), known.Engines.Names()...)
	})
	if err != nil {
		return usagef("%s: %w", name, err)
	}
	o := judge.Options{AllowContention: c.Bool("allow-contention"), Bound: c.Bool("bound"), First: c.Int("first")}
	switch {
	case c.IsSet("sizes") && !f.Sized():
		err = usagef("--sizes: %s is of messages of one size", name)
	case c.IsSet("paths"):
		err = portsOf(c, name, f, &o)
	case f.Over != nil:
		err = tablesOf(c, name, f, &o)
	default:
		if o.Sizes, err = sizesJudged(c, f); err == nil && c.IsSet("topology") {
			o.Live, err = liveNow(c, f)
		}
	}
	if err != nil {
		return err
	}
	report := judge.Check(f, o)
	return judged(c, report.Valid, answer.Document{Answer: plans.Verified(name, report), Text: report.WriteText, Schema: "evbench/verify/4", Fields: struct {
		Plan string `json:"plan"`
		*judge.Report
	}{name, report}})
}

// tablesOf reads what a plan over given tables is judged on, where flags give it.
func tablesOf(c *cli.Context, name string, f *judge.File, o *judge.Options) error {
	given := c.IsSet("tables") || c.IsSet("engine")
	switch {
	case c.IsSet("allow-contention"):
		return usagef("--allow-contention: %s orders messages over given tables", name)
	case !given && c.IsSet("sizes") && f.ByPorts():
		return usagef("--sizes: %s needs the paths, too: --paths FILE", name)
	case !given && c.IsSet("sizes"):
		return usagef("--sizes: %s needs the network and its tables, too: -t and --tables FILE or --engine NAME", name)
	case !given && c.IsSet("topology"):
		return usagef("--topology: %s needs the tables, too: --tables FILE or --engine NAME", name)
	case !given:
		return nil
	}
	with, err := tablesJudged(c, f.Over.Bits != nil)
	if err != nil {
		return err
	}
	if o.Tables, err = with.on(f); err != nil {
		return usagef("%s: %w", name, err)
	}
	if c.IsSet("sizes") {
		o.Sizes, err = sizesAt(c, with.net, f, lists.Map(o.Tables.Nodes, func(v int) network.Node { return network.Node(v) }))
	}
	return err
}

// sizesAt are those of --sizes for a plan over tables, or paths, between nodes by rank.
func sizesAt(c *cli.Context, n *network.Network, f *judge.File, nodes []network.Node) (list []judge.Size, err error) {
	hosts := len(nodes)
	bytes, err := sizesOver(c, n, nodes)
	for at, size := range bytes {
		if src, dst := at/hosts, at%hosts; size > 0 && f.Over.Meets(src, dst) {
			list = append(list, judge.Size{Src: int32(src), Dst: int32(dst), Bytes: size})
		}
	}
	return list, err
}

// ringIn is the text of a host file that states a ring, or is said to be one.
func ringIn(c *cli.Context, name string) (text []byte, is bool, err error) {
	if name == "-" {
		return nil, false, nil
	}
	text, err = opened(name, func(r io.Reader) ([]byte, error) { return bufio.NewReader(atomicfile.Text(r)).Peek(64) })
	if _, wrong := errors.AsType[*exitError](err); wrong {
		return nil, false, err
	}
	if !judge.IsRing(text) && !c.Bool("ring") {
		return nil, false, nil
	}
	text, err = openedTables(name, io.ReadAll)
	return text, err == nil, usage(err)
}

// verifyRing judges an order of hosts over the tables.
func verifyRing(c *cli.Context, name string, text []byte) error {
	if !c.IsSet("topology") || !c.IsSet("tables") && !c.IsSet("engine") {
		return usagef("%s: a ring is judged over tables: -t NETWORK and --tables FILE or --engine NAME", name)
	}
	with, err := tablesJudged(c, false)
	if err != nil {
		return err
	}
	job, err := network.ReadJob(bytes.NewReader(text), with.net)
	if err != nil {
		return wrongIn(name, err)
	}
	tables, err := judge.ReadTables(with.net.ForJudge(), with.dump)
	if err != nil {
		return usagef("%s: %w", name, err)
	}
	report, err := judge.Ring(text, job.ByHost(), job.Slots, tables)
	if err != nil {
		return usagef("%s: %w", name, err)
	}
	return judged(c, report.Valid, answer.Document{Answer: plans.Ring(name, report), Text: report.WriteText, Schema: "evbench/verify-ring/1", Fields: struct {
		File string `json:"file"`
		*judge.RingReport
	}{name, report}})
}

// liveNow is the tree of a plan without the links whose cable is missing in the network, or dead. The plan takes as long as
// the network's slow cables need, whichever the file names.
func liveNow(c *cli.Context, f *judge.File) (*topology.Tree, error) {
	s, err := readSource(c, c.String("topology"))
	if err != nil {
		return nil, err
	}
	p, err := network.MatchPlan(f.Tree, s.Whole)
	if err != nil && !errors.Is(err, network.ErrShared) {
		return nil, usagef("--topology %s: %w", c.String("topology"), err)
	}
	if r := p.Rates(); len(r.Slow)+len(r.Hosts) > 0 {
		f.Rates = topology.Rates{Slow: r.Slow, Hosts: r.Hosts}
	}
	return p.Now(s.Net), nil
}

// dumpedTables are a network and its tables as the text that the judge reads itself.
type dumpedTables struct {
	net  *network.Network
	dump io.Reader
}

func (d dumpedTables) on(f *judge.File) (*judge.Tables, error) {
	return f.TablesOf(d.net.ForJudge(), d.dump)
}

// tablesJudged are the network and its tables as the flags give them, for a judge that reads them itself.
func tablesJudged(c *cli.Context, withBits bool) (with dumpedTables, err error) {
	s, err := readSource(c, c.String("topology"))
	if err != nil {
		return with, err
	}
	if s.Net, err = s.Net.WithSomeLIDs(); err != nil {
		return with, usage(err)
	}
	if !c.IsSet("engine") {
		return judgedWith(c.String("tables"), s)
	}
	var bits []uint8
	if withBits {
		bits, _ = s.Net.PathBits() // a network without path bits has other tables than the plan's
	}
	t, err := givenTables(c, s, bits)
	if err != nil {
		return with, err
	}
	return dumped(t)
}

// judgedWith are tables of a file for a judge that reads them itself: as they are, or JSON as OpenSM's text.
func judgedWith(name string, s *netfile.Source) (with dumpedTables, err error) {
	text, err := openedTables(name, io.ReadAll)
	if err != nil {
		return with, err
	}
	t, err := lft.Read(bytes.NewReader(text), s.Net) // so that what is wrong with the file is said as elsewhere
	if err != nil {
		return with, wrongIn(name, err)
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return dumped(t)
	}
	return dumpedTables{s.Net, bytes.NewReader(text)}, nil
}

func dumped(t *lft.Tables) (dumpedTables, error) {
	var b bytes.Buffer
	err := t.WriteDump(&b)
	return dumpedTables{t.Net, &b}, err
}

// opened reads a file or, "-", standard input.
func opened[T any](name string, read func(io.Reader) (T, error)) (x T, err error) {
	if name == "-" {
		return read(os.Stdin)
	}
	f, err := atomicfile.Open(name)
	if err != nil {
		return x, usage(err)
	}
	defer f.Close()
	return read(f)
}
