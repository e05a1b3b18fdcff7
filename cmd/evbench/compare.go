package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/results"
	"evbench/results/compare"
	"evbench/results/store"
)

func compareCommand() *cli.Command {
	return computing(&cli.Command{
		Name:      "compare",
		Usage:     "say what has changed between two runs, and fail when it is for the worse",
		ArgsUsage: "BASE NEW",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{
				Name: "fail-if",
				Usage: "exit 3 when a figure changes significantly and by more than `EXPR` allows, such as 'events_per_s < -3%'; " +
					"several flags or a comma between: any of them. Figures: " + strings.Join(compare.Figures, ", "),
			},
			&cli.BoolFlag{Name: "force", Usage: "compare runs of different plans, sizes or fabrics, and invalid repeats too"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "print `FORM`: text, csv"},
			&cli.BoolFlag{Name: "json", Usage: "print the comparison as one JSON document"},
			&cli.BoolFlag{Name: "quiet", Usage: "print nothing; the exit code says it"},
		},
		Action: compareAction,
	}, "  evbench compare results/before results/after\n"+
		"  evbench compare results/before results/after --fail-if 'events_per_s < -3%'\n\n"+
		"BASE and NEW are directories of results, or .h5 files. With --fail-if: 3 for a regression,\n"+
		"4 where a case is missing, invalid or measured too little to tell, 0 for neither.")
}

func compareAction(c *cli.Context) error {
	if err := needArgs(c, 2, 2, "BASE and NEW, two directories of results,"); err != nil {
		return err
	}
	conditions, err := conditionsOf(c.StringSlice("fail-if"))
	if err != nil {
		return err
	}
	if f := c.String("format"); f != "text" && f != "csv" {
		return usagef("--format %q: must be text or csv", f)
	}
	base, err := loadRun(c.Args().Get(0))
	if err != nil {
		return usage(err)
	}
	next, err := loadRun(c.Args().Get(1))
	if err != nil {
		return usage(err)
	}
	differences := compare.Differences(base.run, next.run)
	if !c.Bool("force") {
		if err := refuse(base, next, differences); err != nil {
			return usage(err)
		}
	}
	r := compare.Runs(base.run, next.run, compare.Options{Invalid: c.Bool("force")})
	if len(r.Cases) == 0 {
		return usagef("%s and %s have no case in common: %s; %s", base.Path, next.Path, quoted(r.Missing), quoted(r.Added))
	}
	o := comparison{Schema: "evbench/compare/1", Base: base, New: next, Differences: differences, Report: r, Conditions: conditions}
	o.Regressions, o.Undecided = r.Judge(conditions)
	if err := o.print(c); err != nil {
		return err
	}
	return o.verdict()
}

// A comparison is the document of --json.
type comparison struct {
	Schema      string               `json:"schema"`
	Base        compared             `json:"base"`
	New         compared             `json:"new"`
	Differences []compare.Difference `json:"differences"`
	compare.Report
	Conditions  []compare.Condition  `json:"fail_if"`
	Regressions []compare.Regression `json:"regressions"`
	Undecided   []compare.Undecided  `json:"undecided"`
}

// compared is one of the two runs.
type compared struct {
	Path    string    `json:"path"`
	Name    string    `json:"name"`
	Started time.Time `json:"started"`
	Fabric  string    `json:"fabric"`
	run     *results.Run
}

func (c comparison) print(cli *cli.Context) error {
	out := cli.App.Writer
	switch {
	case cli.Bool("quiet"):
		return nil
	case cli.Bool("json"):
		return json.NewEncoder(out).Encode(c)
	case cli.String("format") == "csv":
		if err := c.csv(out); err != nil {
			return err
		}
	default:
		if err := c.text(out); err != nil {
			return err
		}
	}
	c.say(cli.App.ErrWriter)
	return nil
}

// say names what --fail-if found.
func (c comparison) say(w io.Writer) {
	for _, r := range c.Regressions {
		fmt.Fprintf(w, "regression: case %q: %s %s, beyond %s\n", r.Case, r.Figure, percentText(r.Change), r.Condition)
	}
	for _, u := range c.Undecided {
		fmt.Fprintf(w, "cannot say: %s\n", undecidedText(u))
	}
}

func undecidedText(u compare.Undecided) string {
	var parts []string
	if u.Case != "" {
		parts = append(parts, fmt.Sprintf("case %q", u.Case))
	}
	if u.Figure != "" {
		parts = append(parts, u.Figure)
	}
	return strings.Join(append(parts, u.Reason), ": ")
}

// verdict is the exit code: what could not be told has not passed.
func (c comparison) verdict() error {
	switch {
	case len(c.Regressions) > 0:
		return &exitError{code: exitRegression}
	case len(c.Undecided) > 0:
		return &exitError{code: exitInvalid}
	}
	return nil
}

func conditionsOf(texts []string) ([]compare.Condition, error) {
	out := []compare.Condition{}
	for _, text := range texts {
		x, err := compare.ParseCondition(text)
		if err != nil {
			return nil, usagef("--fail-if %q: %w", text, err)
		}
		out = append(out, x)
	}
	return out, nil
}

// loadRun reads one of the two runs, and sees that it is whole.
func loadRun(path string) (compared, error) {
	run, err := store.Read(path)
	if err != nil {
		return compared{}, err
	}
	if err := compare.Check(run); err != nil {
		return compared{}, fmt.Errorf("%s: %w", path, err)
	}
	return compared{path, run.Manifest.Name, run.Manifest.Started, run.Manifest.Fabric.Kind, run}, nil
}

// refuse names what makes two runs incomparable.
func refuse(base, next compared, differences []compare.Difference) error {
	var lines []string
	if compare.Simulated(base.run) != compare.Simulated(next.run) {
		simulated, measured := base, next
		if compare.Simulated(next.run) {
			simulated, measured = next, base
		}
		lines = append(lines, fmt.Sprintf("%s was simulated, %s was measured: a prediction is not a base to regress from", simulated.Path, measured.Path))
	}
	for _, d := range differences {
		if !d.Noted {
			lines = append(lines, d.String())
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("%s and %s were not measured alike; --force compares them all the same:\n  %s",
		base.Path, next.Path, strings.Join(lines, "\n  "))
}

func quoted(names []string) string {
	var out []string
	for _, n := range names {
		out = append(out, fmt.Sprintf("%q", n))
	}
	return strings.Join(out, ", ")
}
