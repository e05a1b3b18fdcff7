package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/fabric/hosts/host"
	"evbench/fabric/kind"
	"evbench/fabric/workers"
	"evbench/internal/wire"
	"evbench/results"
	"evbench/scenario"
	"evbench/transport/mpi"
	"evbench/worker"
)

// lastWords is how long a worker that failed, or was told to end, leaves to the controller,
// which may be writing what it has: the launcher kills all ranks when one is gone.
const lastWords = 3 * time.Second

// runStarted is this rank's part of a run.
func runStarted(c *cli.Context, s *scenario.Scenario, planned []bench.Planned, at place) error {
	r, err := newStarted(c, s, at)
	if err == nil {
		err = checkMemory(s, max(at.locals, 1))
	}
	if err == nil {
		err = r.enter(c.Args().First())
	}
	if err != nil {
		return at.quietly(err, c.Int("controller-rank"))
	}
	if r.at.rank == r.controller {
		return r.leave(c, measure(c, measurement{scenario: s, planned: planned, open: kind.Joined, control: r.where, describe: r.describe}))
	}
	return r.leave(c, r.work(c))
}

// leave ends this rank. An error ends all ranks: those that wait for this one
// would do so forever.
func (r *started) leave(c *cli.Context, err error) error {
	code := exitDone
	if err != nil || r.at.rank == r.controller {
		code = exitCode(context.Cause(c.Context), err, c.App.ErrWriter)
	}
	if r.world == nil {
		return &exitError{code: code}
	}
	if code != exitDone && code != exitInvalid {
		r.world.Abort(code)
	}
	if err := r.world.Close(); err != nil {
		return err
	}
	return &exitError{code: code}
}

// where is the control connection, on which this rank listens.
func (r *started) where(*cli.Context) (control, error) {
	listener, err := r.listen()
	if err != nil {
		return control{}, fmt.Errorf("control port: %w", err)
	}
	closing := func() error {
		if err := listener.Close(); !errors.Is(err, net.ErrClosed) { // by a run that did not begin
			return err
		}
		return nil
	}
	return control{listen: r.control, listener: listener, token: r.token, closing: closing}, nil
}

func (r *started) listen() (net.Listener, error) {
	if r.control == controlMPI {
		return r.world.Listen()
	}
	here, err := host.Addresses()
	if err != nil {
		return nil, err
	}
	return wire.Listen(listenOn(r.control, here, net.LookupHost))
}

// describe says in the manifest which MPI it was.
func (r *started) describe(m *results.Manifest) {
	if r.world != nil {
		m.Versions["mpi"] = r.world.Library()
	}
}

// work is one server. It outlives a signal for a moment: the controller has had
// it, too, and asks for what was done.
func (r *started) work(c *cli.Context) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.Context))
	defer cancel()
	unhook := context.AfterFunc(c.Context, func() { time.AfterFunc(lastWords, cancel) })
	defer unhook()
	err := r.serve(ctx, c)
	switch {
	case err == nil:
		return nil
	case c.Context.Err() != nil:
		return &exitError{code: exitTerminated}
	}
	machine, _ := os.Hostname() // without a name the rank must do
	err = fmt.Errorf("rank %d on %s: %w", r.at.rank, machine, err)
	fmt.Fprintln(c.App.ErrWriter, "evbench:", err)
	wait := time.NewTimer(lastWords)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-c.Context.Done():
	}
	return &exitError{code: exitFailed}
}

// serve joins the controller and does what it says.
func (r *started) serve(ctx context.Context, c *cli.Context) error {
	if cpus := r.s.Launch.CPUs; cpus != "" {
		if err := host.Pin(cpus); err != nil {
			return fmt.Errorf("launch.cpus: %w", err)
		}
	}
	machine, err := host.Read()
	if err != nil {
		return err
	}
	if r.world != nil {
		return r.join(ctx, worker.Options{
			Token: r.token, Server: r.s.Tree.Position(r.server()), Data: mpiAddress(r.at.rank), Open: openMPI(r.world), Log: logger(c),
			Load: host.Watch, Memory: host.Available(), Host: workers.Describe(machine, nil, version, r.s.Launch.CPUs),
		})
	}
	data, err := r.data(machine)
	if err != nil {
		return err
	}
	return workers.Process{
		Controller: r.control, Token: r.token, Wait: workers.JoinWithin, Server: r.s.Tree.Position(r.server()), Data: data,
		Machine: machine, Version: version, CPUs: r.s.Launch.CPUs, Log: logger(c),
	}.Run(ctx)
}

// join meets the controller. Over MPI it takes as long as it takes: whoever is gone
// takes all ranks with it.
func (r *started) join(ctx context.Context, o worker.Options) error {
	if r.control != controlMPI {
		return workers.Join(ctx, workers.JoinWithin, r.control, o)
	}
	c, err := r.world.Dial(ctx, r.controller)
	if err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	o.Conn = wire.NewConn(c, wire.MaxFrame)
	return worker.Run(ctx, o)
}

// data is where other servers reach this rank.
func (r *started) data(machine host.Facts) (workers.Addresses, error) {
	w, err := wantedOf(r.s.Launch, r.control)
	if err != nil {
		return nil, err
	}
	port := 0
	if r.s.Launch.DataPort != 0 {
		port = r.s.Launch.DataPort + r.at.local
	}
	return workers.FindAddresses(machine, w, port)
}

// openMPI opens the endpoint of each case in a world.
func openMPI(w *mpi.World) worker.OpenFunc {
	return func(ctx context.Context, c wire.Configure) (worker.Connections, error) {
		g := mpi.Group{ID: c.Run, Rank: c.Rank}
		for _, p := range c.Peers {
			if len(p.Addrs) == 0 {
				return worker.Connections{}, fmt.Errorf("server%d has not said where it is reached", p.Server)
			}
			rank, err := parseMPIAddress(p.Addrs[0])
			if err != nil {
				return worker.Connections{}, fmt.Errorf("server%d: %w", p.Server, err)
			}
			g.Ranks = append(g.Ranks, rank)
		}
		ep, err := w.Open(ctx, g)
		if err != nil {
			return worker.Connections{}, err
		}
		return worker.Connections{Endpoint: ep, Signals: ep, Barrier: ep.Barrier}, nil
	}
}

// wantedOf says which addresses of a machine other servers shall use: those of
// the interface or in the network that the scenario names, or else the one that
// leads to the controller.
func wantedOf(l scenario.Launch, control string) (host.Want, error) {
	switch kind, hostport, err := wire.SplitAddress(control); {
	case l.Interface != "":
		return host.Want{Interface: l.Interface}, nil
	case l.Network != "":
		n, err := netip.ParsePrefix(l.Network)
		if err != nil {
			return host.Want{}, fmt.Errorf("launch.network: %w", err)
		}
		return host.Want{Network: n}, nil
	case err == nil && kind != "unix":
		return host.Want{Toward: hostport}, nil
	}
	return host.Want{Toward: "127.0.0.1:9"}, nil // a path: all are on this machine
}
