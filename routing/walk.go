package routing

import (
	"errors"
	"fmt"

	"evbench/topology"
)

// Errors of Walk: why a message does not arrive.
var (
	ErrNoRoute  = errors.New("no route")
	ErrLoop     = errors.New("forwarding loop")
	ErrDeadLink = errors.New("route over a dead link")
)

// PathOf returns the path (topology.Tree.PathOf) of a message between ranks on different leaves,
// and false where the entries on its way up do not name exactly one (no route, ecmp, spray).
func (t *Tables) PathOf(src, dst int) (int, bool) {
	a, b := t.Tree.Leaf(src), t.Tree.Leaf(dst)
	way, ok := one(t.Ports(Switch(a), dst), t.Tree.Ports())
	if !ok {
		return none, false
	}
	ports, first, more := t.above(a, b, dst, way)
	if !more {
		return way, true
	}
	next, ok := one(ports, first)
	if path := t.path(way, next); ok && path != none {
		return path, true
	}
	return none, false
}

// one returns the way up for a single port; ways up are counted from first.
func one(ports []Port, first int) (int, bool) {
	if len(ports) != 1 || int(ports[0]) < first {
		return none, false
	}
	return int(ports[0]) - first, true
}

// Shares calls f for each path that messages from a leaf to a server of another may take, with its
// share if all next hops of a switch get equal parts.
func (t *Tables) Shares(leaf, dst int, f func(path int, share float64)) {
	home, ways := t.Tree.Leaf(dst), t.Ports(Switch(leaf), dst)
	for _, p := range ways {
		way := int(p) - t.Tree.Ports()
		ports, first, more := t.above(leaf, home, dst, way)
		if !more {
			f(way, 1/float64(len(ways)))
		}
		for _, q := range ports {
			f(t.path(way, int(q)-first), 1/float64(len(ways)*len(ports)))
		}
	}
}

// Walk follows every path from one server to another. The error says where a
// message is lost, and why.
func (t *Tables) Walk(src, dst int) error {
	if err := t.walk(Switch(t.Tree.Leaf(src)), dst, make([]Switch, 0, 8)); err != nil {
		return fmt.Errorf("%s to %s: %w", t.Tree.ServerName(src), t.Tree.ServerName(dst), err)
	}
	return nil
}

func (t *Tables) walk(sw Switch, dst int, seen []Switch) error {
	for _, s := range seen {
		if s == sw {
			return fmt.Errorf("%s: %w", t.name(sw), ErrLoop)
		}
	}
	ports := t.Ports(sw, dst)
	if len(ports) == 0 {
		return fmt.Errorf("%s: %w", t.name(sw), ErrNoRoute)
	}
	seen = append(seen, sw)
	for _, p := range ports {
		next, host, err := t.follow(sw, p)
		if err != nil {
			return err
		}
		if host >= 0 {
			if host != dst {
				return fmt.Errorf("%s delivers to %s: %w", t.name(sw), t.Tree.ServerName(host), ErrNoRoute)
			}
			continue
		}
		if err := t.walk(next, dst, seen); err != nil {
			return err
		}
	}
	return nil
}

// follow returns the node at the other end of a port: a switch, or the rank of a server (host, else
// -1).
func (t *Tables) follow(sw Switch, p Port) (next Switch, host int, err error) {
	tree := t.Tree
	if leaf := int(sw); leaf < tree.Leaves() && int(p) < tree.Ports() {
		if int(p) >= tree.ServersOn(leaf) {
			return 0, -1, fmt.Errorf("%s port %d: no server there: %w", t.name(sw), p, ErrNoRoute)
		}
		return 0, tree.First(leaf) + int(p), nil
	}
	link, upper, ok := tree.LinkAt(int(sw), int(p))
	if !ok {
		return 0, -1, fmt.Errorf("%s port %d: no such port: %w", t.name(sw), p, ErrNoRoute)
	}
	if !tree.LinkAlive(link) {
		return 0, -1, fmt.Errorf("%s over %s: %w", t.name(sw), link, ErrDeadLink)
	}
	low, high := tree.Ends(link)
	if upper {
		return Switch(low.Switch), -1, nil
	}
	return Switch(high.Switch), -1, nil
}

func (t *Tables) name(sw Switch) string { return t.Tree.SwitchName(int(sw)) }

// Loads adds up the load of one exchange, one message of each reader to each other builder, on each wire. With several next
// hops a message counts in equal shares on each.
func (t *Tables) Loads() []float64 {
	load := make([]float64, t.Tree.AllWires())
	var path []topology.Wire
	put := func(src, dst, by int, share float64) {
		path = t.Tree.Path(path[:0], src, dst, by)
		for _, w := range path {
			load[w] += share
		}
	}
	leaf := t.Tree.LeafOfRanks()
	for src, dst := range t.Tree.Pairs {
		if leaf[src] == leaf[dst] {
			put(src, dst, none, 1)
			continue
		}
		t.Shares(leaf[src], dst, func(by int, share float64) { put(src, dst, by, share) })
	}
	return load
}
