package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/internal/proc"
	"evbench/study/failures"
	"evbench/study/papers"
)

// reproduceAction owns the clock. When it is interrupted it prints what is ready.
func reproduceAction(c *cli.Context) error {
	if c.NArg() == 1 && c.Args().First() == "list" {
		if c.Bool("json") {
			return papers.WriteListJSON(c.App.Writer)
		}
		return papers.WriteList(c.App.Writer)
	}
	names, err := papers.Choose(c.Args().Slice())
	if err != nil {
		return usage(err)
	}
	o, err := reproduceOptions(c)
	if err != nil {
		return err
	}
	if dir := c.String("out"); dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return usagef("--out: %w", err)
		}
	}
	report := &papers.Report{Quick: o.Quick, Seed: o.Seed, Constants: papers.Constants()}
	for _, name := range names {
		f, err := proc.Made(c.Context, func() (*papers.Figure, error) { return papers.Make(c.Context, name, o) })
		if err != nil && c.Context.Err() == nil {
			return err
		}
		if report.Incomplete = err != nil; report.Incomplete {
			break
		}
		report.Figures = append(report.Figures, f)
		if dir := c.String("out"); dir != "" {
			if err := writePublished(dir, f); err != nil {
				return err
			}
		}
	}
	return printed(c, report.WriteText, report.WriteJSON)
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
	if o.Exclude, err = logWords(c, nil, "").Periods(); err != nil {
		return o, usage(err)
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
		return o, usagef("--log: no link fails in it")
	}
	return o, nil
}

// reproduceLog reads the logs of the user, or returns nil.
func reproduceLog(c *cli.Context) (*failures.History, error) {
	files := c.StringSlice("log")
	if len(files) == 0 {
		return nil, nil
	}
	cables, err := papers.Cables()
	if err != nil {
		return nil, err
	}
	h, err := logWords(c, files, "--log").Read(cables)
	return h, usage(err)
}
