package opensm

import (
	"time"

	"evbench/failover"
	"evbench/site/network"
	"evbench/site/osmlog"
	"evbench/topology"
)

// links tracks which links between switches of a tree are up, from OpenSM's log and from
// discoveries. It has no clock and opens no file.
//
// A link is up if both ends are, so a report of either end holds for both: notices of InfiniBand
// switches get lost, and often only one end is reported.
type links struct {
	tree   *topology.Tree
	places *network.Places
	net    *network.Network
	at     map[plug]topology.Link
	down   []bool // by link ID
}

type plug struct {
	guid   uint64
	number uint8
}

// newLinks counts the dead links of the tree as down. Links without a cable in the network stay
// down.
func newLinks(t *topology.Tree, places *network.Places, n *network.Network) *links {
	l := &links{tree: t, places: places, net: n, at: map[plug]topology.Link{}, down: make([]bool, t.AllLinks())}
	for id := range l.down {
		at := t.LinkOf(id)
		a, b := l.ends(at)
		l.down[id] = a.number == 0 || !t.LinkAlive(at)
		if a.number != 0 {
			l.at[a], l.at[b] = at, at
		}
	}
	return l
}

// ends returns the ports of the lower and the upper end, both 0 without a cable.
func (l *links) ends(at topology.Link) (low, high plug) {
	a, b := l.tree.Ends(at)
	x, y := l.places.Node(a.Switch), l.places.Node(b.Switch)
	if x == network.NoNode || y == network.NoNode { // what a smaller pod lacks
		return low, high
	}
	return plug{l.net.Info(x).GUID, l.places.Up(at)}, plug{l.net.Info(y).GUID, l.places.Down(at)}
}

func (l *links) dead() []topology.Link {
	var out []topology.Link
	for id, down := range l.down {
		if at := l.tree.LinkOf(id); down && !l.tree.Absent(at) {
			out = append(out, at)
		}
	}
	return out
}

// say processes a message of the log. It reports whether only a discovery can tell its meaning.
func (l *links) say(m osmlog.Message, seen time.Time) (events []failover.LinkEvent, unclear bool) {
	switch m.Kind {
	case osmlog.WentDown, osmlog.Unlinked, osmlog.CameUp:
		if at, ok := l.at[plug{m.GUID, uint8(m.Port)}]; ok {
			for _, own := range l.tree.CableOf(at) {
				events = append(events, l.set(own, m.Kind == osmlog.CameUp, seen)...)
			}
			return events, false
		}
		return nil, false // a server's link
	}
	return nil, true
}

// find processes a discovery: a link is up if the cable joins the same ports as in the network of
// the plan.
func (l *links) find(n *network.Network, seen time.Time) []failover.LinkEvent {
	node := map[uint64]network.Node{}
	for i := range n.Switches() {
		node[n.Info(n.Switch(i)).GUID] = n.Switch(i)
	}
	var out []failover.LinkEvent
	for id := range l.down {
		at := l.tree.LinkOf(id)
		out = append(out, l.set(at, l.joined(n, node, at), seen)...)
	}
	return out
}

func (l *links) joined(n *network.Network, node map[uint64]network.Node, at topology.Link) bool {
	a, b := l.ends(at)
	x, okX := node[a.guid]
	y, okY := node[b.guid]
	return a.number != 0 && okX && okY && n.At(x, int(a.number)) == network.End{Node: y, Port: b.number}
}

// set returns the events of both ends, or none if the state is unchanged.
func (l *links) set(at topology.Link, up bool, seen time.Time) []failover.LinkEvent {
	if id := l.tree.LinkID(at); l.down[id] == up {
		l.down[id] = !up
		return []failover.LinkEvent{{Link: at, Leaf: true, Up: up, Seen: seen}, {Link: at, Up: up, Seen: seen}}
	}
	return nil
}
