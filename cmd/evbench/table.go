package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/urfave/cli/v2"

	"evbench/scheduler"
	"evbench/study/survey"
	"evbench/topology"
)

func slowdownAction(c *cli.Context) error {
	if m, ok := topology.Levels(c.String("topology")); ok && (len(m) > 2 || c.Int("level") != 1) {
		return levelsTable(c, m)
	}
	if c.Int("level") != 1 {
		return usagef("--level %d: write the tree as FT(L;M0,M1,…)", c.Int("level"))
	}
	return tableOf(slowdownTable)(c)
}

func slowdownTable(c *cli.Context, t *topology.Tree) (*survey.Table, error) {
	return survey.SlowdownTable(t, c.String("model"), c.Uint64("seed"))
}

func phasesTable(c *cli.Context, t *topology.Tree) (*survey.Table, error) {
	return survey.PhasesTable(t, c.Int("level"), c.Uint64("seed"))
}

func lmcTable(c *cli.Context, t *topology.Tree) (*survey.Table, error) {
	if f := c.Int("most"); f < 0 || c.IsSet("most") && f >= t.Spines() {
		return nil, fmt.Errorf("--most %d: must be 0..%d, so that a spine is left", f, t.Spines()-1)
	}
	return survey.LMCTable(t, min(c.Int("most"), t.Spines()-1), c.Uint64("seed"))
}

func sizesTable(c *cli.Context, t *topology.Tree) (*survey.Table, error) {
	return survey.SizesTable(t, c.Uint64("seed"))
}

func tokensTable(c *cli.Context, t *topology.Tree) (*survey.Table, error) {
	return survey.TokensTable(t, c.Uint64("seed"))
}

func levelsTable(c *cli.Context, m scheduler.Levels) error {
	if model := c.String("model"); model != survey.Count {
		return usagef("--model %s: trees of more than two levels, and levels above the leaves, have the model %s", model, survey.Count)
	}
	for _, flag := range []string{"fill", "spines"} {
		if c.IsSet(flag) {
			return usagef("--%s: trees of more than two levels are full in this table", flag)
		}
	}
	servers := 1
	for _, n := range m {
		servers = min(servers*n, scheduler.MaxServers)
	}
	if err := checkPlans(servers, 2); err != nil {
		return err
	}
	table, err := survey.SlowdownLevelsTable(m, c.Int("level"))
	if err != nil {
		return usage(err)
	}
	return writeTable(c, table)
}

// tableOf makes and prints a table of the tree that the flags describe.
func tableOf(fill func(*cli.Context, *topology.Tree) (*survey.Table, error)) cli.ActionFunc {
	return func(c *cli.Context) error {
		t, err := singleTree(c)
		if err != nil {
			return err
		}
		if err := checkPlans(t.Servers(), runtime.GOMAXPROCS(0)); err != nil {
			return err
		}
		table, err := fill(c, t)
		if err != nil {
			return usage(err)
		}
		return writeTable(c, table)
	}
}

func writeTable(c *cli.Context, t *survey.Table) error {
	return map[string]func(io.Writer) error{"text": t.WriteText, "csv": t.WriteCSV, "json": t.WriteJSON}[c.String("format")](c.App.Writer)
}
