package companion

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"evbench/internal/lists"
	"evbench/topology"
)

type difference struct {
	Node       Node
	Have, Want *Route
}

// compare returns the differences between have and want, by node and then prefix, for every node in
// either. O(routes).
func compare(have, want Routes) []difference {
	var out []difference
	merge(have, want, func(a, b Table) int { return cmp.Compare(a.Node, b.Node) }, func(h, w *Table) {
		var routesH, routesW []Route
		var n Node
		if h != nil {
			n, routesH = h.Node, h.Routes
		}
		if w != nil {
			n, routesW = w.Node, w.Routes
		}
		merge(routesH, routesW, CompareRoutes, func(h, w *Route) {
			if h == nil || w == nil || !h.Equal(*w) {
				out = append(out, difference{n, h, w})
			}
		})
	})
	return out
}

// merge walks two sorted slices and calls f with each pair of equal elements,
// or with one and nil.
func merge[T any](a, b []T, compare func(a, b T) int, f func(a, b *T)) {
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case j == len(b) || i < len(a) && compare(a[i], b[j]) < 0:
			f(&a[i], nil)
			i++
		case i == len(a) || compare(a[i], b[j]) > 0:
			f(nil, &b[j])
			j++
		default:
			f(&a[i], &b[j])
			i, j = i+1, j+1
		}
	}
}

func (r Route) Equal(o Route) bool {
	return r.Prefix == o.Prefix && r.Source == o.Source && r.Spray == o.Spray && slices.Equal(r.Via, o.Via)
}

// Describe returns the difference in words, such as
// "leaf0: 10.200.1.1/32 via spine0 should be via spine1".
func (d difference) Describe(t *topology.Live) string {
	name := NodeName(t, d.Node)
	switch {
	case d.Have == nil:
		return fmt.Sprintf("%s: %s is missing", name, d.Want.describe(t, d.Node))
	case d.Want == nil:
		return fmt.Sprintf("%s: %s should not be there", name, d.Have.describe(t, d.Node))
	}
	should := strings.TrimPrefix(d.Want.describe(t, d.Node), prefixName(d.Want.Prefix)+" ")
	return fmt.Sprintf("%s: %s should be %s", name, d.Have.describe(t, d.Node), should)
}

func (r Route) describe(t *topology.Live, n Node) string {
	peers := lists.Map(r.Via, func(p Port) string { return PeerName(t, n, p) })
	s := prefixName(r.Prefix) + " via " + strings.Join(peers, ",")
	if r.Spray {
		s += ", each packet"
	}
	if r.Source.IsValid() {
		s += " from " + r.Source.String()
	}
	return s
}

func prefixName(p netip.Prefix) string {
	if p.Bits() == 0 {
		return "default"
	}
	return p.String()
}

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
	stages := changes{learn[1], learn[0], leaves, forget[0], forget[1]}
	return slices.DeleteFunc(stages, func(stage []Edit) bool { return len(stage) == 0 })
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
		set = cmp.Or(set, have)
		if !slices.Contains(e.Delete, set.Prefix) {
			out = append(out, *set)
		}
	})
	return out
}
