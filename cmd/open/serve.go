package open

import (
	"context"
	"fmt"
	"log/slog"

	"evbench/controller/wire"
	"evbench/results"
	"evbench/scenario"
	"evbench/site/host"
	"evbench/worker"
)

// Describe adds the library of the transport to the manifest.
func (r *Rank) Describe(m *results.Manifest) {
	if r.world != nil {
		m.Versions[r.over.Name] = r.world.Library()
	}
}

// Serve is one server: it joins the controller and follows it.
func (r *Rank) Serve(ctx context.Context, log *slog.Logger) error {
	cpus := r.s.Launch.CPUs
	if cpus != "" {
		if err := host.Pin(cpus); err != nil {
			return fmt.Errorf("launch.cpus: %w", err)
		}
	}
	machine, err := host.Read()
	if err != nil {
		return err
	}
	server := r.s.Tree.Position(r.server())
	if r.world != nil {
		return r.join(ctx, worker.Options{
			Token: r.Token, Server: server, Data: fmt.Sprintf("%s:%d", r.over.Name, r.Place.Rank), Open: r.world.open, Log: log,
			Load: host.Watch, Memory: host.Available(), Host: Describe(machine, nil, r.program.Version, cpus), Stays: true,
		})
	}
	data, err := r.data(machine)
	if err != nil {
		return err
	}
	return Process{
		Transport: r.over.Name, Controller: r.Control, Token: r.Token, Wait: JoinWithin, Server: server, Data: data,
		Machine: machine, Program: r.program, CPUs: cpus, Log: log, Stays: true,
	}.Run(ctx)
}

// join connects to the controller. In a world it has no time limit: the end of any rank ends all
// ranks.
func (r *Rank) join(ctx context.Context, o worker.Options) error {
	if !r.Carried() {
		return Join(ctx, JoinWithin, r.Control, o)
	}
	c, err := r.world.Dial(ctx, r.controller)
	if err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	o.Conn = wire.NewConn(c, wire.MaxFrame)
	return worker.Run(ctx, o)
}

func (r *Rank) data(machine host.Facts) (Addresses, error) {
	w, err := wantedOf(r.s.Launch, r.Control)
	if err != nil {
		return nil, err
	}
	port := 0
	if r.s.Launch.DataPort != 0 {
		port = r.s.Launch.DataPort + r.nth()
	}
	return FindAddresses(machine, w, port)
}

// nth is which server of its host this rank is: the controller is none, where it is known to be beside it.
func (r *Rank) nth() int {
	if at := r.Place; at.Local == at.Rank && r.controller < at.Rank { // all ranks before this one are on its host
		return at.Local - 1
	}
	return r.Place.Local
}

// wantedOf selects the addresses of a machine for other servers: of the interface or network in the
// scenario, or else the address on the way to the controller.
func wantedOf(l scenario.Launch, control string) (host.Want, error) {
	if l.Interface != "" || l.Network != "" {
		return host.ReadWant(l.Interface, l.Network, "")
	}
	if kind, hostport, err := wire.SplitAddress(control); err == nil && kind != "unix" {
		return host.Want{Toward: hostport}, nil
	}
	return host.Want{Toward: "127.0.0.1:9"}, nil // a path: all are on this machine
}
