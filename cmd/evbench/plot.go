package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"evbench/internal/cmdline"
	"evbench/internal/show"
	"evbench/view/figure"
)

func plotAction(c *cli.Context) error {
	if c.NArg() == 1 && c.Args().First() == "list" {
		return listFigures(c.App.Writer)
	}
	if err := cmdline.Args(c, "plot", []string{"NAME", "RESULTS"}, 2); err != nil {
		return err
	}
	name, out := c.Args().Get(0), c.String("out")
	if !slices.Contains(figure.Names(), name) {
		return usagef("plot: no figure %q; %s", name, show.Choices(name, figure.Names()))
	}
	write, err := figure.Writer(out)
	if err != nil {
		return usagef("--out %w", err)
	}
	in, err := loadInput(c.Args().Get(1))
	if err != nil {
		return usage(err)
	}
	source := in.Source
	if name := c.String("case"); name != "" {
		if source, err = source.Only(name); err != nil {
			return usagef("--case: %w", err)
		}
	}
	f, err := figure.Build(name, source)
	if err != nil {
		return err
	}
	if f.Missing != "" {
		return usagef("%s: figure %q: %s", in.Name, name, f.Missing)
	}
	for _, n := range in.Notes {
		fmt.Fprintln(c.App.ErrWriter, "evbench:", n)
	}
	if err := writeLong(c, func(w io.Writer) error { return write(f, w) }); err != nil || out == "" {
		return err
	}
	fmt.Fprintf(c.App.Writer, "%s: %s of %s, %s\n", out, f.Title, in.Name, show.Plural(max(1, len(f.Panels)), "drawing", "drawings"))
	return nil
}

func listFigures(w io.Writer) error {
	var b bytes.Buffer
	for _, name := range figure.Names() {
		fmt.Fprintf(&b, "%-12s %s\n", name, figure.Title(name))
	}
	_, err := b.WriteTo(w)
	return err
}
