package papers

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
	"evbench/study/jobs"
)

// jobDraws are the effects of routing for jobs over random placements.
type jobDraws struct {
	sizes    []int
	seed     uint64
	draws    int
	mean     float64 // routes on a cable: about what any routing can reach at best
	routings []distribution
}

// allWays are all ways to route for jobs, by the steps they leave out.
var allWays = []opensm.Steps{
	opensm.AllSteps, opensm.LookAhead | opensm.OwnRoutes, opensm.LookAhead | opensm.BySize, opensm.LookAhead,
	opensm.BySize | opensm.OwnRoutes, opensm.OwnRoutes, opensm.BySize, 0,
}

// A distribution is the greatest number of routes on a cable, sorted.
type distribution struct {
	routing string
	most    []int64
	// toLeaf is in how many draws the cable with most routes, the first of equals, leads to a
	// switch with hosts.
	toLeaf int
	// spread is the mean number of cables to its switch over which the routes to a host come.
	spread float64
}

// place places jobs of the sizes at random over the hosts, once for each draw, and routes for them
// each time, in each of some ways.
func (d *jobDraws) place(ctx context.Context, n *network.Network, ways []opensm.Steps) error {
	for draw := range d.draws {
		placed, err := scatter(d.sizes, n.Hosts(), d.seed, uint64(draw))
		if err == nil {
			err = d.draw(n, placed, ways)
		}
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
	d.mean /= float64(d.draws)
	for i, r := range d.routings {
		slices.Sort(r.most)
		d.routings[i].spread /= float64(d.draws)
	}
	return nil
}

func (d *jobDraws) draw(n *network.Network, placed [][]int, ways []opensm.Steps) error {
	p := opensm.Placement{Jobs: opensm.MultiSwitch(n, lists.Map(placed, func(hosts []int) []network.Node {
		return lists.Map(hosts, func(h int) network.Node { return network.Node(h) })
	}))}
	var tables []*lft.Tables
	for _, p.Without = range ways {
		t, err := opensm.Jobs(n, p, 0)
		if err != nil {
			return err
		}
		tables = append(tables, t)
	}
	if d.routings == nil {
		d.routings = lists.Map(tables, func(t *lft.Tables) distribution { return distribution{routing: t.Engine} })
	}
	for i, t := range tables {
		efi := opensm.Index(t, p.Jobs)
		d.routings[i].most = append(d.routings[i].most, efi.Max)
		d.routings[i].spread += efi.Spread
		if efi.Max > 0 && hasHosts(n, n.At(efi.At.Node, int(efi.At.Port)).Node) {
			d.routings[i].toLeaf++
		}
		if i == 0 {
			d.mean += efi.Mean
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

// An edge is a cable between switches, with the routes of jobs on it in each direction.
type edge struct {
	low, high   string  // the switches; low is nearer the hosts
	row, column int     // which of the lower switches, and which of the ports up of its level, from 0
	up, down    []int64 // routes, by routing, in the order of Routings
	level       int     // of low
}

// edgesOf returns the cables of the routed network, by lower switch and port.
func edgesOf(r *jobs.Routed, n *network.Network) []edge {
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
	var out []edge
	rows, first := 0, map[int]int{} // of a level: its lowest port up
	for s := range n.Switches() {
		low, before := n.Switch(s), len(out)
		for p, far := range n.Ends(low) {
			end := network.End{Node: low, Port: uint8(p + 1)}
			if i, ok := at[end]; !ok || level[far.Node] < level[low] || level[far.Node] == level[low] && at[far] < i {
				continue
			}
			e := edge{low: n.Info(low).Name, high: n.Info(far.Node).Name, row: rows, column: p, level: level[low]}
			if f, ok := first[level[low]]; !ok || p < f {
				first[level[low]] = p
			}
			for _, l := range r.Routings {
				e.up, e.down = append(e.up, l.EFI.Routes[at[end]]), append(e.down, l.EFI.Routes[at[far]])
			}
			out = append(out, e)
		}
		if len(out) > before {
			rows++
		}
	}
	for i, e := range out {
		out[i].column -= first[e.level]
	}
	return out
}
