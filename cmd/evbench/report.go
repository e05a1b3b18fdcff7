package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/internal/show"
	"evbench/report/figure"
	"evbench/report/html"
	"evbench/results/store"
)

func reportCommand() *cli.Command {
	return computing(&cli.Command{
		Name:      "report",
		Usage:     "make one page of the results of runs, to be opened in a browser",
		ArgsUsage: "RESULTS…",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Value: "report.html", Usage: "write the page to `FILE`"},
			&cli.BoolFlag{Name: "quiet", Usage: "do not say what was written"},
		},
		Action: reportAction,
	}, "  evbench report results/quickstart -o report.html\n  evbench report results/lab results/sim -o both.html")
}

func reportAction(c *cli.Context) error {
	if c.NArg() == 0 {
		return usagef("report: RESULTS is missing; see evbench report --help")
	}
	var runs []html.Input
	for _, name := range c.Args().Slice() {
		in, err := loadInput(name)
		if err != nil {
			return usage(err)
		}
		for _, n := range in.Notes {
			fmt.Fprintln(c.App.ErrWriter, "evbench:", n)
		}
		runs = append(runs, in)
	}
	out := c.String("out")
	if info, err := os.Stat(out); err == nil && info.IsDir() {
		return usagef("--out %s: is a directory", out)
	}
	if err := atomicfile.Write(out, func(w io.Writer) error { return html.Write(w, runs) }); err != nil {
		return err
	}
	if c.Bool("quiet") {
		return nil
	}
	info, err := os.Stat(out)
	if err != nil {
		return err
	}
	_, printErr := fmt.Fprintf(c.App.Writer, "%s: %s, %d KiB\n", out, show.Plural(len(runs), "run", "runs"), (info.Size()+1023)/1024)
	return errors.Join(err, printErr)
}

// loadInput reads the results of a run for people.
func loadInput(name string) (html.Input, error) {
	run, err := store.Load(name)
	return html.Input{Name: name, Source: figure.Source{Run: run.Run, Plans: run.Plans}, Notes: run.Notes}, err
}
