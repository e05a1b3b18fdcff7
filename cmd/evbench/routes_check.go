package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"evbench/routing/lft"
)

func routesCheckCommand() *cli.Command {
	return computing(&cli.Command{
		Name:      "check",
		Usage:     "what forwarding tables do: reach, loops, deadlocks, loads, congestion",
		ArgsUsage: "FILE|-",
		Flags: slices.Concat(routesFlags(), []cli.Flag{
			&cli.IntFlag{Name: "first", Value: 10, Usage: "print the first `N` offences"},
			&cli.IntFlag{Name: "shifts", Value: 0, Usage: "phases of the linear shift, `N` drawn by the seed (default: all up to 4096 hosts, else 512)"},
			&cli.IntFlag{Name: "permutations", Value: 64, Usage: "random permutations, `N`"},
			&cli.IntFlag{Name: "bisections", Value: 64, Usage: "random bisections, `N`"},
			&cli.BoolFlag{Name: "reach", Usage: "only look whether routes arrive, and for deadlocks"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
			&cli.BoolFlag{Name: "quiet", Usage: "print nothing; the exit code says it"},
		}),
		Action: routesCheckAction,
	}, "  evbench routes check -t 'FT(2;4,8)' --down leaf0-spine0 -e opensm-minhop\n"+
		"\nThe exit code is 1 if some host does not reach another, for want of an entry, by a dead port or a loop.")
}

// mostPhases is how many phases of a pattern are followed at most, and offences
// printed: what comes of each is kept.
const mostPhases = 1_000_000

func routesCheckAction(c *cli.Context) error {
	for _, f := range []string{"first", "shifts", "permutations", "bisections"} {
		if c.Int(f) < 0 || f == "first" && c.Int(f) < 1 {
			return usagef("--%s %d: too small", f, c.Int(f))
		}
		if c.Int(f) > mostPhases {
			return usagef("--%s %d: at most %d", f, c.Int(f), mostPhases)
		}
	}
	t, s, err := routesOf(c)
	if err != nil {
		return err
	}
	w, err := routesWeights(c, s.Net)
	if err != nil {
		return err
	}
	r := lft.Examine(t, lft.Extent{
		Weights: w, Roots: s.Roots, First: c.Int("first"), Shifts: c.Int("shifts"), Permutations: c.Int("permutations"), Bisections: c.Int("bisections"),
		ReachOnly: c.Bool("reach"), Seed: c.Uint64("seed"),
	})
	r.Network = c.String("topology")
	return judged(c, r.Valid, r.WriteText, r.WriteJSON)
}
