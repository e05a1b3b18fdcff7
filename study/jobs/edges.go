package jobs

import (
	"fmt"

	"evbench/report/figure"
	"evbench/topology/network"
)

// An Edge is a cable between switches, with the routes of jobs on it in each direction.
type Edge struct {
	Low, High   string  // the switches; Low is nearer the hosts
	Row, Column int     // which of the lower switches, and which of the ports up of its level, from 0
	Up, Down    []int64 // routes, by routing, in the order of Routings
	level       int     // of Low
}

// Edges returns the cables of the network that was routed, by lower switch and port.
func (r *Routed) Edges(n *network.Network) []Edge {
	level, err := network.Ranks(n, nil)
	if err != nil {
		level = make([]int, n.Nodes()) // no tree: a cable belongs to the first of its switches
	}
	at := map[network.End]int{} // in EFI.Routes
	for s := range n.Switches() {
		for p, far := range n.Ends(n.Switch(s)) {
			if far.Node != network.NoNode && !n.IsHost(far.Node) {
				at[network.End{Node: n.Switch(s), Port: uint8(p + 1)}] = len(at)
			}
		}
	}
	var out []Edge
	rows, first := 0, map[int]int{} // of a level: its lowest port up
	for s := range n.Switches() {
		low, before := n.Switch(s), len(out)
		for p, far := range n.Ends(low) {
			end := network.End{Node: low, Port: uint8(p + 1)}
			if i, ok := at[end]; !ok || level[far.Node] < level[low] || level[far.Node] == level[low] && at[far] < i {
				continue
			}
			e := Edge{Low: n.Info(low).Name, High: n.Info(far.Node).Name, Row: rows, Column: p, level: level[low]}
			if f, ok := first[level[low]]; !ok || p < f {
				first[level[low]] = p
			}
			for _, l := range r.Routings {
				e.Up, e.Down = append(e.Up, l.EFI.Routes[at[end]]), append(e.Down, l.EFI.Routes[at[far]])
			}
			out = append(out, e)
		}
		if len(out) > before {
			rows++
		}
	}
	for i, e := range out {
		out[i].Column -= first[e.level]
	}
	return out
}

// Heat is a map of the routes up and down each cable, by routing.
func (r *Routed) Heat(n *network.Network) *figure.Figure {
	edges := r.Edges(n)
	var up, down []figure.Heat
	for i, l := range r.Routings {
		u, d := figure.Heat{Title: l.Routing + ", up"}, figure.Heat{Title: l.Routing + ", down"}
		for _, e := range edges {
			u.Add(e.Row, e.Column, e.Low, float64(e.Up[i]))
			d.Add(e.Row, e.Column, e.Low, float64(e.Down[i]))
		}
		up, down = append(up, u), append(down, d)
	}
	return figure.HeatMap(fmt.Sprintf("Routes of %d jobs on each cable of %s", r.Jobs, r.Source), "cable up from a switch", "switch", "routes", append(up, down...))
}
