package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
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
		Flags:     []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print one JSON document"}},
		Action:    restoreAction,
	}, "  evbench failures restore\n  evbench failures restore evbench-injected.journal")
}

// A restoredLink is one row of the answer.
type restoredLink struct {
	Link    string    `json:"link"`
	Since   time.Time `json:"down_since"`
	Outcome string    `json:"outcome"`
	Error   string    `json:"error,omitempty"`
}

// A restoration is the whole answer.
type restoration struct {
	Schema  string         `json:"schema"`
	Journal string         `json:"journal"`
	Host    string         `json:"host,omitempty"` // of the run
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
	r, err := inject.Restore(c.Context, path, func(l inject.Restored) {
		row := restoredLink{Link: l.Link.String(), Since: l.Since, Outcome: l.Outcome}
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

// end says what there is to say beside the links.
func (r *restoration) end(c *cli.Context) error {
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(r)
	}
	if r.Torn != "" {
		fmt.Fprintf(c.App.ErrWriter, "journal %s: its last line is unfinished and was passed over: "+
			"the machine stopped while it was written, before the link was touched\n", r.Journal)
	}
	if host, err := os.Hostname(); err == nil && r.Host != "" && r.Host != host {
		fmt.Fprintf(c.App.ErrWriter, "journal %s: it was written on %s; its commands have run here\n", r.Journal, r.Host)
	}
	if len(r.Links) > 0 {
		return nil
	}
	_, err := fmt.Fprintf(c.App.Writer, "journal %s: no link is down\n", r.Journal)
	return err
}
