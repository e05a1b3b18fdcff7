package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/fabric/hosts/host"
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

// maxSockBuf is the most that a socket's buffer can be asked to be.
const maxSockBuf = 1 << 30

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
	if b := w.how.sockBuf; b < 0 || b > maxSockBuf {
		return w, usagef("--socket-buffer %d: must be 1..%d bytes, or 0: as the kernel likes", b, maxSockBuf)
	}
	if w.wait < 0 {
		return w, usagef("--wait %s: must not be negative", w.wait)
	}
	warnOpen(c)
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
	w.controller, err = secured(c, w.controller)
	return w, err
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
	return errors.Join(join(ctx, w.wait, wayTo(w.controller), worker.Options{
		Token: w.token, Server: w.id, Data: data.String(), Open: openTCP(l, w.how), Log: w.log,
		Host: describeHost(w.machine, data, w.cpus), Probe: probe, Load: host.Watch, Memory: host.Available(),
	}), stop(), l.Close())
}

// retryEvery is how often a worker knocks at a controller that is not there yet.
const retryEvery = 100 * time.Millisecond

// A way leads to the controller.
type way struct {
	to   string // for people
	dial func(context.Context) (*wire.NetConn, error)
}

func wayTo(addr string) way {
	return way{addr, func(ctx context.Context) (*wire.NetConn, error) { return wire.Dial(ctx, addr) }}
}

// join reaches the controller and stays until it is told to go. Launchers start both
// sides at about the same time, and strangers may be in the way: for as long as
// patience lasts it dials, says hello, and begins again if nobody answers.
func join(ctx context.Context, patience time.Duration, w way, o worker.Options) error {
	end := time.Now().Add(patience)
	var unheard error
	for {
		conn, err := insist(ctx, time.Until(end), w.dial)
		if err != nil && unheard != nil && errors.Is(err, context.DeadlineExceeded) {
			err = unheard // it says more
		}
		if err != nil {
			return fmt.Errorf("controller: %w", err)
		}
		o.Conn, o.Wait = conn, max(time.Until(end), time.Nanosecond)
		err = worker.Run(ctx, o)
		if ctx.Err() != nil || !errors.Is(err, worker.ErrNotJoined) {
			return err
		}
		unheard = fmt.Errorf("%s: %w", w.to, err)
		select {
		case <-time.After(min(retryEvery, time.Until(end))):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// insist dials again and again. A dial whose packets are dropped takes as long as
// it is let, so that patience bounds each of them, too. The error is the last
// one that was not the end of patience: a dial notices that by the clock, and
// may do so before the context.
func insist[C any](ctx context.Context, patience time.Duration, dial func(context.Context) (C, error)) (conn C, err error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	end, _ := bounded.Deadline()
	again := time.NewTicker(retryEvery)
	defer again.Stop()
	for {
		c, dialErr := dial(bounded)
		if dialErr == nil {
			return c, nil
		}
		if err == nil || time.Now().Before(end) {
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
