package topology

import (
	"cmp"
	"slices"
)

// Compare orders links by leaf and then spine, as Tree.Dead lists them.
func (l Link) Compare(o Link) int {
	return cmp.Or(cmp.Compare(l.Leaf, o.Leaf), cmp.Compare(l.Spine, o.Spine))
}

// LinkNames returns the names of links in their order; it is never nil.
func LinkNames(links []Link) []string {
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.String()
	}
	return names
}

// Minus returns the links that are not among others, in their order.
func Minus(links, others []Link) []Link {
	var out []Link
	for _, l := range links {
		if !slices.Contains(others, l) {
			out = append(out, l)
		}
	}
	return out
}
