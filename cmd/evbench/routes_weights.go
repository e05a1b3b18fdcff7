package main

import (
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/routing"
	"evbench/routing/lft"
	"evbench/study/jobs"
	"evbench/topology/network"
)

// routesWeights reads what each host receives: --weights, or --jobs, where it is as many
// messages as it has other hosts in its jobs. Jobs on one switch put nothing on cables between
// switches, and count nothing. nil where neither is given.
func routesWeights(c *cli.Context, n *network.Network) (*lft.Weights, error) {
	file, list := c.String("weights"), c.String("jobs")
	weighted := slices.ContainsFunc(strings.Split(c.String("engine"), ","), func(e string) bool { return strings.TrimSpace(e) == routing.FtreeWeighted })
	switch {
	case file == "" && list == "" && weighted:
		return nil, usagef("engine %s: --weights or --jobs is missing", routing.FtreeWeighted)
	case file == "" && list == "":
		return nil, nil
	case file != "" && list != "":
		return nil, usagef("--jobs says what hosts receive, as --weights does: give one of them")
	case list == "-":
		return nil, usagef("--jobs -: give a file")
	case !weighted && c.Command.Name != "check":
		return nil, usagef("weights are for the engine %s, and for routes check", routing.FtreeWeighted)
	case list != "":
		return jobWeights(list, n)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, usage(err)
	}
	defer f.Close()
	w, err := lft.ReadWeights(atomicfile.Bound(f, maxList), n)
	if err != nil {
		return nil, usagef("--weights %s: %w", file, err)
	}
	return w, nil
}

func jobWeights(file string, n *network.Network) (*lft.Weights, error) {
	list, err := readJobs(file)
	if err != nil {
		return nil, err
	}
	r := jobs.NewRouted(file)
	of := make([]float64, n.Hosts())
	for _, job := range r.Place(n, list, new(jobs.Classes)).Jobs {
		for _, h := range job {
			of[h] += float64(len(job) - 1)
		}
	}
	if len(r.Unknown) > 0 {
		return nil, usagef("--jobs %s: %s is not in the network", file, r.Unknown[0])
	}
	w, err := lft.NewWeights(of)
	if err != nil {
		return nil, usagef("--jobs %s: no job is on hosts of several switches", file)
	}
	return w, nil
}
