package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/results"
	"evbench/results/store"
	"evbench/view/trace"
)

// traced reads a run and its trace, of one case or all.
func traced(c *cli.Context, must bool) (store.Loaded, []*trace.Slice, error) {
	name, only := c.Args().First(), c.String("case")
	run, err := stored.Load(name)
	if err != nil {
		return run, nil, usage(err)
	}
	names := lists.Map(run.Run.Summary.Cases, func(x results.Case) string { return x.Name })
	if only != "" && !slices.Contains(names, only) {
		return run, nil, usagef("--case: no case %q; %s", only, show.Choices(only, names))
	}
	var spans []results.Span
	err = store.ReadTrace(name, func(s results.Span) {
		if only == "" || s.Case == only {
			spans = append(spans, s)
		}
	})
	switch {
	case errors.Is(err, fs.ErrNotExist) && !must:
		return run, nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return run, nil, usagef("%s has no %s: the run was not traced; run it with --trace, or with trace: on in its scenario", name, "trace.csv")
	case err != nil:
		return run, nil, usage(err)
	case len(spans) == 0:
		return run, nil, usagef("--case %s: nothing was traced", only)
	}
	return run, trace.Split(spans), nil
}

func traceAction(c *cli.Context) error {
	run, all, err := traced(c, true)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return trace.WriteChrome(w, all, run.Run.Summary.Cases) }
	if c.String("out") == "-" {
		return write(c.App.Writer)
	}
	if err := atomicfile.Write(c.String("out"), write); err != nil {
		return err
	}
	n := lists.Sum(all, func(s *trace.Slice) int { return len(s.Spans) })
	_, err = fmt.Fprintf(c.App.Writer, "%s: %d spans of %d slices; open it in chrome://tracing or ui.perfetto.dev\n", c.String("out"), n, len(all))
	return err
}
