package netfile

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"evbench/internal/lists"
	"evbench/site/network"
)

// WriteYAML writes all nodes and cables of a network, so that ReadYAML returns the same.
// Ends of cables are written by name, or by the GUID of the port where two nodes
// share the name.
func WriteYAML(w io.Writer, n *network.Network) error {
	out := bufio.NewWriter(w)
	if n.Notation != "" {
		fmt.Fprintf(out, "# %s\n", n.Notation)
	}
	fmt.Fprintln(out, "hosts:")
	for v := range network.Node(n.Hosts()) {
		i := n.Info(v)
		fmt.Fprintf(out, "  - {name: %s%s%s", quote(i.Name), guid("guid", i.GUID), guid("port_guid", i.Port))
		if i.LID > 0 {
			fmt.Fprintf(out, ", lid: %d, lmc: %d", i.LID, i.LMC)
		}
		fmt.Fprintln(out, "}")
	}
	fmt.Fprintln(out, "switches:")
	for s := range n.Switches() {
		i := n.Info(n.Switch(s))
		fmt.Fprintf(out, "  - {name: %s%s", quote(i.Name), guid("guid", i.GUID))
		if i.Port != i.GUID {
			fmt.Fprint(out, guid("port_guid", i.Port))
		}
		fmt.Fprintf(out, ", ports: %d", len(n.Ends(n.Switch(s))))
		if i.LID > 0 {
			fmt.Fprintf(out, ", lid: %d", i.LID)
		}
		fmt.Fprintln(out, "}")
	}
	if n.Others() > 0 {
		fmt.Fprintln(out, "others:")
	}
	x := network.Names(n)
	for k := range n.Others() {
		i, e := n.Info(n.Other(k)), n.Leaf(n.Other(k))
		if e.Node == network.NoNode {
			continue
		}
		fmt.Fprintf(out, "  - {name: %s%s%s, lid: %d, lmc: %d, at: %s", quote(i.Name), guid("guid", i.GUID), guid("port_guid", i.Port), i.LID, i.LMC,
			quote(unique(x, n, e.Node)+"/"+strconv.Itoa(int(e.Port))))
		if n.IsRouter(n.Other(k)) {
			fmt.Fprint(out, ", router: true")
		}
		fmt.Fprintln(out, "}")
	}
	writeCables(out, n)
	return out.Flush()
}

// guid returns a field, or nothing without a GUID: ReadYAML gives one.
func guid(name string, x uint64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf(", %s: 0x%016x", name, x)
}

func writeCables(out io.Writer, n *network.Network) {
	x := network.Names(n)
	name := lists.Tabulate(n.Nodes(), func(v int) string { return unique(x, n, network.Node(v)) })
	fmt.Fprintln(out, "cables:")
	for _, c := range n.Cables() {
		a, b := name[c.A.Node], name[c.B.Node]
		if !n.IsHost(c.A.Node) {
			a += "/" + strconv.Itoa(int(c.A.Port))
		}
		rate := ""
		if s := speedOf(n.Rate(c.A)); s != "" {
			rate = ", " + s
		}
		fmt.Fprintf(out, "  - [%s, %s%s]\n", quote(a), quote(b+"/"+strconv.Itoa(int(c.B.Port))), rate)
	}
}

// unique returns the name of a node, or its port's GUID where another has that name.
func unique(x *network.Index, n *network.Network, v network.Node) string {
	name := printable(n.Info(v).Name)
	if found, err := x.Node(name); err != nil || found != v {
		return fmt.Sprintf("0x%016x", n.Info(v).Port)
	}
	return name
}

func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, "?"))
}

// plain are names that YAML takes for text without quotes.
var plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(/[0-9]+)?$`)

// words are plain, but something else in YAML.
var words = map[string]bool{"true": true, "false": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true, "null": true}

func quote(name string) string {
	name = printable(name)
	if plain.MatchString(name) && !words[strings.ToLower(name)] {
		return name
	}
	return strconv.Quote(name)
}
