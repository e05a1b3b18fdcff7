package lft_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

// A pair is what the slow second versions below know of the route between two
// hosts.
type pair struct {
	ports []network.End
	fault lft.Fault
}

// trace follows a route and remembers every switch.
func trace(t *lft.Tables, src network.Node, lid int, dst network.Node) pair {
	n := t.Net
	if n.Leaf(src).Node == network.NoNode || n.Leaf(dst).Node == network.NoNode {
		return pair{nil, lft.NoCable}
	}
	var p pair
	seen := map[network.Node]bool{}
	at := n.Leaf(src).Node
	for !n.IsHost(at) {
		if seen[at] {
			p.fault = lft.Loop
			return p
		}
		seen[at] = true
		port := t.Port(at, lid)
		e := n.At(at, int(port))
		p.ports = append(p.ports, network.End{Node: at, Port: port})
		switch {
		case port == lft.NoPort:
			p.fault = lft.NoEntry
			return p
		case port == 0:
			p.fault = lft.WrongHost
			return p
		case e.Node == network.NoNode:
			p.fault = lft.DeadPort
			return p
		}
		at = e.Node
	}
	if at != dst {
		p.fault = lft.WrongHost
	}
	return p
}

// up is the rule of OpenSM's updn for a step between switches.
func up(n *network.Network, ranks []int, from, to network.Node) bool {
	if ranks[from] != ranks[to] {
		return ranks[to] > ranks[from]
	}
	return n.Info(from).GUID > n.Info(to).GUID
}

// slowly counts what Check counts, pair by pair.
func slowly(t *lft.Tables, ranks []int) *lft.Report {
	n := t.Net
	r := &lft.Report{Engine: t.Engine, Network: n.Notation, Hosts: n.Hosts(), Switches: n.Switches(), Ranked: true, Hops: []int64{}}
	for dst := range network.Node(n.Hosts()) {
		for k := range 1 << n.Info(dst).LMC {
			r.LIDs++
			for src := range network.Node(n.Hosts()) {
				if src != dst {
					r.Pairs++
					one(r, t, ranks, trace(t, src, int(n.Info(dst).LID)+k, dst))
				}
			}
			entries(r, t, int(n.Info(dst).LID)+k)
		}
	}
	r.Unreachable = r.NoEntry + r.DeadPorts + r.Loops + r.WrongHost + r.NoCable
	r.Reached = r.Pairs - r.Unreachable
	return r
}

func one(r *lft.Report, t *lft.Tables, ranks []int, p pair) {
	switch p.fault {
	case lft.NoEntry:
		r.NoEntry++
	case lft.DeadPort:
		r.DeadPorts++
	case lft.Loop:
		r.Loops++
	case lft.WrongHost:
		r.WrongHost++
	case lft.NoCable:
		r.NoCable++
	default:
		for len(r.Hops) <= len(p.ports) {
			r.Hops = append(r.Hops, 0)
		}
		r.Hops[len(p.ports)]++
		down := false
		for i := range len(p.ports) - 1 {
			isUp := up(t.Net, ranks, p.ports[i].Node, p.ports[i+1].Node)
			if isUp && down {
				r.UpAfterDown++
				return
			}
			down = down || !isUp
		}
	}
}

func entries(r *lft.Report, t *lft.Tables, lid int) {
	for i := range t.Net.Switches() {
		s := t.Net.Switch(i)
		if !slices.ContainsFunc(t.Net.Ends(s), func(e network.End) bool { return e.Node != network.NoNode }) {
			continue
		}
		switch p := t.Port(s, lid); {
		case p == lft.NoPort:
			r.MissingEntries++
		case t.Net.At(s, int(p)).Node == network.NoNode:
			r.DeadEntries++
		}
	}
}

// cyclic looks for a cycle in the dependencies of a lane by taking away channels
// that wait for nothing.
func cyclic(t *lft.Tables, lane int) bool {
	n := t.Net
	after := map[network.End]map[network.End]bool{}
	for src := range network.Node(n.Hosts()) {
		for dst := range network.Node(n.Hosts()) {
			for k := range 1 << n.Info(dst).LMC {
				lid := int(n.Info(dst).LID) + k
				leaf := n.Leaf(src).Node
				if src == dst || leaf == network.NoNode || t.Lane(leaf, lid) != lane {
					continue
				}
				p := trace(t, src, lid, dst)
				ports := p.ports
				if p.fault == lft.Loop {
					ports = append(ports, loopEnd(t, ports, lid))
				}
				for i := range len(ports) - 1 {
					if next := n.At(ports[i+1].Node, int(ports[i+1].Port)).Node; next == network.NoNode || n.IsHost(next) {
						break
					}
					if after[ports[i]] == nil {
						after[ports[i]] = map[network.End]bool{}
					}
					after[ports[i]][ports[i+1]] = true
				}
			}
		}
	}
	for again := true; again; {
		again = false
		for c, next := range after {
			for d := range next {
				if len(after[d]) == 0 {
					delete(next, d)
				}
			}
			if len(next) == 0 {
				delete(after, c)
				again = true
			}
		}
	}
	return len(after) > 0
}

// loopEnd returns the first port of a loop again.
func loopEnd(t *lft.Tables, ports []network.End, lid int) network.End {
	last := ports[len(ports)-1]
	s := t.Net.At(last.Node, int(last.Port)).Node
	return network.End{Node: s, Port: t.Port(s, lid)}
}

// arbitrary returns tables that mostly lead to the destination, and some that
// do not: each switch takes a port on a shortest way, or now and then any.
func arbitrary(n *network.Network, rng *rand.Rand, wrong float64) *lft.Tables {
	t := lft.New("arbitrary", n)
	for dst := range network.Node(n.Hosts()) {
		leaf := n.Leaf(dst)
		if leaf.Node == network.NoNode {
			continue
		}
		dist := n.Distances(leaf.Node)
		for k := range 1 << n.Info(dst).LMC {
			lid := int(n.Info(dst).LID) + k
			for i := range n.Switches() {
				t.Row(i)[lid] = somePort(n, rng, i, dist, leaf, wrong)
			}
		}
	}
	return t
}

func somePort(n *network.Network, rng *rand.Rand, i int, dist []int, leaf network.End, wrong float64) uint8 {
	s := n.Switch(i)
	ports := len(n.Ends(s))
	if rng.Float64() < wrong {
		return [...]uint8{lft.NoPort, 0, uint8(rng.IntN(ports + 3)), uint8(1 + rng.IntN(ports)), uint8(1 + rng.IntN(ports))}[rng.IntN(5)]
	}
	if s == leaf.Node {
		return leaf.Port
	}
	var good []uint8
	for p, e := range n.Ends(s) {
		if e.Node != network.NoNode && !n.IsHost(e.Node) && dist[n.Index(e.Node)] == dist[i]-1 && dist[i] > 0 {
			good = append(good, uint8(p+1))
		}
	}
	if len(good) == 0 {
		return lft.NoPort
	}
	return good[rng.IntN(len(good))]
}

// somewhere is a list of networks, whole and not.
func somewhere(t testing.TB, rng *rand.Rand) *network.Network {
	texts := []string{"FT(2;4,8)", "FT(2;3,5)", "PGFT(3;2,3,3;1,2,3;1,2,1)", "FT(3;2,2,3)", "QFT(3;2,2,3;1,2,2;1,1,1)"}
	n := expect.Value(network.Parse(texts[rng.IntN(len(texts))], rng.IntN(3)))(t)
	all := n.Cables()
	var down []network.Cable
	for range rng.IntN(4) {
		down = append(down, all[rng.IntN(len(all))])
	}
	return n.Without(down, nil)
}

func TestAgainstSlow(t *testing.T) {
	cycles := 0
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 7))
		n := somewhere(t, rng)
		tables := arbitrary(n, rng, []float64{0, 0.002, 0.05}[rng.IntN(3)])
		lanes := 1 + rng.IntN(2)
		for i := range n.Switches() {
			for lid := range tables.LaneRow(i) {
				tables.LaneRow(i)[lid] = uint8(rng.IntN(lanes))
			}
		}
		ranks := make([]int, n.Nodes())
		for v := n.Hosts(); v < n.Nodes(); v++ {
			ranks[v] = 1 + rng.IntN(3)
		}
		want := slowly(tables, ranks)
		got := lft.Check(tables, lft.Options{Ranks: ranks})
		offences := got.Offences
		if got.Offences = nil; !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %+v\nwant %+v", seed, got, want)
		}
		expect.False(t, (len(offences) > 0) != (want.Unreachable > 0 && want.Unreachable > want.NoCable || want.UpAfterDown > 0) && want.NoCable == 0,
			"seed %d: %d offences", seed, len(offences))
		d := lft.Deadlock(tables)
		for lane := range lanes {
			want := cyclic(tables, lane)
			expect.True(t, slices.Contains(d.Cyclic, lane) == want, "seed %d, lane %d: %+v; want %v", seed, lane, d, want)
		}
		if !d.Free() {
			cycles++
			isCycle(t, n, d.Cycle)
		}
	}
	expect.True(t, cycles >= 5, "only %d of the tables have a cycle", cycles)
}

// isCycle checks that each port leads to the switch of the next.
func isCycle(t *testing.T, n *network.Network, cycle []network.End) {
	t.Helper()
	for i, e := range cycle {
		next := cycle[(i+1)%len(cycle)]
		expect.True(t, n.At(e.Node, int(e.Port)).Node == next.Node, "%v does not lead to %v", e, next)
	}
}

// TestLoadsAgainstSlow counts routes pair by pair.
func TestLoadsAgainstSlow(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 8))
		n := somewhere(t, rng)
		tables := arbitrary(n, rng, 0.02)
		want := map[network.End]int64{}
		for src := range network.Node(n.Hosts()) {
			for dst := range network.Node(n.Hosts()) {
				p := trace(tables, src, int(n.Info(dst).LID), dst)
				if src == dst || p.fault != lft.NoFault {
					continue
				}
				for _, e := range p.ports[:len(p.ports)-1] {
					want[e]++
				}
			}
		}
		l := lft.Load(tables)
		most, sum := int64(0), int64(0)
		for _, r := range l.Routes {
			expect.MustTrue(t, r.Routes == want[r.End], "seed %d: %v: %d routes, want %d", seed, r.End, r.Routes, want[r.End])
			most, sum = max(most, r.Routes), sum+r.Routes
		}
		expect.True(t, l.Max == most && l.Cables == 2*len(n.SwitchCables()) && want[l.At] == most && l.Mean == float64(sum)/float64(l.Cables),
			"seed %d: %+v", seed, l)
	}
}

// TestCongestAgainstSlow counts sharing with maps.
func TestCongestAgainstSlow(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 9))
		n := somewhere(t, rng)
		if seed%2 == 1 {
			n = unequal(n, rng)
		}
		tables := arbitrary(n, rng, 0.01)
		for _, p := range []lft.Pattern{lft.Shifts(n.Hosts()), lft.SomeShifts(n.Hosts(), 5, seed), lft.Permutations(5, seed), lft.Bisections(5, seed)} {
			c := lft.Congest(tables, p)
			dst := make([]int32, n.Hosts())
			for k := range p.Phases {
				p.Fill(k, dst)
				want := phase(tables, dst)
				expect.MustTrue(t, c.PerPhase[k] == want, "seed %d, %s, phase %d: %+v, want %+v", seed, p.Name, k, c.PerPhase[k], want)
			}
		}
	}
}

// unequal gives hosts 1e9 bit/s, and the cables of switches up to four times that, one of them a half.
func unequal(n *network.Network, rng *rand.Rand) *network.Network {
	rates := map[network.End]float64{}
	for v := range network.Node(n.Hosts()) {
		rates[network.End{Node: v, Port: 1}] = 1e9
	}
	for i, c := range n.SwitchCables() {
		if rates[c.A] = []float64{1e9, 2e9, 2e9, 4e9}[rng.IntN(4)]; i == 1 {
			rates[c.A] = 0.5e9
		}
	}
	return n.WithRates(rates)
}

func phase(t *lft.Tables, dst []int32) lft.Phase {
	sharing := map[network.End]int{}
	var routes [][]network.End
	out := lft.Phase{Max: 1, Time: 1, Mean: 1, MeanThroughput: 1, LeastThroughput: 1}
	time := func(e network.End) float64 { // hosts have 1e9 bit/s where there are rates
		if r := t.Net.Rate(e); r > 0 {
			return float64(sharing[e]) / (r / 1e9)
		}
		return float64(sharing[e])
	}
	total := 0
	for src, d := range dst {
		if d < 0 {
			continue
		}
		p := trace(t, network.Node(src), int(t.Net.Info(network.Node(d)).LID), network.Node(d))
		if p.fault != lft.NoFault {
			out.Unreachable++
			continue
		}
		between := p.ports[:len(p.ports)-1]
		for _, e := range between {
			sharing[e]++
			out.Max = max(out.Max, sharing[e])
			total++
		}
		routes = append(routes, between)
	}
	for e := range sharing {
		out.Time = max(out.Time, time(e))
	}
	if len(sharing) > 0 {
		out.Mean = float64(total) / float64(len(sharing))
	}
	sum := 0.0
	for _, r := range routes {
		most := 1.0
		for _, e := range r {
			most = max(most, time(e))
		}
		sum += 1 / most
		out.LeastThroughput = min(out.LeastThroughput, 1/most)
	}
	if len(routes) > 0 {
		out.MeanThroughput = sum / float64(len(routes))
	}
	return out
}
