package verify

import (
	"fmt"
	"strings"

	"evbench/topology"
)

// A fabric is the tree that a file states. Of three levels, its planes are spines.
type fabric struct{ tree *topology.Tree }

func fabricOf(t *topology.Tree) fabric { return fabric{t} }

// reachable reports whether a live path leads from leaf a to leaf b, and so back.
func (f fabric) reachable(a, b int) bool { return len(f.tree.LivePaths(a, b)) > 0 }

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
	if f.tree.Levels() == 2 && f.tree.Spines() != f.tree.Ports() {
		fmt.Fprintf(&b, "\n# spines %d", f.tree.Spines())
	}
	down := "none"
	if names := f.tree.DownNames(); len(names) > 0 {
		down = strings.Join(names, ",")
	}
	fmt.Fprintf(&b, "\n# down %s\n", down)
	return b.String()
}
