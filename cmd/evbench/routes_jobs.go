package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/internal/cmdline"
	"evbench/site/opensm"
	"evbench/study/jobs"
)

func routesJobsAction(c *cli.Context) error {
	needed := []string{"JOBS"}
	if c.String("queue") != "" {
		needed = nil
	}
	if err := cmdline.Args(c, "routes jobs", needed, len(needed)); err != nil {
		return err
	}
	if c.Bool("follow") && c.Args().First() == "-" {
		return usagef("standard input can be read once: --follow needs a file, or --queue")
	}
	if err := jobsFiles(c); err != nil {
		return err
	}
	if c.Bool("follow") || c.IsSet("dir") {
		return routeForJobs(c) // restores earlier files at its end
	}
	return computing(routeForJobs)(c)
}

func routeForJobs(c *cli.Context) (err error) {
	var load *opensm.Manager
	if c.IsSet("dir") {
		load = loadedBy(c)
		defer func() { err = errors.Join(err, load.Close()) }()
	}
	f, err := newFollowing(c, load)
	if err == nil && load != nil {
		err = usage(load.Own())
	}
	if err != nil {
		return err
	}
	if c.Bool("follow") {
		return followJobs(c, f)
	}
	r, err := jobs.Once(c.Context, f, c.String("last"))
	if err != nil {
		return err
	}
	return printed(c, answer.Document{Answer: r.Answer(), Text: r.WriteText, Fields: r})
}

// jobsFiles checks the output files: better now than with tables installed.
func jobsFiles(c *cli.Context) error {
	var names []string
	for _, flag := range []string{"out", "last"} {
		if name := c.String(flag); name != "" {
			names = append(names, name)
		}
	}
	if len(names) > 1 {
		if err := atomicfile.Check(names...); err != nil {
			return usage(err)
		}
	}
	switch {
	case c.IsSet("dir"):
		return canLoad(c)
	case c.IsSet("pid"):
		return wrongIn("--pid", opensm.Check(c.String("pid"), ""))
	}
	return nil
}

func newFollowing(c *cli.Context, load *opensm.Manager) (*jobs.Following, error) {
	o := jobs.Options{
		Source: c.String("topology"), Discover: c.String("discover"), List: c.Args().First(), Queue: c.String("queue"), Wait: c.Duration("wait"),
		Classes: c.String("classes"), Lanes: c.Int("lanes"), Out: c.String("out"), JSON: c.String("format") == "json", Process: c.String("pid"), Load: load,
	}
	if o.Discover == "" {
		s, err := readSource(c, o.Source)
		if err != nil {
			return nil, err
		}
		o.Net = s.Net
	}
	return jobs.NewFollowing(o)
}

func followJobs(c *cli.Context, f *jobs.Following) error {
	tick := time.NewTicker(c.Duration("every"))
	defer tick.Stop()
	f.Wait = func(ctx context.Context) error {
		select {
		case <-tick.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.Tell = func(r *jobs.Routed, err error) { tellJobs(c, f.Source, r, err) }
	err := f.Run(c.Context)
	if c.Context.Err() != nil {
		return nil // end requested; the installed tables stay
	}
	return err
}

func tellJobs(c *cli.Context, source string, r *jobs.Routed, err error) {
	if r == nil {
		r = jobs.NewRouted(source)
	}
	r.Time = new(time.Now())
	if err != nil {
		r.Error = fmt.Sprintf("%v; tried again in %s", err, c.Duration("every"))
	}
	if c.Bool("json") {
		_ = answer.Document{Fields: r}.Write(c.App.Writer, "json") // the reader may have exited: the tables are kept all the same
		return
	}
	fmt.Fprintf(c.App.Writer, "%s  %s\n", r.Time.Format("2006-01-02 15:04:05"), r.Line())
}
