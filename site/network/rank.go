package network

import (
	"fmt"
	"slices"

	"evbench/internal/lists"
)

// neighbours holds, for each switch by index, the indices of adjacent switches, ascending, each
// once.
type neighbours struct {
	first []int32
	to    []int32
}

func (n *Network) neighbours() neighbours {
	g := neighbours{first: make([]int32, n.Switches()+1)}
	var near []int32
	for i := range n.Switches() {
		near = near[:0]
		for _, e := range n.Ends(n.Switch(i)) {
			if e.Node != NoNode && !n.IsHost(e.Node) && e.Node != n.Switch(i) {
				near = append(near, int32(n.Index(e.Node)))
			}
		}
		slices.Sort(near)
		g.to = append(g.to, slices.Compact(near)...)
		g.first[i+1] = int32(len(g.to))
	}
	return g
}

func (g neighbours) of(i int) []int32 { return g.to[g.first[i]:g.first[i+1]] }

// distances returns the cables from each switch to the nearest of some, -1 if it reaches none.
func (g neighbours) distances(from []int32) []int {
	dist := slices.Repeat([]int{-1}, len(g.first)-1)
	var queue []int32
	for _, i := range from {
		if dist[i] < 0 {
			dist[i] = 0
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, j := range g.of(int(i)) {
			if dist[j] < 0 {
				dist[j] = dist[i] + 1
				queue = append(queue, j)
			}
		}
	}
	return dist
}

func (n *Network) indices(s []Node) []int32 {
	return lists.Map(s, func(v Node) int32 { return int32(n.Index(v)) })
}

// Distances returns, for each switch by index, the number of cables to the nearest of some
// switches, -1 if it reaches none.
func (n *Network) Distances(from ...Node) []int { return n.neighbours().distances(n.indices(from)) }

// Ranks returns the level of each node: 0 for hosts, 1 for the leaf switches
// farthest from the roots, up to the roots. Without roots it takes DetectRoots.
//
// The level is the greatest distance to a root of a switch with hosts, less OpenSM's rank, the
// distance to the nearest root. Three kinds of switches of degraded networks lack such a level, and
// get one that lets routes use them as far as possible. A switch farther away than all with hosts,
// for example a middle switch whose cables up are all dead, is a level above the highest switch on
// its way to a root (OpenSM leaves it at the bottom). Switches that no root reaches count from the
// switches with hosts among them. One without cables that is no root is on level 1. O(cables).
func Ranks(n *Network, roots []Node) ([]int, error) {
	if len(roots) == 0 {
		var err error
		if roots, err = DetectRoots(n); err != nil {
			return nil, err
		}
	}
	for _, r := range roots {
		if int(r) >= n.Nodes() || r < 0 || n.IsHost(r) {
			return nil, fmt.Errorf("root %d: is not a switch", r)
		}
	}
	g := n.neighbours()
	level := g.levels(n, n.indices(roots))
	return append(make([]int, n.Hosts()), level...), nil
}

func (g neighbours) levels(n *Network, roots []int32) []int {
	dist := g.distances(roots)
	bottom, withHosts := 0, []int32{}
	count := n.leafHosts(g)
	for i, d := range dist {
		if count[i] == 0 {
			continue
		}
		bottom = max(bottom, d)
		if d < 0 {
			withHosts = append(withHosts, int32(i))
		}
	}
	apart := g.distances(withHosts)
	level := make([]int, len(dist))
	var below []int32
	for i, d := range dist {
		switch {
		case d < 0:
			level[i] = max(0, apart[i]) + 1
		case d <= bottom:
			level[i] = bottom - d + 1
		default:
			below = append(below, int32(i))
		}
	}
	slices.SortStableFunc(below, func(a, b int32) int { return dist[a] - dist[b] })
	for _, i := range below {
		for _, j := range g.of(int(i)) {
			if dist[j] < dist[i] {
				level[i] = max(level[i], level[j]+1)
			}
		}
	}
	return level
}

// NotLayered returns the cables between switches whose levels do not differ by one; a tree has
// none. Levels come from Ranks.
func (n *Network) NotLayered(level []int) []Cable {
	return slices.DeleteFunc(n.SwitchCables(), func(c Cable) bool {
		d := level[c.A.Node] - level[c.B.Node]
		return d == 1 || d == -1 || c.A.Node == c.B.Node // a plug for tests
	})
}
