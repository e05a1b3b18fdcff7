package failover

import (
	"fmt"
	"strings"

	"evbench/topology"
)

// disjoint says which servers of a tree cannot reach each other, and because of which
// links; it is empty where all can.
func disjoint(t *topology.Tree) string {
	if t.Connected() == nil {
		return ""
	}
	var pairs []string
	for _, p := range t.Unreachable() {
		pairs = append(pairs, fmt.Sprintf("%s and %s", servers(t, p[0]), servers(t, p[1])))
	}
	return fmt.Sprintf("no path between %s: dead are %s", some(pairs, 3, " or "), some(t.DownNames(), 16, ", "))
}

// servers names a leaf and its servers.
func servers(t *topology.Tree, leaf int) string {
	first, last := t.First(leaf), t.First(leaf+1)-1
	if first == last {
		return fmt.Sprintf("leaf%d (%s)", leaf, t.ServerName(first))
	}
	return fmt.Sprintf("leaf%d (%s to %s)", leaf, t.ServerName(first), t.ServerName(last))
}

// some joins the first names, and says how many more there are.
func some(names []string, n int, by string) string {
	if len(names) <= n {
		return strings.Join(names, by)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], by), len(names)-n)
}
