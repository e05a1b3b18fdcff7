package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/evidence/papers"
	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/internal/proc"
	"evbench/model/sweep"
	"evbench/study/failures"
)

// reproduceAction owns the clock. When interrupted it prints the finished parts.
func reproduceAction(c *cli.Context, s *sweep.Sweep) error {
	if c.NArg() == 1 && c.Args().First() == "list" {
		if s.Keeps() {
			return proc.Usagef("reproduce list: no figure is computed, so --journal has nothing to record")
		}
		return printed(c, papers.List())
	}
	names, err := papers.Choose(c.Args().Slice())
	if err != nil {
		return proc.Usage(err)
	}
	o, err := reproduceOptions(c)
	if err != nil {
		return err
	}
	dir := c.String("out")
	if dir != "" && s.Whole() {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return proc.Usagef("--out: %w", err)
		}
	}
	report := &papers.Report{Quick: o.Quick, Seed: o.Seed, Constants: papers.Constants()}
	figures := make([]*papers.Figure, len(names))
	err = sweep.Run(c.Context, s, sweep.Items[*papers.Figure]{
		N: len(names), Workers: 1, Leave: true, // each takes all processors, and some measure times
		Cost: func(i int) float64 { return papers.Cost(names[i]) },
		Work: func(ctx context.Context, i int) (*papers.Figure, error) { return papers.Make(ctx, names[i], o) },
		Put: func(i int, f *papers.Figure) error {
			if figures[i] = f; dir == "" {
				return nil
			}
			return writePublished(dir, f)
		},
	})
	if err != nil && (c.Context.Err() == nil || !s.Whole()) {
		return err
	}
	report.Incomplete = err != nil
	report.Figures = slices.DeleteFunc(figures, func(f *papers.Figure) bool { return f == nil })
	return printed(c, answer.Document{Text: report.WriteText, Schema: "evbench/reproduce/1", Fields: report})
}

func writePublished(dir string, f *papers.Figure) error {
	return atomicfile.WriteAll(
		atomicfile.File{Name: filepath.Join(dir, f.Name+".csv"), Write: f.WriteCSV},
		atomicfile.File{Name: filepath.Join(dir, f.Name+".svg"), Write: f.WriteSVG},
	)
}

func reproduceOptions(c *cli.Context) (papers.Options, error) {
	start := time.Now()
	o := papers.Options{
		Seed: c.Uint64("seed"), Quick: c.Bool("quick"), Merge: c.Duration("merge"),
		Clock: func() time.Duration { return time.Since(start) },
	}
	var err error
	if o.Exclude, err = words(c, nil, "").Periods(); err != nil {
		return o, proc.Usage(err)
	}
	if !c.Bool("quiet") {
		o.Progress = func(figure, what string) {
			fmt.Fprintf(c.App.ErrWriter, "%s: %s\n", figure, what)
		}
	}
	if o.Log, err = reproduceLog(c); err != nil || o.Log == nil {
		return o, err
	}
	fs, _ := failures.Pair(o.Log)
	if len(failures.Exclude(fs, o.Exclude)) == 0 {
		return o, proc.Usagef("--log: it has no failure of a link")
	}
	return o, nil
}

// reproduceLog reads the user's logs, or returns nil.
func reproduceLog(c *cli.Context) (*failures.History, error) {
	files := c.StringSlice("log")
	if len(files) == 0 {
		return nil, nil
	}
	cables, err := papers.Cables()
	if err != nil {
		return nil, err
	}
	h, err := words(c, files, "--log").Read(cables)
	return h, proc.Usage(err)
}

func words(c *cli.Context, logs []string, flag string) failures.Words {
	return failures.Words{Logs: logs, Flag: flag, Year: c.Int("year"), Cables: c.String("cables"), Exclude: c.StringSlice("exclude")}
}
