package main

import (
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/bench/live"
	"evbench/fabric/lab"
	"evbench/internal/printable"
)

// A livePage is where a run is watched; without a server nobody does.
type livePage struct{ *live.Server }

// listenPage listens where --serve says, or returns nil. A run in a namespace of its own has
// the listener that was opened outside: nobody else reaches one that is opened there.
func listenPage(c *cli.Context) (net.Listener, error) {
	if !c.IsSet("serve") {
		return nil, nil
	}
	if files := lab.Handed(); len(files) == 1 {
		l, err := net.FileListener(files[0])
		return l, errors.Join(err, files[0].Close())
	}
	addr, err := live.Address(c.String("serve"))
	if err != nil {
		return nil, usagef("--serve: %w", err)
	}
	l, err := live.Listen(c.Context, addr)
	return l, wrongIn("--serve", err)
}

// serve shows the run that is to come to who connects to l, which may be nil, and logs to w
// what is odd.
func serve(c *cli.Context, l net.Listener, w io.Writer) livePage {
	if l == nil {
		return livePage{}
	}
	s := live.Serve(l, logger(c, w))
	open := ""
	if !s.Local() {
		open = "; whoever reaches this address can read it"
	}
	fmt.Fprintf(c.App.ErrWriter, "live page until the run ends: %s%s\n", s.URL(), open)
	return livePage{s}
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
