package scheduler

import (
	"fmt"
	"slices"

	"evbench/internal/coloring"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// rolesAbove returns an error where some servers only read or only build and FORS has no plan on three
// levels: for few paths, or where top switches may not suffice for the phases of the lower levels.
func (f *fabric) rolesAbove(o Options, critical bool) error {
	switch {
	case !f.tree.Roles():
		return nil
	case o.Objective == schedules.FewestPaths || o.Objective == schedules.Balanced:
		return fmt.Errorf("schedule fors: %w; leave it out, or take %s for one path", f.tree.AllBoth("objective "+string(o.Objective)+" is for trees of three levels"), schedules.LinearShift)
	case critical:
		return fmt.Errorf("schedule fors: %w; take %s", f.tree.AllBoth("three levels whose top switches lack links or are fewer than leaves are planned"), schedules.RepairPrefix+schedules.LinearShift)
	}
	return nil
}

// addRoles notes the readers and builders of the next leaf, which is l of the tree.
func (f *fabric) addRoles(l int) {
	t := f.tree
	if !t.Roles() {
		return
	}
	readers, builders := 0, 0
	if i := f.leaves - 1; i >= 0 {
		readers, builders = f.readers[i]+f.r[i], f.builders[i]+f.b[i]
	}
	f.readers, f.builders = append(f.readers, readers), append(f.builders, builders)
	f.r, f.b = append(f.r, t.ReadersOn(l)), append(f.b, t.BuildersOn(l))
	f.reach[f.leaves] = t.Builders() - t.BuildersOn(l)
	f.heard = append(f.heard, t.Readers()-t.ReadersOn(l))
}

// directed returns a fabric that has each leaf twice: leaf a sends as number a, and receives as
// number leaves + a. Its pairs are a leaf and another for which it has messages.
func (f *fabric) directed() *fabric {
	idle := make([]int, f.leaves)
	d := &fabric{
		tree: f.tree, servers: f.servers, leaves: 2 * f.leaves, spines: f.spines, pods: 1, name: f.name, both: f,
		leaf: slices.Repeat(f.leaf, 2), pod: make([]int, 2*f.leaves), alone: f.alone, shared: f.shared, counts: f.counts,
		sides: sides{r: slices.Concat(f.r, idle), b: slices.Concat(idle, f.b)},
		alive: slices.Repeat(f.alive, 2), cables: slices.Repeat(f.cables, 2),
		pairs: []pair{},
	}
	if f.cables == nil {
		d.cables = nil
	}
	for _, p := range f.pairs {
		for _, q := range [2]pair{{p.a, p.b + f.leaves, p.spines}, {p.b, p.a + f.leaves, p.spines}} {
			if d.messages(q.a, q.b) > 0 {
				d.pairs = append(d.pairs, q)
			}
		}
	}
	return d
}

// spread gives the slots of readers and builders, a row for each reader, to their servers. Messages of
// a server to itself are left out, and then phases without a message.
func (s *Schedule) spread(t *topology.Tree, slots []slot) {
	for i := range s.slots {
		s.slots[i] = absent
	}
	at := 0
	for src := range s.Ranks {
		for dst := range s.Ranks {
			if !t.Reads(src) || !t.Builds(dst) {
				continue
			}
			if src != dst {
				s.slots[src*s.Ranks+dst] = slots[at]
			}
			at++
		}
	}
	s.dropEmpty()
}

func shiftRoles(t *topology.Tree) *Schedule {
	s := newSchedule(schedules.LinearShift, t.Servers())
	s.Phases = max(t.Readers(), t.Builders())
	slots := make([]slot, 0, t.Readers()*t.Builders())
	for i := range t.Readers() {
		for j := range t.Builders() {
			slots = append(slots, makeSlot((j-i+s.Phases)%s.Phases, None))
		}
	}
	s.spread(t, slots)
	return s
}

// readerOf returns the reader number of each builder of a leaf, none where it only builds.
func (f *fabric) readerOf(leaf int) (out []int32) {
	reader := int32(0)
	for rank := f.first[leaf]; rank < f.first[leaf]+f.n[leaf]; rank++ {
		i := int32(none)
		if f.tree.Reads(rank) {
			i = reader
			reader++
		}
		if f.tree.Builds(rank) {
			out = append(out, i)
		}
	}
	return out
}

// selvesBuild renames the builders of a leaf, of which some only build, such that the builders that
// hear in the added phase also read.
func (l *lifter) selvesBuild(b int, color []int32) {
	var both []int32
	for i, reader := range l.readerOf(b) {
		if reader != none {
			both = append(both, int32(i))
		}
	}
	name, taken := slices.Repeat([]int32{none}, l.b[b]), make([]bool, l.b[b])
	for unit, phase := range l.right {
		if c := color[unit]; int(phase) == l.phases {
			name[c], both = both[0], both[1:]
			taken[name[c]] = true
		}
	}
	rename(name, taken)
	for i, c := range color {
		color[i] = name[c]
	}
}

// rename gives unused names to the elements without a name.
func rename(name []int32, taken []bool) {
	next := int32(0)
	for i := range name {
		if name[i] != none {
			continue
		}
		for taken[next] {
			next++
		}
		name[i] = next
		next++
	}
}

// inside is within for all leaves where some servers only read or only build, which the papers do not
// treat. Messages within a leaf are units with a destination, too: which phases suit them does not
// follow from the other messages.
//
// A leaf with fewer live links than readers has left nodes for the other readers, one with more has
// right nodes that keep the rest of its up-links idle; likewise builders and down-links. Edges without
// a message complete the graph, within leaves where they can.
func (t *timing) inside(load []int32, first int32) int32 {
	var all []int32    // nodes
	var up, down []int // phases that they lack as left, and as right nodes
	pad := func(u, v int32, n int) {
		t.edges = append(t.edges, coloring.Edge{U: u, V: v, N: int32(n), First: first})
		first += int32(n)
	}
	for a := range t.leaves {
		nodes, out, in := t.lack(a, load)
		links, r, b, k := len(nodes), t.r[a], t.b[a], t.phases
		idleUp, idleDown := max(0, links-r), max(0, links-b)
		lefts, rights := max(links, r)+idleDown, max(links, b)+idleUp // of these messages have their nodes
		for len(nodes) < max(lefts, rights) {
			nodes, out, in = append(nodes, t.add(a)), append(out, k), append(in, k)
		}
		for i, u := range nodes[links:] {
			t.idle[0][u], t.idle[1][u] = i < idleDown, i < idleUp
		}
		pour(out[:links], in[links:links+idleUp], idleUp*k, func(i, j, n int) { pad(nodes[i], nodes[links+j], n) })
		pour(in[:links], out[links:links+idleDown], idleDown*k, func(i, j, n int) { pad(nodes[links+j], nodes[i], n) })
		at := int32(t.readers[a]*t.width + t.builders[a]*r)
		join := func(i, j, n int) {
			t.edges = append(t.edges, coloring.Edge{U: nodes[i], V: nodes[j], N: int32(n), First: at})
			at += int32(n)
		}
		within, loops := r*b, 0
		for i := range min(lefts, rights) {
			loops += min(out[i], in[i])
		}
		for i := range min(lefts, rights) { // first links with themselves, in equal shares: cycles are then short
			loop := min(out[i], in[i])
			n := min(loop, ceilDiv(within*loop, max(loops, 1)))
			join(i, i, n)
			out[i], in[i], within, loops = out[i]-n, in[i]-n, within-n, loops-loop
		}
		pour(out[:lefts], in[:rights], within, join)
		for i, u := range nodes {
			n := min(out[i], in[i])
			pad(u, u, n)
			out[i], in[i] = out[i]-n, in[i]-n
		}
		pour(out, in, min(sum(out), sum(in)), func(i, j, n int) { pad(nodes[i], nodes[j], n) })
		all, up, down = append(all, nodes...), append(up, out...), append(down, in...)
		t.of = append(t.of, nodes)
	}
	t.of = append(t.of, all) // for twist
	pour(up, down, sum(up), func(i, j, n int) { pad(all[i], all[j], n) })
	return first
}

func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}

// A usage says what carries a message in a phase.
type usage struct {
	up, down []bool // by node
	hears    []bool // by builder
	out, in  []int  // by leaf: readers that send, builders that hear
}

// part moves each message that is the second of its destination in a phase to the first phase with
// room for it, an added one where there is none. It returns the number of phases.
func (t *timing) part() int {
	var used []*usage
	more := func() {
		used = append(used, &usage{make([]bool, t.nodes), make([]bool, t.nodes), make([]bool, t.width), make([]int, t.leaves), make([]int, t.leaves)})
	}
	for range t.phases {
		more()
	}
	var second []int32
	for i, e := range t.up {
		switch u := used[i%t.phases]; {
		case t.dest[e] == none:
		case u.hears[t.dest[e]]:
			second = append(second, e)
		default:
			t.put(e, i%t.phases, u)
		}
	}
	for _, e := range second {
		p := 0
		for p < len(used) && !t.roomFor(e, used[p]) {
			p++
		}
		if p == len(used) {
			more()
		}
		t.put(e, p, used[p])
	}
	t.phases = len(used)
	return t.phases
}

func (t *timing) put(e int32, phase int, u *usage) {
	t.slots[e] = makeSlot(phase, t.slots[e].spine())
	if t.slots[e].spine() != None {
		u.up[t.left[e]], u.down[t.right[e]] = true, true
	}
	u.hears[t.dest[e]] = true
	u.out[t.home[t.left[e]]]++
	u.in[t.leafOf[t.dest[e]]]++
}

func (t *timing) roomFor(e int32, u *usage) bool {
	a, b := t.home[t.left[e]], t.leafOf[t.dest[e]]
	return !u.hears[t.dest[e]] && u.out[a] < t.r[a] && u.in[b] < t.b[b] &&
		(t.slots[e].spine() == None || !u.up[t.left[e]] && !u.down[t.right[e]])
}
