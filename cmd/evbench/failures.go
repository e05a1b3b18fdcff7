package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"evbench/study/failures"
	"evbench/topology/netfile"
)

func statsAction(c *cli.Context) error {
	var cables *failures.Cables
	if s := c.String("topology"); s != "" {
		n, err := netfile.Read(s, 0)
		if err != nil {
			return usagef("--topology: %w", err)
		}
		cables = failures.FromNetwork(n.Whole)
	}
	h, s, err := historyOf(c, logWords(c, c.Args().Slice(), ""), cables)
	if err != nil {
		return err
	}
	r := failures.Summarise(h, s)
	text, json := r.Answer().Before(r.WriteText, document("evbench/failures-stats/1", r))
	return writeOut(c, map[string]func(io.Writer) error{"csv": r.WriteCSV, "json": json, "text": text}[c.String("format")])
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
	h, s, err := historyOf(c, logWords(c, c.Args().Slice(), ""), cables)
	if err != nil {
		return err
	}
	if c.IsSet("speed") && !(c.Float64("speed") > 0) {
		return usagef("--speed %v: must be more than 0", c.Float64("speed"))
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

func historyOf(c *cli.Context, w failures.Words, cables *failures.Cables) (h *failures.History, s failures.Settings, err error) {
	s.Merge = c.Duration("merge")
	if s.Exclude, err = w.Periods(); err == nil {
		h, err = w.Read(cables)
	}
	return h, s, usage(err)
}

func logWords(c *cli.Context, logs []string, flag string) failures.Words {
	return failures.Words{Logs: logs, Flag: flag, Year: c.Int("year"), Cables: c.String("cables"), Exclude: c.StringSlice("exclude")}
}
