package companion

import (
	"evbench/plan"
	"evbench/topology"
)

// routesAround returns what the switches have to hold so that every address of every
// server can be reached from everywhere as long as the two leaves share a live
// spine: what Compute returns, and
//
//   - standby: each spine delivers to the servers of its live leaves on every
//     path, so that a detour is a matter of leaves alone;
//   - detours: where a link is dead, the leaves at both of its ends and all others
//     hold a more specific route for the addresses behind it, through a spine that
//     is alive at both.
//
// What is under way on a dead path when its link dies, and connections that wait
// there for the link to return, thus get through. Paths that are alive lead
// through their own spine. Between the routes for two sets of dead links nothing
// more is needed: those for the new set carry the messages of the old plan too.
// O(leaves² · spines) beyond Compute.
func routesAround(p *plan.Plan, a Addresses) (Routes, error) {
	routes, err := switches(p, a)
	if err != nil {
		return nil, err
	}
	t := p.Tree
	for l := range t.Leaves() {
		routes[l].Routes = append(routes[l].Routes, detours(t, a, l)...)
		sortRoutes(routes[l].Routes)
	}
	for k := range t.Spines() {
		table := &routes[t.Leaves()+k]
		table.Routes = append(table.Routes, standby(t, a, k)...)
		sortRoutes(table.Routes)
	}
	return routes, nil
}

// standby returns the routes of a spine towards the addresses of other spines.
func standby(t *topology.Tree, a Addresses, k int) []Route {
	out := make([]Route, 0, t.Leaves()*(t.Spines()-1))
	for l := range t.Leaves() {
		if !t.Alive(l, k) {
			continue
		}
		via := []Port{Port(l)}
		for path := range t.Spines() {
			if path != k {
				out = append(out, Route{Prefix: a.Leaf(l, path), Via: via})
			}
		}
	}
	return out
}

// detours returns the routes of a leaf to the others over paths that are dead
// between the two. As package routing's spread does, each goes to the spine with
// the fewest so far, ties rotated by the leaf.
func detours(t *topology.Tree, a Addresses, leaf int) []Route {
	var out []Route
	used := make([]int, t.Spines())
	for other := range t.Leaves() {
		if other == leaf || t.On(other) == 0 {
			continue
		}
		candidates := t.CommonSpines(leaf, other)
		if len(candidates) == 0 || len(candidates) == t.Spines() {
			continue
		}
		for path := range t.Spines() {
			if t.Alive(leaf, path) && t.Alive(other, path) {
				continue
			}
			k := leastUsed(candidates, used, leaf)
			used[k]++
			out = append(out, Route{Prefix: a.Leaf(other, path), Via: []Port{Port(t.Ports() + k)}})
		}
	}
	return out
}

// leastUsed returns the first candidate with the smallest count, in cyclic order
// from index (first mod candidates).
func leastUsed(candidates, used []int, first int) int {
	best := candidates[first%len(candidates)]
	for i := range candidates {
		if k := candidates[(first+i)%len(candidates)]; used[k] < used[best] {
			best = k
		}
	}
	return best
}
