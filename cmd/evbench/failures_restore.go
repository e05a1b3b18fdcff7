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
		return err // it is in the journal still
	}
	if err != nil {
		return usage(err)
	}
	if err := errors.Join(sayErr, endRestore(c, out)); err != nil {
		return err
	}
	if out.Failed() {
		return fmt.Errorf("journal %s: links are still down; bring them up by hand, then run this again", path)
	}
	return nil
}

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
