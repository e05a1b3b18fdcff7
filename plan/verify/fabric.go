package verify

import (
	"fmt"
	"strings"

	"evbench/topology"
)

// A fabric is the tree that a file states. Of one with three levels, tree is the
// lower part, in which planes are spines.
type fabric struct {
	tree *topology.Tree
	pods *topology.Pods // nil: two levels
}

func (f fabric) notation() string {
	if f.pods != nil {
		return f.pods.Notation()
	}
	return f.tree.Notation()
}

func (f fabric) downNames() []string {
	if f.pods != nil {
		return f.pods.DownNames()
	}
	return f.tree.DownNames()
}

func (f fabric) wires() int {
	if f.pods != nil {
		return f.pods.Wires()
	}
	return f.tree.Wires()
}

func (f fabric) wireName(w topology.Wire) (link, direction string) {
	if f.pods != nil {
		return f.pods.WireName(w)
	}
	return f.tree.WireName(w)
}

// links returns the links that a name stands for.
func (f fabric) links(name string) ([]topology.Link, []topology.TopLink, error) {
	if f.pods != nil {
		return f.pods.Links(name)
	}
	links, err := f.tree.Links(name)
	return links, nil, err
}

// without returns the fabric with more links dead.
func (f fabric) without(links []topology.Link, tops []topology.TopLink) (v fabric, err error) {
	if f.pods == nil {
		v.tree, err = f.tree.Without(links...)
		return v, err
	}
	if v.pods, err = f.pods.Without(links, tops); err != nil {
		return v, err
	}
	v.tree = v.pods.Lower()
	return v, nil
}

// reachable reports whether a live path leads from leaf a to leaf b, and so back.
func (f fabric) reachable(a, b int) bool {
	for k := range f.tree.Spines() {
		if f.tree.Alive(a, k) && f.tree.Alive(b, k) && f.crosses(a, b, k) {
			return true
		}
	}
	return false
}

// crosses reports whether what is in plane k at leaf a's pod gets to leaf b's.
func (f fabric) crosses(a, b, k int) bool {
	if f.pods == nil || f.pods.Pod(a) == f.pods.Pod(b) {
		return true
	}
	for top := range f.pods.Tops() {
		if f.pods.TopAlive(f.pods.Pod(a), k, top) && f.pods.TopAlive(f.pods.Pod(b), k, top) {
			return true
		}
	}
	return false
}

// lines returns the header lines that the hash covers.
func (f fabric) lines() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# topology %s\n# fill ", f.notation())
	for l := range f.tree.Leaves() {
		if l > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, f.tree.On(l))
	}
	if f.pods == nil && f.tree.Spines() != f.tree.Ports() {
		fmt.Fprintf(&b, "\n# spines %d", f.tree.Spines())
	}
	down := "none"
	if names := f.downNames(); len(names) > 0 {
		down = strings.Join(names, ",")
	}
	fmt.Fprintf(&b, "\n# down %s\n", down)
	return b.String()
}
