package open

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"evbench/companion"
	"evbench/companion/linux"
	"evbench/fabric"
	"evbench/fabric/lab"
	"evbench/failover/loop"
	"evbench/internal/lists"
	"evbench/internal/proc"
	"evbench/plan"
	"evbench/results"
	"evbench/routing"
	"evbench/scenario"
	"evbench/topology"
	"evbench/transport"
	"evbench/transport/tcp"
)

// A LabFabric is a lab with its workers.
type LabFabric struct {
	fabric.Launcher
	Lab     *lab.Lab
	Target  *linux.Target
	tree    *topology.Tree
	engines routing.Engines
	paths   int // of a server, beside the address for tables
	info    results.Fabric
}

// labPort is the port of every server of the lab: each has its own namespace.
const labPort = 7000

// A Shaped lab is that of a network that is no tree.
type Shaped struct {
	Graph *lab.Graph
	Wrap  func(*LabFabric) fabric.Fabric // installs what the tree's lab cannot
}

// Lab opens labs. shaped says which lab a scenario's network has that is no tree, nil for a tree; without it there are none.
func Lab(shaped func(*scenario.Scenario) *Shaped) Here {
	return Here{Namespaces: true, Workers: (&LabFabric{}).workers, Open: func(ctx context.Context, s *scenario.Scenario) (fabric.Fabric, error) {
		if s.Network == nil {
			return openLab(ctx, s, nil)
		}
		if shaped == nil {
			return nil, proc.Usagef("fabric lab: this program has labs of trees alone")
		}
		return openLab(ctx, s, shaped(s))
	}}
}

var hashes = map[string]lab.Hash{scenario.HashHeaders: lab.HashHeaders, scenario.HashAddresses: lab.HashAddresses, scenario.HashAlike: lab.HashAlike}

func openLab(ctx context.Context, s *scenario.Scenario, x *Shaped) (fabric.Fabric, error) {
	if transport.Of(s.Transport).Launched {
		if err := errors.Join(own[s.Transport].Missing, missingTool()); err != nil {
			return nil, proc.Usage(err)
		}
	}
	o := lab.Options{
		Tree: s.Tree, Hash: hashes[s.Fabric.Hash], Rate: s.Fabric.Rate, MTU: s.Fabric.MTU, Phase: s.Event.Phase,
		MPI: transport.Of(s.Transport).Launched, Packets: slices.ContainsFunc(s.Cases, func(c scenario.Case) bool { return c.Routing == routing.Spray }),
	}
	if x != nil {
		o.Tree, o.Graph = nil, x.Graph
		o.Graph.Links = s.Tree
	}
	l, err := lab.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	f := &LabFabric{Lab: l, Target: linux.NewTarget(l), tree: s.Tree, engines: s.Engines, paths: s.Tree.Paths(), info: Info(s.Fabric)}
	f.info.NIC, f.info.BurstBytes = "veth, tbf", lab.Burst(s.Fabric.Rate, s.Event.Phase)
	if x != nil {
		f.paths = 0
	}
	if f.Launcher = f.workers(s); x != nil {
		return x.Wrap(f), nil
	}
	return f, nil
}

// workers returns the launcher of the workers of a scenario in a lab, which need not exist yet.
func (f *LabFabric) workers(s *scenario.Scenario) fabric.Launcher {
	switch {
	case transport.Of(s.Transport).Launched:
		return ranks{f, s.Transport}
	case s.Fabric.Workers == scenario.Processes:
		return Processes{Transport: s.Transport, Data: f.data, Buffer: lab.SockBuf, Start: func(rank int, cmd *exec.Cmd) error {
			return f.Lab.StartCommand(f.Lab.Server(rank), cmd)
		}}
	case tcp.CheckFiles(openFiles(s.Tree.Servers(), s.Tree.Servers())) != nil: // not all in one process
		return Processes{Data: f.data, Buffer: lab.SockBuf, Inside: func(rank int) string {
			return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Lab.Descriptor(f.Lab.Server(rank)))
		}}
	}
	return Threads{Data: f.data, Sockets: Sockets{Buffer: lab.SockBuf}, Options: func(rank int) tcp.Options {
		return tcp.Options{
			Addr: f.data(rank).Listen(),
			In:   func(do func() error) error { return f.Lab.Do(rank, do) },
		}
	}}
}

// data lists the addresses of a server: single path, then each path.
func (f *LabFabric) data(rank int) Addresses {
	var a Addresses
	for path := companion.Single; path < f.paths; path++ {
		a = append(a, fmt.Sprintf("%s:%d", f.Lab.Addr(rank, path), labPort))
	}
	return a
}

func (f *LabFabric) Info() results.Fabric { return f.info }

func (f *LabFabric) Install(ctx context.Context, p *plan.Plan) error {
	if err := f.Lab.SetDead(ctx, p.Tree.Dead()); err != nil {
		return err
	}
	_, err := companion.Install(ctx, f.Target, p, f.Lab.Addresses())
	return err
}

func (f *LabFabric) Counters(context.Context) ([]results.LinkCount, error) {
	counts, err := f.Lab.Counters()
	if err != nil {
		return nil, fmt.Errorf("link counters: %w", err)
	}
	return lists.Map(counts, func(c lab.Count) results.LinkCount {
		return LinkCount(&f.tree.Live, c.Wire, c.Bytes, c.Packets, c.Drops)
	}), nil
}

func (f *LabFabric) Dead() ([]topology.Link, error) { return f.Lab.Dead() }

func (f *LabFabric) Check(context.Context, fabric.Joined) (fabric.Checked, error) {
	return fabric.Checked{}, nil
}

func (f *LabFabric) WatchCables(ctx context.Context, tell func(topology.CableEvent)) error {
	return f.Lab.WatchCables(ctx, tell)
}

func (f *LabFabric) SetLinks(ctx context.Context, links []topology.Link, up bool) error {
	return f.Lab.SetLinks(ctx, links, up)
}

func (f *LabFabric) Network(p *plan.Plan, engine string) (loop.Network, error) {
	return companion.NewRouter(f.Target, f.Lab.Addresses(), p, engine, f.engines)
}

func (f *LabFabric) Close() error { return f.Lab.Close() }
