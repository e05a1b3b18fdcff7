package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/companion/inject"
	"evbench/scenario"
)

func restoreCommand() *cli.Command {
	return command(&cli.Command{
		Name:      "restore",
		Usage:     "bring up the links that a killed run has left down",
		ArgsUsage: "[JOURNAL]",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would be run, and run nothing"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
		},
		Action: restoreAction,
	}, "  evbench failures restore --dry-run\n  evbench failures restore evbench-injected.journal")
}

// A restoredLink is one row of the answer.
type restoredLink struct {
	Link    string    `json:"link"`
	Since   time.Time `json:"down_since"`
	Outcome string    `json:"outcome"`
	Up      string    `json:"up"`    // the command that brings it up
	Probe   []string  `json:"probe"` // those that look at it
	Error   string    `json:"error,omitempty"`
}

// dryRun is the outcome of a link for which nothing was run.
const dryRun = "dry run"

func newRestoredLink(p inject.Pending, outcome string) restoredLink {
	row := restoredLink{Link: p.Link.String(), Since: p.Since, Outcome: outcome, Up: p.Up.String()}
	for _, probe := range p.Probe {
		row.Probe = append(row.Probe, probe.String())
	}
	return row
}

// commands is what is run for a link, for people.
func (l restoredLink) commands() string {
	return fmt.Sprintf("%s: look: %s\n%s: up:   %s\n", l.Link, strings.Join(l.Probe, "; or "), l.Link, l.Up)
}

// A restoration is the whole answer.
type restoration struct {
	Schema  string         `json:"schema"`
	Journal string         `json:"journal"`
	Host    string         `json:"host,omitempty"` // of the run
	Dir     string         `json:"dir,omitempty"`  // where commands are run
	Links   []restoredLink `json:"links"`
	Torn    string         `json:"torn,omitempty"`
}

func restoreAction(c *cli.Context) error {
	if err := needArgs(c, 0, 1, "JOURNAL"); err != nil {
		return err
	}
	path := c.Args().First()
	if path == "" {
		path = scenario.DefaultJournal
	}
	out := restoration{Schema: "evbench/failures-restore/1", Journal: path, Links: []restoredLink{}}
	failed := false
	var sayErr error
	show := func(h inject.Header, pending []inject.Pending) bool {
		sayErr = out.show(c, h, pending)
		return !c.Bool("dry-run")
	}
	r, err := inject.Restore(c.Context, path, show, func(l inject.Restored) {
		row := newRestoredLink(l.Pending, l.Outcome)
		if l.Err != nil {
			row.Error, failed = l.Err.Error(), true
		}
		out.Links = append(out.Links, row)
		if !c.Bool("json") {
			_, err := fmt.Fprintln(c.App.Writer, row)
			sayErr = errors.Join(sayErr, err)
		}
	})
	if c.Context.Err() != nil {
		return err // it is in the journal still
	}
	if err != nil {
		return usage(err)
	}
	out.Host, out.Torn = r.Header.Host, r.Torn
	if err := errors.Join(sayErr, out.end(c)); err != nil {
		return err
	}
	if failed {
		return fmt.Errorf("journal %s: links are still down; bring them up by hand, then run this again", path)
	}
	return nil
}

// String is a row for people.
func (l restoredLink) String() string {
	s := fmt.Sprintf("%s: %s (taken down at %s)", l.Link, l.Outcome, l.Since.UTC().Format(time.RFC3339))
	if l.Error != "" {
		s += ": " + l.Error
	}
	return s
}

// show says what will be run, before it is; with --dry-run that is the answer.
func (r *restoration) show(c *cli.Context, h inject.Header, pending []inject.Pending) error {
	w := c.App.ErrWriter
	r.Dir = h.Dir
	if c.Bool("dry-run") {
		w = c.App.Writer
		for _, p := range pending {
			r.Links = append(r.Links, newRestoredLink(p, dryRun))
		}
	}
	if c.Bool("json") || len(pending) == 0 {
		return nil
	}
	text := fmt.Sprintf("journal %s: to be run in %s:\n", r.Journal, strconv.Quote(h.Dir))
	for _, p := range pending {
		text += newRestoredLink(p, "").commands()
	}
	_, err := io.WriteString(w, text)
	return err
}

// end says what there is to say beside the links.
func (r *restoration) end(c *cli.Context) error {
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(r)
	}
	if r.Torn != "" {
		fmt.Fprintf(c.App.ErrWriter, "journal %s: its last line is unfinished and was passed over: "+
			"the machine stopped while it was written, before the link was touched\n", r.Journal)
	}
	ran := "have run"
	if c.Bool("dry-run") {
		ran = "would run"
	}
	if host, err := os.Hostname(); err == nil && r.Host != "" && r.Host != host {
		fmt.Fprintf(c.App.ErrWriter, "journal %s: it was written on %s; its commands %s here\n", r.Journal, r.Host, ran)
	}
	if len(r.Links) > 0 {
		return nil
	}
	_, err := fmt.Fprintf(c.App.Writer, "journal %s: no link is down\n", r.Journal)
	return err
}
