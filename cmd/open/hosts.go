package open

import (
	"context"
	"errors"
	"fmt"

	"evbench/companion/linux"
	"evbench/fabric"
	"evbench/failover/loop"
	"evbench/internal/proc"
	"evbench/plan"
	"evbench/results"
	"evbench/scenario"
	"evbench/site/preflight"
	"evbench/topology"
	"evbench/transport"
)

// A hostsFabric is a network outside evbench's control: plain hosts. It cannot take links down,
// install routes or count bytes; an injectedFabric around it takes links down by commands of the
// scenario.
type hostsFabric struct {
	fabric.Launcher
	info  results.Fabric
	check preflight.Options
}

func plainHosts(s *scenario.Scenario, l fabric.Launcher) fabric.Fabric {
	unmeasured := transport.Of(s.Transport).Unmeasured
	if s.Network != nil {
		unmeasured = "the network is no tree, so no host has a leaf to be compared"
	}
	if s.Fabric.Routes.Kind == scenario.Ports {
		unmeasured = "the run asks for the paths themselves"
	}
	return &hostsFabric{info: Info(s.Fabric), Launcher: l, check: preflight.Options{
		Off: !s.Launch.Preflight, Unmeasured: unmeasured, Switches: linux.Switches(s.Tree),
	}}
}

// Local opens hosts that are processes of this machine.
func (p Program) Local() Here {
	return Here{Open: local, Check: p.checkLocal, Workers: func(*scenario.Scenario) fabric.Launcher { return Joining{} }}
}

// local runs every server as a process on this machine, over loopback; each takes a free port when
// it opens it.
func local(_ context.Context, s *scenario.Scenario) (fabric.Fabric, error) {
	return plainHosts(s, Processes{Transport: s.Transport, CPUs: s.Launch.CPUs, Data: func(int) Addresses {
		return Addresses{"127.0.0.1:0"}
	}}), nil
}

// Joined waits for workers that are started otherwise.
func Joined(_ context.Context, s *scenario.Scenario) (fabric.Fabric, error) {
	return plainHosts(s, Joining{}), nil
}

// Joining is the launcher of a fabric whose workers start themselves.
type Joining struct{}

// MayOpen implements fabric.Launcher. Workers started otherwise have limits of their own.
func (Joining) MayOpen(_, _ int) error { return nil }

func (Joining) Launch(context.Context, fabric.Job) (wait func() error, err error) {
	return func() error { return nil }, nil
}

func (f *hostsFabric) Info() results.Fabric { return f.info }

// Installs reports whether the scenario says how routes are installed or checked.
func Installs(s *scenario.Scenario) bool {
	return s.Fabric.Routes.Kind != "" && s.Fabric.Routes.Kind != scenario.RoutesNone && s.Fabric.Routes.Kind != scenario.Ports
}

// CheckHosts refuses cases that plain hosts cannot run. An injector or the installation of tables
// in the scenario permits dead links.
func CheckHosts(s *scenario.Scenario) error {
	if s.Inject.Kind != "" || Installs(s) {
		return nil
	}
	for _, c := range s.Cases {
		if len(c.Failures) > 0 {
			return proc.Usagef("fabric hosts: case %q: evbench does not control this network and cannot take links down; "+
				"write inject, or write fabric.routes so that tables lead around dead links", c.Name)
		}
	}
	return nil
}

// checkLocal also refuses what servers as processes on this machine cannot do: each has one
// address, so paths cannot be chosen.
func (p Program) checkLocal(s *scenario.Scenario) error {
	if err := p.missing(s.Transport); err != nil {
		return proc.Usage(err)
	}
	for _, c := range s.Cases {
		if c.Pinned() && s.Tree.Leaves() > 1 {
			return proc.Usagef("fabric hosts: case %q: its plan chooses a path for each message, and servers on this machine have one address each; "+
				"take fabric lab or emulate, a routing whose tables choose, or evbench controller, whose workers say their addresses", c.Name)
		}
	}
	return CheckHosts(s)
}

var errHosts = errors.New("fabric hosts: evbench does not control this network")

// Install implements fabric.Fabric: plain hosts have nothing to install, so a plan that needs a
// link down is refused.
func (f *hostsFabric) Install(_ context.Context, p *plan.Plan) error {
	if n := len(p.Tree.Dead()); n > 0 {
		return fmt.Errorf("%w: it cannot take %d links down", errHosts, n)
	}
	return nil
}

func (f *hostsFabric) Counters(context.Context) ([]results.LinkCount, error) { return nil, nil }

func (f *hostsFabric) Dead() ([]topology.Link, error) { return nil, errHosts }

func (f *hostsFabric) WatchCables(context.Context, func(topology.CableEvent)) error { return nil }

func (f *hostsFabric) Network(*plan.Plan, string) (loop.Network, error) { return nil, errHosts }

func (f *hostsFabric) SetLinks(context.Context, []topology.Link, bool) error { return errHosts }

// Check implements fabric.Fabric.
func (f *hostsFabric) Check(ctx context.Context, j fabric.Joined) (fabric.Checked, error) {
	return preflight.Check(ctx, j, f.check)
}

func (f *hostsFabric) Close() error { return nil }
