package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/scenario"
	"evbench/site/inject"
	"evbench/site/netfile"
	"evbench/study/failures"
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
	d := answer.Document{Answer: r.Answer(c.Int("allow")), Text: r.WriteText, Schema: "evbench/failures-stats/1", Fields: r, Table: r.Table()}
	return writeOut(c, func(w io.Writer) error { return d.Write(w, c.String("format")) })
}

func replayAction(c *cli.Context) error {
	t, err := tree(c)
	if err != nil {
		return err
	}
	cables, err := failures.TreeCables(t.Shape)
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
	kept := failures.Exclude(all, s.Exclude)
	merged := failures.Merge(kept, s.Merge)
	script, err := failures.Replay(h, merged, t, failures.ReplayOptions{Duration: c.Duration("duration"), Speed: c.Float64("speed")})
	if err != nil {
		return usage(err)
	}
	left := script.Skipped.Lines()
	if len(script.Steps) == 0 {
		return usagef("%s of the log, and none is replayed%s", show.Plural(len(kept), "failure", "failures"), strings.Join(append([]string{""}, left...), "; left out: "))
	}
	if err := writeOut(c, script.WriteScenario); err != nil {
		return err
	}
	return script.Answer(len(kept), len(merged), s.Merge, c.String("out")).WriteText(answerTo(c))
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

func restoreAction(c *cli.Context) error {
	path, dry := cmp.Or(c.Args().First(), scenario.DefaultJournal), c.Bool("dry-run")
	planned := ""
	a, err := inject.Restore(c.Context, path, dry, func(text string) {
		if planned = text; !dry && !c.Bool("json") {
			fmt.Fprint(c.App.ErrWriter, text) // before it runs
		}
	})
	if err != nil && c.Context.Err() == nil {
		return usage(err)
	}
	text := a.WriteText
	if dry {
		text = func(w io.Writer) error { _, err := io.WriteString(w, planned); return err }
	}
	if said := printed(c, answer.Document{Answer: a.Answer(), Text: text, Fields: a}); err != nil || said != nil {
		return errors.Join(err, said) // an interrupted one's links are still in the journal
	}
	host, _ := os.Hostname() // an unknown host is not compared
	for _, note := range a.Notes(host) {
		fmt.Fprintln(c.App.ErrWriter, note)
	}
	if a.Failed() {
		return fmt.Errorf("journal %s: links are still down; bring them up by hand, then run this command again", path)
	}
	return nil
}
