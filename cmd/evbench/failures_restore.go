package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"evbench/companion/inject"
	"evbench/scenario"
)

func restoreAction(c *cli.Context) error {
	path := c.Args().First()
	if path == "" {
		path = scenario.DefaultJournal
	}
	out := inject.NewAccount(path, c.Bool("dry-run"))
	said, quiet := c.App.ErrWriter, c.Bool("json")
	if out.DryRun {
		said = c.App.Writer
	}
	var sayErr error
	show := func(h inject.Header, pending []inject.Pending) bool {
		if text := out.Begin(h, pending); !quiet {
			_, sayErr = io.WriteString(said, text)
		}
		return !out.DryRun
	}
	r, err := inject.Restore(c.Context, path, show, func(l inject.Restored) {
		if row := out.Add(l); !quiet {
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
	if err := errors.Join(sayErr, endRestore(c, out)); err != nil {
		return err
	}
	if out.Failed() {
		return fmt.Errorf("journal %s: links are still down; bring them up by hand, then run this again", path)
	}
	return nil
}

// endRestore says what there is to say beside the links.
func endRestore(c *cli.Context, a *inject.Account) error {
	if c.Bool("json") {
		return a.WriteJSON(c.App.Writer)
	}
	host, _ := os.Hostname() // an unknown one is not compared
	for _, note := range a.Notes(host) {
		fmt.Fprintln(c.App.ErrWriter, note)
	}
	if len(a.Links) > 0 {
		return nil
	}
	_, err := fmt.Fprintf(c.App.Writer, "journal %s: no link is down\n", a.Journal)
	return err
}
