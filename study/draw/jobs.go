package draw

import (
	"fmt"

	"evbench/report/figure"
	"evbench/study/jobs"
	"evbench/topology/network"
)

// Jobs is a heat map of the routes up and down each cable, by routing.
func Jobs(r *jobs.Routed, n *network.Network) *figure.Figure {
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
