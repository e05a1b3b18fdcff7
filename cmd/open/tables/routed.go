// Package tables opens fabrics whose routes are tables: hosts with those of OpenSM or of kernels, and networks of any
// shape, whose tables are only read, in a lab too.
package tables

import (
	"cmp"
	"context"
	"errors"
	"evbench/cmd/open"
	"fmt"
	"iter"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"evbench/companion"
	"evbench/companion/linux"
	"evbench/fabric"
	"evbench/failover/loop"
	"evbench/internal/proc"
	"evbench/model/anyshape"
	"evbench/plan"
	"evbench/results"
	"evbench/routing"
	"evbench/scenario"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/site/opensm"
	"evbench/topology"
)

// A routedFabric is a network of hosts whose switches get the tables of each case, or are checked
// for them; the former tables come back at the end.
type routedFabric struct {
	fabric.Fabric
	kind    string
	tables  func(*plan.Plan) (companion.Tables, error)
	holds   func(context.Context, companion.Tables) error
	puts    *companion.Installation       // nil: tables are installed from outside, and holds checks them
	subnet  *opensm.Subnet                // reports links; nil: the fabric does
	watches func(*plan.Plan) loop.Network // nil: links are watched
	engines routing.Engines
	injects bool // it can change links; otherwise dead links of a plan are dead already, or tables avoid them
	say     func(string)
	pipes   chan os.Signal
}

// Routed opens a fabric and, if the scenario says how, installs the routes of each case in it. An
// obstacle to any of the plans, by case, ends the run before anything is started. say tells what is
// odd about a switch, from several goroutines.
func Routed(under open.Opener, plans iter.Seq2[string, *plan.Plan], say func(string)) open.Opener {
	return func(ctx context.Context, s *scenario.Scenario) (fabric.Fabric, error) {
		if !open.Installs(s) {
			return under(ctx, s)
		}
		f := &routedFabric{kind: s.Fabric.Routes.Kind, engines: s.Engines, injects: s.Inject.Kind != "", say: say, pipes: make(chan os.Signal, 1)}
		reach := f.opensm
		if n, ok := s.Network.(*anyshape.Network); ok {
			reach = func(s *scenario.Scenario) error { return f.given(s, n) }
		} else if s.Fabric.Routes.Shell != "" {
			reach = f.kernel
		}
		err := reach(s)
		if err == nil {
			err = f.check(ctx, plans)
		}
		if err != nil {
			return nil, proc.Usagef("fabric.routes: %w", err)
		}
		if f.Fabric, err = under(ctx, s); err != nil {
			return nil, errors.Join(err, f.undo())
		}
		// A write to a closed pipe would end the program at once, with these tables installed.
		signal.Notify(f.pipes, syscall.SIGPIPE)
		return f, nil
	}
}

func (f *routedFabric) kernel(s *scenario.Scenario) error {
	x := s.Fabric.Routes
	f.tables = func(p *plan.Plan) (companion.Tables, error) {
		b, err := linux.NewBatch(p)
		return b, err
	}
	some, err := plan.Tables(nil, s.Tree, routing.MinHop)
	if err != nil {
		return err
	}
	b, err := linux.NewBatch(&plan.Plan{Tree: s.Tree, Routing: routing.MinHop, Tables: some}) // for the names of switches
	if err != nil {
		return err
	}
	switches := linux.NewShell(strings.Fields(x.Shell), b)
	switches.Limit, switches.Say = x.Timeout, f.say
	f.holds = switches.Holds
	if x.Kind != scenario.RoutesLoaded {
		f.puts = &companion.Installation{Switches: switches, Kind: linux.Kind, Dir: x.Dir, Lends: true}
	}
	return nil
}

func (f *routedFabric) opensm(s *scenario.Scenario) error {
	x := s.Fabric.Routes
	src, err := netfile.Read(x.Network, 0)
	if err != nil {
		return fmt.Errorf("network: %w", err)
	}
	hosts, err := hostsOf(s, src.Whole)
	if err != nil {
		return err
	}
	o := opensm.Options{Hosts: hosts}
	f.tables = func(p *plan.Plan) (companion.Tables, error) {
		o.ByPath = p.Pinned() && !p.OnePath // the sender chooses
		r, err := opensm.Compute(p, src.Whole, o)
		return r, err
	}
	m := &opensm.Manager{Dir: x.Dir, Process: x.Process, ReadBack: opensm.CommandLine(x.Dump), Master: opensm.CommandLine(x.SMInfo), Wait: x.Timeout}
	f.holds = m.Holds
	if x.Kind == scenario.RoutesLoaded {
		return nil
	}
	f.puts = m.Installation(true)
	if s.Inject.Kind == "" {
		f.subnet, err = opensm.NewSubnet(src.Whole, s.Tree, opensm.SubnetOptions{Manager: m, Options: o, Discover: opensm.CommandLine(x.Discover)})
	}
	return err
}

// hostsOf returns the hosts of a network that have the servers of a scenario; nil if it does not
// say.
func hostsOf(s *scenario.Scenario, n *network.Network) (out []network.Node, err error) {
	if s.Launch.Kind != scenario.LaunchSSH {
		return nil, nil
	}
	servers, err := open.PlaceServers(s, Placement)
	names := network.NewHostNames(n)
	for _, at := range servers {
		v, _, wrong := names.Find(at.Host)
		out, err = append(out, v), errors.Join(err, wrong)
	}
	return out, err
}

// check makes the tables of all plans, and checks the switches before any change.
func (f *routedFabric) check(ctx context.Context, plans iter.Seq2[string, *plan.Plan]) error {
	var first companion.Tables
	for name, p := range plans {
		want, err := f.tables(p)
		if err == nil && f.puts == nil {
			err = f.holds(ctx, want)
		}
		if err != nil {
			return fmt.Errorf("case %q: %w", name, err)
		}
		first = cmp.Or(first, want)
	}
	if f.puts == nil || first == nil {
		return nil
	}
	return f.puts.Check(ctx, first)
}

func (f *routedFabric) Info() results.Fabric {
	info := f.Fabric.Info()
	info.Routes = f.kind
	return info
}

func (f *routedFabric) Install(ctx context.Context, p *plan.Plan) error {
	if f.injects {
		if err := f.Fabric.Install(ctx, p); err != nil {
			return err
		}
	}
	_, err := f.put(ctx, p)
	return err
}

func (f *routedFabric) put(ctx context.Context, p *plan.Plan) (changed int, err error) {
	want, err := f.tables(p)
	switch {
	case err != nil:
		return 0, err
	case f.puts == nil:
		return 0, f.holds(ctx, want)
	}
	return f.puts.Install(ctx, want)
}

func (f *routedFabric) Network(p *plan.Plan, engine string) (loop.Network, error) {
	if f.watches != nil {
		return f.watches(p), nil
	}
	if f.subnet != nil {
		return &routedNetwork{f.subnet, f, engine, p.Pinned()}, nil
	}
	links, err := f.Fabric.Network(p, engine)
	return &routedNetwork{links, f, engine, p.Pinned()}, err
}

// Close implements fabric.Fabric: it brings links up before the former tables come back.
func (f *routedFabric) Close() error {
	err := errors.Join(f.Fabric.Close(), f.undo())
	signal.Stop(f.pipes)
	return err
}

// undo restores the former tables, if any were replaced.
func (f *routedFabric) undo() error {
	if f.puts == nil {
		return nil
	}
	return errors.Join(f.puts.Undo(context.Background()), f.puts.Close())
}

// A routedNetwork is the network of a case. First aid for a plan that pins paths would only delay
// the tables of the next plan.
type routedNetwork struct {
	loop.Network
	f      *routedFabric
	engine string
	pinned bool
}

func (n *routedNetwork) Aid(ctx context.Context, t *topology.Tree) (changed int, err error) {
	if n.pinned || n.f.puts == nil {
		return n.Network.Aid(ctx, t)
	}
	tables, err := plan.Tables(n.f.engines, t, n.engine)
	if err != nil {
		return 0, fmt.Errorf("re-route: %w", err)
	}
	return n.f.put(ctx, &plan.Plan{Tree: t, Routing: n.engine, Tables: tables})
}

func (n *routedNetwork) Install(ctx context.Context, p *plan.Plan) (changed int, err error) {
	if n.f.subnet != nil {
		return n.f.subnet.Install(ctx, p)
	}
	return n.f.put(ctx, p)
}
