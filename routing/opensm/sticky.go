package opensm

import (
	"slices"

	"evbench/internal/parallel"
	"evbench/routing/lft"
	"evbench/topology/network"
)

// MinHopAfter routes a network after prev, as a running OpenSM does with its engine
// minhop. prev.Net is the network that prev was made for; nodes of n are found in it
// by their GUIDs.
//
// Where n has only lost cables, hosts or switches, an entry stays as long as its
// port is on a shortest way; all others are chosen anew, each with the load that
// the entries before it leave. Where anything has come, such as a cable plugged in
// again, all entries are chosen anew, which is MinHop (osm_subnet.h:
// ignore_existing_lfts).
//
// Where prev is by minhop, n has the nodes of prev.Net and hosts have one LID, only
// what the lost cables change is looked at (memo, §6): O((E + k·S)·C/64 + k·H) for k
// switches with entries to move and C targets whose distances have changed, instead
// of O(S·(E + H·P)). The tables are the same.
func MinHopAfter(n *network.Network, prev *lft.Tables) *lft.Tables {
	old := still(n, prev)
	if old == nil {
		return MinHop(n)
	}
	v := newView(n)
	if old == prev && prev.Engine == "minhop" {
		if u := v.update(prev); u != nil {
			return u.tables()
		}
	}
	return v.keep("minhop", old, v.shortest())
}

// still returns the entries of prev in the numbers of the nodes of n, or nil where n
// has anything that prev.Net has not.
func still(n *network.Network, prev *lft.Tables) *lft.Tables {
	if lessCables(prev.Net, n) {
		return prev
	}
	m := newMatch(prev.Net, n)
	if !m.onlyLess() {
		return nil
	}
	return m.carried(prev)
}

// lessCables reports whether two networks differ in nothing but cables that only
// the first has. It is quick; match finds out whether nodes have other numbers.
func lessCables(old, n *network.Network) bool {
	if old.Nodes() != n.Nodes() || old.Hosts() != n.Hosts() {
		return false
	}
	for v := range network.Node(n.Nodes()) {
		a, b := old.Ends(v), n.Ends(v)
		if len(a) != len(b) || old.Info(v) != n.Info(v) {
			return false
		}
		for p := range b {
			if a[p] != b[p] && b[p].Node != network.NoNode {
				return false
			}
		}
	}
	return true
}

// UpDownAfter is MinHopAfter for the engine updn; see UpDown. Roots that are not
// given are looked for in n, as OpenSM does each time that it routes.
func UpDownAfter(n *network.Network, roots []network.Node, prev *lft.Tables) (*lft.Tables, error) {
	old := still(n, prev)
	if old == nil {
		return UpDown(n, roots)
	}
	v := newView(n)
	first, err := v.tops(roots)
	if err != nil {
		return nil, err
	}
	return v.rooted(v.keep("updn", old, v.updn(first)), first), nil
}

// DownUpAfter is MinHopAfter for the engine dnup; see DownUp.
func DownUpAfter(n *network.Network, prev *lft.Tables) *lft.Tables {
	old := still(n, prev)
	if old == nil {
		return DownUp(n)
	}
	v := newView(n)
	return v.keep("dnup", old, v.dnup())
}

// keep chooses all rows anew but keeps what is in the sets of ports. carried holds
// the entries that there are, in the numbers of the view's nodes.
func (v *view) keep(engine string, carried *lft.Tables, h *hops) *lft.Tables {
	t := lft.New(engine, v.net)
	v.rows(func(s int32) {
		l := ledger{v: v, h: h, s: s, row: t.Row(int(s)), old: carried.Row(int(s))}
		l.balance()
	})
	return t
}

// An update is what the loss of cables changes.
type update struct {
	v    *view
	prev *lft.Tables
	gone []int // LIDs that are out of sight now

	lost   []int32   // switches seen at the ends of lost cables
	near   [][]uint8 // distances from the lost and their neighbours, by switch; nil for others
	moved  []target  // those with other distances than before, in the order of v.loaded, then the rest
	column [][]uint8 // distances from them, by switch; nil for others

	lids []uint16 // of the hosts, in the order of v.loaded
	at   []int32  // of switch s: lids[at[s]:at[s]+len(v.hosts[s])]
}

type target struct {
	s    int32
	from []uint8 // distances
}

// update works out what has changed. It returns nil where the loss is too large
// for a shortcut.
func (v *view) update(prev *lft.Tables) *update {
	before := newView(prev.Net)
	u := &update{v: v, prev: prev, near: make([][]uint8, len(v.seen)), column: make([][]uint8, len(v.seen))}
	for s, now := range v.seen {
		if now && !before.seen[s] || v.lmc > 0 {
			return nil
		}
		if now && !slices.Equal(v.peers(int32(s)), before.peers(int32(s))) {
			u.lost = append(u.lost, int32(s))
		}
	}
	if len(u.lost) > 64 {
		return nil
	}
	u.findGone(before)
	u.findMoved(before)
	u.order()
	return u
}

// findGone lists the LIDs of nodes that are out of sight.
func (u *update) findGone(before *view) {
	for s, was := range before.seen {
		if !was {
			continue
		}
		for _, h := range before.hosts[s] {
			if leaf := u.v.net.Leaf(h); leaf.Node == network.NoNode || !u.v.seen[u.v.net.Index(leaf.Node)] {
				lid, _ := u.v.lids(h)
				u.gone = append(u.gone, lid)
			}
		}
		if lid := u.v.lid(int32(s)); !u.v.seen[s] && lid != 0 {
			u.gone = append(u.gone, lid)
		}
	}
}

// findMoved finds the targets whose distances have changed. If they have not
// changed at the ends of the lost cables, they have nowhere: a shortest way over
// a lost cable can be mended at its ends.
func (u *update) findMoved(before *view) {
	var around []int32
	for _, s := range u.lost {
		around = append(around, s)
		for _, t := range u.v.peers(s) {
			if t != none {
				around = append(around, t)
			}
		}
	}
	slices.Sort(around)
	around = slices.Compact(around)
	u.v.searches(around, u.near)
	old := make([][]uint8, len(u.v.seen))
	before.searches(u.lost, old)
	var moved []int32
	for _, t := range u.v.order {
		for _, s := range u.lost {
			if u.near[s][t] != old[s][t] {
				moved = append(moved, t)
				break
			}
		}
	}
	u.v.searches(moved, u.column)
}

// searches fills the distances from some switches, 64 at a time.
func (v *view) searches(from []int32, rows [][]uint8) {
	space := make([]uint8, len(from)*len(v.seen))
	parallel.Each(0, (len(from)+63)/64, func(_, i int) {
		part := from[i*64 : min(len(from), i*64+64)]
		into := make([][]uint8, len(part))
		for j, s := range part {
			k := (i*64 + j) * len(v.seen)
			into[j] = space[k : k+len(v.seen)]
			rows[s] = into[j]
		}
		v.search(part, into)
	})
}

// order lists the hosts in the order in which they are counted.
func (u *update) order() {
	u.at = make([]int32, len(u.v.seen))
	for _, t := range u.v.loaded {
		u.at[t] = int32(len(u.lids))
		for _, h := range u.v.hosts[t] {
			lid, _ := u.v.lids(h)
			u.lids = append(u.lids, uint16(lid))
		}
		if u.column[t] != nil {
			u.moved = append(u.moved, target{t, u.column[t]})
		}
	}
	for _, t := range u.v.order {
		if u.column[t] != nil && len(u.v.hosts[t]) == 0 {
			u.moved = append(u.moved, target{t, u.column[t]})
		}
	}
}

// tables copies what stays and chooses the rest. Switches that are cut off lose
// all entries.
func (u *update) tables() *lft.Tables {
	t := u.prev.Clone("minhop", u.v.net)
	routed := make([]bool, u.v.net.Switches())
	lost := make([]bool, len(u.v.seen))
	for _, s := range u.lost {
		lost[s] = true
	}
	u.v.rows(func(s int32) {
		row := t.Row(int(s))
		routed[s] = true
		for _, lid := range u.gone {
			row[lid] = lft.NoPort
		}
		r := repair{u: u, s: s, row: row, peers: u.v.peers(s)}
		r.findMoved()
		if lost[s] {
			r.findDead()
		}
		r.mend()
	})
	for s, ok := range routed {
		if !ok {
			row := t.Row(s)
			for lid := range row {
				row[lid] = lft.NoPort
			}
		}
	}
	return t
}

// A repair is one switch's work in an update.
type repair struct {
	u     *update
	s     int32
	row   []uint8
	peers []int32
	hosts []broken // entries to choose anew, by place
	nodes []broken // of switches
}

type broken struct {
	place int32 // in u.lids, or a LID
	t     int32
}

// findMoved looks at the entries to targets that have moved.
func (r *repair) findMoved() {
	for i := range r.u.moved {
		m := &r.u.moved[i]
		if m.s == r.s {
			continue
		}
		for i := range r.u.v.hosts[m.s] {
			place := r.u.at[m.s] + int32(i)
			if !r.good(r.row[r.u.lids[place]], m.from) {
				r.hosts = append(r.hosts, broken{place, m.s})
			}
		}
		if lid := r.u.v.lid(m.s); lid != 0 && !r.good(r.row[lid], m.from) {
			r.nodes = append(r.nodes, broken{int32(lid), m.s})
		}
	}
}

// good reports whether a port is on a shortest way.
func (r *repair) good(port uint8, from []uint8) bool {
	i := int(port) - 1
	return i >= 0 && i < len(r.peers) && r.peers[i] != none && from[r.peers[i]]+1 == from[r.s]
}

// findDead looks at the other entries of a switch that has lost cables.
func (r *repair) findDead() {
	v := r.u.v
	for _, t := range v.loaded {
		if t == r.s || r.u.column[t] != nil {
			continue
		}
		for i := range v.hosts[t] {
			place := r.u.at[t] + int32(i)
			if r.dead(r.row[r.u.lids[place]]) {
				r.hosts = append(r.hosts, broken{place, t})
			}
		}
	}
	for _, t := range v.order {
		if lid := v.lid(t); t != r.s && lid != 0 && r.u.column[t] == nil && r.dead(r.row[lid]) {
			r.nodes = append(r.nodes, broken{int32(lid), t})
		}
	}
	slices.SortFunc(r.hosts, func(a, b broken) int { return int(a.place - b.place) })
}

func (r *repair) dead(port uint8) bool {
	i := int(port) - 1
	return i < 0 || i >= len(r.peers) || r.peers[i] == none
}

// mend chooses the broken entries, counting the routes before each.
func (r *repair) mend() {
	if len(r.hosts)+len(r.nodes) == 0 {
		return
	}
	l := ledger{row: r.row}
	set := make([]uint64, 4)
	done := int32(0)
	for _, b := range r.hosts {
		l.tally(r.u.lids[done:b.place])
		r.choices(b.t, set)
		r.row[r.u.lids[b.place]] = l.count(l.least(set))
		done = b.place + 1
	}
	if len(r.nodes) == 0 {
		return
	}
	l.tally(r.u.lids[done:])
	for _, b := range r.nodes {
		r.choices(b.t, set)
		r.row[b.place] = l.least(set)
	}
}

// tally counts the routes to some LIDs.
func (l *ledger) tally(lids []uint16) {
	for _, lid := range lids {
		l.load[l.row[lid]]++
	}
}

// choices fills the set of good ports towards a switch.
func (r *repair) choices(t int32, set []uint64) {
	clear(set)
	from := r.u.column[t]
	for i, q := range r.peers {
		if q == none {
			continue
		}
		if from != nil && from[q]+1 == from[r.s] || from == nil && r.u.near[q][t]+1 == r.u.near[r.s][t] {
			set[i/64] |= 1 << (i % 64)
		}
	}
}
