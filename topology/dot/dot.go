// Package dot draws a network for Graphviz: switches level by level, the hosts of a
// switch as one box. It computes no layout.
package dot

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"evbench/topology/network"
)

// An edge joins two things that are drawn.
type edge struct{ a, b network.Node }

// Write writes a network in the language of Graphviz's dot, which puts roots on
// top. Level gives the level of each node, as fabric.Ranks does. Cables that run
// side by side are one line with their number; switches without cables are left
// out. Nodes are called n1, n2, … and labelled with their names.
func Write(w io.Writer, n *network.Network, level []int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "graph network {")
	fmt.Fprintln(out, "  rankdir=BT; ranksep=1.2; splines=false;")
	fmt.Fprintln(out, "  node [shape=box, fontname=\"sans-serif\", fontsize=10];")
	if n.Notation != "" {
		fmt.Fprintf(out, "  label=%s;\n", quote(n.Notation))
	}
	leaves := writeHosts(out, n)
	for l := 1; len(level) > 0 && l <= slices.Max(level); l++ {
		fmt.Fprint(out, "  { rank=same;")
		for i := range n.Switches() {
			if s := n.Switch(i); level[s] == l && !n.Isolated(s) {
				fmt.Fprintf(out, " n%d [label=%s];", s, quote(n.Info(s).Name))
			}
		}
		fmt.Fprintln(out, " }")
	}
	for _, s := range leaves {
		fmt.Fprintf(out, "  hosts%d -- n%d;\n", s, s)
	}
	writeCables(out, n, level)
	fmt.Fprintln(out, "}")
	return out.Flush()
}

// writeHosts draws a box for the hosts of each switch that has some, and returns
// these switches.
func writeHosts(out io.Writer, n *network.Network) []network.Node {
	at := map[network.Node][]string{}
	var order []network.Node
	for h := range network.Node(n.Hosts()) {
		s := n.Leaf(h).Node
		if s == network.NoNode || n.IsHost(s) {
			continue
		}
		if at[s] == nil {
			order = append(order, s)
		}
		at[s] = append(at[s], n.Info(h).Name)
	}
	fmt.Fprint(out, "  { rank=same; node [style=rounded];")
	for _, s := range order {
		fmt.Fprintf(out, " hosts%d [label=%s];", s, quote(hosts(at[s])))
	}
	fmt.Fprintln(out, " }")
	return order
}

// hosts names the hosts of a switch: all of a few, else the first and the last.
func hosts(names []string) string {
	if len(names) <= 2 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s … %s (%d)", names[0], names[len(names)-1], len(names))
}

// writeCables draws a line for each pair of switches with cables, the lower level
// first, so that dot puts the other above.
func writeCables(out io.Writer, n *network.Network, level []int) {
	count := map[edge]int{}
	var order []edge
	for _, c := range n.SwitchCables() {
		e := edge{c.A.Node, c.B.Node}
		if level[e.a] > level[e.b] {
			e.a, e.b = e.b, e.a
		}
		if count[e] == 0 {
			order = append(order, e)
		}
		count[e]++
	}
	for _, e := range order {
		fmt.Fprintf(out, "  n%d -- n%d", e.a, e.b)
		if count[e] > 1 {
			fmt.Fprintf(out, " [label=\"×%d\", penwidth=%d]", count[e], min(count[e], 6))
		}
		fmt.Fprintln(out, ";")
	}
}

// quote returns a string of the language: only quotes and backslashes are
// special, and a newline would be one.
func quote(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
