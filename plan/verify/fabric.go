package verify

import (
	"fmt"
	"strings"

	"evbench/topology"
)

// A fabric is the tree that a file states. Of three levels, its planes are spines.
type fabric struct {
	tree *topology.Tree
	pods *topology.Pods // tree.Pods(); nil: two levels
}

func fabricOf(t *topology.Tree) fabric { return fabric{t, t.Pods()} }

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
	fmt.Fprintf(&b, "# topology %s\n# fill ", f.tree.Notation())
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
	if names := f.tree.DownNames(); len(names) > 0 {
		down = strings.Join(names, ",")
	}
	fmt.Fprintf(&b, "\n# down %s\n", down)
	return b.String()
}
