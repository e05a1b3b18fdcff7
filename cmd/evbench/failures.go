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
	path := cmp.Or(c.Args().First(), scenario.DefaultJournal)
	dry, quiet := c.Bool("dry-run"), c.Bool("json")
	said := c.App.ErrWriter
	if dry {
		said = c.App.Writer
	}
	var sayErr error
	say := func(w io.Writer, text string) {
		if !quiet {
			_, err := io.WriteString(w, text)
			sayErr = errors.Join(sayErr, err)
		}
	}
	out, err := inject.Restore(c.Context, path, dry, func(text string) { say(said, text) },
		func(l inject.Row) { say(c.App.Writer, l.String()+"\n") })
	if c.Context.Err() != nil {
		return err // the link is still in the journal
	}
	if err != nil {
		return usage(err)
	}
	if err := errors.Join(sayErr, endRestore(c, out)); err != nil {
		return err
	}
	if out.Failed() {
		return fmt.Errorf("journal %s: links are still down; bring them up by hand, then run this command again", path)
	}
	return nil
}

func endRestore(c *cli.Context, a *inject.Account) error {
	if c.Bool("json") {
		return answer.Document{Fields: a}.Write(c.App.Writer, "json")
	}
	host, _ := os.Hostname() // an unknown host is not compared
	for _, note := range a.Notes(host) {
		fmt.Fprintln(c.App.ErrWriter, note)
	}
	if len(a.Links) > 0 {
		return nil
	}
	_, err := fmt.Fprintf(c.App.Writer, "journal %s: no link is down\n", a.Journal)
	return err
}
