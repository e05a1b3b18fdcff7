package netfile

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/lists"
	"evbench/site/network"
)

type adapters struct {
	n     *network.Network
	first []network.Node   // of an adapter, in the order of hosts
	ports [][]network.Node // hosts of an adapter, by port
	of    []int            // adapter of a host
	port  []int            // port of a host
}

// group puts hosts with one node GUID together. The number of a port is the distance of its GUID
// from the node's, else the next free number.
func group(n *network.Network) *adapters {
	a := &adapters{n: n, of: make([]int, n.Hosts()), port: make([]int, n.Hosts())}
	joined := lists.Filter(lists.Range[network.Node](n.Hosts()), func(h network.Node) bool { return !n.Isolated(h) })
	a.ports = lists.Groups(joined, func(h network.Node) uint64 { return n.Info(h).GUID })
	for i, hosts := range a.ports {
		for _, h := range hosts {
			a.of[h] = i
		}
		a.number(hosts)
	}
	return a
}

func (a *adapters) number(hosts []network.Node) {
	a.first = append(a.first, hosts[0])
	taken := map[int]bool{}
	for _, h := range hosts {
		i := a.n.Info(h)
		if p := i.Port - i.GUID; p >= 1 && p <= maxPorts && !taken[int(p)] {
			a.port[h] = int(p)
			taken[int(p)] = true
		}
	}
	free := 1
	for _, h := range hosts {
		if a.port[h] > 0 {
			continue
		}
		for taken[free] {
			free++
		}
		a.port[h] = free
		taken[free] = true
	}
	slices.SortFunc(hosts, func(x, y network.Node) int { return cmp.Compare(a.port[x], a.port[y]) })
}

func (a *adapters) name(i int) string {
	h := a.ports[i][0]
	name := printable(a.n.Info(h).Name)
	if len(a.ports[i]) > 1 {
		name = strings.TrimSuffix(name, ":"+strconv.Itoa(a.port[h]))
	}
	return name
}

func (a *adapters) size(i int) int { return a.port[a.ports[i][len(a.ports[i])-1]] }

func shown(n *network.Network) []network.Node {
	var out []network.Node
	for i := range n.Switches() {
		if s := n.Switch(i); !n.Isolated(s) {
			out = append(out, s)
		}
	}
	return out
}

func (a *adapters) distinct(switches []network.Node) error {
	given := map[uint64]network.Node{}
	for _, v := range slices.Concat(a.first, switches) {
		i := a.n.Info(v)
		if first, ok := given[i.GUID]; ok {
			return fmt.Errorf("%s and %s have one GUID, 0x%016x", brief(a.n.Info(first).Name), brief(i.Name), i.GUID)
		}
		given[i.GUID] = v
	}
	return nil
}

// WriteIB writes a network in the form of ibnetdiscover. It leaves out nodes without cables: no discovery finds them.
func WriteIB(w io.Writer, n *network.Network) error {
	a, switches := group(n), shown(n)
	if err := a.distinct(switches); err != nil {
		return err
	}
	speed := func(at network.End) string { // after a blank, where it is known
		if s := speedOf(n.Rate(at)); s != "" {
			return " " + s
		}
		return ""
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "#\n# Topology file: %s\n#\n", title(n))
	for _, s := range switches {
		i := n.Info(s)
		fmt.Fprintf(out, "\nvendid=0x0\ndevid=0x0\nsysimgguid=0x%x\nswitchguid=0x%x(%x)\n", i.GUID, i.GUID, i.Port)
		fmt.Fprintf(out, "Switch\t%d \"S-%016x\"\t\t# \"%s\" base port 0 lid %d lmc 0\n", len(n.Ends(s)), i.GUID, printable(i.Name), i.LID)
		for p, e := range n.Ends(s) {
			if e.Node == network.NoNode {
				writeOther(out, n, n.Behind(s, p+1), p+1)
				continue
			}
			peer := n.Info(e.Node)
			if n.IsHost(e.Node) {
				fmt.Fprintf(out, "[%d]\t\"H-%016x\"[%d](%x) \t\t# \"%s\" lid %d%s\n",
					p+1, peer.GUID, a.port[e.Node], peer.Port, a.name(a.of[e.Node]), peer.LID, speed(e))
			} else {
				fmt.Fprintf(out, "[%d]\t\"S-%016x\"[%d]\t\t# \"%s\" lid %d%s\n", p+1, peer.GUID, e.Port, printable(peer.Name), peer.LID, speed(e))
			}
		}
	}
	for i, hosts := range a.ports {
		guid := n.Info(hosts[0]).GUID
		fmt.Fprintf(out, "\nvendid=0x0\ndevid=0x0\nsysimgguid=0x%x\ncaguid=0x%x\n", guid, guid)
		fmt.Fprintf(out, "Ca\t%d \"H-%016x\"\t\t# \"%s\"\n", a.size(i), guid, a.name(i))
		for _, h := range hosts {
			own, e := n.Info(h), n.Leaf(h)
			peer := n.Info(e.Node)
			fmt.Fprintf(out, "[%d](%x) \t\"S-%016x\"[%d]\t\t# lid %d lmc %d \"%s\" lid %d%s\n",
				a.port[h], own.Port, peer.GUID, e.Port, own.LID, own.LMC, printable(peer.Name), peer.LID, speed(e))
		}
	}
	given := map[uint64]bool{}
	for k := range n.Others() {
		i, e := n.Info(n.Other(k)), n.Leaf(n.Other(k))
		if e.Node == network.NoNode {
			continue
		}
		if given[i.GUID] { // another port of one router
			i.GUID = i.Port
		}
		given[i.GUID] = true
		kind, port := otherKind(n, n.Other(k)), otherPort(i)
		peer := n.Info(e.Node)
		fmt.Fprintf(out, "\nvendid=0x0\ndevid=0x0\nsysimgguid=0x%x\n%sguid=0x%x\n", i.GUID, strings.ToLower(kind), i.GUID)
		fmt.Fprintf(out, "%s\t%d \"%s\"\t\t# \"%s\"\n[%d](%x) \t\"S-%016x\"[%d]\t\t# lid %d lmc %d \"%s\" lid %d\n", kind, port, otherID(i), printable(i.Name),
			port, i.Port, peer.GUID, e.Port, i.LID, i.LMC, printable(peer.Name), peer.LID)
	}
	return out.Flush()
}

// otherPort returns the port of an adapter or router that is no host.
func otherPort(i network.Info) int {
	if p := i.Port - i.GUID; p >= 1 && p <= maxPorts {
		return int(p)
	}
	return 1
}

func otherKind(n *network.Network, v network.Node) string {
	if n.IsRouter(v) {
		return "Rt"
	}
	return "Ca"
}

func otherID(i network.Info) string { return fmt.Sprintf("R-%016x", i.Port) }

func writeOther(out io.Writer, n *network.Network, v network.Node, at int) {
	if v != network.NoNode {
		i := n.Info(v)
		fmt.Fprintf(out, "[%d]\t\"%s\"[%d](%x) \t\t# \"%s\" lid %d\n", at, otherID(i), otherPort(i), i.Port, printable(i.Name), i.LID)
	}
}

func title(n *network.Network) string {
	return cmp.Or(n.Notation, fmt.Sprintf("%d hosts, %d switches", n.Hosts(), n.Switches()))
}
