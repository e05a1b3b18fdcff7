package main

import (
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/plan"
	"evbench/plan/verify"
	"evbench/site/host"
	"evbench/site/network"
	"evbench/topology"
)

func verifyAction(c *cli.Context) error {
	name := c.Args().First()
	f, ordered, err := readPlan(name)
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
		text, json := plan.VerifiedOrdered(name, report).Before(report.WriteText, document("evbench/verify/2", struct {
			Plan string `json:"plan"`
			*verify.OrderedReport
		}{name, report}))
		return judged(c, report.Valid, text, json)
	}
	if c.IsSet("sizes") {
		return usagef("--sizes: %s is of version 1, for equal fragments", name)
	}
	report := verify.Check(f, o)
	text, json := plan.Verified(name, report).Before(report.WriteText, document("evbench/verify/1", struct {
		Plan string `json:"plan"`
		*verify.Report
	}{name, report}))
	return judged(c, report.Valid, text, json)
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
	p, err := network.Match(t, s.Whole)
	if err != nil {
		return nil, usagef("--topology %s: %w", c.String("topology"), err)
	}
	return p.Now(s.Net), nil
}

// readPlan reads a plan of either version, valid or not, from a file or, "-", standard input.
func readPlan(name string) (f *verify.File, o *verify.Ordered, err error) {
	f, err = planFile(name, func(r io.Reader) (f *verify.File, err error) {
		f, o, err = verify.ReadEither(r, host.Room(1))
		return f, err
	})
	return f, o, err
}

func planFile[P any](name string, read func(io.Reader) (P, error)) (p P, err error) {
	if name == "-" {
		return read(os.Stdin)
	}
	f, err := atomicfile.Open(name)
	if err != nil {
		return p, err
	}
	defer f.Close()
	return read(f)
}
