package main

import (
	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/internal/cmdline"
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
		return routeForJobs(c) // puts earlier files back when it is told to end
	}
	return computing(routeForJobs)(c)
}

func routeForJobs(c *cli.Context) error {
	if c.String("placement") == "random" {
		return randomJobs(c)
	}
	f, err := newFollowing(c)
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
	return printed(c, r.WriteText, r.WriteJSON)
}

// jobsFiles checks what is outside: better now than when tables are there.
func jobsFiles(c *cli.Context) error {
	var names []string
	for _, flag := range []string{"out", "last", "heat"} {
		if name := c.String(flag); name != "" {
			names = append(names, name)
		}
	}
	if name := c.String("heat"); name != "" {
		if _, err := writerFor("heat", name); err != nil {
			return err
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
		return isRunning(c.String("pid"), "")
	}
	return nil
}

// randomJobs scatters the jobs over the hosts, again and again.
func randomJobs(c *cli.Context) error {
	s, err := readSource(c, c.String("topology"))
	if err != nil {
		return err
	}
	sizes, err := jobSizes(c.Args().First())
	if err != nil {
		return err
	}
	ways := jobs.Compared
	if c.Bool("steps") {
		ways = jobs.AllWays
	}
	draws := &jobs.Draws{Source: c.String("topology"), Sizes: sizes, Seed: c.Uint64("seed"), Draws: c.Int("draws")}
	if err := draws.Place(c.Context, s.Net, ways); c.Context.Err() != nil {
		return err
	} else if err != nil {
		return usage(err)
	}
	return printed(c, draws.WriteText, draws.WriteJSON)
}

func jobSizes(arg string) ([]int, error) {
	if sizes, err := jobs.ParseSizes(arg); err == nil {
		return sizes, nil
	}
	list, err := jobs.ReadList(arg)
	if err != nil {
		return nil, err
	}
	var sizes []int
	for _, j := range list {
		sizes = append(sizes, len(j.Nodes))
	}
	return sizes, nil
}
