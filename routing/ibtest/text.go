package ibtest

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"evbench/routing/lft"
	"evbench/topology/network"
)

// simText is the network as ibsim reads it. Cables are written at one end.
func simText(n *network.Network) string {
	var b strings.Builder
	for i := range n.Switches() {
		s := n.Switch(i)
		fmt.Fprintf(&b, "switchguid=%#x\nSwitch %d %q\n", n.Info(s).GUID, len(n.Ends(s)), n.Info(s).Name)
		for p, e := range n.Ends(s) {
			if e.Node != network.NoNode {
				fmt.Fprintf(&b, "[%d] %q[%d]\n", p+1, n.Info(e.Node).Name, e.Port)
			}
		}
		b.WriteByte('\n')
	}
	for h := range n.Hosts() {
		i := n.Info(network.Node(h))
		fmt.Fprintf(&b, "caguid=%#x\nCa 1 %q\n", i.Port-1, i.Name)
		if e := n.Leaf(network.Node(h)); e.Node != network.NoNode {
			fmt.Fprintf(&b, "[1] %q[%d]\n", n.Info(e.Node).Name, e.Port)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// pins is the file guid2lid, which OpenSM takes LIDs from.
func pins(n *network.Network) string {
	var b strings.Builder
	for v := range n.Nodes() {
		i := n.Info(network.Node(v))
		last := int(i.LID)
		if n.IsHost(network.Node(v)) {
			last += 1<<i.LMC - 1
		}
		fmt.Fprintf(&b, "0x%016x 0x%04x 0x%04x\n\n", i.Port, i.LID, last)
	}
	return b.String()
}

// manager is the first host of the largest part of the network, counted in
// hosts.
func manager(n *network.Network) network.Node {
	part := make([]network.Node, n.Nodes()) // its first host + 1
	best, most := network.Node(0), 0
	for h := range network.Node(n.Hosts()) {
		if part[h] != 0 {
			continue
		}
		part[h] = h + 1
		hosts, todo := 0, []network.Node{h}
		for len(todo) > 0 {
			v := todo[0]
			todo = todo[1:]
			if n.IsHost(v) {
				hosts++
			}
			for _, e := range n.Ends(v) {
				if e.Node != network.NoNode && part[e.Node] == 0 {
					part[e.Node] = h + 1
					todo = append(todo, e.Node)
				}
			}
		}
		if hosts > most {
			best, most = h, hosts
		}
	}
	return best
}

// readTables reads what OpenSM and dump_fts write: a line with the GUID of a
// switch, then lines "LID port".
func readTables(n *network.Network, engine string, r io.Reader) (*lft.Tables, error) {
	t := lft.New(engine, n)
	byGUID := map[uint64]int{}
	for i := range n.Switches() {
		byGUID[n.Info(n.Switch(i)).GUID] = i
	}
	var row []uint8
	scan := bufio.NewScanner(r)
	for scan.Scan() {
		line := scan.Text()
		if _, after, ok := strings.Cut(line, " guid 0x"); ok && strings.HasPrefix(line, "Unicast lids") {
			guid, err := strconv.ParseUint(strings.Fields(after)[0], 16, 64)
			i, known := byGUID[guid]
			if err != nil || !known {
				return nil, fmt.Errorf("tables of an unknown switch: %s", line)
			}
			row = t.Row(i)
			continue
		}
		f := strings.Fields(line)
		if len(f) < 2 || !strings.HasPrefix(f[0], "0x") || row == nil {
			continue
		}
		lid, err := strconv.ParseUint(f[0], 0, 16)
		if err != nil {
			return nil, fmt.Errorf("not an entry: %s", line)
		}
		port, err := strconv.ParseUint(f[1], 10, 8)
		if err != nil || int(lid) >= len(row) {
			continue // a word instead of a port: no route
		}
		row[lid] = uint8(port)
	}
	return t, scan.Err()
}
