package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/study/failures"
	"evbench/topology/netfile"
)

func failuresCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "failures",
		Usage: "what logs say of links that failed; bring up those that a run has left down",
		Subcommands: []*cli.Command{
			computing(&cli.Command{
				Name:      "stats",
				Usage:     "how often, how long, how many at once; flaps merged and not",
				ArgsUsage: "LOG…",
				Flags: append(logFlags(),
					&cli.StringFlag{Name: "topology", Aliases: []string{"t"}, Usage: "network in `NOTATION|FILE`, such as FT(2;4,8): its cables join both ends"},
					&cli.StringFlag{Name: "format", Value: "text", Usage: "`text|csv|json`"},
					&cli.BoolFlag{Name: "json", Usage: "print one JSON document; the same as --format json"}),
				Action: statsAction,
			}, "  evbench failures stats --year 2024 -t 'FT(2;4,8)' --exclude 2024-03-08..2024-03-09 opensm.log"),
			computing(&cli.Command{
				Name:      "replay",
				Usage:     "make a scenario whose links fail as those of the log",
				ArgsUsage: "LOG…",
				Flags: append(append(logFlags(), treeFlags()...),
					&cli.DurationFlag{Name: "duration", Usage: "of the case, `D` (default: 1m, or what --speed needs)"},
					&cli.Float64Flag{Name: "speed", Usage: "seconds of the log that pass in one, `X` (default: the whole log fits)"}),
				Action: replayAction,
			}, "  evbench failures replay --year 2024 -t 'FT(2;4,8)' --duration 60s -o replay.yaml opensm.log\n  evbench validate replay.yaml"),
			restoreCommand(),
		},
	}, "  evbench failures stats --year 2024 opensm.log")
}

// logFlags are what stats and replay share.
func logFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "year", Usage: "`Y` of the earliest line: OpenSM's times have none"},
		&cli.StringFlag{Name: "cables", Usage: "`FILE` with lines SWITCH/PORT SWITCH/PORT [NAME], or SWITCH/PORT server [NAME]"},
		&cli.DurationFlag{Name: "merge", Value: 10 * time.Minute, Usage: "failures of a link less than `D` apart are one; 0 merges none"},
		&cli.StringSliceFlag{Name: "exclude", Usage: "leave out failures that begin in `FROM..TO` (2024-03-08 or 2024-03-08T14:00:00); TO is not included"},
		&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write to `FILE`, replacing it (default: standard output)"},
	}
}

func statsAction(c *cli.Context) error {
	format := c.String("format")
	if c.Bool("json") {
		format = "json"
	}
	if format != "text" && format != "csv" && format != "json" {
		return usagef("--format %q: must be text, csv or json", format)
	}
	var cables *failures.Cables
	if s := c.String("topology"); s != "" {
		n, err := netfile.Read(s, 0)
		if err != nil {
			return usagef("--topology: %w", err)
		}
		cables = failures.FromNetwork(n.Whole)
	}
	h, s, err := history(c, cables)
	if err != nil {
		return err
	}
	r := failures.Summarise(h, s)
	return writeOut(c, func(w io.Writer) error {
		switch format {
		case "csv":
			return r.WriteCSV(w)
		case "json":
			return json.NewEncoder(w).Encode(struct {
				Schema string `json:"schema"`
				failures.Report
			}{"evbench/failures-stats/1", r})
		}
		return r.WriteText(w)
	})
}

func replayAction(c *cli.Context) error {
	t, err := tree(c)
	if err != nil {
		return err
	}
	cables, err := failures.TreeCables(t)
	if err != nil {
		return usagef("--topology: %w", err)
	}
	h, s, err := history(c, cables)
	if err != nil {
		return err
	}
	if c.IsSet("duration") && c.Duration("duration") <= 0 || c.IsSet("speed") && !(c.Float64("speed") > 0) {
		return usagef("--duration and --speed must be more than 0")
	}
	all, _ := failures.Pair(h)
	merged := failures.Merge(failures.Exclude(all, s.Exclude), s.Merge)
	script, err := failures.Replay(h, merged, t, failures.ReplayOptions{Duration: c.Duration("duration"), Speed: c.Float64("speed")})
	if err != nil {
		return usage(err)
	}
	for _, line := range script.Skipped.Lines() {
		fmt.Fprintln(c.App.ErrWriter, "left out:", line)
	}
	return writeOut(c, script.WriteScenario)
}

// history reads the logs that are arguments.
func history(c *cli.Context, cables *failures.Cables) (*failures.History, failures.Settings, error) {
	return historyOf(c, logWords(c, c.Args().Slice(), ""), cables)
}

// historyOf reads logs.
func historyOf(c *cli.Context, w failures.Words, cables *failures.Cables) (h *failures.History, s failures.Settings, err error) {
	s.Merge = c.Duration("merge")
	if s.Merge < 0 {
		return nil, s, usagef("--merge %s: must not be negative", s.Merge)
	}
	if err := checkYear(c); err != nil {
		return nil, s, err
	}
	if len(w.Logs) == 0 {
		return nil, s, needArgs(c, 1, 1, "LOG, a file or - for standard input,")
	}
	if s.Exclude, err = w.Periods(); err == nil {
		h, err = w.Read(cables)
	}
	return h, s, usage(err)
}

// logWords are what the flags say of logs.
func logWords(c *cli.Context, logs []string, flag string) failures.Words {
	return failures.Words{Logs: logs, Flag: flag, Year: c.Int("year"), Cables: c.String("cables"), Exclude: c.StringSlice("exclude")}
}

func checkYear(c *cli.Context) error {
	if c.IsSet("year") && (c.Int("year") < 1970 || c.Int("year") > 9999) {
		return usagef("--year %d: must be 1970..9999", c.Int("year"))
	}
	return nil
}
