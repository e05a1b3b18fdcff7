package opensm

import (
	"evbench/site/lft"
	"evbench/site/network"
)

// An Engine balances routes over sets of ports: MinHop, UpDown, DownUp. Only UpDown uses roots.
// O(S·(E + H·P)) time, S² words of memory, on all processors.
type Engine struct {
	name string
	// sets returns the ports of all switches that lead on towards each other switch, and the given
	// or found roots.
	sets func(v *view, roots []network.Node) (*hops, []int32, error)
}

// Route routes a network anew.
func (e Engine) Route(n *network.Network, roots []network.Node) (*lft.Tables, error) {
	return e.keep(newView(n), roots, nil)
}

// After routes a network after prev, as a running OpenSM does. prev.Net is the network that prev
// was made for; GUIDs match the nodes of n with its nodes. Missing roots are searched in n, as
// OpenSM does for each routing.
//
// Where n has only lost cables, hosts or switches, an entry stays as long as its port is in the
// engine's set; all others are chosen anew, each with the load that the entries before it leave.
// Where anything is new, such as a cable plugged in again, all entries are chosen anew
// (osm_subnet.h: ignore_existing_lfts).
func (e Engine) After(n *network.Network, roots []network.Node, prev *lft.Tables) (*lft.Tables, error) {
	m := newMatch(prev.Net, n)
	if !m.onlyLess() {
		return e.Route(n, roots)
	}
	return e.keep(newView(n), roots, m.carried(prev))
}

// keep chooses all rows but keeps entries inside the sets of ports. carried, nil for none, holds
// the present entries, in the numbers of the view's nodes.
func (e Engine) keep(v *view, roots []network.Node, carried *lft.Tables) (*lft.Tables, error) {
	h, first, err := e.sets(v, roots)
	if err != nil {
		return nil, err
	}
	t := lft.New(e.name, v.net)
	v.rows(func(s int32) {
		l := ledger{v: v, h: h, s: s, row: t.Row(int(s))}
		if carried != nil {
			l.old = carried.Row(int(s))
		}
		l.balance()
	})
	return v.rooted(t, first), nil
}
