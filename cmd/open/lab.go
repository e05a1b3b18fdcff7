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
	"evbench/model/anyshape"
	"evbench/plan"
	"evbench/results"
	"evbench/routing"
	"evbench/scenario"
	"evbench/topology"
	"evbench/transport"
	"evbench/transport/tcp"
)

type labFabric struct {
	fabric.Launcher
	lab    *lab.Lab
	target *linux.Target
	tree   *topology.Tree
	paths  int // of a server, beside the address for tables
	info   results.Fabric
}

// labPort is the port of every server of the lab: each has its own namespace.
const labPort = 7000

func init() {
	here[scenario.Lab] = Here{Open: openLab, Namespaces: true, Workers: (&labFabric{}).workers}
}

var hashes = map[string]lab.Hash{scenario.HashHeaders: lab.HashHeaders, scenario.HashAddresses: lab.HashAddresses, scenario.HashAlike: lab.HashAlike}

func openLab(ctx context.Context, s *scenario.Scenario) (fabric.Fabric, error) {
	if transport.Of(s.Transport).Launched {
		if err := errors.Join(Missing(s.Transport), missingTool()); err != nil {
			return nil, proc.Usage(err)
		}
	}
	o := lab.Options{
		Tree: s.Tree, Hash: hashes[s.Fabric.Hash], Rate: s.Fabric.Rate, MTU: s.Fabric.MTU, Phase: s.Event.Phase,
		MPI: transport.Of(s.Transport).Launched, Packets: slices.ContainsFunc(s.Cases, func(c scenario.Case) bool { return c.Routing == routing.Spray }),
	}
	n, _ := s.Network.(*anyshape.Network)
	if n != nil {
		o.Tree, o.Graph = nil, graphOf(n.Net, n.Nodes)
		o.Graph.Links = s.Tree
	}
	l, err := lab.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	f := &labFabric{lab: l, target: linux.NewTarget(l), tree: s.Tree, paths: s.Tree.Paths(), info: info(s.Fabric)}
	f.info.NIC, f.info.BurstBytes = "veth, tbf", lab.Burst(s.Fabric.Rate, s.Event.Phase)
	if n != nil {
		f.paths = 0
	}
	if f.Launcher = f.workers(s); n != nil {
		return &networkLab{f, n}, nil
	}
	return f, nil
}

// workers returns the launcher of the workers of a scenario in a lab, which need not exist yet.
func (f *labFabric) workers(s *scenario.Scenario) fabric.Launcher {
	switch {
	case transport.Of(s.Transport).Launched:
		return ranks{f, s.Transport}
	case s.Fabric.Workers == scenario.Processes:
		return Processes{Transport: s.Transport, Data: f.data, Buffer: lab.SockBuf, Start: func(rank int, cmd *exec.Cmd) error {
			return f.lab.StartCommand(f.lab.Server(rank), cmd)
		}}
	case tcp.CheckFiles(openFiles(s.Tree.Servers(), s.Tree.Servers())) != nil: // not all in one process
		return Processes{Data: f.data, Buffer: lab.SockBuf, Inside: func(rank int) string {
			return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.lab.Descriptor(f.lab.Server(rank)))
		}}
	}
	return Threads{Data: f.data, Sockets: Sockets{Buffer: lab.SockBuf}, Options: func(rank int) tcp.Options {
		return tcp.Options{
			Addr: f.data(rank).Listen(),
			In:   func(do func() error) error { return f.lab.Do(rank, do) },
		}
	}}
}

// data lists the addresses of a server: single path, then each path.
func (f *labFabric) data(rank int) Addresses {
	var a Addresses
	for path := companion.Single; path < f.paths; path++ {
		a = append(a, fmt.Sprintf("%s:%d", f.lab.Addr(rank, path), labPort))
	}
	return a
}

func (f *labFabric) Info() results.Fabric { return f.info }

func (f *labFabric) Install(ctx context.Context, p *plan.Plan) error {
	if err := f.lab.SetDead(ctx, p.Tree.Dead()); err != nil {
		return err
	}
	_, err := companion.Install(ctx, f.target, p, f.lab.Addresses())
	return err
}

func (f *labFabric) Counters(context.Context) ([]results.LinkCount, error) {
	counts, err := f.lab.Counters()
	if err != nil {
		return nil, fmt.Errorf("link counters: %w", err)
	}
	out := lists.Of(counts, func(c lab.Count) results.LinkCount { return linkCount(f.tree, c.Wire, c.Bytes, c.Packets, c.Drops) })
	return out, nil
}

func (f *labFabric) Dead() ([]topology.Link, error) { return f.lab.Dead() }

func (f *labFabric) Check(context.Context, fabric.Joined) (fabric.Checked, error) {
	return fabric.Checked{}, nil
}

func (f *labFabric) WatchCables(ctx context.Context, tell func(topology.CableEvent)) error {
	return f.lab.WatchCables(ctx, tell)
}

func (f *labFabric) SetLinks(ctx context.Context, links []topology.Link, up bool) error {
	return f.lab.SetLinks(ctx, links, up)
}

func (f *labFabric) Network(p *plan.Plan, engine string) (loop.Network, error) {
	return companion.NewRouter(f.target, f.lab.Addresses(), p, engine)
}

func (f *labFabric) Close() error { return f.lab.Close() }
