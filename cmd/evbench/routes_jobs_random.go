package main

import (
	"github.com/urfave/cli/v2"

	"evbench/study/jobs"
	"evbench/topology/netfile"
)

// randomJobs scatters the jobs over the hosts, again and again.
func randomJobs(c *cli.Context, s *netfile.Source) error {
	sizes, err := jobSizes(c.Args().First())
	if err != nil {
		return err
	}
	draws, err := jobs.DrawPlacements(c.Context, s.Net, sizes, c.Uint64("seed"), c.Int("draws"))
	switch {
	case c.Context.Err() != nil:
		return err
	case err != nil:
		return usage(err)
	}
	draws.Source = c.String("topology")
	if c.Bool("json") {
		return draws.WriteJSON(c.App.Writer)
	}
	return draws.WriteText(c.App.Writer)
}

// jobSizes reads sizes, or takes those of a list of jobs.
func jobSizes(arg string) ([]int, error) {
	if sizes, err := jobs.ParseSizes(arg); err == nil {
		return sizes, nil
	}
	list, err := readJobs(arg)
	if err != nil {
		return nil, err
	}
	var sizes []int
	for _, j := range list {
		sizes = append(sizes, len(j.Nodes))
	}
	return sizes, nil
}
