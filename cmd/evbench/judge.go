package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/internal/proc"
	"evbench/routing"
	"evbench/routing/lft"
	"evbench/study/judge"
	"evbench/study/judge/foreign"
)

func judgeCommand() *cli.Command {
	return computing(&cli.Command{
		Name:  "judge",
		Usage: "is a measured all-to-all good for its network? what decides, what to repair first",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "network", Aliases: []string{"t", "topology"}, Usage: "network in `NOTATION|FILE`, as for evbench topo show"},
		}, networkFlags(), []cli.Flag{
			&cli.StringFlag{Name: "tables", Usage: "tables of the switches, `FILE|-`: OpenSM's dump, dump_lfts or JSON"},
			&cli.StringFlag{Name: "engine", Aliases: []string{"e"}, Usage: "tables that an engine computes, `NAME` as for evbench routes compute"},
			&cli.StringFlag{Name: "hosts", Usage: "hosts of the job in the order of ranks, `FILE`: a hostfile, node[001-016], mpirun's map, Slurm's variables, srun -l hostname (default: those of the result, else all)"},
			&cli.StringFlag{Name: "result", Usage: "what was measured, `FILE|NUMBER`: output of a program, or 9.1Gbit/s that a host receives, 12.5ms a call, 61.6% of the link rate"},
			&cli.StringFlag{Name: "format", Value: foreign.Auto, Usage: "form of the result, `FORM`: " + strings.Join(foreign.Formats(), ", ")},
			&cli.StringFlag{Name: "rate", Usage: "rate of the links, `R` such as 100Gbit/s, for results that are times or rates (default: as ibnetdiscover states it)"},
			&cli.StringFlag{Name: "size", Usage: "`BYTES` from a rank to each other: of the call, or the line of the output (default: the largest)"},
			&cli.StringFlag{Name: "case", Usage: "case of our own summary.json, `NAME` (default: the only one that is no control)"},
			&cli.Float64Flag{Name: "fail-below", Usage: "exit code 3 where less than `PERCENT` of what the network can do at most was measured"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write the verdict as one HTML page to `FILE`, too, replacing it"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
		}),
		Action: judgeAction,
	}, "  evbench judge --network 'FT(2;4,4)' --down leaf0-spine0 --engine opensm-minhop --result 61.6%")
}

func judgeAction(c *cli.Context) error {
	if err := needArgs(c, 0, 0, ""); err != nil {
		return err
	}
	in, err := judgeInput(c)
	if err != nil {
		return err
	}
	v, err := proc.Made(c.Context, func() (*judge.Verdict, error) { return judge.Judge(*in) })
	if err != nil {
		return usage(err)
	}
	if name := c.String("out"); name != "" {
		if err := atomicfile.Write(name, v.WritePage); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		err = v.WriteJSON(c.App.Writer)
	} else {
		err = v.WriteText(c.App.Writer)
	}
	if err != nil || !c.IsSet("fail-below") {
		return err
	}
	if v.Measured == nil || v.AtMost == nil {
		return usagef("--fail-below: there is no bound to compare with, or no exchange was measured (of rates of pairs: mpigraph with --rate)")
	}
	if 100*v.Measured.OfAtMost < c.Float64("fail-below") {
		return &exitError{code: exitRegression}
	}
	return nil
}

// judgeInput reads what the flags name.
func judgeInput(c *cli.Context) (*judge.Input, error) {
	if c.String("network") == "" {
		return nil, usagef("--network is missing, for example --network 'FT(2;4,8)'")
	}
	if p := c.Float64("fail-below"); !(p >= 0 && p <= 100) {
		return nil, usagef("--fail-below %v: must be 0..100", p)
	} else if c.IsSet("fail-below") && c.String("result") == "" {
		return nil, usagef("--fail-below compares a result: give --result")
	}
	s, err := readSource(c, c.String("network"))
	if err != nil {
		return nil, err
	}
	in := &judge.Input{Name: c.String("network"), Whole: s.Whole, Net: s.Net, Roots: s.Roots}
	words := judge.Words{
		Hosts: c.String("hosts"), Result: c.String("result"), Format: c.String("format"),
		Rate: c.String("rate"), Size: c.String("size"), Case: c.String("case"),
	}
	if info, err := os.Stat(words.Result); err == nil && info.IsDir() {
		words.Result = filepath.Join(words.Result, "summary.json")
	}
	read := func(name string) ([]byte, error) { return atomicfile.Read(name, atomicfile.MaxList) }
	if err := words.Read(in, read); err != nil {
		return nil, usage(err)
	}
	in.TablesFile = c.String("tables")
	in.Tables, err = judgeTables(c, in)
	return in, err
}

// judgeTables reads or computes tables; nil where none are asked for.
func judgeTables(c *cli.Context, in *judge.Input) (*lft.Tables, error) {
	file, engine := c.String("tables"), c.String("engine")
	switch {
	case file == "" && engine == "":
		return nil, nil
	case file != "" && engine != "":
		return nil, usagef("--tables and --engine both say which tables: give one")
	case in.Net.MaxLID() == 0:
		return nil, usagef("%s: no node has a LID, so there is nothing to route to; give --lids FILE or --lmc N", c.String("network"))
	case file != "":
		return readRoutes(file, in.Net)
	}
	t, err := proc.Made(c.Context, func() (*lft.Tables, error) {
		return routing.Compute(engine, in.Net, routing.Options{Roots: in.Roots, Seed: c.Uint64("seed")})
	})
	if err != nil {
		return nil, usage(err)
	}
	return t, nil
}
