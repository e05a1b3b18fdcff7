package opensm

import (
	"fmt"
	"slices"

	"evbench/site/lft"
	"evbench/site/network"
)

// A match finds the nodes of a network in an earlier one, by their GUIDs.
type match struct {
	old, now *network.Network
	was      []network.Node // of a node now: the node before, or NoNode
	is       []network.Node // of a node before: the node now, or NoNode
}

func newMatch(old, now *network.Network) *match {
	m := &match{old: old, now: now, was: make([]network.Node, now.Nodes()), is: make([]network.Node, old.Nodes())}
	key := make(map[uint64]network.Node, now.Nodes())
	for v := range m.was {
		m.was[v] = network.NoNode
		key[now.Key(network.Node(v))] = network.Node(v)
	}
	for v := range m.is {
		x, ok := key[old.Key(network.Node(v))]
		if !ok || now.IsHost(x) != old.IsHost(network.Node(v)) {
			x = network.NoNode
		} else {
			m.was[x] = network.Node(v)
		}
		m.is[v] = x
	}
	return m
}

func (m *match) sameLIDs(v network.Node) bool {
	a, b := m.old.Info(m.was[v]), m.now.Info(v)
	return a.LID == b.LID && a.LMC == b.LMC
}

// before returns the earlier end for a cable's end, and whether it existed.
func (m *match) before(e network.End) (network.End, bool) {
	v := m.was[e.Node]
	if v == network.NoNode || int(e.Port) > len(m.old.Ends(v)) {
		return network.End{Node: network.NoNode}, false
	}
	return network.End{Node: v, Port: e.Port}, true
}

func (m *match) hadCable(c network.Cable) bool {
	a, there := m.before(c.A)
	b, too := m.before(c.B)
	return there && too && m.old.At(a.Node, int(a.Port)) == b
}

// onlyLess reports whether the network is the earlier one without some nodes and cables. A node
// without a cable counts as absent.
func (m *match) onlyLess() bool {
	for v, was := range m.was {
		v := network.Node(v)
		switch {
		case m.now.Isolated(v):
		case was == network.NoNode, !m.sameLIDs(v), len(m.old.Ends(was)) != len(m.now.Ends(v)):
			return false
		}
	}
	return !slices.ContainsFunc(m.now.Cables(), func(c network.Cable) bool { return !m.hadCable(c) })
}

// carried returns the present entries of switches, in the numbers of the nodes now, without entries
// to LIDs that another node has now, or to a host that has moved to another switch.
func (m *match) carried(prev *lft.Tables) *lft.Tables {
	t := lft.New(prev.Engine, m.now)
	var lids []int
	for v := range network.Node(m.now.Nodes()) {
		if m.was[v] == network.NoNode || !m.sameLIDs(v) || m.now.IsHost(v) && m.moved(v) {
			continue
		}
		if i := m.now.Info(v); i.LID > 0 {
			for k := range 1 << i.LMC {
				lids = append(lids, int(i.LID)+k)
			}
		}
	}
	for i := range m.now.Switches() {
		was := m.was[m.now.Switch(i)]
		if was == network.NoNode {
			continue
		}
		row, old := t.Row(i), prev.Row(m.old.Index(was))
		for _, lid := range lids {
			row[lid] = old[lid]
		}
	}
	return t
}

func (m *match) moved(h network.Node) bool {
	a, b := m.old.Leaf(m.was[h]).Node, m.now.Leaf(h).Node
	return a != network.NoNode && b != network.NoNode && m.is[a] != b
}

// Fits returns an error when tables cannot have been made for their network: an entry to a host
// leads to a port without a cable. With shortest, a missing entry and one off all shortest ways are
// errors too, as after a cable or a switch has come back. Tables of engines with longer ways, as
// round a dead cable, fit only without shortest. Fits cannot detect that a cable was absent which
// no shortest way needs.
func Fits(t *lft.Tables, shortest bool) error {
	v := newView(t.Net)
	d := v.distances()
	for _, s := range v.order {
		row := t.Row(int(s))
		for _, leaf := range v.loaded {
			if leaf == s {
				continue
			}
			for _, h := range v.hosts[leaf] {
				base, count := v.lids(h)
				for lid := base; lid < base+count; lid++ {
					if bad := v.unfit(d, s, leaf, row[lid], shortest); bad != "" {
						return fmt.Errorf("%s, LID %d of %s: %s", v.name(s), lid, t.Net.Info(h).Name, bad)
					}
				}
			}
		}
	}
	return nil
}

func (v *view) unfit(d *distances, s, leaf int32, port uint8, shortest bool) string {
	peers := v.peers(s)
	switch {
	case port == lft.NoPort && !shortest:
	case port == lft.NoPort:
		return "no entry"
	case port == 0 || int(port) > len(peers) || peers[port-1] == none:
		return fmt.Sprintf("no cable leads on from port %d", port)
	case shortest && d.of(peers[port-1])[leaf]+1 != d.of(s)[leaf]:
		return fmt.Sprintf("port %d is on no shortest way", port)
	}
	return ""
}
