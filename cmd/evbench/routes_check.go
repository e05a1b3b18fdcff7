package main

import (
	"github.com/urfave/cli/v2"

	"evbench/routing/lft"
)

func routesCheckAction(c *cli.Context) error {
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
	text, json := r.Answer().Before(r.WriteText, r.WriteJSON)
	return judged(c, r.Valid, text, json)
}
