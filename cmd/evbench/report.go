package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/report/html"
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
		in, err := loadResults(name)
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
	_, printErr := fmt.Fprintf(c.App.Writer, "%s: %s, %d KiB\n", out, plural(len(runs), "run", "runs"), (info.Size()+1023)/1024)
	return errors.Join(err, printErr)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
