package closed

import (
	"fmt"
	"math/rand/v2"

	"evbench/site/lft"
	"evbench/site/network"
)

// A walk is what becomes of all routes from switches with hosts to hosts' LIDs.
type walk struct {
	Routes int // followed
	Lost   int // ended at a switch without an entry
	Looped int // came back, or left by a port without a cable, or to a wrong host
	UpDown int // went up again after going down, or along a rank
	hops   int // cables between switches, of all that arrived
	first  string
}

// String names the first bad route.
func (w walk) String() string {
	return fmt.Sprintf("%d routes, %d lost, %d looped, %d down and up, %d hops %s", w.Routes, w.Lost, w.Looped, w.UpDown, w.hops, w.first)
}

// walkAll follows the route from each switch with hosts to each LID of each host that
// has a cable. Ranks are by node.
func walkAll(t *lft.Tables, rank []int) walk {
	n := t.Net
	var w walk
	leaf := map[network.Node]bool{}
	for h := range network.Node(n.Hosts()) {
		if s := n.Leaf(h).Node; s != network.NoNode && !n.IsHost(s) {
			leaf[s] = true
		}
	}
	for h := range network.Node(n.Hosts()) {
		if s := n.Leaf(h).Node; s == network.NoNode || n.IsHost(s) || n.Info(h).LID == 0 {
			continue
		}
		for s := range leaf {
			for x := range 1 << n.Info(h).LMC {
				w.follow(t, s, h, int(n.Info(h).LID)+x, rank)
			}
		}
	}
	return w
}

func (w *walk) follow(t *lft.Tables, s, host network.Node, lid int, rank []int) {
	w.Routes++
	from, down, bent, hops := s, false, false, 0
	for {
		port := t.Port(s, lid)
		if port == lft.NoPort {
			w.Lost++
			return
		}
		next := t.Net.At(s, int(port)).Node
		if next == host {
			break
		}
		if next == network.NoNode || t.Net.IsHost(next) || hops > t.Net.Switches() {
			w.Looped++
			w.first = fmt.Sprintf("(from %s to %s)", t.Net.Info(from).Name, t.Net.Info(host).Name)
			return
		}
		bent = bent || rank[next] == rank[s] || down && rank[next] > rank[s]
		down = down || rank[next] < rank[s]
		s = next
		hops++
	}
	w.hops += hops
	if bent {
		w.UpDown++
	}
}

// shiftLoad returns the most paths that one cable carries in one direction when each
// host i sends to the x-th LID of host i + by mod N, or an error for a lost path.
func shiftLoad(t *lft.Tables, by, x int) (int, error) {
	n := t.Net
	load := make([]uint32, n.Switches()*256)
	most := uint32(0)
	for i := range n.Hosts() {
		to := network.Node((i + by) % n.Hosts())
		s, hops := n.Leaf(network.Node(i)).Node, 0
		for !n.IsHost(s) {
			port := t.Port(s, int(n.Info(to).LID)+x)
			next := n.At(s, int(port)).Node
			if next == network.NoNode || hops > 100 {
				return 0, fmt.Errorf("shift by %d: h%d does not reach h%d", by, i, to)
			}
			c := &load[n.Index(s)*256+int(port)]
			*c++
			most = max(most, *c)
			s = next
			hops++
		}
		if s != to {
			return 0, fmt.Errorf("shift by %d: h%d reaches h%d, not h%d", by, i, s, to)
		}
	}
	return int(most), nil
}

// allShifts returns the most paths that one cable carries in one direction in any
// shift of all hosts, as Shift does for one. Each path from a leaf is walked once:
// its hosts lo..hi-1 send to host d in the shifts d-hi+1..d-lo, which are added to
// every port of the path at once. O(hosts · leaves · hops + switches · hosts).
func allShifts(t *lft.Tables) (int, error) {
	n, hosts := t.Net, t.Net.Hosts()
	change := map[network.End][]int32{} // by port and shift, of the number of paths
	for lo, hi := 0, 0; lo < hosts; lo = hi {
		leaf := n.Leaf(network.Node(lo)).Node
		for hi < hosts && n.Leaf(network.Node(hi)).Node == leaf {
			hi++
		}
		for d := range hosts {
			path, err := pathOf(t, leaf, network.Node(d))
			if err != nil {
				return 0, err
			}
			for _, at := range path {
				if change[at] == nil {
					change[at] = make([]int32, 2*hosts+1)
				}
				change[at][d-hi+1+hosts]++
				change[at][d-lo+1+hosts]--
			}
		}
	}
	most := int32(0)
	for _, c := range change {
		load, paths := make([]int32, hosts), int32(0)
		for by := range 2 * hosts { // from -hosts on
			paths += c[by]
			load[by%hosts] += paths
			most = max(most, load[by%hosts])
		}
	}
	return int(most), nil
}

// pathOf returns the ports on the way from a leaf to the first LID of a host.
func pathOf(t *lft.Tables, s, host network.Node) ([]network.End, error) {
	from, lid := s, int(t.Net.Info(host).LID)
	var path []network.End
	for s != host {
		port := t.Port(s, lid)
		next := t.Net.At(s, int(port)).Node
		if next == network.NoNode || t.Net.IsHost(next) && next != host || len(path) > 100 {
			return nil, fmt.Errorf("from %s to %s: lost at %s", t.Net.Info(from).Name, t.Net.Info(host).Name, t.Net.Info(s).Name)
		}
		path = append(path, network.End{Node: s, Port: port})
		s = next
	}
	return path, nil
}

// mostOfShifts is allShifts where hosts are few, else the most of a sample.
func mostOfShifts(t *lft.Tables) (int, error) {
	n := t.Net.Hosts()
	if n <= 1000 {
		return allShifts(t)
	}
	rng := rand.New(rand.NewPCG(uint64(n), 0))
	most := 0
	for _, by := range []int{1, n / 2, n - 1, rng.IntN(n), rng.IntN(n), rng.IntN(n), rng.IntN(n), rng.IntN(n), rng.IntN(n), rng.IntN(n), rng.IntN(n), rng.IntN(n)} {
		load, err := shiftLoad(t, by, 0)
		if err != nil {
			return 0, err
		}
		most = max(most, load)
	}
	return most, nil
}

// without returns the network without the cables for which dead says so and, with
// info, with other names, GUIDs and LIDs.
func without(n *network.Network, info func(v network.Node, i network.Info) network.Info, dead func(a, b network.End) bool) *network.Network {
	var gone []network.Cable
	for _, c := range n.Cables() {
		if c.A.Node != c.B.Node && dead(c.A, c.B) {
			gone = append(gone, c)
		}
	}
	out := n.Without(gone, nil)
	if info == nil {
		return out
	}
	names := make([]network.Info, n.Nodes())
	for v := range names {
		names[v] = info(network.Node(v), n.Info(network.Node(v)))
	}
	return out.WithInfo(names)
}

// degrade takes away a share of the cables between switches.
func degrade(n *network.Network, rng *rand.Rand, share float64) *network.Network {
	if share == 0 {
		return n
	}
	return without(n, nil, func(a, _ network.End) bool { return !n.IsHost(a.Node) && rng.Float64() < share })
}
