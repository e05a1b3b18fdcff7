package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/results/compare"
	"evbench/results/store"
)

func compareAction(c *cli.Context) error {
	conditions, err := conditionsOf(c.StringSlice("fail-if"))
	if err != nil {
		return err
	}
	metrics, err := metricsOf(c.StringSlice("metric"))
	if err != nil {
		return err
	}
	var sides [2]compare.Side
	for i, path := range c.Args().Slice() {
		run, err := store.Read(path)
		if err == nil {
			sides[i], err = compare.NewSide(path, run)
		}
		if err != nil {
			return usage(err)
		}
	}
	r, err := compare.Between(sides[0], sides[1], conditions, c.Bool("force"))
	if err != nil {
		return usage(err)
	}
	r.Only(metrics)
	if err := printComparison(c, r); err != nil {
		return err
	}
	switch { // what could not be told has not passed
	case len(r.Regressions) > 0:
		return &exitError{code: exitRegression}
	case len(r.Undecided) > 0:
		return &exitError{code: exitInvalid}
	}
	return nil
}

func printComparison(c *cli.Context, r *compare.Comparison) error {
	if c.Bool("quiet") {
		return nil
	}
	text, json := r.Answer().Before(r.WriteText, r.WriteJSON)
	if c.String("format") == "csv" {
		text = r.WriteCSV
	}
	if err := printed(c, text, json); err != nil || c.Bool("json") {
		return err
	}
	r.WriteFindings(c.App.ErrWriter)
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

// metricsOf are the figures to show; none: as the comparison chooses.
func metricsOf(names []string) (out []string, err error) {
	for _, name := range names {
		switch {
		case name == "all":
			return compare.Figures, nil
		case !slices.Contains(compare.Figures, name):
			return nil, usagef("--metric %q: no such figure; there are all, %s", name, strings.Join(compare.Figures, ", "))
		}
		out = append(out, name)
	}
	return out, nil
}
