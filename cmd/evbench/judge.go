package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/internal/unit"
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
			&cli.StringFlag{Name: "hosts", Usage: "hosts of the job in the order of ranks, `FILE`: a hostfile, name:N, or node[001-016] (default: all, a rank each)"},
			&cli.StringFlag{Name: "result", Usage: "what was measured, `FILE|NUMBER`: output of a program, or 9.1Gbit/s that a host receives, 12.5ms a call, 61.6% of the link rate"},
			&cli.StringFlag{Name: "format", Value: foreign.Auto, Usage: "form of the result, `FORM`: " + strings.Join(foreign.Formats(), ", ")},
			&cli.StringFlag{Name: "rate", Usage: "rate of the links, `R` such as 100Gbit/s, for results that are times or rates"},
			&cli.StringFlag{Name: "size", Usage: "`BYTES` from a rank to each other: of the call, or the line of the output (default: the largest)"},
			&cli.StringFlag{Name: "case", Usage: "case of our own summary.json, `NAME` (default: the only one that is no control)"},
			&cli.Float64Flag{Name: "fail-below", Usage: "exit code 3 where less than `PERCENT` of what the network can do at most was measured"},
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
	v, err := made(c.Context, func() (*judge.Verdict, error) { return judge.Judge(*in) })
	if err != nil {
		return usage(err)
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
		return usagef("--fail-below: there is no bound to compare with")
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
	in := &judge.Input{Name: c.String("network"), Whole: s.Whole, Net: s.Net, Roots: s.Roots, Hosts: judge.AllHosts(s.Net)}
	if name := c.String("hosts"); name != "" {
		data, err := atomicfile.Read(name, maxList)
		if err != nil {
			return nil, usage(err)
		}
		if in.Hosts, err = judge.ReadHosts(bytes.NewReader(data), s.Net); err != nil {
			return nil, usagef("%s: %w", name, err)
		}
	} else if s.Net.Hosts() < 2 {
		return nil, usagef("--network %s: %d hosts: an exchange needs two", c.String("network"), s.Net.Hosts())
	}
	if in.Rate, err = judgeRate(c); err != nil {
		return nil, err
	}
	if in.Result, err = judgeResult(c); err != nil {
		return nil, err
	}
	in.Tables, err = judgeTables(c, in)
	return in, err
}

func judgeRate(c *cli.Context) (float64, error) {
	if c.String("rate") == "" {
		return 0, nil
	}
	r, err := unit.ParseRate(c.String("rate"))
	if err == nil && r <= 0 {
		return 0, usagef("--rate %s: must be above 0", c.String("rate"))
	}
	if err != nil {
		return 0, usagef("--rate: %w", err)
	}
	return float64(r), nil
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
	t, err := made(c.Context, func() (*lft.Tables, error) {
		return routing.Compute(engine, in.Net, routing.Options{Roots: in.Roots, Seed: c.Uint64("seed")})
	})
	if err != nil {
		return nil, usage(err)
	}
	return t, nil
}

// judgeResult reads the file of a result, if there is one, else a number.
func judgeResult(c *cli.Context) (*foreign.Result, error) {
	src, o := c.String("result"), foreign.Options{Format: c.String("format"), Case: c.String("case")}
	if !slices.Contains(foreign.Formats(), o.Format) {
		return nil, usagef("--format %q: there are %s", o.Format, strings.Join(foreign.Formats(), ", "))
	}
	if s := c.String("size"); s != "" {
		b, err := unit.ParseBytes(s)
		if err != nil {
			return nil, usagef("--size: %w", err)
		}
		if o.Size = int64(b); b <= 0 {
			return nil, usagef("--size %s: must be above 0", s)
		}
	}
	if src == "" {
		return nil, nil
	}
	if info, err := os.Stat(src); err == nil && info.IsDir() {
		src = filepath.Join(src, "summary.json")
	} else if errors.Is(err, fs.ErrNotExist) && o.Format == foreign.Auto {
		r, err := foreign.ParseNumber(src, o.Size)
		if err != nil {
			return nil, usagef("--result %w", err)
		}
		return r, nil
	}
	data, err := atomicfile.Read(src, maxList)
	if err != nil {
		return nil, usage(err)
	}
	r, err := foreign.Read(data, o)
	if err != nil {
		return nil, usagef("%s: %w", src, err)
	}
	return r, nil
}
