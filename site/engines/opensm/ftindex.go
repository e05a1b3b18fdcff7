package opensm

import (
	"cmp"
	"slices"

	"evbench/internal/lists"
)

// A tuple places a switch in the tree: its rank, then the way to it, one number
// a rank. 0xFF stands for no number.
type tuple [8]uint8

var noTuple = tuple{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}

func compareTuples(a, b tuple) int { return slices.Compare(a[:], b[:]) }

// index gives tuples to the switches, breadth first from the first leaf, and puts the groups of
// each switch in the order of tuples. A switch below the leaves gets none. A neighbour gets the
// first free number for the same way: on a regular tree, siblings get 0, 1, 2, ….
func (f *ftree) index() {
	for s := range f.switches {
		f.switches[s].tuple = noTuple
	}
	start := f.firstLeaf()
	taken := map[tuple]bool{}
	first := noTuple
	first[0] = uint8(f.rank[start])
	for i := range f.rank[start] {
		first[i+1] = 0
	}
	f.switches[start].tuple = first
	taken[first] = true
	todo := []int32{start}
	for i := 0; i < len(todo); i++ {
		s := todo[i]
		sw := &f.switches[s]
		if f.rank[s] < f.leafRank {
			todo = f.indexGroups(sw.below, sw.tuple, +1, taken, todo)
		}
		todo = f.indexGroups(sw.up, sw.tuple, -1, taken, todo)
	}
	f.setPlaces()
}

// setPlaces numbers the switches in the order of tuples; those without one come
// last, all at one place.
func (f *ftree) setPlaces() {
	all := lists.Map(f.v.order, func(s int32) tuple { return f.switches[s].tuple })
	slices.SortFunc(all, compareTuples)
	for _, s := range f.v.order {
		sw := &f.switches[s]
		for _, groups := range [][]*group{sw.up, sw.level, sw.below} {
			for _, g := range groups {
				g.place, _ = slices.BinarySearchFunc(all, f.switches[g.far].tuple, compareTuples)
			}
		}
	}
}

func (f *ftree) firstLeaf() int32 {
	for _, s := range f.v.order {
		if f.switches[s].hosts > 0 {
			return s
		}
	}
	return none
}

// indexGroups gives tuples to the far ends of groups that have none and sorts
// the groups. Ranks change by step.
func (f *ftree) indexGroups(groups []*group, from tuple, step int, taken map[tuple]bool, todo []int32) []int32 {
	for _, g := range groups {
		if far := &f.switches[g.far]; far.tuple == noTuple {
			far.tuple = free(from, step, taken)
			taken[far.tuple] = true
			todo = append(todo, g.far)
		}
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		return compareTuples(f.switches[a.far].tuple, f.switches[b.far].tuple)
	})
	return todo
}

// free returns the first free tuple one rank further. The varying number belongs to the lower of
// the two ranks.
func free(from tuple, step int, taken map[tuple]bool) tuple {
	t, vary := from, int(from[0])
	if step > 0 {
		vary++
	}
	t[0] = uint8(int(from[0]) + step)
	for i := range 255 {
		if t[vary] = uint8(i); !taken[t] {
			return t
		}
	}
	return t // more than 254 siblings: more than a switch has ports
}

// setLeaves lists the switches of the leaves' rank in the order of tuples, from
// the first to the last that has hosts.
func (f *ftree) setLeaves() error {
	all := lists.Filter(f.v.order, func(s int32) bool { return f.rank[s] == f.leafRank })
	slices.SortStableFunc(all, func(a, b int32) int {
		return compareTuples(f.switches[a].tuple, f.switches[b].tuple)
	})
	first, last := len(all), 0
	for i, s := range all {
		if f.switches[s].hosts > 0 {
			first, last = min(first, i), i
		}
	}
	if first >= last {
		return notFatTree("all hosts are at %s", f.v.name(all[first]))
	}
	f.leaves = all[first : last+1]
	return nil
}

// sortUp orders the groups by which s may go up: the least load of routes down first.
func (f *ftree) sortUp(sw *ftSwitch) {
	switch {
	case f.weighted:
		slices.SortFunc(sw.up, func(a, b *group) int {
			return cmp.Or(cmp.Compare(a.downward, b.downward), cmp.Compare(f.switches[a.far].excess, f.switches[b.far].excess), cmp.Compare(a.place, b.place))
		})
	case sw.upDirty:
		sortDownward(sw.up)
		sw.upDirty = false
	}
}

// sortDownward sorts by load of routes down, then by place. The original also looks at
// the load of the far switch in between, but counts none there: always 0.
func sortDownward(groups []*group) {
	for i := 1; i < len(groups); i++ {
		for j := i; j > 0 && less(groups[j].downward, groups[j-1].downward, groups[j], groups[j-1]); j-- {
			groups[j], groups[j-1] = groups[j-1], groups[j]
		}
	}
}

// sortUpward sorts by load of routes up, then by place. Both sorts are by insertion, as
// lists are nearly in order.
func sortUpward(groups []*group) {
	for i := 1; i < len(groups); i++ {
		for j := i; j > 0 && less(groups[j].upward, groups[j-1].upward, groups[j], groups[j-1]); j-- {
			groups[j], groups[j-1] = groups[j-1], groups[j]
		}
	}
}

func less(load, other uint64, a, b *group) bool {
	return load < other || load == other && a.place < b.place
}
