package open

import (
	"context"
	"errors"
	"fmt"

	"evbench/fabric"
	"evbench/failover/loop"
	"evbench/internal/proc"
	"evbench/plan"
	"evbench/results"
	"evbench/scenario"
	"evbench/topology"
)

// A hostsFabric is a network that evbench does not control: plain hosts. It
// cannot take links down, install routes or count bytes; an injectedFabric around
// it takes links down by commands of the scenario.
type hostsFabric struct {
	fabric.Launcher
	info results.Fabric
}

func plainHosts(s *scenario.Scenario, l fabric.Launcher) fabric.Fabric {
	return &hostsFabric{info: info(s.Fabric), Launcher: l}
}

// Local runs every server as a process on this machine, over loopback; each takes a port that
// is free when it opens it.
func Local(_ context.Context, s *scenario.Scenario) (fabric.Fabric, error) {
	return plainHosts(s, Processes{Transport: s.Transport, CPUs: s.Launch.CPUs, Data: func(int) Addresses {
		return Addresses{"127.0.0.1:0"}
	}}), nil
}

// Joined waits for workers that somebody else starts.
func Joined(_ context.Context, s *scenario.Scenario) (fabric.Fabric, error) {
	return plainHosts(s, Joining{}), nil
}

func (f *hostsFabric) Info() results.Fabric { return f.info }

// CheckHosts refuses what plain hosts cannot do. Where the scenario says how, an
// injector takes links down, or tables lead around those that are dead.
func CheckHosts(s *scenario.Scenario) error {
	if s.Inject.Kind != "" || installs(s) {
		return nil
	}
	for _, c := range s.Cases {
		if len(c.Failures) > 0 {
			return proc.Usagef("fabric hosts: case %q: evbench does not control this network and cannot take links down; "+
				"say with inject how it can, or with fabric.routes who has tables lead around those that are dead", c.Name)
		}
	}
	return nil
}

// CheckLocal refuses what servers that are processes on this machine cannot do, too: each
// has one address, and no path can be chosen.
func CheckLocal(s *scenario.Scenario) error {
	if err := Missing(s.Transport); err != nil {
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

// Install implements fabric.Fabric: there is nothing to install on plain hosts,
// so a plan that needs a link down is refused.
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

func (f *hostsFabric) Close() error { return nil }
