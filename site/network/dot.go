package network

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteDot writes a network in the language of Graphviz's dot, which puts roots on top. Level is
// that of each node, as Ranks gives it. Cables side by side are one line with their number; the hosts
// of a switch are one box; switches without cables are left out. Nodes are called n1, n2, …
func WriteDot(w io.Writer, n *Network, level []int) error {
	quote := func(s string) string {
		return `"` + quoted.Replace(strings.Map(func(r rune) rune { return max(r, ' ') }, s)) + `"`
	}
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "graph network {\n  rankdir=BT; ranksep=1.2; splines=false;\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n")
	if n.Notation != "" {
		fmt.Fprintf(out, "  label=%s;\n", quote(n.Notation))
	}
	hosts, leaves := map[Node][]string{}, []Node(nil)
	for h := range Node(n.Hosts()) {
		s := n.Leaf(h).Node
		if s == NoNode || n.IsHost(s) {
			continue
		}
		if hosts[s] == nil {
			leaves = append(leaves, s)
		}
		hosts[s] = append(hosts[s], n.Info(h).Name)
	}
	fmt.Fprint(out, "  { rank=same; node [style=rounded];")
	for _, s := range leaves {
		text := strings.Join(hosts[s], ", ")
		if k := len(hosts[s]); k > 2 {
			text = fmt.Sprintf("%s … %s (%d)", hosts[s][0], hosts[s][k-1], k)
		}
		fmt.Fprintf(out, " hosts%d [label=%s];", s, quote(text))
	}
	fmt.Fprintln(out, " }")
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
	n.dotCables(out, level)
	fmt.Fprintln(out, "}")
	return out.Flush()
}

// dotCables writes a line for each pair of switches with cables, the lower level first, so that dot
// puts the other above.
func (n *Network) dotCables(out io.Writer, level []int) {
	count := map[[2]Node]int{}
	var order [][2]Node
	for _, c := range n.SwitchCables() {
		e := [2]Node{c.A.Node, c.B.Node}
		if level[e[0]] > level[e[1]] {
			e[0], e[1] = e[1], e[0]
		}
		if count[e]++; count[e] == 1 {
			order = append(order, e)
		}
	}
	for _, e := range order {
		fmt.Fprintf(out, "  n%d -- n%d", e[0], e[1])
		if k := count[e]; k > 1 {
			fmt.Fprintf(out, " [label=\"×%d\", penwidth=%d]", k, min(k, 6))
		}
		fmt.Fprintln(out, ";")
	}
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
