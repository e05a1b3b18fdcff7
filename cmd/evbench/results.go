package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/internal/atomicfile"
	"evbench/internal/cmdline"
	"evbench/internal/show"
	"evbench/results"
	"evbench/results/store"
	"evbench/site/hdf5"
	"evbench/view/figure"
	"evbench/view/html"
	"evbench/view/trace"
)

func exportAction(c *cli.Context) error {
	if !hdf5.Built {
		return usage(hdf5.ErrNotBuilt)
	}
	src, dst := c.Args().Get(0), c.Args().Get(1)
	info, err := os.Stat(src)
	if err != nil {
		return usage(err)
	}
	if isH5 := strings.HasSuffix(dst, ".h5"); isH5 != info.IsDir() {
		return usagef("results export: from a directory to a file that ends in .h5, or from such a file to a directory, not from %s to %s", src, dst)
	}
	if _, err := os.Lstat(dst); err == nil {
		return usagef("%s exists already; results are never overwritten", dst)
	}
	run, err := store.Read(src)
	if err != nil {
		return usage(err)
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	save := store.Save
	if info.IsDir() {
		save = hdf5.Save
	}
	if err := save(dst, run); err != nil {
		return err
	}
	if c.Bool("quiet") {
		return nil
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: %d cases, %d samples, %d link counts, %d plans\n",
		dst, len(run.Summary.Cases), len(run.Samples), len(run.Links), len(run.Plans))
	return err
}

// resultsRoot is the default parent of results. A link in it leads to the last run of this working
// directory, wherever its results are.
const resultsRoot = "runs"

// outDir returns the directory for the results of a run with a name. It is called before anything
// else, so that a run that would overwrite results starts nothing and contacts no host.
func outDir(c *cli.Context, name string) (string, error) {
	dir := c.String("out")
	if dir == "" {
		dir = filepath.Join(resultsRoot, name+"-"+time.Now().UTC().Format("20060102T150405Z"))
	}
	err := store.CanCreate(dir)
	if errors.Is(err, store.ErrThere) {
		err = fmt.Errorf("--out %w", err)
	}
	return dir, usage(err)
}

// createResults makes the files of a run, and links runs/latest to them. A failure of the link is
// reported, and is no error.
func createResults(dir string, said io.Writer) (*store.Files, error) {
	files, err := store.Create(dir)
	if err != nil {
		return nil, err
	}
	if err := store.PointLatest(resultsRoot, dir); err != nil {
		fmt.Fprintln(said, "evbench: warning:", err)
	}
	return files, nil
}

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

func loadInput(name string) (html.Input, error) {
	run, err := store.Load(name)
	return html.Input{Name: name, Source: figure.Source{Run: run.Run, Plans: run.Plans}, Notes: run.Notes}, err
}

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
	return writeOut(c, func(w io.Writer) error { return write(f, w) })
}

func listFigures(w io.Writer) error {
	var b bytes.Buffer
	for _, name := range figure.Names() {
		fmt.Fprintf(&b, "%-12s %s\n", name, figure.Title(name))
	}
	_, err := b.WriteTo(w)
	return err
}

// traced reads a run and its trace, of one case or all.
func traced(c *cli.Context) (store.Loaded, []*trace.Slice, error) {
	name, only := c.Args().First(), c.String("case")
	run, err := store.Load(name)
	if err != nil {
		return run, nil, usage(err)
	}
	var names []string
	for _, x := range run.Run.Summary.Cases {
		names = append(names, x.Name)
	}
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
	run, all, err := traced(c)
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
	n := 0
	for _, s := range all {
		n += len(s.Spans)
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: %d spans of %d slices; open it in chrome://tracing or ui.perfetto.dev\n", c.String("out"), n, len(all))
	return err
}

func whyAction(c *cli.Context) error {
	run, all, err := traced(c)
	if err != nil {
		return err
	}
	predicted := map[string]float64{}
	for _, p := range run.Run.Manifest.Predictions {
		predicted[p.Case] = p.Efficiency
	}
	var whys []*trace.Why
	for _, x := range run.Run.Summary.Cases {
		if !slices.ContainsFunc(all, func(s *trace.Slice) bool { return s.Case == x.Name }) {
			continue
		}
		why, err := trace.Explain(all, x, predicted[x.Name], bench.PlanOf(&run.Run.Manifest, run.Plans, x))
		if err != nil {
			return usage(err)
		}
		whys = append(whys, why)
	}
	if c.Bool("json") {
		return trace.WriteJSON(c.App.Writer, whys)
	}
	return trace.WriteText(c.App.Writer, whys)
}
