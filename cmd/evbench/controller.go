package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/host"
	"evbench/internal/wire"
	"evbench/scenario"
	"evbench/transport/tcp"
	"evbench/worker"
)

func controllerCommand() *cli.Command {
	return command(&cli.Command{
		Name:      "controller",
		Usage:     "measure a scenario on workers that join by themselves (fabric hosts)",
		ArgsUsage: "SCENARIO",
		Flags: append(overrideFlags(),
			&cli.StringFlag{Name: "listen", Value: "tcp:0.0.0.0:7777", Usage: "`ADDR` for workers: tcp:HOST:PORT or unix:PATH"},
			&cli.StringFlag{Name: "token-file", Usage: "`FILE` with the secret that workers show"},
			&cli.IntFlag{Name: "workers", Usage: "`N` workers must join (default, and only choice: the servers of the topology)"},
			&cli.DurationFlag{Name: "join-timeout", Value: 60 * time.Second, Usage: "how long workers may take to join, `D`"},
		),
		Action: controllerAction,
	}, "  evbench controller --listen tcp:127.0.0.1:7777 --token-file token scenarios/hosts.yaml")
}

func controllerAction(c *cli.Context) error {
	if err := needArgs(c, 1, 1, "SCENARIO"); err != nil {
		return err
	}
	token, err := readToken(c)
	if err != nil {
		return err
	}
	listen := c.String("listen")
	if err := wire.CheckAddress(listen); err != nil {
		return usagef("--listen %w", err)
	}
	s, planned, err := loadOverridden(c, scenario.Hosts)
	if err != nil {
		return err
	}
	if n := s.Tree.Servers(); c.IsSet("workers") && c.Int("workers") != n {
		return usagef("--workers %d: the scenario has %d servers", c.Int("workers"), n)
	}
	if err := checkHosts(s); err != nil {
		return err
	}
	if s.Transport == scenario.MPI {
		return usagef("transport mpi: workers that join by themselves have no MPI: mpirun -n %d evbench run %s", s.Tree.Servers()+1, c.Args().First())
	}
	where := func(*cli.Context) (string, string, func() error, error) {
		return listen, token, func() error { return nil }, nil
	}
	return measure(c, s, planned, openJoined, where)
}

// readToken reads the secret that controller and workers share.
func readToken(c *cli.Context) (string, error) {
	name := c.String("token-file")
	if name == "" {
		return "", usagef("--token-file is missing: controller and workers share a secret, for example: head -c 24 /dev/urandom | base64 > token")
	}
	read := os.ReadFile
	if name == "-" {
		read = firstLineOf
	}
	b, err := read(name)
	if err != nil {
		return "", usagef("--token-file: %w", err)
	}
	token := string(bytes.TrimSpace(b))
	if token == "" {
		return "", usagef("--token-file %s: is empty", name)
	}
	return token, nil
}

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

func workerAction(c *cli.Context) (err error) {
	if err := needArgs(c, 0, 0, ""); err != nil {
		return err
	}
	token, err := readToken(c)
	if err != nil {
		return err
	}
	if c.Int("id") < 0 {
		return usagef("--id is missing: the position of this server, 0 or more")
	}
	machine, _ := host.Read() // without interfaces none is found, with a message
	data, err := chooseData(c, machine)
	if err != nil {
		return usage(err)
	}
	if err := wire.CheckAddress(c.String("controller")); err != nil {
		return usagef("--controller %w", err)
	}
	if cpus := c.String("cpus"); cpus != "" {
		if err := host.Pin(cpus); err != nil {
			return usagef("--cpus: %w", err)
		}
	}
	if c.Bool("end-with-stdin") {
		leashed, stop := endWithStdin(c.Context)
		defer func() {
			if stop(); context.Cause(leashed) == errStdinEnded {
				err = nil // as it was told to
			}
		}()
		c.Context = leashed
	}
	log := logger(c)
	l, err := tcp.Listen(tcp.Options{Addr: data.listen(), Token: token, Log: func(format string, args ...any) {
		log.Warn(fmt.Sprintf(format, args...))
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if data, err = data.at(l.Addr()); err != nil {
		return err
	}
	probe, stop := reachable(data, token, log)
	defer func() { err = errors.Join(err, stop()) }()
	conn, err := reach(c.Context, c.String("controller"), c.Duration("wait"))
	if err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	return worker.Run(c.Context, worker.Options{
		Conn: conn, Token: token, Server: c.Int("id"), Data: data.String(), Open: openTCP(l, dataPlane{sockBuf: c.Int("socket-buffer")}), Log: log,
		Host: describeHost(machine, data, c.String("cpus")), Probe: probe,
	})
}

// retryEvery is how often a worker knocks at a controller that is not there yet.
const retryEvery = 100 * time.Millisecond

// reach dials the controller until it answers, for as long as patience lasts:
// launchers start both sides at about the same time.
func reach(ctx context.Context, addr string, patience time.Duration) (*wire.NetConn, error) {
	giveUp := time.NewTimer(patience)
	defer giveUp.Stop()
	again := time.NewTicker(retryEvery)
	defer again.Stop()
	for {
		conn, err := wire.Dial(ctx, addr)
		if err == nil {
			return conn, nil
		}
		select {
		case <-again.C:
		case <-giveUp.C:
			return nil, err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
