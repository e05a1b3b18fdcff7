package twolevel

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

// SpineOf returns the spine that a message between ranks on different leaves
// goes through, and false where the entry of the source leaf does not name
// exactly one (no route, ecmp, spray).
func (t *Tables) SpineOf(src, dst int) (int, bool) {
	ports := t.Ports(Leaf(t.Tree.Leaf(src)), dst)
	if len(ports) != 1 || int(ports[0]) < t.Tree.Ports() {
		return none, false
	}
	return int(ports[0]) - t.Tree.Ports(), true
}

// Walk follows every path from one server to another. The error says where a
// message is lost, and why.
func (t *Tables) Walk(src, dst int) error {
	if err := t.walk(Leaf(t.Tree.Leaf(src)), dst, nil); err != nil {
		return fmt.Errorf("%s to %s: %w", t.Tree.ServerName(src), t.Tree.ServerName(dst), err)
	}
	return nil
}

// walk follows every path from a switch to a destination.
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

// follow returns what is at the other end of a port: a switch, or the rank of
// a server (host, else -1).
func (t *Tables) follow(sw Switch, p Port) (next Switch, host int, err error) {
	tree := t.Tree
	link := topology.Link{Leaf: int(p), Spine: int(sw) - tree.Leaves()}
	if int(sw) < tree.Leaves() {
		if leaf := int(sw); int(p) < tree.Ports() {
			if int(p) >= tree.On(leaf) {
				return 0, -1, fmt.Errorf("%s port %d: no server there: %w", t.name(sw), p, ErrNoRoute)
			}
			return 0, tree.First(leaf) + int(p), nil
		}
		link = topology.Link{Leaf: int(sw), Spine: int(p) - tree.Ports()}
		next = Spine(tree, link.Spine)
	} else {
		next = Leaf(link.Leaf)
	}
	if link.Leaf >= tree.Leaves() || link.Spine >= tree.Spines() {
		return 0, -1, fmt.Errorf("%s port %d: no such port: %w", t.name(sw), p, ErrNoRoute)
	}
	if !tree.Alive(link.Leaf, link.Spine) {
		return 0, -1, fmt.Errorf("%s over %s: %w", t.name(sw), link, ErrDeadLink)
	}
	return next, -1, nil
}

func (t *Tables) name(sw Switch) string {
	if int(sw) < t.Tree.Leaves() {
		return fmt.Sprintf("leaf%d", sw)
	}
	return fmt.Sprintf("spine%d", int(sw)-t.Tree.Leaves())
}

// Loads adds up what one exchange, every ordered pair once, puts on each wire.
// With several next hops a message counts in equal shares on each.
func (t *Tables) Loads() []float64 {
	load := make([]float64, t.Tree.Wires())
	var path []topology.Wire
	for src := range t.Tree.Servers() {
		leaf := t.Tree.Leaf(src)
		for dst := range t.Tree.Servers() {
			if src == dst {
				continue
			}
			ports := t.Ports(Leaf(leaf), dst)
			for _, p := range ports {
				path = t.Tree.Path(path[:0], src, dst, int(p)-t.Tree.Ports())
				for _, w := range path {
					load[w] += 1 / float64(len(ports))
				}
			}
		}
	}
	return load
}
