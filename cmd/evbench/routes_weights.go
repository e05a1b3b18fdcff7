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

// routesWeights reads what each host receives: --weights, or --jobs. nil where neither is given.
func routesWeights(c *cli.Context, n *network.Network) (*lft.Weights, error) {
	file, list := c.String("weights"), c.String("jobs")
	weighted := slices.ContainsFunc(strings.Split(c.String("engine"), ","), func(e string) bool { return strings.TrimSpace(e) == routing.FtreeWeighted })
	switch {
	case file == "" && list == "" && weighted:
		return nil, usagef("engine %s: --weights or --jobs is missing", routing.FtreeWeighted)
	case file == "" && list == "":
		return nil, nil
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
	return w, wrongIn("--weights "+file, err)
}

func jobWeights(file string, n *network.Network) (*lft.Weights, error) {
	list, err := jobs.ReadList(file)
	if err != nil {
		return nil, err
	}
	w, err := jobs.Weights(n, list)
	return w, wrongIn("--jobs "+file, err)
}
