package jobs

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"evbench/internal/lists"
	"evbench/site/engines/opensm"
	"evbench/site/lft"
	"evbench/site/network"
)

// Draws are the effects of routing for jobs over random placements.
type Draws struct {
	Sizes    []int
	Seed     uint64
	Draws    int
	Mean     float64 // routes on a cable: about what any routing can reach at best
	Routings []Distribution
}

// A Distribution is the greatest number of routes on a cable, sorted.
type Distribution struct {
	Routing string
	Max     []int64
	// ToLeaf is in how many draws the cable with most routes, the first of equals, leads to a
	// switch with hosts.
	ToLeaf int
	// Spread is the mean number of cables to its switch over which the routes to a host come.
	Spread float64
}

// Place places jobs of the sizes at random over the hosts, once for each draw, and routes for them
// each time, in each of some ways.
func (d *Draws) Place(ctx context.Context, n *network.Network, ways []opensm.Steps) error {
	for draw := range d.Draws {
		placed, err := scatter(d.Sizes, n.Hosts(), d.Seed, uint64(draw))
		if err == nil {
			err = d.draw(n, placed, ways)
		}
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
	d.Mean /= float64(d.Draws)
	for i, r := range d.Routings {
		slices.Sort(r.Max)
		d.Routings[i].Spread /= float64(d.Draws)
	}
	return nil
}

func (d *Draws) draw(n *network.Network, placed [][]int, ways []opensm.Steps) error {
	p := opensm.Placement{Jobs: opensm.MultiSwitch(n, lists.Map(placed, func(hosts []int) []network.Node {
		return lists.Map(hosts, func(h int) network.Node { return network.Node(h) })
	}))}
	tables, err := tablesFor(n, p, ways)
	if err != nil {
		return err
	}
	if d.Routings == nil {
		d.Routings = lists.Map(tables, func(t *lft.Tables) Distribution { return Distribution{Routing: t.Engine} })
	}
	for i, t := range tables {
		efi := opensm.Index(t, p.Jobs)
		d.Routings[i].Max = append(d.Routings[i].Max, efi.Max)
		d.Routings[i].Spread += efi.Spread
		if efi.Max > 0 && hasHosts(n, n.At(efi.At.Node, int(efi.At.Port)).Node) {
			d.Routings[i].ToLeaf++
		}
		if i == 0 {
			d.Mean += efi.Mean
		}
	}
	return nil
}

func hasHosts(n *network.Network, s network.Node) bool {
	return slices.ContainsFunc(n.Ends(s), func(e network.End) bool { return e.Node != network.NoNode && n.IsHost(e.Node) })
}

// scatter puts jobs of those sizes on nodes 0..nodes-1, at random, no node in two jobs. The same
// seed and draw give the same placement.
func scatter(sizes []int, nodes int, seed, draw uint64) ([][]int, error) {
	total := 0
	for _, s := range sizes {
		if total += s; s < 0 || total > nodes {
			return nil, fmt.Errorf("jobs of %v nodes do not fit on %d", sizes, nodes)
		}
	}
	order := rand.New(rand.NewPCG(seed, draw)).Perm(nodes)
	placed := make([][]int, len(sizes))
	for i, s := range sizes {
		placed[i], order = order[:s:s], order[s:]
	}
	return placed, nil
}

// An Edge is a cable between switches, with the routes of jobs on it in each direction.
type Edge struct {
	Low, High   string  // the switches; Low is nearer the hosts
	Row, Column int     // which of the lower switches, and which of the ports up of its level, from 0
	Up, Down    []int64 // routes, by routing, in the order of Routings
	level       int     // of Low
}

// Edges returns the cables of the routed network, by lower switch and port.
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
