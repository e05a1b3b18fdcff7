package main

import (
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/controller/wire"
	"evbench/fabric/host"
	"evbench/fabric/lab"
	"evbench/fabric/open"
	"evbench/scenario"
)

func workerCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "worker",
		Usage: "be one server of a run",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "controller", Usage: "`ADDR` of the controller: tcp:HOST:PORT, tls:HOST:PORT or unix:PATH"},
			tlsFlag(),
			&cli.StringFlag{Name: "token-file", Usage: "`FILE` with the secret of the run; -: the first line of standard input"},
			&cli.BoolFlag{Name: "end-with-stdin", Usage: "end when standard input ends, as it does when a launcher dies"},
			&cli.IntFlag{Name: "id", Value: -1, Usage: "position of this server, `N`: slot + leaf·M0"},
			&cli.StringFlag{Name: "data", Usage: "`ADDR` where other servers reach this one, host:port; with one more per spine, comma separated, plans can choose spines"},
			&cli.StringFlag{Name: "interface", Usage: "instead of --data: all addresses of the network interface `NAME`, in its order"},
			&cli.StringFlag{Name: "network", Usage: "instead of --data: all addresses in the network `CIDR`, such as 10.0.0.0/8"},
			&cli.IntFlag{Name: "data-port", Value: scenario.DefaultDataPort, Usage: "port of those addresses, `N` (0: a free one); given alone: of the address that leads to the controller"},
			&cli.StringFlag{Name: "cpus", Usage: "run on these processors only, `LIST` such as 0-15,32"},
			&cli.IntFlag{Name: "socket-buffer", Usage: "`BYTES` of each send and receive buffer where there is no barrier (default: as the kernel likes)"},
			&cli.DurationFlag{Name: "wait", Value: 30 * time.Second, Usage: "keep trying to reach the controller, and to be welcome there, for `D`"},
			&cli.StringFlag{Name: "group", Hidden: true, Usage: "instead of --id: several servers of a lab, in `FILE`"},
			&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "log what is odd but harmless, too"},
		},
		Action: workerAction,
	}, "  evbench worker --controller tcp:127.0.0.1:7777 --token-file token --id 0 --data 127.0.0.1:7000")
}

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

// groupAction runs the servers that a run on the lab puts into one process.
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

// maxSockBuf is the most that a socket's buffer can be asked to be.
const maxSockBuf = 1 << 30

// readWorker reads the flags; nothing is done yet.
func readWorker(c *cli.Context) (open.Process, error) {
	w := open.Process{
		Server: c.Int("id"), Controller: c.String("controller"), Wait: c.Duration("wait"), CPUs: c.String("cpus"),
		Sockets: open.Sockets{Buffer: c.Int("socket-buffer")}, Version: version, Log: logger(c, c.App.ErrWriter),
	}
	w.Refused = func(format string, args ...any) { w.Log.Warn(fmt.Sprintf(format, args...)) }
	var err error
	if w.Token, err = readToken(c); err != nil {
		return w, err
	}
	if b := w.Sockets.Buffer; b < 0 || b > maxSockBuf {
		return w, usagef("--socket-buffer %d: must be 1..%d bytes, or 0: as the kernel likes", b, maxSockBuf)
	}
	if w.Wait < 0 {
		return w, usagef("--wait %s: must not be negative", w.Wait)
	}
	warnOpen(c)
	if w.Server < 0 {
		return w, usagef("--id is missing: the position of this server, 0 or more")
	}
	w.Machine, _ = host.Read() // without interfaces none is found, with a message
	at := open.Choice{
		Data: c.String("data"), Interface: c.String("interface"), Network: c.String("network"),
		Port: c.Int("data-port"), PortSet: c.IsSet("data-port"), Controller: c.String("controller"),
	}
	if w.Data, err = at.Addresses(w.Machine); err != nil {
		return w, usage(err)
	}
	if err := wire.CheckAddress(w.Controller); err != nil {
		return w, usagef("--controller %w", err)
	}
	w.Controller, err = secured(c, w.Controller)
	return w, err
}
