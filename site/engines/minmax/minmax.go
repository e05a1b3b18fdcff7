// Package minmax answers: which routes make the fullest link of an all-to-all exchange carry as few
// messages as possible, in a network of any shape?
//
// Each LID has one next port at a switch, as forwarding tables have; a host has one LID, or several that senders
// share by their path bits. The least largest load of routes that may be split is a linear program
// (minimum-maximum multicommodity flow); Bound proves a
// lower bound of it by weights of links, New chooses trees by the same kind of weights: the tree of
// each destination in turn is taken out and replaced by the shortest one, where a link is the longer the
// fuller it is (the exponential potential of Plotkin, Shmoys and Tardos, 1995). Routes may be longer than
// the shortest and may deadlock; package opensm gives them virtual lanes. UpDown takes routes that go up first and then
// down, which need none.
package minmax

import (
	"math"
	"math/rand/v2"
	"slices"

	"evbench/internal/heap"
	"evbench/internal/lists"
	"evbench/scheduler"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/topology"
)

// A graph is the switches and the directed links between them.
type graph struct {
	net   *network.Network
	from  []int32 // of each link: the switch that sends
	to    []int32
	port  []uint8 // by which it sends
	room  []float64
	into  [][]int32 // links by the switch that they lead to
	out   [][]int32 // and that they leave
	hosts []int     // on each switch, that send
	up    []bool    // whether a link goes up, for routes that go up and then down; nil: all routes
}

func newGraph(n *network.Network) *graph {
	g := &graph{net: n, into: make([][]int32, n.Switches()), out: make([][]int32, n.Switches()), hosts: make([]int, n.Switches())}
	capacity := n.Capacities()
	for i := range n.Switches() {
		s := n.Switch(i)
		g.hosts[i] = n.HostCount(s)
		for p, far := range n.Ends(s) {
			if far.Node == network.NoNode || n.IsHost(far.Node) || far.Node == s {
				continue
			}
			at := network.End{Node: s, Port: uint8(p + 1)}
			room := 1.0
			if capacity != nil {
				room = capacity(at)
			}
			j := n.Index(far.Node)
			g.into[j], g.out[i] = append(g.into[j], int32(len(g.from))), append(g.out[i], int32(len(g.from)))
			g.from, g.to, g.port, g.room = append(g.from, int32(i)), append(g.to, int32(j)), append(g.port, at.Port), append(g.room, room)
		}
	}
	return g
}

// A search finds the shortest tree of links towards a switch.
type search struct {
	*graph
	length []float64 // of links
	dist   []float64 // of switches to the root
	next   []int32   // their links on the way, -1: none
	order  []int32   // switches that reach the root, each after the next on its way
	done   []bool
	heap   heap.Heap[reached]
}

type reached struct {
	dist float64
	sw   int32
}

func (a reached) Before(b reached) bool { return a.dist < b.dist || a.dist == b.dist && a.sw < b.sw }

func (g *graph) search() *search {
	n := len(g.into)
	return &search{graph: g, length: make([]float64, len(g.from)), dist: make([]float64, n), next: make([]int32, n), done: make([]bool, n)}
}

// towards sets dist, next and order (Dijkstra). Switches that reach the root on links down alone do, where links have
// directions; the others go up to one of these first. O(links · log switches).
func (s *search) towards(root int) {
	for i := range s.dist {
		s.dist[i], s.next[i], s.done[i] = math.Inf(1), -1, false
	}
	s.dist[root], s.order = 0, s.order[:0]
	s.heap = append(s.heap[:0], reached{0, int32(root)})
	s.grow(false)
	if s.up == nil {
		return
	}
	for _, at := range s.order {
		s.extend(at, true)
	}
	s.grow(true)
}

// grow takes in the switches of the heap, and those behind them over links of one direction.
func (s *search) grow(up bool) {
	for len(s.heap) > 0 {
		at := s.heap[0].sw
		s.heap.Pop()
		if !s.done[at] {
			s.done[at] = true
			s.order = append(s.order, at)
			s.extend(at, up)
		}
	}
}

func (s *search) extend(at int32, up bool) {
	for _, l := range s.into[at] {
		if d, v := s.dist[at]+s.length[l], s.from[l]; d < s.dist[v] && !s.done[v] && (s.up == nil || s.up[l] == up) {
			s.dist[v], s.next[v] = d, l
			s.heap.Push(reached{d, v})
		}
	}
}

// flow adds the messages from hosts, so many on each switch, to a host on root to the loads of the links of a tree,
// times by. below is memory.
func (g *graph) flow(next, order []int32, hosts []int, root int, load, below []float64, by float64) {
	for _, v := range order {
		below[v] = float64(hosts[v])
	}
	for i := len(order) - 1; i > 0; i-- {
		v := order[i]
		l := next[v]
		load[l] += by * below[v]
		below[g.to[l]] += below[v]
	}
}

// rounds are those of Bound.
const rounds = 800

// Bound returns a number of messages that the fullest link of every routing carries at least, over the
// messages that it carries at once, also of one that splits messages (scheduler.Prove), whose lengths of links are weights.
// O(rounds · switches · links · log).
func Bound(n *network.Network) float64 { return bound(n, nil, nil, rounds) }

// bound is Bound for messages from some hosts to some, nil meaning all.
func bound(n *network.Network, from, to []network.Node, rounds int) float64 {
	g := newGraph(n)
	count := func(hosts []network.Node) []int {
		if hosts == nil {
			return slices.Clone(g.hosts)
		}
		on := make([]int, len(g.hosts))
		for _, h := range hosts {
			if at := n.Leaf(h).Node; at != network.NoNode {
				on[n.Index(at)]++
			}
		}
		return on
	}
	var sinks []int
	sinks, g.hosts = count(to), count(from)
	s, below := g.search(), make([]float64, len(g.into))
	return scheduler.Prove(g.room, rounds, func(length, load []float64) (sum float64) {
		s.length = length
		for root, hosts := range sinks {
			if hosts == 0 {
				continue
			}
			s.towards(root)
			for _, v := range s.order {
				sum += s.dist[v] * float64(g.hosts[v]*hosts)
			}
			g.flow(s.next, s.order, g.hosts, root, load, below, float64(hosts))
		}
		return sum
	}).Time
}

// maxWork bounds the time of Between, some seconds: switches with hosts times links between switches.
const maxWork = 200_000

// OfTree is the bound of messages between the servers of a tree over the live cables of its network; 0
// where that takes long.
func OfTree(p *network.Places, t *topology.Tree) float64 {
	var from, to []network.Node
	for rank, h := range p.Host {
		if t.Reads(rank) {
			from = append(from, h)
		}
		if t.Builds(rank) {
			to = append(to, h)
		}
	}
	return Between(p.Network().Without(p.Cables(t.Dead()), nil), from, to)
}

// Between is Bound for messages from some hosts to some; 0 where that takes long.
func Between(n *network.Network, from, to []network.Node) float64 {
	work := 1 + len(n.SwitchCables())*n.Switches()
	if work > maxWork {
		return 0
	}
	return bound(n, from, to, min(20*rounds, max(1, maxWork/work)*rounds))
}

// The sharpness of the potential in the passes of Route, and then in its sweeps: as an exponent, how much
// longer a link with the load of the bound is than an empty one. It rises, so that routes settle.
var (
	coarse = []float64{2, 4, 8, 16, 32}
	fine   = []float64{8, 16, 32, 64, 128, 256}
)

// Passes over all destinations with one sharpness, and sweeps at most.
const (
	passes = 8
	sweeps = 10
)

// restarts is how much work small networks repeat, with destinations in another order: destinations times links.
const restarts = 20_000

// Sweeps of annealing: at most so many, of so much work in all, destinations times links, and none where these are
// fewer; their sharpness, and the rise of the potential that one accepts with probability 1/e, first and last.
const (
	annealed   = 1000
	annealWork = 40_000_000
	fewest     = 40
	annealAt   = 24
	hot, cold  = 1, 0.001
)

// Load is the largest load of the links between switches, over what its link carries at once, what no routing
// goes below, and what no tables do, by which the messages of a switch to a LID stay together.
type Load struct{ Most, Bound, Whole float64 }

// whole is the bound of tables: the load of a link is a sum of hosts on switches that send to one LID, thus a multiple
// of the unit that divides all these numbers. So a link has at least the bound, and the links of each switch have room
// for what its hosts send and receive, in whole units.
func (g *graph) whole(bound float64, to []*destination) float64 {
	unit := 0
	for _, d := range to {
		for _, hosts := range d.from {
			unit = gcd(unit, hosts)
		}
	}
	if unit == 0 || len(g.room) == 0 {
		return bound
	}
	s, demand := g.search(), make([]int, len(g.hosts))
	for v, hosts := range g.hosts {
		s.towards(v)
		for _, w := range s.order {
			if int(w) != v {
				demand[v] += hosts * g.hosts[w]
			}
		}
	}
	units := func(most float64, l int32) float64 {
		return math.Floor(most*g.room[l]/float64(unit)*(1+1e-9)) * float64(unit)
	}
	fits := func(most float64) bool {
		for v := range demand {
			for _, links := range [][]int32{g.out[v], g.into[v]} {
				sum := lists.Sum(links, func(l int32) float64 { return units(most, l) })
				if sum < float64(demand[v]) {
					return false
				}
			}
		}
		return true
	}
	for most := bound * (1 - 1e-9); ; { // the loads that a link may have, one after the other
		next := math.Inf(1)
		for l, room := range g.room {
			x := units(most, int32(l)) / room
			if x < most {
				x += float64(unit) / room
			}
			next = min(next, x)
		}
		if fits(next) {
			return next
		}
		most = next * (1 + 1e-6)
	}
}

// An Exchange is an all-to-all exchange in a network, with its bounds and the trees that searches found.
type Exchange struct {
	*graph
	bits            []uint8
	to              []*destination
	load            Load // the bounds
	last            *router
	plain, annealed trees
}

// trees are the links of switches by destination, and the load of the fullest link.
type trees struct {
	next [][]int32
	most float64
}

// New finds trees for all hosts. With path bits of hosts (network.PathBits) each LID of a host has routes of its own,
// for those that send to it; without, nil, all have the same. Passes give whole trees anew, sweeps single switches
// another next link, and annealing does so at random. O(hosts · links · log) a pass.
func New(n *network.Network, bits []uint8) *Exchange {
	x := &Exchange{graph: newGraph(n), bits: bits, load: Load{Bound: Bound(n)}}
	x.to = x.destinations(bits)
	x.load.Whole = x.whole(x.load.Bound, x.to)
	x.find()
	return x
}

func (x *Exchange) find() {
	bound, best := max(x.load.Bound, 1), trees{most: math.Inf(1)}
	told := func(r *router) {
		if most := r.fullest(r.load); most < best.most*(1-1e-9) {
			best = trees{r.trees(), most}
		}
	}
	first, above := x.router(x.to, 0), func() bool { return best.most > x.load.Whole*(1+1e-9) }
	first.run(bound, told)
	x.last = first
	for try := 1; above() && try <= restarts/(1+len(x.to)*len(x.from)); try++ {
		x.last = x.router(x.to, try)
		x.last.run(bound, told)
	}
	if x.plain = best; above() {
		first.anneal(bound, told)
	}
	x.annealed = best
}

// Route returns tables with entries for all hosts and switches. Pairs that no path joins have no entry. Annealed ones
// may need more virtual lanes.
func (x *Exchange) Route(annealed bool) (*lft.Tables, Load) {
	if annealed {
		return x.tables(x.annealed)
	}
	return x.tables(x.plain)
}

// UpDown is Route with routes that go up towards the nearest of some switches, the roots, and then down, as OpenSM's
// updn: they cannot deadlock, on one lane. Among switches equally far from roots those of a lower number are above.
// Without roots they are the top switches of a tree, or the switch with the least sum of distances; in parts that they
// do not reach this one in any case.
func (x *Exchange) UpDown(roots []network.Node) (*lft.Tables, Load) {
	n := x.net
	if len(roots) == 0 {
		roots, _ = network.DetectRoots(n) // nil: no tree
	}
	for {
		central, least := network.NoNode, 0
		for i, far := range n.Distances(roots...) {
			if far >= 0 || n.HostCount(n.Switch(i)) == 0 {
				continue
			}
			sum := lists.Sum(n.Distances(n.Switch(i)), func(d int) int { return max(d, 0) })
			if central == network.NoNode || sum < least {
				central, least = n.Switch(i), sum
			}
		}
		if central == network.NoNode {
			break
		}
		roots = append(slices.Clone(roots), central)
	}
	g, far := *x.graph, n.Distances(roots...)
	g.up = make([]bool, len(g.from))
	for l := range g.up {
		from, to := g.from[l], g.to[l]
		g.up[l] = far[to] < far[from] || far[to] == far[from] && to < from
	}
	directed := &Exchange{graph: &g, bits: x.bits, to: x.to, load: x.load}
	directed.find()
	return directed.Route(true)
}

func (x *Exchange) tables(best trees) (*lft.Tables, Load) {
	n, load := x.net, x.load
	load.Most = best.most
	t := lft.New("minmax", n)
	t.Bits = x.bits
	for i, d := range x.to {
		for lid := d.lid; lid < d.lid+d.lids; lid++ {
			write(t, x.graph, best.next[i], d.root, lid, n.Leaf(d.host).Port)
		}
	}
	for i := range n.Switches() {
		if lid := int(n.Info(n.Switch(i)).LID); lid > 0 {
			x.last.towards(i)
			write(t, x.graph, x.last.next, i, lid, 0)
		}
	}
	return t, load
}

func write(t *lft.Tables, g *graph, next []int32, root, lid int, last uint8) {
	for v, l := range next {
		if l >= 0 {
			t.Row(v)[lid] = g.port[l]
		}
	}
	t.Row(root)[lid] = last
}

// run gives all destinations trees, and improves them; told after each pass.
func (r *router) run(bound float64, told func(*router)) {
	for _, sharp := range coarse {
		for range passes {
			r.pass(sharp, bound)
			told(r)
		}
	}
	r.settle(bound, told)
}

// anneal sweeps so that the potential may rise, the less the later (Kirkpatrick, Gelatt and Vecchi 1983).
func (r *router) anneal(bound float64, told func(*router)) {
	n := min(annealed, annealWork/(1+len(r.dests)*len(r.from)))
	if n < fewest {
		return
	}
	for k := range n {
		r.sweep(annealAt, bound, hot*math.Pow(cold/hot, float64(k)/float64(n)))
		told(r)
	}
	r.settle(bound, told)
}

// settle sweeps until nothing moves.
func (r *router) settle(bound float64, told func(*router)) {
	for _, sharp := range fine {
		for range sweeps {
			moved := r.sweep(sharp, bound, 0)
			told(r)
			if !moved {
				break
			}
		}
	}
}

// A destination is LIDs of a host that have the same routes.
type destination struct {
	host      network.Node
	root      int // its switch
	lid, lids int
	from      []int // hosts on each switch that send to it
}

// destinations are those of all hosts with a cable, one for each host, or for each of its LIDs.
func (g *graph) destinations(bits []uint8) (out []*destination) {
	n, share := g.net, map[[2]int][]int{} // hosts on each switch that choose this one of so many LIDs
	for h := range network.Node(n.Hosts()) {
		if n.Leaf(h).Node == network.NoNode {
			continue
		}
		all := destination{h, n.Index(n.Leaf(h).Node), int(n.Info(h).LID), n.LIDs(h), g.hosts}
		if bits == nil || all.lids < 2 {
			out = append(out, &all)
			continue
		}
		for k := range all.lids {
			from := share[[2]int{k, all.lids}]
			if from == nil {
				from = make([]int, len(g.hosts))
				for s := range network.Node(n.Hosts()) {
					if at := n.Leaf(s).Node; at != network.NoNode && int(bits[s])&(all.lids-1) == k {
						from[n.Index(at)]++
					}
				}
				share[[2]int{k, all.lids}] = from
			}
			out = append(out, &destination{h, all.root, all.lid + k, 1, from})
		}
	}
	return out
}

// A router holds a tree for each destination.
type router struct {
	*search
	load  []float64
	below []float64
	dests []*destination
	turn  []int     // destinations in the order in which they get trees
	tree  [][]int32 // by destination: the link of each switch; nil: none yet
	order [][]int32
	rng   *rand.Rand

	sharp, bound float64
	kind         []int32     // of each link: those of one room
	costs        [][]float64 // by kind, and by messages, as far as known: see cost; nil: not kept
}

// How many costs a router keeps, and of how many kinds of links.
const keptCosts, keptKinds = 1 << 13, 64

// router takes destinations in one of many orders, those of a switch apart from each other in the first.
func (g *graph) router(to []*destination, try int) *router {
	r := &router{search: g.search(), load: make([]float64, len(g.from)), below: make([]float64, len(g.into)), dests: to, tree: make([][]int32, len(to)), order: make([][]int32, len(to)), rng: rand.New(rand.NewPCG(1, 1))}
	stride := len(to)/2 + 1 + try
	for gcd(stride, len(to)) > 1 {
		stride++
	}
	r.turn = lists.Tabulate(len(to), func(i int) int { return i * stride % len(to) })
	kinds := map[float64]int32{}
	for _, room := range g.room {
		k, is := kinds[room]
		if !is {
			k = int32(len(kinds))
			kinds[room] = k
			r.costs = append(r.costs, nil)
			if k < keptKinds {
				r.costs[k] = make([]float64, keptCosts)
			}
		}
		r.kind = append(r.kind, k)
	}
	return r
}

// fullest is the largest of loads of links, over what its link carries at once.
func (g *graph) fullest(load []float64) (most float64) {
	for l, x := range load {
		most = max(most, x/g.room[l])
	}
	return most
}

func (r *router) trees() [][]int32 {
	return lists.Map(r.tree, func(t []int32) []int32 { return append([]int32(nil), t...) })
}

// long is the length of a link: little more than its share of a hop where it is empty.
func (r *router) long(l int32, sharp, bound float64) float64 {
	return (0.003 + math.Exp(min(sharp*(r.load[l]/r.room[l]/bound-1), 100))) / r.room[l]
}

// pass gives each destination a new tree.
func (r *router) pass(sharp, bound float64) {
	for l := range r.length {
		r.length[l] = r.long(int32(l), sharp, bound)
	}
	for _, i := range r.turn {
		d := r.dests[i]
		if r.tree[i] != nil {
			r.flow(r.tree[i], r.order[i], d.from, d.root, r.load, r.below, -1)
			r.changed(r.tree[i], sharp, bound)
		}
		r.towards(d.root)
		r.tree[i], r.order[i] = append(r.tree[i][:0], r.next...), append(r.order[i][:0], r.search.order...)
		r.flow(r.tree[i], r.order[i], d.from, d.root, r.load, r.below, 1)
		r.changed(r.tree[i], sharp, bound)
	}
}

// changed works out the lengths of the links of a tree.
func (r *router) changed(tree []int32, sharp, bound float64) {
	for _, l := range tree {
		if l >= 0 {
			r.length[l] = r.long(l, sharp, bound)
		}
	}
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// sweep gives switches another next link towards a destination, the best, where that lowers the potential of all
// links, and reports whether any has moved. With a temperature it looks at one link, drawn at random, and may accept a
// rise.
func (r *router) sweep(sharp, bound, temperature float64) (moved bool) {
	r.sharpen(sharp, bound)
	for d, tree := range r.tree {
		root := int32(r.dests[d].root)
		below, order := r.below, r.order[d]
		for _, v := range order {
			below[v] = float64(r.dests[d].from[v])
		}
		for i := len(order) - 1; i > 0; i-- {
			below[r.to[tree[order[i]]]] += below[order[i]]
		}
		changed := false
		for _, v := range order {
			if v == root || below[v] == 0 {
				continue
			}
			n := below[v]
			// Without v's messages.
			saved := 0.0
			for at := v; at != root; at = r.to[tree[at]] {
				l := tree[at]
				saved += r.cost(l, r.load[l]) - r.cost(l, r.load[l]-n)
				r.load[l] -= n
			}
			best, least := tree[v], math.Inf(1)
			for _, l := range r.tried(v, temperature) {
				if !r.legal(tree, v, l) {
					continue
				}
				extra, at := r.cost(l, r.load[l]+n)-r.cost(l, r.load[l]), r.to[l]
				for ; at != root && at != v && tree[at] >= 0; at = r.to[tree[at]] {
					x := tree[at]
					extra += r.cost(x, r.load[x]+n) - r.cost(x, r.load[x])
				}
				if at == root && (extra < least*(1-1e-9) || extra <= least && l == tree[v]) {
					best, least = l, extra
				}
			}
			if best != tree[v] && (least < saved*(1-1e-6) || temperature > 0 && r.rng.Float64() < math.Exp((saved-least)/temperature)) {
				for at := r.to[tree[v]]; at != root; at = r.to[tree[at]] {
					below[at] -= n
				}
				tree[v], changed = best, true
				for at := r.to[best]; at != root; at = r.to[tree[at]] {
					below[at] += n
				}
			}
			for at := v; at != root; at = r.to[tree[at]] {
				r.load[tree[at]] += n
			}
		}
		if changed {
			moved = true
			r.sort(d, root)
		}
	}
	return moved
}

// sharpen forgets the costs of another potential.
func (r *router) sharpen(sharp, bound float64) {
	if sharp == r.sharp && bound == r.bound {
		return
	}
	r.sharp, r.bound = sharp, bound
	for _, costs := range r.costs {
		clear(costs)
	}
}

// cost is what a link adds to the potential with some load, a number of messages, which is computed once for each.
func (r *router) cost(l int32, load float64) float64 {
	costs, i := r.costs[r.kind[l]], int(load)
	if uint(i) >= uint(len(costs)) || float64(i) != load {
		return r.costOf(l, load)
	}
	if costs[i] == 0 {
		costs[i] = r.costOf(l, load)
	}
	return costs[i]
}

func (r *router) costOf(l int32, load float64) float64 {
	return math.Exp(min(r.sharp*(load/r.room[l]/r.bound-1), 100))
}

// tried are the links by which a switch may send that a sweep looks at.
func (r *router) tried(v int32, temperature float64) []int32 {
	links := r.out[v]
	if temperature > 0 {
		at := r.rng.IntN(len(links))
		links = links[at : at+1]
	}
	return links
}

// legal reports whether a switch of a tree may send by a link: where routes go up and then down, one that sends down to
// a switch that sends down or is the root, one that sends up by another link up.
func (r *router) legal(tree []int32, v, l int32) bool {
	if r.up == nil || r.up[tree[v]] {
		return r.up == nil || r.up[l]
	}
	next := tree[r.to[l]]
	return !r.up[l] && (next < 0 || !r.up[next])
}

// sort orders the switches of a tree, those nearer to the root first.
func (r *router) sort(d int, root int32) {
	tree, order := r.tree[d], r.order[d]
	depth := make([]int, len(tree))
	for _, v := range order {
		for at := v; at != root; at = r.to[tree[at]] {
			depth[v]++
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return depth[a] - depth[b] })
}
