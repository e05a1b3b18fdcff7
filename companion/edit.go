package companion

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"evbench/topology"
)

// An Edit is the changes at one node.
type Edit struct {
	Node   Node
	Set    []Route        // each replaces an existing route to its prefix
	Delete []netip.Prefix // after all of Set
}

// changes are made stage by stage; those of one stage may be made at once.
type changes [][]Edit

// transition returns the edits that lead from the current to the wanted routes of the switches of a
// tree, such that a prefix in both always has a route: spines learn where to deliver before leaves
// send there, and forget only when no leaf sends there any more. Of three levels top switches learn
// first and forget last.
func transition(t *topology.Shape, have, want Routes) changes {
	sets, deletes := map[Node][]Route{}, map[Node][]netip.Prefix{}
	for _, d := range compare(have, want) {
		if d.Want != nil {
			sets[d.Node] = append(sets[d.Node], *d.Want)
		} else {
			deletes[d.Node] = append(deletes[d.Node], d.Have.Prefix)
		}
	}
	var learn, forget [2][]Edit // by level above the leaves
	var leaves []Edit
	for n := range Node(t.Switches()) {
		set, del := sets[n], deletes[n]
		level := t.Level(int(n)) - 1
		if level < 0 {
			leaves = appendEdit(leaves, Edit{n, set, del})
			continue
		}
		learn[level] = appendEdit(learn[level], Edit{n, set, nil})
		forget[level] = appendEdit(forget[level], Edit{n, nil, del})
	}
	var out changes
	for _, stage := range [][]Edit{learn[1], learn[0], leaves, forget[0], forget[1]} {
		if len(stage) > 0 {
			out = append(out, stage)
		}
	}
	return out
}

func appendEdit(to []Edit, e Edit) []Edit {
	if len(e.Set)+len(e.Delete) == 0 {
		return to
	}
	return append(to, e)
}

func (e changes) nodes() []Node {
	seen := map[Node]bool{}
	for _, stage := range e {
		for _, edit := range stage {
			seen[edit.Node] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func (e changes) apply(to Routes) Routes {
	out := slices.Clone(to)
	for _, stage := range e {
		for _, edit := range stage {
			i, _ := slices.BinarySearchFunc(out, edit.Node, func(t Table, n Node) int { return cmp.Compare(t.Node, n) })
			out[i].Routes = edit.apply(out[i].Routes)
		}
	}
	return out
}

func (e Edit) apply(to []Route) []Route {
	out := make([]Route, 0, len(to)+len(e.Set))
	merge(to, e.Set, CompareRoutes, func(have, set *Route) {
		if set == nil {
			set = have
		}
		if !slices.Contains(e.Delete, set.Prefix) {
			out = append(out, *set)
		}
	})
	return out
}
