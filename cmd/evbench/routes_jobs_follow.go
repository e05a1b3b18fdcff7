package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/report/figure"
	"evbench/study/jobs"
	"evbench/topology/network"
)

func newFollowing(c *cli.Context) (*jobs.Following, error) {
	o := jobs.Options{
		Source: c.String("topology"), Discover: c.String("discover"), List: c.Args().First(), Queue: c.String("queue"), Wait: c.Duration("wait"),
		Classes: c.String("classes"), Lanes: c.Int("lanes"), Out: c.String("out"), JSON: c.String("format") == "json", Process: c.String("pid"),
	}
	if c.IsSet("dir") {
		o.Load = loadedBy(c)
	}
	if c.String("heat") != "" {
		o.Draw = func(r *jobs.Routed, n *network.Network) error { return drawHeat(c.String("heat"), r.Heat(n)) }
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
		return nil // asked to end, and what is installed stays
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
		_ = r.WriteJSON(c.App.Writer) // nobody reads any more: the tables are kept all the same
		return
	}
	fmt.Fprintf(c.App.Writer, "%s  %s\n", r.Time.Format("2006-01-02 15:04:05"), r.Line())
}

func drawHeat(name string, f *figure.Figure) error {
	write, err := writerFor("heat", name)
	if err != nil {
		return err
	}
	if f.Panels == nil {
		return usagef("--heat: %s", f.Missing)
	}
	return atomicfile.Write(name, func(w io.Writer) error { return write(f, w) })
}
