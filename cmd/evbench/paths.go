package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/cmd/open"
	"evbench/cmd/open/tables"
	"evbench/controller"
	"evbench/fabric/lab"
	"evbench/internal/answer"
	"evbench/internal/hostlist"
	"evbench/internal/lists"
	"evbench/results"
	"evbench/scenario"
	"evbench/site/host"
	"evbench/site/ports"
	"evbench/topology"
	"evbench/transport"
	"evbench/view/live"
)

func pathsAction(c *cli.Context) error {
	at, err := open.ReadPlace(os.Getenv)
	if err != nil {
		return usage(err)
	}
	if at.By != "" {
		defer obey(c)()
	}
	name, s, err := pathsScenario(c)
	if err == nil && s.Launch.Kind == scenario.LaunchLocal {
		return quietly(at, runHere(c, name, s, at, findPaths), 0)
	}
	var planned []bench.Planned
	if !c.IsSet("hosts") { // of them nothing but the paths is wanted
		planned, err = planCases(c, name, s, err)
	}
	if err != nil {
		return quietly(at, err, c.Int("controller-rank"))
	}
	return runThere(c, name, s, planned, at, findPaths)
}

// pathsScenario reads the scenario, or makes one of --hosts: each is behind a switch of its own, as far as it is known.
func pathsScenario(c *cli.Context) (name string, s *scenario.Scenario, err error) {
	if (c.NArg() == 1) == c.IsSet("hosts") {
		return "", nil, usagef("%s: give --hosts, or a SCENARIO", c.Command.Name)
	}
	if c.NArg() == 1 {
		name = c.Args().First()
		s, err = readNamed(c, name, "")
		return name, s, err
	}
	hosts, err := host.Expand(c.String("hosts"))
	if err != nil {
		return "", nil, usagef("--hosts: %w", err)
	}
	if len(hosts) < 2 {
		return "", nil, usagef("--hosts %s: give two hosts or more", c.String("hosts"))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "name: paths\ntopology: FT(2;1,%d)\nfabric: hosts\ncontrol: off\ncases: [{routing: ecmp, mode: unsynchronised}]\n", len(hosts))
	fmt.Fprintf(&b, "launch:\n  kind: ssh\n  preflight: off\n  data_port: %d\n  hosts: %q\n", c.Int("data-port"), hostlist.Compress(hosts))
	for _, flag := range []string{"interface", "network", "config"} {
		if c.IsSet(flag) {
			fmt.Fprintf(&b, "  %s: %q\n", flag, c.String(flag))
		}
	}
	s, err = scenario.Read("--hosts", strings.NewReader(b.String()))
	return "--hosts", s, usage(err)
}

// findPaths has the workers of a scenario ask, and writes what is known, also where the survey ends early.
func findPaths(c *cli.Context, m measurement) (err error) {
	if err := agree(c, m.scenario); err != nil {
		return err
	}
	where, err := m.control()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	f, err := m.open(c.Context, m.scenario)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if m.scenario.Fabric.Kind == scenario.Lab {
		at := slices.IndexFunc(m.planned, func(p bench.Planned) bool { return p.Hashed() })
		if at < 0 {
			return usagef("paths: no case has routing ecmp, so there is one path between two servers, whatever the port")
		}
		if err := f.Install(c.Context, m.planned[at].Plan); err != nil {
			return err
		}
	}
	bar := newTerminal(c.App.ErrWriter, c.Bool("quiet"))
	defer bar.End()
	var found ports.Survey
	o := bench.Options{Listen: where.Address, Listener: where.Listener, Token: where.Token, Log: logger(c, bar)}
	err = bench.WithServers(c.Context, m.scenario, f, o, func(ctx context.Context, ctl *controller.Controller) error {
		var err error
		found, err = askPorts(ctx, c, m.scenario, bar, ctl)
		return err
	})
	if len(found.Paths.Rows) == 0 {
		return err
	}
	bar.End()
	return errors.Join(err, keepPaths(c, m.scenario, found, err))
}

func askPorts(ctx context.Context, c *cli.Context, s *scenario.Scenario, bar *live.Terminal, ctl *controller.Controller) (found ports.Survey, err error) {
	hosts, port, err := endsOf(s, ctl.Hosts())
	if err != nil {
		return found, err
	}
	o := ports.Options{Ports: c.Int("ports"), Seed: c.Uint64("seed"), Gap: c.Duration("gap"), Both: c.IsSet("both"), All: c.Bool("until-all"), Protocol: c.String("protocol")}
	switch {
	case o.Protocol == ports.RoCE:
		port = ports.RoCEPort
	case c.Int("both") == port:
		return found, usagef("--both %d: the workers that ask listen on it; give another one", port)
	case o.Both:
		port = c.Int("both")
	}
	questions, least := ports.Estimate(len(hosts), o)
	bar.Line(fmt.Sprintf("asking for %d ports at least between each two of %d hosts: about %d questions, %s where switches answer at once",
		o.Ports, len(hosts), questions, least.Round(10*time.Millisecond)))
	sets := live.NewSets(bar, time.Now)
	sets.What = "paths"
	o.Tell = func(p ports.Progress) { sets.Update(p.Known, p.Of) }
	found, err = ports.Run(ctx, hosts, port, o, ctl.Trace)
	found.Paths.Time = time.Now()
	return found, err
}

// endsOf are the hosts by rank, at the address whose path tables choose, and the port of all.
func endsOf(s *scenario.Scenario, joined []results.Host) (hosts []ports.Host, port int, err error) {
	names := lists.Tabulate(s.Tree.Servers(), s.Tree.ServerName)
	if s.Launch.Kind == scenario.LaunchSSH {
		placed, err := open.PlaceServers(s, tables.Placement)
		if err != nil {
			return nil, 0, usage(err)
		}
		for _, at := range placed {
			names[at.Rank] = at.Name()
		}
	}
	at := map[netip.Addr]string{}
	for rank, h := range joined {
		if len(h.Addresses) == 0 {
			return nil, 0, usagef("%s has no address: transport %s has no ports", names[rank], s.Transport)
		}
		text, _, _ := strings.Cut(h.Addresses[0], " ") // what follows describes a port of RDMA
		a, err := netip.ParseAddrPort(text)
		if a = netip.AddrPortFrom(a.Addr().Unmap(), a.Port()); s.Transport == transport.RDMA {
			a = netip.AddrPortFrom(a.Addr(), ports.RoCEPort)
		}
		switch other := at[a.Addr()]; {
		case err != nil:
			return nil, 0, fmt.Errorf("%s: %w", names[rank], err)
		case a.Addr().IsLinkLocalUnicast():
			return nil, 0, usagef("%s has the address %s, which no switch passes on: give it one of a network", names[rank], a.Addr())
		case rank > 0 && a.Addr().Is4() != hosts[0].Addr.Is4():
			return nil, 0, usagef("%s has the address %s, %s %s: give all one of IPv4, or all one of IPv6", names[0], hosts[0].Addr, names[rank], a.Addr())
		case other != "":
			return nil, 0, usagef("%s and %s have one address, %s: paths by ports are those between machines", other, names[rank], a.Addr())
		case port != 0 && int(a.Port()) != port:
			return nil, 0, usagef("%s listens on port %d, %s on %d: switches hash the destination port, too; give all the same launch.data_port", names[0], port, names[rank], a.Port())
		}
		at[a.Addr()], port = names[rank], int(a.Port())
		hosts = append(hosts, ports.Host{Name: names[rank], Addr: a.Addr()})
	}
	return hosts, port, nil
}

func keepPaths(c *cli.Context, s *scenario.Scenario, found ports.Survey, early error) error {
	if s.Fabric.Kind == scenario.Lab {
		found.Paths.Names, _ = cableNames(s.Tree)
	}
	name := c.String("out")
	if err := found.Paths.WriteFile(name); err != nil {
		return err
	}
	a := found.Answer(early)
	d := answer.Document{Answer: a, Text: found.WriteText, Schema: "evbench/paths/1", Fields: found.Fields(name)}
	if err := printed(c, d); err != nil || a.Verdict == answer.Good || early != nil { // an early end has a code of its own
		return err
	}
	return &exitError{code: exitFailed}
}

// cableNames names the ends of the cables of a lab, from which its switches answer, by what came in there. wires are the
// directions of these cables.
func cableNames(t *topology.Tree) (names map[netip.Addr]string, wires map[netip.Addr]topology.Wire) {
	addr, names, wires := lab.Addresses{Tree: t}, map[netip.Addr]string{}, map[netip.Addr]topology.Wire{}
	for id := range t.AllLinks() {
		l := t.LinkOf(id)
		low, high := t.Ends(l)
		below, above, number := t.SwitchName(low.Switch), t.SwitchName(high.Switch), ""
		if l.Cable > 0 {
			number = fmt.Sprintf("-%d", l.Cable)
		}
		names[addr.Cable(l, true)], wires[addr.Cable(l, true)] = below+"-"+above+number, t.UpWire(l)
		names[addr.Cable(l, false)], wires[addr.Cable(l, false)] = above+"-"+below+number, t.UpWire(l)+1
	}
	return names, wires
}

// waysOf asks for the paths of a run's messages where switches choose them by a hash; nil elsewhere.
func waysOf(s *scenario.Scenario, bar *live.Terminal) (bench.Ways, error) {
	x := s.Fabric.Routes
	if x.Kind != scenario.Ports {
		return nil, nil
	}
	sets := live.NewSets(bar, time.Now)
	sets.What = "paths"
	w := &ports.Ways{Options: ports.Options{Ports: x.Probes, Seed: s.Seed, Tell: func(p ports.Progress) { sets.Update(p.Known, p.Of) }}}
	w.Ends = func(joined []results.Host) ([]ports.Host, int, error) { return endsOf(s, joined) }
	if s.Fabric.Kind == scenario.Lab {
		w.Names, w.Wires = cableNames(s.Tree)
	}
	if s.Transport == transport.RDMA {
		w.Protocol = ports.RoCE
	}
	if x.Paths == "" {
		return w, nil
	}
	var err error
	w.Own, err = ports.ReadFiles(strings.Split(x.Paths, ",")...)
	if err == nil && s.Fabric.Kind == scenario.Lab && w.Own.Slow != nil {
		err = fmt.Errorf("%s: has slow cables, and those of a lab have one rate", x.Paths)
	}
	return w, wrongIn("fabric.routes.paths", err)
}
