package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/scheduler"
	"evbench/study/survey"
	"evbench/topology"
)

func tableCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "table",
		Usage: "tables by number of dead links: slowdown, phases, lmc, sizes, tokens, spraying",
		Subcommands: []*cli.Command{
			slowdownTable(), phasesTable(), lmcTable(), sizesTable(), tokensTable(), sprayingTable(),
		},
	}, "  evbench table slowdown -t 'FT(2;16,16)'")
}

func slowdownTable() *cli.Command {
	return computing(&cli.Command{
		Name:  "slowdown",
		Usage: "how much longer an exchange takes with f = 0.. spines lost by one leaf, and by all",
		Flags: append(tableFlags(),
			&cli.StringFlag{Name: "model", Value: survey.Count, Usage: "`NAME`: count (messages of a leaf over its live links, thesis 5.3) or routed (link loads of plans, two levels)"},
			&cli.IntFlag{Name: "level", Value: 1, Usage: "links lost are those from switches of level `N` to the next: 1 those of leaves; model count, FT(L;M0,M1,…) of any number of levels"}),
		Action: func(c *cli.Context) error {
			if m, ok := topology.Levels(c.String("topology")); ok && (len(m) > 2 || c.Int("level") != 1) {
				return levelsTable(c, m)
			}
			if c.Int("level") != 1 {
				return usagef("--level %d: write the tree as FT(L;M0,M1,…)", c.Int("level"))
			}
			return healthyTable(c, func(t *topology.Tree) (*survey.Table, error) {
				return survey.SlowdownTable(t, c.String("model"), c.Uint64("seed"))
			})
		},
	}, "  evbench table slowdown -t 'FT(2;20,18)' --model routed --format csv")
}

// levelsTable is the slowdown on full trees of any number of levels.
func levelsTable(c *cli.Context, m scheduler.Levels) error {
	write, err := tableWriter(c)
	if err != nil {
		return err
	}
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
	return write(table, c.App.Writer)
}

func phasesTable() *cli.Command {
	return computing(&cli.Command{
		Name:  "phases",
		Usage: "phases of every schedule with f = 0.. spines lost by one leaf, and by all",
		Flags: append(tableFlags(), &cli.IntFlag{Name: "level", Value: 1, Usage: "links lost are those of leaves, 1, or, of three levels, those of pods to top switches, `2`"}),
		Action: func(c *cli.Context) error {
			return healthyTable(c, func(t *topology.Tree) (*survey.Table, error) {
				return survey.PhasesTable(t, c.Int("level"), c.Uint64("seed"))
			})
		},
	}, "  evbench table phases -t 'FT(2;4,8)'")
}

func lmcTable() *cli.Command {
	return computing(&cli.Command{
		Name:  "lmc",
		Usage: "addresses that plans need of InfiniBand switches, with f = 0.. spines lost by all leaves",
		Flags: append(tableFlags(),
			&cli.IntFlag{Name: "most", Value: 5, Usage: "rows for f = 0..`F`"}),
		Action: func(c *cli.Context) error {
			return healthyTable(c, func(t *topology.Tree) (*survey.Table, error) {
				if f := c.Int("most"); f < 0 || c.IsSet("most") && f >= t.Spines() {
					return nil, fmt.Errorf("--most %d: must be 0..%d, so that a spine is left", f, t.Spines()-1)
				}
				return survey.LMCTable(t, min(c.Int("most"), t.Spines()-1), c.Uint64("seed"))
			})
		},
	}, "  evbench table lmc -t 'FT(2;20,18)'")
}

func sizesTable() *cli.Command {
	return computing(&cli.Command{
		Name:  "sizes",
		Usage: "unequal fragments: phases, plans by size and windows of exchanges against the bound, with 0, 1 and 9 dead links",
		Flags: tableFlags(),
		Action: func(c *cli.Context) error {
			return healthyTable(c, func(t *topology.Tree) (*survey.Table, error) { return survey.SizesTable(t, c.Uint64("seed")) })
		},
	}, "  evbench table sizes -t 'FT(2;8,8)'")
}

func tokensTable() *cli.Command {
	return computing(&cli.Command{
		Name:  "tokens",
		Usage: "phases with barriers beside order with tokens, simulated with the cost of messages, by sizes, fragment time and dead links",
		Flags: tableFlags(),
		Action: func(c *cli.Context) error {
			return healthyTable(c, func(t *topology.Tree) (*survey.Table, error) { return survey.TokensTable(t, c.Uint64("seed")) })
		},
	}, "  evbench table tokens -t 'FT(2;4,4)'")
}

// tableFlags describe a tree without failures, and the form of a table.
func tableFlags() []cli.Flag {
	return slices.Concat(formatFlags(), healthyFlags(), []cli.Flag{seedFlag()})
}

func formatFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORM` of the table: text, csv, json"},
		&cli.BoolFlag{Name: "json", Usage: "the same as --format json"},
	}
}

// healthyTable makes and prints a table of the fabric that the flags describe.
func healthyTable(c *cli.Context, fill func(*topology.Tree) (*survey.Table, error)) error {
	write, err := tableWriter(c)
	if err != nil {
		return err
	}
	t, err := anyTree(c)
	if err != nil {
		return err
	}
	if err := checkPlans(t.Servers(), runtime.GOMAXPROCS(0)); err != nil {
		return err
	}
	table, err := fill(t)
	if err != nil {
		return usage(err)
	}
	return write(table, c.App.Writer)
}

func tableWriter(c *cli.Context) (func(*survey.Table, io.Writer) error, error) {
	form := c.String("format")
	if c.Bool("json") {
		form = "json"
	}
	forms := map[string]func(*survey.Table, io.Writer) error{
		"text": (*survey.Table).WriteText, "csv": (*survey.Table).WriteCSV, "json": (*survey.Table).WriteJSON,
	}
	write, ok := forms[form]
	if !ok {
		return nil, usagef("--format %q: there are %s", form, strings.Join([]string{"text", "csv", "json"}, ", "))
	}
	return write, nil
}
