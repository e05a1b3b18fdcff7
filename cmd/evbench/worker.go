package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/host"
	"evbench/internal/wire"
	"evbench/scenario"
	"evbench/transport/tcp"
	"evbench/worker"
)

func workerCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "worker",
		Usage: "be one server of a run",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "controller", Usage: "`ADDR` of the controller: tcp:HOST:PORT or unix:PATH"},
			&cli.StringFlag{Name: "token-file", Usage: "`FILE` with the secret of the run; -: the first line of standard input"},
			&cli.BoolFlag{Name: "end-with-stdin", Usage: "end when standard input ends, as it does when a launcher dies"},
			&cli.IntFlag{Name: "id", Value: -1, Usage: "position of this server, `N`: slot + leaf·M0"},
			&cli.StringFlag{Name: "data", Usage: "`ADDR` where other servers reach this one, host:port; with one more per spine, comma separated, plans can choose spines"},
			&cli.StringFlag{Name: "interface", Usage: "instead of --data: all addresses of the network interface `NAME`, in its order"},
			&cli.StringFlag{Name: "network", Usage: "instead of --data: all addresses in the network `CIDR`, such as 10.0.0.0/8"},
			&cli.IntFlag{Name: "data-port", Value: scenario.DefaultDataPort, Usage: "port of those addresses, `N` (0: a free one); given alone: of the address that leads to the controller"},
			&cli.StringFlag{Name: "cpus", Usage: "run on these processors only, `LIST` such as 0-15,32"},
			&cli.IntFlag{Name: "socket-buffer", Usage: "`BYTES` of each send and receive buffer where there is no barrier (default: as the kernel likes)"},
			&cli.DurationFlag{Name: "wait", Value: 30 * time.Second, Usage: "keep trying to reach the controller for `D`"},
			&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "log what is odd but harmless, too"},
		},
		Action: workerAction,
	}, "  evbench worker --controller tcp:127.0.0.1:7777 --token-file token --id 0 --data 127.0.0.1:7000")
}

func workerAction(c *cli.Context) error {
	if err := needArgs(c, 0, 0, ""); err != nil {
		return err
	}
	w, err := readJoiner(c)
	if err != nil {
		return err
	}
	if w.cpus != "" {
		if err := host.Pin(w.cpus); err != nil {
			return usagef("--cpus: %w", err)
		}
	}
	if !c.Bool("end-with-stdin") {
		return w.work(c.Context)
	}
	leashed, stop := endWithStdin(c.Context)
	defer stop()
	if err := w.work(leashed); context.Cause(leashed) != errStdinEnded {
		return err
	}
	return nil // it ends as it was told to
}

// A joiner is a worker that joins a controller by itself.
type joiner struct {
	token      string
	id         int
	machine    host.Facts
	data       dataAddresses
	controller string
	wait       time.Duration // for the controller
	cpus       string
	how        dataPlane
	log        *slog.Logger
}

// readJoiner reads the flags; nothing is done yet.
func readJoiner(c *cli.Context) (joiner, error) {
	w := joiner{
		id: c.Int("id"), controller: c.String("controller"), wait: c.Duration("wait"), cpus: c.String("cpus"),
		how: dataPlane{sockBuf: c.Int("socket-buffer")}, log: logger(c),
	}
	var err error
	if w.token, err = readToken(c); err != nil {
		return w, err
	}
	if w.id < 0 {
		return w, usagef("--id is missing: the position of this server, 0 or more")
	}
	w.machine, _ = host.Read() // without interfaces none is found, with a message
	if w.data, err = chooseData(c, w.machine); err != nil {
		return w, usage(err)
	}
	if err := wire.CheckAddress(w.controller); err != nil {
		return w, usagef("--controller %w", err)
	}
	return w, nil
}

// work listens for data, joins the controller and does what it says.
func (w joiner) work(ctx context.Context) error {
	l, err := tcp.Listen(tcp.Options{Addr: w.data.listen(), Token: w.token, Log: func(format string, args ...any) {
		w.log.Warn(fmt.Sprintf(format, args...))
	}})
	if err != nil {
		return err
	}
	data, err := w.data.at(l.Addr())
	if err != nil {
		return errors.Join(err, l.Close())
	}
	probe, stop := reachable(data, w.token, w.log)
	return errors.Join(w.join(ctx, worker.Options{
		Token: w.token, Server: w.id, Data: data.String(), Open: openTCP(l, w.how), Log: w.log,
		Host: describeHost(w.machine, data, w.cpus), Probe: probe, Load: host.Watch,
	}), stop(), l.Close())
}

// join reaches the controller and stays until it is told to go.
func (w joiner) join(ctx context.Context, o worker.Options) error {
	var err error
	if o.Conn, err = reach(ctx, w.controller, w.wait); err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	return worker.Run(ctx, o)
}

// retryEvery is how often a worker knocks at a controller that is not there yet.
const retryEvery = 100 * time.Millisecond

// reach dials the controller until it answers, for as long as patience lasts:
// launchers start both sides at about the same time.
func reach(ctx context.Context, addr string, patience time.Duration) (*wire.NetConn, error) {
	return insist(ctx, patience, func(ctx context.Context) (*wire.NetConn, error) { return wire.Dial(ctx, addr) })
}

// insist dials again and again. A dial whose packets are dropped takes as long as
// it is let, so that patience bounds each of them, too. The error is the last
// one that was not the end of patience.
func insist[C any](ctx context.Context, patience time.Duration, dial func(context.Context) (C, error)) (conn C, err error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(retryEvery)
	defer again.Stop()
	for {
		c, dialErr := dial(bounded)
		if dialErr == nil {
			return c, nil
		}
		if err == nil || bounded.Err() == nil {
			err = dialErr
		}
		select {
		case <-again.C:
		case <-bounded.Done():
			if ctx.Err() != nil {
				return conn, context.Cause(ctx)
			}
			return conn, err
		}
	}
}
