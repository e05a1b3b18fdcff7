package lft

import "evbench/site/network"

// RouteOthers makes the entries for ports that have LIDs and are no hosts, such as aggregation
// nodes: a switch takes its way to the switch of the port. Switches without such an entry, as those
// of spines for other spines under engines that never go up after down, take the nearest switch
// with one, the first of several. No route of a host uses the latter. O(switches · LIDs).
func (t *Tables) RouteOthers() { t.routeOthers(true) }

// RouteOthersAlike is RouteOthers that leaves the latter out, for Detour.
func (t *Tables) RouteOthersAlike() { t.routeOthers(false) }

func (t *Tables) routeOthers(all bool) {
	n := t.Net
	for k := range n.Others() {
		v := n.Other(k)
		if at := n.Leaf(v); at.Node != network.NoNode {
			for o := range n.LIDs(v) {
				t.routeOther(int(n.Info(v).LID)+o, at, all)
			}
		}
	}
}

func (t *Tables) routeOther(lid int, at network.End, all bool) {
	n := t.Net
	own := int(n.Info(at.Node).LID)
	reached := []network.Node{at.Node}
	for i := range n.Switches() {
		row := t.Row(i)
		row[lid] = NoPort
		if s := n.Switch(i); s == at.Node {
			row[lid] = at.Port
		} else if own > 0 && row[own] != NoPort && row[own] != 0 {
			row[lid] = row[own]
			reached = append(reached, s)
		}
	}
	for ; all && len(reached) > 0; reached = reached[1:] {
		for _, e := range n.Ends(reached[0]) {
			if e.Node == network.NoNode || n.IsHost(e.Node) {
				continue
			}
			if row := t.Row(n.Index(e.Node)); row[lid] == NoPort {
				row[lid] = e.Port
				reached = append(reached, e.Node)
			}
		}
	}
}

// Detour gives switches the entries that they lack for hosts and others, where these are wanted: on the way to
// a switch, via, as far as one that has an entry, else by the nearest that has one, also up again after down.
// Where via is a leaf of a tree, ways turn up again there or above it alone, and block each other in no cycle.
// Other entries stay. O(switches · LIDs + missing · cables).
func (t *Tables) Detour(via network.Node, wanted func(from, to network.Node) bool) {
	n := t.Net
	owner := owners(n)
	for i := range n.Switches() {
		for lid, v := range owner {
			if v != network.NoNode && t.Row(i)[lid] == NoPort && (n.IsHost(v) || n.IsOther(v)) && n.Leaf(v).Node != network.NoNode && wanted(n.Switch(i), v) && !t.over(via, n.Switch(i), lid) {
				t.detour(n.Switch(i), lid)
			}
		}
	}
}

// over sets the entries of a LID from a switch on the way to another, up to the first that has one, and reports
// whether there is such a way.
func (t *Tables) over(via, from network.Node, lid int) bool {
	n := t.Net
	var way []network.End
	for at := from; t.Port(at, lid) == NoPort; {
		port := t.Port(at, int(n.Info(via).LID))
		if len(way) > n.Switches() || port == NoPort || port == 0 || n.At(at, int(port)).Node == network.NoNode {
			return false
		}
		way = append(way, network.End{Node: at, Port: port})
		at = n.At(at, int(port)).Node
	}
	for _, e := range way {
		t.Row(n.Index(e.Node))[lid] = e.Port
	}
	return true
}

// detour sets the entries of a LID from a switch to the nearest that has one.
func (t *Tables) detour(from network.Node, lid int) {
	n := t.Net
	back := map[network.Node]network.End{from: {Node: network.NoNode}} // the switch before, and its port
	for todo := []network.Node{from}; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		if t.Port(at, lid) != NoPort {
			for e := back[at]; e.Node != network.NoNode; e = back[e.Node] {
				t.Row(n.Index(e.Node))[lid] = e.Port
			}
			return
		}
		for i, e := range n.Ends(at) {
			if e.Node == network.NoNode || n.IsHost(e.Node) {
				continue
			}
			if _, seen := back[e.Node]; !seen {
				back[e.Node] = network.End{Node: at, Port: uint8(i + 1)}
				todo = append(todo, e.Node)
			}
		}
	}
}
