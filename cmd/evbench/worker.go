package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"evbench/cmd/open"
	"evbench/controller/wire"
	"evbench/fabric/lab"
	"evbench/site/host"
	"evbench/transport"
)

func workerAction(c *cli.Context) error {
	if c.IsSet("group") {
		return groupAction(c)
	}
	w, err := readWorker(c)
	if err != nil {
		return err
	}
	if w.CPUs != "" {
		if err := host.Pin(w.CPUs); err != nil {
			return usagef("--cpus: %w", err)
		}
	}
	if c.Bool("end-with-stdin") {
		w.EndWith = os.Stdin
	}
	return w.Run(c.Context)
}

func groupAction(c *cli.Context) error {
	g := open.Group{Controller: c.String("controller"), Sockets: open.Sockets{Buffer: c.Int("socket-buffer")}, Inside: lab.Inside}
	var err error
	if g.Token, err = readToken(c); err != nil {
		return err
	}
	if g.Members, err = open.ReadMembers(c.String("group")); err != nil {
		return usagef("--group: %w", err)
	}
	return g.Run(c.Context)
}

// readWorker reads the flags, without any action.
func readWorker(c *cli.Context) (open.Process, error) {
	w := open.Process{
		Transport: c.String("transport"), Server: c.Int("id"), Controller: c.String("controller"), Wait: c.Duration("wait"), CPUs: c.String("cpus"),
		Sockets: open.Sockets{Buffer: c.Int("socket-buffer")}, Program: ours, Log: logger(c, c.App.ErrWriter),
	}
	w.Refused = func(format string, args ...any) { w.Log.Warn(fmt.Sprintf(format, args...)) }
	var err error
	if w.Token, err = readToken(c); err != nil {
		return w, err
	}
	warnOpen(c)
	if w.Server < 0 {
		return w, usagef("--id is missing: the position of this server, 0 or more")
	}
	w.Machine, _ = host.Read() // a missing interface causes an error message later
	at := open.Choice{
		Data: c.String("data"), Interface: c.String("interface"), Network: c.String("network"),
		Port: c.Int("data-port"), PortSet: c.IsSet("data-port"), Controller: c.String("controller"),
	}
	if transport.Of(w.Transport).Launched {
		err = open.CheckStarted(w.Transport)
	} else {
		w.Data, err = at.Addresses(w.Machine)
	}
	if err != nil {
		return w, usage(err)
	}
	if err := wire.CheckAddress(w.Controller); err != nil {
		return w, usagef("--controller %w", err)
	}
	w.Controller, err = secured(c, w.Controller)
	return w, err
}
