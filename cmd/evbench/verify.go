package main

import (
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"evbench/fabric/host"
	"evbench/plan/verify"
)

func verifyCommand() *cli.Command {
	return computing(&cli.Command{
		Name:      "verify",
		Usage:     "judge a plan file: coverage, contention, dead links, bound, hash",
		ArgsUsage: "PLAN",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "bound", Usage: "recompute the lower bound from its witness as well"},
			&cli.StringFlag{Name: "sizes", Usage: "check a plan of version 2 against the sizes in `FILE`, CSV src,dst,bytes,exchange"},
			&cli.BoolFlag{Name: "allow-contention", Usage: "two messages on one link in one phase are no offence"},
			&cli.IntFlag{Name: "first", Value: 10, Usage: "print the first `N` offences"},
			&cli.BoolFlag{Name: "json", Usage: "print the report as one JSON document"},
			&cli.BoolFlag{Name: "quiet", Usage: "print nothing; the exit code says it"},
		},
		Action: verifyAction,
	}, "  evbench verify plan.txt")
}

func verifyAction(c *cli.Context) error {
	if err := needArgs(c, 1, 1, "PLAN, a file or - for standard input,"); err != nil {
		return err
	}
	if c.Int("first") < 1 {
		return usagef("--first %d: must be at least 1", c.Int("first"))
	}
	name := c.Args().First()
	f, ordered, err := readPlan(name)
	if err != nil {
		return usagef("%s: %w", name, err)
	}
	o := verify.Options{AllowContention: c.Bool("allow-contention"), Bound: c.Bool("bound"), First: c.Int("first")}
	if ordered != nil {
		report, err := checkOrdered(c, ordered, o)
		if err != nil {
			return err
		}
		return judged(c, report.Valid, func(w io.Writer) error { return report.WriteText(w, name) }, document(struct {
			Schema string `json:"schema"`
			Plan   string `json:"plan"`
			*verify.OrderedReport
		}{"evbench/verify/2", name, report}))
	}
	if c.IsSet("sizes") {
		return usagef("--sizes: %s is of version 1, for equal fragments", name)
	}
	report := verify.Check(f, o)
	return judged(c, report.Valid, func(w io.Writer) error { return report.WriteText(w, name) }, document(struct {
		Schema string `json:"schema"`
		Plan   string `json:"plan"`
		*verify.Report
	}{"evbench/verify/1", name, report}))
}

// readPlan reads a plan of either version, right or wrong, from a file or, "-", standard
// input.
func readPlan(name string) (f *verify.File, o *verify.Ordered, err error) {
	f, err = planFile(name, func(r io.Reader) (f *verify.File, err error) {
		f, o, err = verify.ReadEither(r, host.Room(1))
		return f, err
	})
	return f, o, err
}

// planFile opens a plan file.
func planFile[P any](name string, read func(io.Reader) (P, error)) (p P, err error) {
	if name == "-" {
		return read(os.Stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return p, err
	}
	defer f.Close()
	return read(f)
}
