package scheduler

import (
	"fmt"
	"slices"

	"evbench/topology"
)

// roles returns an error where some servers only read or only build and the options or the tree do
// not allow that.
func (o Options) roles(t *topology.Tree) error {
	switch {
	case t.Levels() == 3:
		return t.AllBoth("trees of three levels are planned")
	case o.DropUnreachable:
		return t.AllBoth("unreachable pairs are dropped")
	case o.Objective != "" && o.Objective != FewestPhases:
		return t.AllBoth(fmt.Sprintf("objective %s is planned", o.Objective))
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
	s := newSchedule(NameLinearShift, t.Servers())
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
