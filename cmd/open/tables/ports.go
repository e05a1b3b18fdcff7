package tables

import (
	"cmp"
	"fmt"
	"strconv"

	"evbench/results"
	"evbench/scenario"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/topology"
)

// PortNames returns what gives ports that perfquery calls by LID and number the names of a scenario: of the switch or server, of what
// is at the other end of the cable, and of the cable. They stay where no file says where they are.
func PortNames(s *scenario.Scenario) (func([]results.PortCount) []results.PortCount, error) {
	file := cmp.Or(s.Counters.Network, s.Fabric.Routes.Network)
	if n := s.Tree.Names(); file == "" && n != nil && len(n.Flags) == 2 {
		file = n.Flags[1]
	}
	if file == "" || s.Network != nil {
		return func(of []results.PortCount) []results.PortCount { return of }, nil
	}
	src, err := netfile.Read(file, 0)
	if err != nil {
		return nil, err
	}
	p, err := network.Match(s.Tree, src.Whole)
	if err != nil {
		return nil, err
	}
	hosts, err := hostsOf(s, src.Whole)
	if err == nil && hosts != nil {
		p, err = p.Take(hosts)
	}
	if err != nil {
		return nil, err
	}
	at := portsOf(p, src.Whole)
	return func(of []results.PortCount) (out []results.PortCount) {
		found := map[results.PortCount]int{} // in out
		for _, c := range of {
			key := results.PortCount{Switch: c.Switch, Port: c.Port}
			if x, known := at[key]; known {
				key = x
			}
			key.Counter = c.Counter
			i, again := found[key]
			if !again { // several cables may count as one link
				i, out = len(out), append(out, key)
				found[key] = i
			}
			out[i].Count += c.Count
		}
		return out
	}, nil
}

// portsOf are the ports of the cables of a tree, by LID and number.
func portsOf(p *network.Places, n *network.Network) map[results.PortCount]results.PortCount {
	out := map[results.PortCount]results.PortCount{}
	add := func(e network.End, from, to, cable string) {
		for i := range n.LIDs(e.Node) {
			lid := int(n.Info(e.Node).LID) + i
			out[results.PortCount{Switch: fmt.Sprint("lid ", lid), Port: strconv.Itoa(int(e.Port))}] = results.PortCount{Switch: from, Port: to, Cable: cable}
		}
	}
	t := p.Tree
	for id := range t.AllLinks() {
		l := t.LinkOf(id)
		low, high := t.Ends(l)
		a, b := t.SwitchName(low.Switch), t.SwitchName(high.Switch)
		for _, c := range p.Cables([]topology.Link{l}) {
			add(c.A, a, b, t.LinkName(l))
			add(c.B, b, a, t.LinkName(l))
		}
	}
	for rank, h := range p.Host {
		leaf, host, above := n.Leaf(h), t.HostName(rank), t.SwitchName(t.Leaf(rank))
		add(leaf, above, host, "")
		add(n.At(leaf.Node, int(leaf.Port)), host, above, "")
	}
	return out
}
