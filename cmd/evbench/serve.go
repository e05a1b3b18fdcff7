package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/bench/live"
	"evbench/internal/printable"
)

func serveFlag() cli.Flag {
	return &cli.StringFlag{Name: "serve", Usage: "show the run at `ADDR` while it goes on, to browsers, to Prometheus (/metrics) and as JSON (/api/progress): :PORT is for this machine alone, 0.0.0.0:PORT for all"}
}

// A livePage is where a run is watched; without a server nobody does.
type livePage struct{ *live.Server }

// serve serves the run that is to come, if that is asked for.
func serve(c *cli.Context) (livePage, error) {
	if !c.IsSet("serve") {
		return livePage{}, nil
	}
	addr, err := live.Address(c.String("serve"))
	if err != nil {
		return livePage{}, usagef("--serve: %w", err)
	}
	s, err := live.Listen(c.Context, addr)
	if err != nil {
		return livePage{}, usagef("--serve: %w", err)
	}
	open := ""
	if !s.Local() {
		open = "; whoever reaches this address can read it"
	}
	fmt.Fprintf(c.App.ErrWriter, "live page until the run ends: %s%s\n", s.URL(), open)
	return livePage{s}, nil
}

func (p livePage) take(e bench.Progress) {
	if p.Server != nil {
		p.Take(e)
	}
}

// end leaves a still picture in every browser, which says what came of the run.
func (p livePage) end(dir string, failed error) error {
	if p.Server == nil {
		return nil
	}
	note := "Results: " + dir + "; evbench report " + dir + " makes the page of them."
	if exit, ok := errors.AsType[*exitError](failed); failed != nil && !(ok && exit.cause == nil) {
		note = "It failed: " + printable.Line(failed.Error()) + "."
	}
	return p.End(note)
}
