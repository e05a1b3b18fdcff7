package network

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"evbench/internal/lists"
)

// bars is the length of a histogram; the last bar holds all larger distances.
const bars = 64

// A histogram counts the hosts at 1, 2, … cables from a switch.
type histogram [bars]int32

// histograms returns the histogram of every switch ("OpenSM Unicast Routing
// Enhancements for Scalability", 2005, §4.1): a breadth-first search from every
// switch with hosts carries their number. Sixty-four searches run at once, one in
// each bit of a word, so it takes O(cables · depth · leaves/64).
func (g neighbours) histograms(n *Network) []histogram {
	out := make([]histogram, len(g.first)-1)
	count := n.leafHosts(g)
	at := lists.Filter(lists.Range[int32](len(out)), func(i int32) bool { return count[i] > 0 })
	for batch := range slices.Chunk(at, 64) {
		hosts := lists.Map(batch, func(i int32) int32 { return count[i] })
		g.search(batch, hosts, out)
	}
	return out
}

// search runs up to 64 searches from different switches.
func (g neighbours) search(from, hosts []int32, out []histogram) {
	size := len(g.first) - 1
	seen, now, next := make([]uint64, size), make([]uint64, size), make([]uint64, size)
	front := slices.Clone(from)
	for b, i := range from {
		now[i] = 1 << b
	}
	var ahead []int32
	for hop := 1; len(front) > 0; hop++ {
		ahead = ahead[:0]
		for _, i := range front {
			seen[i] |= now[i]
			bar := &out[i][min(hop, bars-1)]
			for w := now[i]; w != 0; w &= w - 1 {
				*bar += hosts[bits.TrailingZeros64(w)]
			}
		}
		for _, i := range front {
			for _, j := range g.of(int(i)) {
				if fresh := now[i] &^ seen[j]; fresh != 0 {
					if next[j] == 0 {
						ahead = append(ahead, j)
					}
					next[j] |= fresh
				}
			}
			now[i] = 0
		}
		now, next = next, now
		front, ahead = ahead, front
	}
}

// nearest returns the first bar that is not empty, 0 if none is.
func (h *histogram) nearest() int {
	for hop, hosts := range h {
		if hosts > 0 {
			return hop
		}
	}
	return 0
}

// single returns the bar with more than 90 % of the hosts where no other has
// more than 5 %, else 0.
func (h *histogram) single(hosts int) int {
	tall, other := 0, 0
	for hop, c := range h {
		if int(c)*10 > hosts*9 {
			tall = hop
		} else if int(c)*20 > hosts {
			other++
		}
	}
	if other > 0 {
		return 0
	}
	return tall
}

// DetectRoots finds the top switches of a tree by the distances of hosts from each switch: from a
// root all are equally far, from any other most are farther than the nearest ones (2005 memo,
// §4.1). The memo gives no numbers. As OpenSM does (osm_ucast_updn.c), we take a switch with more
// than 90 % of the hosts at one distance and no more than 5 % at any other.
//
// Dead cables move hosts to other distances, so two rules are ours. If such switches differ in that
// distance, the least counts: from a leaf switch without hosts, all are equally far too. And a
// switch is a root when its nearest host is at that distance. If no switch passes, the roots are
// those whose nearest host is the farthest, and they must make a tree: every cable between switches
// joins two neighbouring levels.
func DetectRoots(n *Network) ([]Node, error) {
	g := n.neighbours()
	hist := g.histograms(n)
	hosts := lists.Sum(n.leafHosts(g), func(count int32) int { return int(count) })
	if hosts == 0 {
		return nil, errors.New("roots: no host has a cable")
	}
	top, sure := rootHeight(hist, hosts)
	var roots []Node
	for i := range hist {
		if hist[i].nearest() == top || sure && hist[i].single(hosts) == top {
			roots = append(roots, n.Switch(i))
		}
	}
	if sure {
		return roots, nil
	}
	level := append(make([]int, n.Hosts()), g.levels(n, n.indices(roots))...)
	if odd := n.NotLayered(level); len(odd) > 0 {
		c := odd[0]
		return nil, fmt.Errorf("roots: not a tree: %s on level %d is joined to %s on level %d, counting from the %d switches farthest from hosts, such as %s; name the roots",
			n.EndName(c.A), level[c.A.Node], n.EndName(c.B), level[c.B.Node], len(roots), n.info[roots[0]].Name)
	}
	return roots, nil
}

// rootHeight returns the distance of hosts from a root, and whether the histograms alone determine
// it.
func rootHeight(hist []histogram, hosts int) (height int, sure bool) {
	single, farthest := bars, 0
	for i := range hist {
		if h := hist[i].single(hosts); h > 0 {
			single = min(single, h)
		}
		farthest = max(farthest, hist[i].nearest())
	}
	if single < bars {
		return single, true
	}
	return farthest, false
}
