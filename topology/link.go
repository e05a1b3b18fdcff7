package topology

import (
	"cmp"
	"slices"
	"time"
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

// A LinkEvent is what one end of a leaf-spine link says about it. A link is alive while both
// ends are up.
type LinkEvent struct {
	Link Link
	Leaf bool // the end that says so is the leaf's, else the spine's
	Up   bool
	Seen time.Time // when the event had been read
	// Reread marks a state that was read because events were lost: the end may have
	// changed more than once since the last event.
	Reread bool
}
