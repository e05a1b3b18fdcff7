package open

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"evbench/fabric"
	"evbench/internal/lists"
	"evbench/site/host"
	"evbench/transport/tcp"
	"evbench/worker"
)

// Threads is the launcher that runs every server in this process.
type Threads struct {
	// Options of the sockets of a rank.
	Options func(rank int) tcp.Options
	// Data is the address of a rank for others; nil: its listening address.
	Data    func(rank int) Addresses
	Sockets Sockets
}

func (t Threads) Launch(ctx context.Context, j fabric.Job) (wait func() error, err error) {
	n := j.Tree.Servers()
	if err := tcp.CheckFiles(openFiles(n, n)); err != nil {
		return nil, err
	}
	var all []thread
	for rank := range n {
		all = append(all, thread{server: j.Tree.Position(rank), socket: t.Options(rank)})
		if t.Data != nil {
			all[rank].data = t.Data(rank)
		}
	}
	return beside(ctx, j, all, t.Sockets)
}

// A thread is a server that shares its process with others.
type thread struct {
	server int
	data   Addresses // nil: its listening address
	socket tcp.Options
}

func beside(ctx context.Context, j fabric.Job, all []thread, sockets Sockets) (wait func() error, err error) {
	// Every worker drives its own sockets and sleeps in the kernel: with fewer processors (in Go's
	// sense) than workers, each wake-up waits for one.
	was := runtime.GOMAXPROCS(max(len(all), runtime.GOMAXPROCS(0)))
	listeners := make([]*tcp.Listener, 0, len(all))
	closeAll := func() error {
		runtime.GOMAXPROCS(was)
		return errors.Join(lists.Map(listeners, (*tcp.Listener).Close)...)
	}
	for _, t := range all {
		t.socket.Token = j.Token
		l, err := tcp.Listen(t.socket)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("server%d: %w", t.server, err), closeAll())
		}
		listeners = append(listeners, l)
	}
	var g errgroup.Group
	for i, l := range listeners {
		g.Go(func() error {
			o := worker.Options{Token: j.Token, Server: all[i].server, Data: all[i].data.String(), Open: sockets.Open(l), Trace: tracing(all[i].socket.In)}
			if all[i].data == nil {
				o.Data = l.Addr()
			}
			if i == 0 { // for all: they share the machine and the process
				o.Load = host.Watch
			}
			err := ended(ctx, Join(ctx, JoinWithin, j.Controller, o))
			if err != nil {
				j.Failed()
			}
			return err
		})
	}
	return func() error { return errors.Join(g.Wait(), closeAll()) }, nil
}

// openFiles is about how many descriptors some of n servers in one process need: two connections
// with each other server, the barrier's, and a reserve.
func openFiles(some, n int) int { return 2*some*(n-1) + 64*some + 256 }

// MayOpen implements fabric.Launcher: all are in this process.
func (Threads) MayOpen(servers, connections int) error {
	return tcp.CheckFiles(openFiles(servers, servers) + servers*connections)
}

func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
