package tables

import (
	"context"
	"errors"
	"evbench/cmd/open"
	"evbench/cmd/open/held"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"

	"evbench/companion"
	"evbench/companion/linux"
	"evbench/fabric"
	"evbench/fabric/lab"
	"evbench/failover/loop"
	"evbench/internal/lists"
	"evbench/model/anyshape"
	"evbench/plan"
	"evbench/results"
	"evbench/scenario"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/site/opensm"
	"evbench/topology"
)

// KeepNetwork is KeepTree for a network of any shape, with the routes of its tables: servers are the given
// hosts, in their order. Links that change are not routed around.
func KeepNetwork(ctx context.Context, t *lft.Tables, hosts []network.Node, o lab.Options, text string, out io.Writer) error {
	o.Graph = graphOf(t.Net, hosts)
	return held.Keep(ctx, text, o, out, func(l *lab.Lab) error {
		return installTables(ctx, linux.NewTarget(l), l, t, hosts)
	}, func(*lab.Lab) error {
		<-ctx.Done()
		return nil
	})
}

// Lab is the lab of a scenario's network that is no tree; nil for a tree.
func Lab(s *scenario.Scenario) *open.Shaped {
	n, ok := s.Network.(*anyshape.Network)
	if !ok {
		return nil
	}
	return &open.Shaped{Graph: graphOf(n.Net, n.Nodes), Wrap: func(f *open.LabFabric) fabric.Fabric { return &networkLab{f, n} }}
}

// plainName is a name that, with a number of two digits, an interface can have.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,10}$`)

// graphOf is the lab of a network: port p of a switch is p-1 there.
func graphOf(n *network.Network, hosts []network.Node) *lab.Graph {
	g := &lab.Graph{}
	plain, seen := true, map[string]bool{}
	for i := range n.Switches() {
		sw := n.Switch(i)
		name := n.Name(sw)
		plain = plain && plainName.MatchString(name) && !seen[name]
		seen[name] = true
		g.Switches, g.Ports = append(g.Switches, name), append(g.Ports, len(n.Ends(sw)))
	}
	for i := range g.Switches {
		if !plain {
			g.Switches[i] = fmt.Sprintf("switch%d", i)
		}
	}
	at := func(e network.End) topology.End { return topology.End{Switch: n.Index(e.Node), Port: int(e.Port) - 1} }
	for _, v := range hosts {
		g.Servers = append(g.Servers, at(n.Leaf(v)))
	}
	capacity := n.Capacities()
	for _, c := range n.SwitchCables() {
		g.Cables = append(g.Cables, [2]topology.End{at(c.A), at(c.B)})
		if capacity != nil {
			g.Times = append(g.Times, capacity(c.A))
		}
	}
	return g
}

// routesOf gives each switch a route to each server, by the tables.
func routesOf(l *lab.Lab, t *lft.Tables, hosts []network.Node) (want companion.Routes) {
	for i := range t.Net.Switches() {
		table := companion.Table{Node: companion.Node(i)}
		for rank, v := range hosts {
			if port := t.Row(i)[t.Net.Info(v).LID]; port != lft.NoPort && port > 0 {
				table.Routes = append(table.Routes, companion.Route{Prefix: netip.PrefixFrom(l.Addr(rank, companion.Single), 32), Via: []companion.Port{companion.Port(port - 1)}})
			}
		}
		want = append(want, table)
	}
	return want
}

// installTables installs the routes of tables, and gives each server one to all others. It reads them back.
func installTables(ctx context.Context, target companion.Target, l *lab.Lab, t *lft.Tables, hosts []network.Node) error {
	want := routesOf(l, t, hosts)
	all := netip.PrefixFrom(l.Addr(0, companion.Single), 16).Masked()
	for rank := range hosts {
		want = append(want, companion.Table{Node: companion.Node(l.Server(rank)), Routes: []companion.Route{{Prefix: all, Via: []companion.Port{0}}}})
	}
	if _, err := target.Apply(ctx, want); err != nil {
		return fmt.Errorf("install routes: %w", err)
	}
	nodes := lists.Map(want, func(x companion.Table) companion.Node { return x.Node })
	have, err := target.Read(ctx, nodes)
	if err != nil {
		return fmt.Errorf("read routes back: %w", err)
	}
	for i := range want {
		if !slices.EqualFunc(have[i].Routes, want[i].Routes, companion.Route.Equal) {
			return errors.New("routes read back differ at " + l.Name(lab.Node(want[i].Node)))
		}
	}
	return nil
}

// given checks that a network of any shape has the tables of each case, as dump prints them.
func (f *routedFabric) given(s *scenario.Scenario, n *anyshape.Network) error {
	d := &dump{net: n, name: s.Fabric.Routes.Dump, command: opensm.CommandLine(s.Fabric.Routes.Dump), limit: s.Fabric.Routes.Timeout}
	f.tables = func(p *plan.Plan) (companion.Tables, error) { return givenTables{p}, nil }
	f.holds = func(ctx context.Context, want companion.Tables) error {
		_, err := d.holds(ctx, want.(givenTables).plan)
		return err
	}
	f.watches = func(p *plan.Plan) loop.Network { return &dumped{dump: d, say: f.say, plan: p} }
	return nil
}

// maxDump is more than the tables of 1,000 switches with 48,000 LIDs take.
const maxDump = 1 << 30

type givenTables struct{ plan *plan.Plan }

// Files implements companion.Tables: nothing is installed.
func (givenTables) Files() ([]companion.File, error) {
	return nil, errors.New("evbench installs no tables on a network that is no tree")
}

// A networkLab is the lab of a network of any shape. Links of the servers' tree stand for its cables between
// switches; cables that are dead from the start of a case stay up, and its tables do not use them.
type networkLab struct {
	*open.LabFabric
	net *anyshape.Network
}

func (f *networkLab) Install(ctx context.Context, p *plan.Plan) error {
	if err := f.Lab.SetDead(ctx, p.Tree.Dead()); err != nil {
		return err
	}
	return installTables(ctx, f.Target, f.Lab, anyshape.LFT(p), f.net.Nodes)
}

func (f *networkLab) Counters(context.Context) ([]results.LinkCount, error) {
	counts, err := f.Lab.Counters()
	if err != nil {
		return nil, fmt.Errorf("link counters: %w", err)
	}
	names := f.net.LabCables()
	out := make([]results.LinkCount, len(counts))
	for i, c := range counts {
		out[i] = results.LinkCount{Link: names[i/2], Direction: []string{"up", "down"}[i%2], Bytes: c.Bytes, Packets: c.Packets, Drops: c.Drops}
	}
	return out, nil
}

func (f *networkLab) Network(p *plan.Plan, _ string) (loop.Network, error) {
	return &managed{networkLab: f, plan: p}, nil
}
