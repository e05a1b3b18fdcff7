package open

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"evbench/controller/wire"
	"evbench/internal/proc"
	"evbench/results"
	"evbench/site/host"
	"evbench/site/preflight"
	"evbench/transport"
	"evbench/worker"
)

// A Process is a worker with its own process, or one of the ranks of a launcher. It joins a
// controller over TCP.
type Process struct {
	Transport  string // name
	Controller string // address
	Token      string
	Wait       time.Duration // for the controller
	Server     int           // position
	Data       Addresses     // port 0: a free one
	Sockets    Sockets
	Machine    host.Facts
	Program    Program
	CPUs       string    // its processors, for the manifest; "": any
	Stays      bool      // see worker.Options
	EndWith    io.Reader // when this ends, the worker ends in order; nil: none
	Log        *slog.Logger
	// Refused gets a line for each connection that the data port refuses; nil drops it.
	Refused func(format string, args ...any)
}

// Run listens for data, joins the controller and follows it.
func (p Process) Run(ctx context.Context) error {
	if p.EndWith == nil {
		return p.run(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := errors.New("standard input has ended")
	go func() { // blocked in the kernel without a way to cancel: it ends with the program
		_, _ = io.Copy(io.Discard, p.EndWith)
		cancel(ended)
	}()
	if err := p.run(ctx); context.Cause(ctx) != ended {
		return err
	}
	return nil
}

func (p Process) run(ctx context.Context) error {
	if transport.Of(p.Transport).Launched {
		return p.joinAsRank(ctx)
	}
	over := p.Program.transport(p.Transport)
	if over.Missing != nil {
		return proc.Usage(over.Missing)
	}
	at, err := over.Listen(p)
	if err != nil {
		return err
	}
	probe, stop := reachable(at.Data, p.Token, p.Log)
	return errors.Join(Join(ctx, p.Wait, p.Controller, worker.Options{
		Token: p.Token, Server: p.Server, Data: at.Data.String() + at.More, Open: at.Open, Log: p.Log,
		Host: Describe(p.Machine, at.Data, p.Program.Version, p.CPUs), Probe: probe, Trace: tracing(nil), Load: host.Watch, Memory: host.Available(), Stays: p.Stays,
	}), stop(), at.Close())
}

// tracing asks for the routers on the ways of connections, from sockets that in opens.
func tracing(in func(func() error) error) worker.TraceFunc {
	return func(ctx context.Context, trails []wire.Trail, gap time.Duration) []wire.Seen {
		return preflight.Trace(ctx, in, trails, gap)
	}
}

// Describe describes to the controller the machine of a worker of this version of evbench, with the
// interface that has its first address; cpus are its processors.
func Describe(f host.Facts, data Addresses, version, cpus string) results.Host {
	h := results.Host{
		Host: f.Host, Version: version, Governor: f.Governor, CPU: f.CPU, Cores: cmp.Or(f.Cores, host.Processors()), CPUs: cpus, Kernel: f.Kernel,
	}
	if len(data) == 0 {
		return h
	}
	if a, err := netip.ParseAddrPort(data[0]); err == nil {
		i := f.Of(a.Addr())
		h.Interface, h.NIC, h.SpeedMbit, h.MTU = i.Name, i.NIC, i.SpeedMbit, i.MTU
	}
	return h
}

// reachable lets other workers probe this one until stop, and returns the function with which this
// one probes others.
func reachable(data Addresses, token string, log *slog.Logger) (probe worker.ProbeFunc, stop func() error) {
	server, err := preflight.Listen(data, token)
	if err != nil {
		log.Debug("no echo for the preflight", "error", err) // hops and times stay unknown
	}
	prober := preflight.NewProber(token)
	return func(ctx context.Context, data string, routers bool) []wire.Reach {
		if data == "" {
			return nil
		}
		return prober.Probe(ctx, strings.Split(data, ","), routers)
	}, server.Close
}
