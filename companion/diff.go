package companion

import (
	"cmp"
	"fmt"
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
func (d difference) Describe(t *topology.Tree) string {
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

func (r Route) describe(t *topology.Tree, n Node) string {
	peers := lists.Of(r.Via, func(p Port) string { return PeerName(t, n, p) })
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
