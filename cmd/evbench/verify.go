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
	order "evbench/model/order/verify"
	"evbench/plan/verify"
	"evbench/site/host"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/topology"
	"evbench/view/plans"
)

func verifyAction(c *cli.Context) error {
	name := c.Args().First()
	if c.IsSet("paths") {
		return verifyPorts(c, name)
	}
	if text, is, err := ringIn(c, name); err != nil {
		return err
	} else if is {
		return verifyRing(c, name, text)
	}
	f, ordered, err := readPlan(name)
	if given, ok := errors.AsType[*overTables](err); ok {
		return verifyOrder(c, name, given.File)
	}
	if err != nil {
		return usagef("%s: %w", name, err)
	}
	o := verify.Options{AllowContention: c.Bool("allow-contention"), Bound: c.Bool("bound"), First: c.Int("first")}
	if c.IsSet("topology") {
		if o.Live, err = liveNow(c, f, ordered); err != nil {
			return err
		}
	}
	if ordered != nil {
		report, err := checkOrdered(c, ordered, o)
		if err != nil {
			return err
		}
		return judged(c, report.Valid, answer.Document{Answer: plans.VerifiedOrdered(name, report), Text: report.WriteText, Schema: "evbench/verify/2", Fields: struct {
			Plan string `json:"plan"`
			*verify.OrderedReport
		}{name, report}})
	}
	if c.IsSet("sizes") {
		return usagef("--sizes: %s is of version 1, for equal fragments", name)
	}
	report := verify.Check(f, o)
	return judged(c, report.Valid, answer.Document{Answer: plans.Verified(name, report), Text: report.WriteText, Schema: "evbench/verify/1", Fields: struct {
		Plan string `json:"plan"`
		*verify.Report
	}{name, report}})
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
	if !order.IsRing(text) && !c.Bool("ring") {
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
	job, err := network.ReadJob(bytes.NewReader(text), with.Net)
	if err != nil {
		return wrongIn(name, err)
	}
	report, err := order.Ring(text, job, with)
	if err != nil {
		return usagef("%s: %w", name, err)
	}
	return judged(c, report.Valid, answer.Document{Answer: report.Answer(name), Text: report.WriteText, Schema: "evbench/verify-ring/1", Fields: struct {
		File string `json:"file"`
		*order.RingReport
	}{name, report}})
}

// liveNow is the tree of a plan without the links whose cable is missing in the network, or dead.
func liveNow(c *cli.Context, f *verify.File, ordered *verify.Ordered) (*topology.Tree, error) {
	var t *topology.Tree
	if ordered != nil {
		t = ordered.Tree
	} else {
		t = f.Tree
	}
	s, err := readSource(c, c.String("topology"))
	if err != nil {
		return nil, err
	}
	p, err := network.MatchPlan(t, s.Whole)
	if err != nil && !errors.Is(err, network.ErrShared) {
		return nil, usagef("--topology %s: %w", c.String("topology"), err)
	}
	return p.Now(s.Net), nil
}

// overTables is the plan file of an order over given tables.
type overTables struct{ *order.File }

func (*overTables) Error() string { return "it orders messages over given tables" }

// readPlan reads a plan of version 1 or 2, valid or not, from a file or, "-", standard input. One of version 3 is an
// *overTables.
func readPlan(name string) (f *verify.File, o *verify.Ordered, err error) {
	f, err = opened(name, func(r io.Reader) (f *verify.File, err error) {
		in := bufio.NewReaderSize(r, 1<<16)
		if head, _ := in.Peek(1 << 12); order.Is(head) {
			given, err := order.Read(in, host.Room(order.MessageBytes))
			if err != nil {
				return nil, err
			}
			return nil, &overTables{given}
		}
		f, o, err = verify.ReadEither(in, host.Room(1))
		return f, err
	})
	return f, o, err
}

// verifyOrder judges a plan over given tables, with those tables if they are given.
func verifyOrder(c *cli.Context, name string, f *order.File) error {
	if c.IsSet("allow-contention") || c.IsSet("sizes") && !f.Sized() {
		return usagef("--allow-contention, --sizes: %s orders messages of one size over given tables (version 3)", name)
	}
	var with order.Tables
	if c.IsSet("tables") || c.IsSet("engine") {
		var err error
		if with, err = tablesJudged(c, f.Header["path-bits"] != ""); err != nil {
			return err
		}
		if c.IsSet("sizes") {
			nodes, err := order.Nodes(f, with.Net)
			if err != nil {
				return usagef("%s: %w", name, err)
			}
			if with.Sizes, err = sizesOver(c, with.Net, nodes); err != nil {
				return err
			}
		}
	} else if c.IsSet("sizes") {
		return usagef("--sizes: %s needs the network and its tables, too: -t and --tables FILE or --engine NAME", name)
	} else if c.IsSet("topology") {
		return usagef("--topology: %s needs the tables, too: --tables FILE or --engine NAME", name)
	}
	report, err := order.Check(f, with, c.Int("first"))
	if err != nil {
		return usagef("%s: %w", name, err)
	}
	return judged(c, report.Valid, answer.Document{Answer: report.Answer(name, with.Net != nil), Text: report.WriteText, Schema: "evbench/verify/3", Fields: struct {
		Plan string `json:"plan"`
		*order.Report
	}{name, report}})
}

// tablesJudged are the network and its tables as the flags give them, for a judge that reads them itself.
func tablesJudged(c *cli.Context, withBits bool) (with order.Tables, err error) {
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
func judgedWith(name string, s *netfile.Source) (with order.Tables, err error) {
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
	return order.Tables{Net: s.Net, Dump: bytes.NewReader(text)}, nil
}

func dumped(t *lft.Tables) (order.Tables, error) {
	var b bytes.Buffer
	err := t.WriteDump(&b)
	return order.Tables{Net: t.Net, Dump: &b}, err
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
