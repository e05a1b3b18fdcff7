package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"evbench/plan/verify"
)

func verifyCommand() *cli.Command {
	return computing(&cli.Command{
		Name:      "verify",
		Usage:     "judge a plan file: coverage, contention, dead links, bound, hash",
		ArgsUsage: "PLAN",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "bound", Usage: "recompute the lower bound from its witness as well"},
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
	f, err := readPlan(name)
	if err != nil {
		return usagef("%s: %w", name, err)
	}
	report := verify.Check(f, verify.Options{
		AllowContention: c.Bool("allow-contention"), Bound: c.Bool("bound"), First: c.Int("first"),
	})
	switch {
	case c.Bool("quiet"):
	case c.Bool("json"):
		err = json.NewEncoder(c.App.Writer).Encode(struct {
			Schema string `json:"schema"`
			Plan   string `json:"plan"`
			*verify.Report
		}{"evbench/verify/1", name, report})
	default:
		err = describeReport(c.App.Writer, name, report)
	}
	if err == nil && !report.Valid {
		err = &exitError{code: exitFailed}
	}
	return err
}

func readPlan(name string) (*verify.File, error) {
	if name == "-" {
		return verify.Read(os.Stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return verify.Read(f)
}

func describeReport(w io.Writer, name string, r *verify.Report) error {
	verdict := "valid"
	if !r.Valid {
		verdict = fmt.Sprintf("NOT valid, %d offences", r.Total)
	}
	_, err := fmt.Fprintf(w, "%s: %s\n%d servers, %d phases, %d messages\n", name, verdict, r.Servers, r.Phases, r.Messages)
	if r.LeftOut > 0 {
		fmt.Fprintf(w, "%d messages between unreachable leaves are left out\n", r.LeftOut)
	}
	if r.Valid {
		describeFigures(w, r)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(w, "note:", n)
	}
	for _, o := range r.Offences {
		fmt.Fprintf(w, "%s: %s\n", o.Kind, o.Text)
	}
	if more := r.Total - len(r.Offences); more > 0 {
		fmt.Fprintf(w, "… and %d more; --first %d shows all\n", more, r.Total)
	}
	return err
}

// describeFigures prints what a valid plan costs.
func describeFigures(w io.Writer, r *verify.Report) {
	if r.Duration > 0 {
		fmt.Fprintf(w, "duration %d message times, predicted efficiency %.3f\n", r.Duration, r.PredictedEfficiency)
	}
	if b := r.Bound; b != nil && b.Proven {
		fmt.Fprintf(w, "bound %d proven by %s: %s\n", b.Phases, b.Kind, distance(r))
	}
	if p := r.Paths; p != nil {
		fmt.Fprintf(w, "paths: at most %d from a leaf to a server, LMC %d, %d LIDs, %d LFT entries\n", p.Most, p.LMC, p.LIDs, p.Entries)
	}
}

// distance says how far a plan is from the proven bound.
func distance(r *verify.Report) string {
	switch {
	case r.Optimal():
		return "the plan is optimal"
	case !r.ContentionChecked:
		return "it holds for plans without contention"
	}
	return fmt.Sprintf("gap %d", r.Bound.Gap)
}
