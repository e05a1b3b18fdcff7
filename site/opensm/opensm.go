// Package opensm puts a plan onto InfiniBand through OpenSM, whose routing engine "file" loads
// ready-made forwarding tables.
//
// There is one path from a switch to an address, the LID. A host can have 2^LMC LIDs, so that
// senders choose a path by choosing a LID (thesis 6.7.2). Compute makes and checks the tables,
// Write the files for OpenSM and the application, and a Manager makes a running OpenSM load them.
// Tables that OpenSM would accept silently and lose packets by, such as entries to dead ports, are
// not written.
package opensm

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"evbench/plan"
	"evbench/routing"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/topology"
)

const (
	// Capacity is the default number of entries of a switch's forwarding table: the 48 K unicast
	// LIDs.
	Capacity = 49152
	maxLMC   = 7
)

// Options of Compute.
type Options struct {
	// LMC is the least LMC of hosts; they get a larger one if the plan needs it.
	LMC int
	// ByPath makes LID + p lead through path p wherever that is alive, with an LMC for all paths,
	// as transport rdma sends. Otherwise only the paths of the plan are sure to have LIDs.
	ByPath bool
	// Hosts are those of the ranks, each on its leaf. nil: the first of each leaf, or by name
	// (Match).
	Hosts []network.Node
	// Capacity is the number of entries of a switch's table, LIDs from 0. 0 means Capacity.
	Capacity int
	// Renumber lets hosts get new LIDs if the current ones do not suffice for the plan. OpenSM
	// assigns LIDs when it starts, and running programs then lose their connections.
	Renumber bool
}

// A RenumberError says that hosts would need new LIDs.
type RenumberError struct {
	need, have int
	cables     bool // the plan has one path from a leaf to a server, but several cables
	few        bool // the plan's objective is paths
}

func (e *RenumberError) Error() string {
	if e.need > e.have {
		other := "; or plan with --objective paths"
		if e.few {
			other = ""
		}
		if e.cables {
			other = "; the paths to a host come down by several cables of a spine, which have a LID each"
		}
		return fmt.Sprintf("the plan needs LMC %d and hosts have %d, so ports would get other LIDs when OpenSM is started anew, and what runs would lose its connections"+other, e.need, e.have)
	}
	return fmt.Sprintf("the LIDs of hosts are not aligned to LMC %d, overlap or are missing, so ports would get others when OpenSM is started anew, "+
		"and what runs would lose its connections", e.need)
}

// Routes are a plan as forwarding tables.
type Routes struct {
	Plan   *plan.Plan       // nil: the tables are not from a plan
	Net    *network.Network // with the LIDs of Tables, without the plan's dead cables
	places *network.Places
	Tables *lft.Tables

	before   *network.Network // original network, with its LIDs
	lmc      int              // of every host
	need     int              // the LMC that the plan needs
	kept     bool             // the LIDs are those of the original network
	capacity int

	// paths are those of a destination's LIDs, by leaf, by host and then the LID's offset; none if
	// there is no path.
	paths []uint16
}

const none = 1<<16 - 1

// Compute makes the tables of a plan for a network, and checks them: tables that would lose packets
// are a *RefusedError. It keeps the LIDs of the network if all hosts have enough of them, aligned
// and without overlap; otherwise it assigns new ones, in the order of the nodes. O(servers² +
// leaves · hosts · 2^LMC).
//
// The spines that the servers of a leaf use towards a destination are assigned to its LIDs in
// rising order, so the LMC is the least possible. In three levels those of a pod are, unless each
// leaf has one path and those through a spine share one top switch: then one LID suffices, as over
// parallel cables where those from a spine share the cable down. Otherwise LID + o comes down by
// cable o modulo their number, from any leaf, which may take more LIDs. Remaining LIDs lead through the other live spines, and hosts
// unknown to the plan are routed like those. Switches can be reached too, except spines from spines,
// as with OpenSM's engines for trees, and so can all that has LIDs and is no host.
func Compute(p *plan.Plan, n *network.Network, o Options) (*Routes, error) {
	if err := supported(p); err != nil {
		return nil, err
	}
	if o.LMC < 0 || o.LMC > maxLMC {
		return nil, fmt.Errorf("LMC %d: must be 0..%d", o.LMC, maxLMC)
	}
	places, err := network.MatchPlan(p.Tree, n)
	if errors.Is(err, network.ErrShared) {
		return nil, fmt.Errorf("%w; take those of evbench routes compute -e minmax, and an order over them (evbench plan -e minmax)", err)
	} else if err != nil {
		return nil, err
	}
	if o.Hosts != nil {
		if places, err = places.Take(o.Hosts); err != nil {
			return nil, err
		}
	}
	if err := p.Tree.OneCable("a LID for each path is for trees"); err != nil && o.ByPath {
		return nil, err
	}
	b := newBuilder(p, places, n)
	if b.byPath = o.ByPath; b.byPath {
		o.LMC = max(o.LMC, bits.Len(uint(p.Tree.Paths()-1)))
	}
	if o.LMC > maxLMC {
		return nil, fmt.Errorf("%s has %d paths between leaves, InfiniBand has LIDs for 2^%d at most", p.Tree.Notation(), p.Tree.Paths(), maxLMC)
	}
	r := &Routes{Plan: p, places: places, before: n, need: p.Paths.LMC, capacity: cmp.Or(o.Capacity, Capacity)}
	r.lmc = max(o.LMC, r.need)
	if r.need > maxLMC {
		return nil, fmt.Errorf("the plan needs 2^%d paths from a leaf to a server, InfiniBand has 2^%d at most", r.need, maxLMC)
	}
	if r.Net, r.kept, err = withLIDs(n, r.lmc); err != nil {
		return nil, err
	}
	if !r.kept && !o.Renumber && n.MaxLID() > 0 {
		return nil, cmp.Or(mixed(n), error(&RenumberError{r.lmc, int(n.Info(0).LMC), p.Tree.Cables() > 1 && p.Paths.Most <= 1, p.FewPaths()}))
	}
	r.Net = r.Net.Without(places.Cables(p.Tree.Dead()), nil)
	r.lmc = int(r.Net.Info(0).LMC)
	b.fill(r)
	return r, r.check()
}

// Network returns the network of a plan's tree, with all cables alive and only the servers present,
// for use without a discovered one: its GUIDs are made up.
func Network(t *topology.Shape, lmc int) (*network.Network, error) {
	full, err := network.TreeShape(t).Build(0)
	if err != nil {
		return nil, err
	}
	var b network.Builder
	at := slices.Repeat([]network.Node{network.NoNode}, full.Nodes())
	for r := range t.Servers() {
		h := network.Node(t.Position(r))
		at[h] = b.Host(full.Info(h))
	}
	for i := range full.Switches() {
		s := full.Switch(i)
		at[s] = b.Switch(full.Info(s), len(full.Ends(s)))
	}
	for _, c := range full.Cables() {
		if x := at[c.A.Node]; x != network.NoNode {
			if err := b.Cable(network.End{Node: x, Port: c.A.Port}, network.End{Node: at[c.B.Node], Port: c.B.Port}); err != nil {
				return nil, err
			}
		}
	}
	return b.Build().Numbered(lmc)
}

// OfTables takes tables with one path to a LID that are not from a plan, such as an engine's, and
// checks them as Compute does: every switch with hosts must lead to every host. The network must be
// as OpenSM sees it, with its LIDs.
func OfTables(t *lft.Tables) (*Routes, error) {
	switch lanes := t.Lanes(); {
	case t.Net.Hosts() == 0:
		return nil, errors.New("no hosts")
	case lanes > 1:
		return nil, fmt.Errorf("the routes need %d virtual lanes, and OpenSM's engine file gives them one", lanes)
	case !keep(t.Net, 0):
		return nil, cmp.Or(mixed(t.Net), errors.New("LIDs overlap or are missing"))
	}
	r := &Routes{Net: t.Net, before: t.Net, Tables: t, lmc: int(t.Net.Info(0).LMC), kept: true, capacity: Capacity}
	return r, r.check()
}

func supported(p *plan.Plan) error {
	switch {
	case p.Tree.Paths() >= none:
		return fmt.Errorf("%s: %d paths between leaves are too many for tables", p.Tree.Notation(), p.Tree.Paths())
	case p.Routing == plan.NoRouting:
		return fmt.Errorf("the plan has no routing, so there are no paths to install")
	case p.Routing == routing.ECMP, routing.PerPacket(p.Routing):
		return fmt.Errorf("routing %s: a forwarding table has one port for a LID; take another routing", p.Routing)
	case p.Tree.Servers() == 0:
		return fmt.Errorf("%s: no servers", p.Tree.Notation())
	}
	return nil
}

// withLIDs returns the network with 2^lmc LIDs for each host or, if it has more already, with
// these; and whether it has.
func withLIDs(n *network.Network, lmc int) (*network.Network, bool, error) {
	if keep(n, lmc) {
		return n, true, nil
	}
	n, err := n.Numbered(lmc)
	return n, false, err
}

// mixed reports hosts with different LMCs: OpenSM assigns the same to all.
func mixed(n *network.Network) error {
	first := n.Info(0)
	for h := range network.Node(n.Hosts()) {
		if i := n.Info(h); i.LMC != first.LMC {
			return fmt.Errorf("host %s has LMC %d and host %s LMC %d: OpenSM gives all hosts the same, so they are of different subnet managers or of different times",
				first.Name, first.LMC, i.Name, i.LMC)
		}
	}
	return nil
}

func keep(n *network.Network, lmc int) bool {
	own := int(n.Info(0).LMC)
	taken := map[int]bool{}
	for v := range network.Node(n.Nodes() + n.Others()) {
		i, size := n.Info(v), max(1, n.LIDs(v))
		if n.IsHost(v) && int(i.LMC) != own {
			return false
		}
		for lid := int(i.LID); lid < int(i.LID)+size; lid++ {
			if taken[lid] {
				return false
			}
			taken[lid] = true
		}
		if i.LID == 0 || int(i.LID)%size != 0 || int(i.LID)+size > Capacity {
			return false
		}
	}
	return own >= lmc && own <= maxLMC
}

// dlid returns the LID to which one rank's server sends its message for another, to make it take
// the plan's path: within a leaf the first.
func (r *Routes) dlid(src, dst int) int {
	host := r.places.Host[dst]
	base, path := int(r.Net.Info(host).LID), r.Plan.Path(src, dst)
	if path < 0 {
		return base
	}
	return base + max(0, slices.Index(r.pathsTo(r.Plan.Tree.Leaf(src), host), uint16(path)))
}

func (r *Routes) pathsTo(leaf int, host network.Node) []uint16 {
	at := (leaf*r.Net.Hosts() + int(host)) << r.lmc
	return r.paths[at : at+1<<r.lmc]
}

type builder struct {
	tree   *topology.Tree
	places *network.Places
	net    *network.Network
	number map[network.Node]int // of a switch, as the tree counts them
	leafOf []int                // of a host, -1 if it is on no leaf
	byPath bool                 // Options.ByPath
	words  int                  // of a set
	used   []uint64             // by leaf and host: the paths of the plan, as a set
}

const wordBits = 64

func newBuilder(p *plan.Plan, places *network.Places, n *network.Network) *builder {
	b := &builder{tree: p.Tree, places: places, net: n, number: map[network.Node]int{}, leafOf: make([]int, n.Hosts())}
	for sw := range p.Tree.Switches() {
		if places.Node(sw) != network.NoNode {
			b.number[places.Node(sw)] = sw
		}
	}
	for h := range b.leafOf {
		l, ok := b.number[n.Leaf(network.Node(h)).Node]
		if !ok || l >= p.Tree.Leaves() {
			l = -1
		}
		b.leafOf[h] = l
	}
	b.words = (p.Tree.Paths() + wordBits - 1) / wordBits
	b.used = make([]uint64, p.Tree.Leaves()*n.Hosts()*b.words)
	b.collect(p)
	return b
}

func (b *builder) set(leaf int, h network.Node) []uint64 {
	at := (leaf*b.net.Hosts() + int(h)) * b.words
	return b.used[at : at+b.words]
}

func (b *builder) collect(p *plan.Plan) {
	for src := range p.Tree.Servers() {
		leaf := p.Tree.Leaf(src)
		for dst := range p.Tree.Servers() {
			if src == dst {
				continue
			}
			if k := p.Path(src, dst); k >= 0 {
				b.set(leaf, b.places.Host[dst])[k/wordBits] |= 1 << (k % wordBits)
			}
		}
	}
}

// cablesDown returns the cable by which the first LID of a host comes down from each spine, where
// cables are parallel and that LID suffices for the plan's paths. Otherwise it is nil.
func (b *builder) cablesDown(h network.Node) []int {
	home := b.leafOf[h]
	if b.tree.Cables() == 1 || home < 0 {
		return nil
	}
	cables := slices.Repeat([]int{none}, b.tree.Spines())
	for l := range b.tree.Leaves() {
		count := 0
		for w, set := range b.set(l, h) {
			for count += bits.OnesCount64(set); set != 0; set &= set - 1 {
				path := w*wordBits + bits.TrailingZeros64(set)
				k, _ := b.tree.SpineTop(path)
				if count > 1 || cables[k] != none && cables[k] != b.down(path) {
					return nil
				}
				cables[k] = b.down(path)
			}
		}
	}
	for k := range cables {
		for c := 0; cables[k] == none && c < b.tree.Cables(); c++ {
			if b.cable(b.tree.Cable(home, k, c)) {
				cables[k] = c
			}
		}
	}
	return cables
}

// down returns the cable through which a path leaves its spine.
func (b *builder) down(path int) int {
	_, lane := b.tree.SpineTop(path)
	_, down := b.tree.LaneCables(lane)
	return down
}

// alive reports whether plan and network both have a cable.
func (b *builder) alive(leaf, spine int) bool {
	return b.cable(topology.Link{Leaf: leaf, Spine: spine})
}

func (b *builder) cable(l topology.Link) bool {
	return b.tree.LinkAlive(l) && b.places.Up(l) != 0
}

func (b *builder) fill(r *Routes) {
	r.Tables = lft.New("file", r.Net)
	r.paths = slices.Repeat([]uint16{none}, (b.tree.Leaves()*b.net.Hosts())<<r.lmc)
	for h := range network.Node(b.net.Hosts()) {
		b.host(r, h)
	}
	for i := range b.net.Switches() {
		b.toSwitch(r, b.net.Switch(i))
	}
	r.Tables.RouteOthersAlike()
	b.detours(r)
}

// detours adds what no plan has: the ways to and from others, such as aggregation nodes, which answer to all,
// and those to and from hosts on switches above leaves, where links that lead up and then down are dead.
func (b *builder) detours(r *Routes) {
	answers := map[network.Node]bool{}
	for i := range r.Net.Others() {
		answers[r.Net.Leaf(r.Net.Other(i)).Node] = true
	}
	above := func(s network.Node) bool { return b.number[s] >= b.tree.Leaves() }
	r.Tables.Detour(b.turn(r), func(from, to network.Node) bool {
		home := r.Net.Leaf(to).Node
		return answers[from] || r.Net.IsOther(to) || r.Net.HostCount(from) > 0 && (above(from) || above(home))
	})
}

// turn is the leaf that most switches have an entry for, the first of several.
func (b *builder) turn(r *Routes) (best network.Node) {
	most := -1
	for l := range b.tree.Leaves() {
		v, have := b.places.Node(l), 0
		for i := range r.Net.Switches() {
			if v != network.NoNode && r.Tables.Row(i)[r.Net.Info(v).LID] != lft.NoPort {
				have++
			}
		}
		if v != network.NoNode && have > most {
			best, most = v, have
		}
	}
	return best
}

func (b *builder) host(r *Routes, h network.Node) {
	end := r.Net.Leaf(h)
	if end.Node == network.NoNode {
		return
	}
	base, count := int(r.Net.Info(h).LID), 1<<r.lmc
	set := func(s network.Node, offset int, port uint8) {
		if s != network.NoNode { // of a smaller pod
			r.Tables.Row(r.Net.Index(s))[base+offset] = port
		}
	}
	for o := range count {
		set(end.Node, o, end.Port)
	}
	home := b.leafOf[h]
	if home < 0 { // on a switch above leaves: routed like that switch
		for o := range count {
			b.towards(end.Node, func(s network.Node, port uint8) { set(s, o, port) })
		}
		return
	}
	for o := range count {
		b.downwards(home, o, func(s network.Node, port uint8) { set(s, o, port) })
	}
	cables := b.cablesDown(h)
	for k, c := range cables {
		if c != none && b.cable(b.tree.Cable(home, k, c)) {
			set(b.places.Node(b.tree.Leaves()+k), 0, b.places.Down(b.tree.Cable(home, k, c)))
		}
	}
	if b.tree.Levels() == 3 {
		b.pods(r, h, home, set)
		return
	}
	for l := range b.tree.Leaves() {
		if l == home {
			continue
		}
		lists := b.choices(l, home, h)
		all := slices.Concat(lists...)
		for o := range count {
			list := lists[o%len(lists)]
			if o == 0 && cables != nil {
				list = b.first(l, home, h, cables)
			}
			path := none
			if len(list) > 0 {
				path = list[o/len(lists)%len(list)]
				r.pathsTo(l, h)[o] = uint16(path)
			} else if len(all) > 0 {
				path = all[o%len(all)] // its spine uses another cable down than the path
			}
			if port := b.up(l, path); port != 0 {
				set(b.places.Node(l), o, port)
			}
		}
	}
}

// up returns the port of a leaf at which a path begins, 0 if it has none.
func (b *builder) up(leaf, path int) uint8 {
	if path == none {
		return 0
	}
	k, lane := b.tree.SpineTop(path)
	up, _ := b.tree.LaneCables(lane)
	return b.places.Up(b.tree.Cable(leaf, k, up))
}

// choices returns the paths for the LIDs of a host at a leaf, by the cable down: first those of the
// plan, rising, dead or not, because check must find dead ones; then the other live ones, starting
// at one that depends on the host, so that hosts share them evenly.
func (b *builder) choices(leaf, home int, h network.Node) [][]int {
	lists, rest := make([][]int, b.tree.Cables()), make([][]int, b.tree.Cables())
	set := b.set(leaf, h)
	for path := range b.tree.Paths() {
		down := b.down(path)
		switch {
		case set[path/wordBits]&(1<<(path%wordBits)) != 0:
			lists[down] = append(lists[down], path)
		case b.open(leaf, home, path):
			rest[down] = append(rest[down], path)
		}
	}
	for down := range lists {
		lists[down] = b.order(lists[down], rest[down], h)
	}
	return lists
}

// open reports whether plan and network both have the cables of a path of two levels.
func (b *builder) open(a, home, path int) bool {
	k, lane := b.tree.SpineTop(path)
	up, down := b.tree.LaneCables(lane)
	return b.cable(b.tree.Cable(a, k, up)) && b.cable(b.tree.Cable(home, k, down))
}

// first returns the path of a host's first LID from a leaf: the plan's, or one of those that come
// down by the LID's cable of their spine.
func (b *builder) first(leaf, home int, h network.Node, cables []int) []int {
	var rest []int
	for path := range b.tree.Paths() {
		k, _ := b.tree.SpineTop(path)
		switch {
		case b.set(leaf, h)[path/wordBits]&(1<<(path%wordBits)) != 0:
			return []int{path}
		case cables[k] == b.down(path) && b.open(leaf, home, path):
			rest = append(rest, path)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return rest[int(h)%len(rest):][:1]
}

// order returns the paths of a host's LIDs: those of the plan, and then the rest, starting at one
// that depends on the host. With byPath each path is at its own number, and the others fill the
// gaps.
func (b *builder) order(planned, rest []int, h network.Node) []int {
	if len(rest) > 0 {
		turn := int(h) % len(rest)
		planned = slices.Concat(planned, rest[turn:], rest[:turn])
	}
	if !b.byPath || len(planned) == 0 {
		return planned
	}
	out := make([]int, b.tree.Paths())
	for o := range out {
		if out[o] = o; !slices.Contains(planned, o) {
			out[o] = planned[o%len(planned)]
		}
	}
	return out
}

func (b *builder) toSwitch(r *Routes, s network.Node) {
	lid := int(r.Net.Info(s).LID)
	set := func(at network.Node, port uint8) {
		if at != network.NoNode {
			r.Tables.Row(r.Net.Index(at))[lid] = port
		}
	}
	set(s, 0)
	b.towards(s, set)
}
