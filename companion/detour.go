package companion

import (
	"slices"

	"evbench/plan"
	"evbench/routing"
	"evbench/topology"
)

// routesAround returns the routes with which the switches reach every address of every server as
// long as a path is alive between the two leaves: those of Compute, and
//
//   - standby: each switch above leaves delivers downwards, on every path, to the servers of the
//     leaves that it reaches so;
//   - detours: where a link is dead, the leaves hold a more specific route for the addresses behind
//     it, through a spine from which there is a live way; of three levels the switches of pods do
//     the same with top switches.
//
// So messages in transit on a path get through when its link dies, and the routes for a new set of
// dead links also carry the messages of the old plan. O(switches · leaves · paths · spines) beyond
// Compute.
func routesAround(p *plan.Plan, a Addresses) (Routes, error) {
	routes, err := switches(p, a)
	if err != nil {
		return nil, err
	}
	t := p.Tree
	for sw := range t.Switches() {
		more := detours(&t.Live, a, sw)
		if sw >= t.Leaves() {
			more = append(more, standby(&t.Live, a, sw)...)
		}
		routes[sw].Routes = append(routes[sw].Routes, more...)
		sortRoutes(routes[sw].Routes)
	}
	return routes, nil
}

// standby returns the downward routes of a switch above leaves on paths of others.
func standby(t *topology.Live, a Addresses, sw int) []Route {
	var out []Route
	for l := range t.Leaves() {
		port, ok := down(t, sw, l)
		if !ok {
			continue
		}
		for path := range t.Paths() {
			if _, own := t.Onward(sw, l, path); !own {
				out = append(out, Route{Prefix: a.Leaf(l, path), Via: []Port{port}})
			}
		}
	}
	return out
}

// down returns the port of a switch above leaves at which a live way down to a leaf begins.
func down(t *topology.Live, sw, leaf int) (Port, bool) {
	for path := range t.Paths() {
		if port, ok := t.Onward(sw, leaf, path); ok {
			if _, upper, _ := t.LinkAt(sw, port); upper {
				return Port(port), true
			}
		}
	}
	return 0, false
}

// detours returns the routes of a switch upwards to leaves not below it, for paths that are dead
// from here. As package routing's spread does, each takes the way with the fewest so far, ties
// rotated by the leaf or pod.
func detours(t *topology.Live, a Addresses, sw int) []Route {
	var out []Route
	first, count := t.Upward(sw)
	used := make([]int, count)
	for other := range t.Leaves() {
		if other == sw || t.ServersOn(other) == 0 {
			continue
		}
		candidates, taken := ways(t, sw, other)
		if len(candidates) == 0 {
			continue
		}
		for path := range t.Paths() {
			if taken(path) {
				continue
			}
			k := routing.LeastUsed(candidates, used, t.Place(sw))
			used[k]++
			out = append(out, Route{Prefix: a.Leaf(other, path), Via: []Port{Port(first + k)}})
		}
	}
	return out
}

// ways returns the upward ports of a switch at which a live way to a leaf begins, and which of the
// paths need no detour from there. There are none to a leaf below.
func ways(t *topology.Live, sw, leaf int) (candidates []int, taken func(path int) bool) {
	first, _ := t.Upward(sw)
	for l := range t.Ways(sw, leaf) {
		low, _ := t.Ends(l)
		candidates = append(candidates, low.Port-first)
	}
	if sw < t.Leaves() {
		return candidates, func(path int) bool {
			port, _ := upwards(t, sw, path)
			return slices.Contains(candidates, int(port)-first)
		}
	}
	return candidates, func(path int) bool {
		_, ok := t.Onward(sw, leaf, path)
		return ok
	}
}
