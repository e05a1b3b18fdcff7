package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/internal/show"
	"evbench/view/compare"
	"evbench/view/figure"
	"evbench/view/html"
)

func reportAction(c *cli.Context) error {
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
	if err := atomicfile.Write(out, func(w io.Writer) error { return html.Write(w, runs, compare.Beside) }); err != nil {
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

func loadInput(name string) (html.Input, error) {
	run, err := stored.Load(name)
	return html.Input{Name: name, Source: figure.Source{Run: run.Run, Plans: run.Plans}, Notes: run.Notes}, err
}
