package open

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"

	"evbench/companion"
	"evbench/companion/linux"
	"evbench/fabric/lab"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/topology"
)

// KeepNetwork is KeepLab for a network of any shape, with the routes of its tables: servers are the given
// hosts, in their order. Links that change are not routed around.
func KeepNetwork(ctx context.Context, t *lft.Tables, hosts []network.Node, o lab.Options, text string, out io.Writer) error {
	o.Graph = graphOf(t.Net, hosts)
	return keep(ctx, text, o, out, func(l *lab.Lab) error {
		return installTables(ctx, linux.NewTarget(l), l, t, hosts)
	}, func(*lab.Lab) error {
		<-ctx.Done()
		return nil
	})
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

// installTables gives each switch a route to each server, by the tables, and each server one to all others.
// It reads them back.
func installTables(ctx context.Context, target companion.Target, l *lab.Lab, t *lft.Tables, hosts []network.Node) error {
	var want companion.Routes
	all := netip.PrefixFrom(l.Addr(0, companion.Single), 16).Masked()
	for i := range t.Net.Switches() {
		table := companion.Table{Node: companion.Node(i)}
		for rank, v := range hosts {
			if port := t.Row(i)[t.Net.Info(v).LID]; port != lft.NoPort && port > 0 {
				table.Routes = append(table.Routes, companion.Route{Prefix: netip.PrefixFrom(l.Addr(rank, companion.Single), 32), Via: []companion.Port{companion.Port(port - 1)}})
			}
		}
		want = append(want, table)
	}
	for rank := range hosts {
		want = append(want, companion.Table{Node: companion.Node(l.Server(rank)), Routes: []companion.Route{{Prefix: all, Via: []companion.Port{0}}}})
	}
	if _, err := target.Apply(ctx, want); err != nil {
		return fmt.Errorf("install routes: %w", err)
	}
	var nodes []companion.Node
	for _, x := range want {
		nodes = append(nodes, x.Node)
	}
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
