package netfile

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"evbench/site/network"
)

// dumpHead begins a switch in ibdiagnet2.net_dump: name, vendor, GUID, LID.
var dumpHead = regexp.MustCompile(`^"(.*)", *[^,"]*, *0x([0-9a-fA-F]{1,16}), *LID +(\d+)$`)

// dumpColumns are those of a port; the last is the description at the other end.
const dumpColumns = 13

// A dumped port is a row of a switch, whose other end is known by GUID and by the label of its port.
type dumped struct {
	n     *node
	l     link
	guid  uint64
	label string // of the other end
	name  string
}

// ReadNetDump reads a network from ibdiagnet2.net_dump: a block for each switch, a row for each port, with
// its label and its number, state, width and speed of a lane, and GUID, label, LID and description at the
// other end. What has no block is an adapter, whose GUID is that of its port. LMC is missing. Hosts and
// errors are as in ReadIB. After files of ibdiagnet 2.10 in public; not checked against ibdiagnet, which is
// not free.
func ReadNetDump(r io.Reader) (*network.Network, error) {
	p := &reader{byID: map[string]*node{}, report: true} // a node for each port of an adapter
	var rows []dumped
	labels := map[uint64]map[string]int{} // ports by their labels, by the GUID of a switch
	if err := p.each(r, func(line string) error { return p.dumpLine(line, labels, &rows) }); err != nil {
		return nil, err
	}
	for _, n := range p.nodes {
		if n.ports == 0 {
			return nil, fmt.Errorf("line %d: switch %s has no port", n.line, brief(n.name))
		}
	}
	for _, x := range rows {
		if err := p.dumpEnd(x, labels); err != nil {
			return nil, fmt.Errorf("line %d: %w", x.l.line, err)
		}
	}
	return p.network()
}

func (p *reader) dumpLine(s string, labels map[uint64]map[string]int, rows *[]dumped) error {
	if m := dumpHead.FindStringSubmatch(s); m != nil {
		guid, _ := strconv.ParseUint(m[2], 16, 64)
		lid, err := strconv.Atoi(m[3])
		if err != nil || lid > maxLID || guid == 0 {
			return fmt.Errorf("GUID 0x%s, LID %s: a GUID is not 0, a LID at most %d", m[2], m[3], maxLID)
		}
		if labels[guid] != nil {
			return fmt.Errorf("switch 0x%016x is given twice", guid)
		}
		labels[guid] = map[string]int{}
		n := &node{line: p.line, kind: aSwitch, id: fmt.Sprintf("%016x", guid), name: m[1], guid: guid, portGUID: guid, lid: lid}
		return p.enter(n)
	}
	if s == "" || s[0] == '#' {
		return nil
	}
	f := strings.SplitN(s, ":", dumpColumns)
	if p.now == nil || len(f) < 3 {
		return fmt.Errorf("cannot read %s: no switch and no port of net_dump", brief(s))
	}
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	port, err := strconv.Atoi(f[1])
	if err != nil || port < 1 || port > maxPorts {
		return fmt.Errorf("port %s: must be 1..%d", brief(f[1]), maxPorts)
	}
	n := p.now
	if labels[n.guid][f[0]] != 0 {
		return fmt.Errorf("port %s of %s is given twice", brief(f[0]), brief(n.name))
	}
	labels[n.guid][f[0]], n.ports = port, max(n.ports, port)
	if len(f) < dumpColumns || f[2] == "DOWN" || f[9] == "" || strings.Trim(f[9], "N/A") == "" {
		return nil // without a cable
	}
	x := dumped{n: n, l: link{line: p.line, port: port}, label: f[10], name: strings.Trim(f[12], `"`)}
	if x.guid, err = strconv.ParseUint(strings.TrimPrefix(f[9], "0x"), 16, 64); err != nil || x.guid == 0 {
		return fmt.Errorf("GUID %s: not a number of 64 bits, or 0", brief(f[9]))
	}
	if x.l.peerLID, err = strconv.Atoi(f[11]); err != nil || x.l.peerLID < 0 || x.l.peerLID > maxLID {
		return fmt.Errorf("LID %s: must be 0..%d", brief(f[11]), maxLID)
	}
	x.l.rate = lstRate(f[5], f[6])
	*rows = append(*rows, x)
	return nil
}

// dumpEnd adds the link of a row, and to an adapter that of its own.
func (p *reader) dumpEnd(x dumped, labels map[uint64]map[string]int) error {
	id := fmt.Sprintf("%016x", x.guid)
	x.l.peer = id
	if labels[x.guid] != nil {
		if x.l.peerPort = labels[x.guid][x.label]; x.l.peerPort == 0 {
			return fmt.Errorf("port %d of %s leads to port %s of %s, which has no such port", x.l.port, brief(x.n.name), brief(x.label), brief(x.name))
		}
		return x.n.add(x.l)
	}
	port, err := strconv.Atoi(x.label)
	if err != nil || port < 1 || port > maxPorts {
		port = 1
	}
	far := p.byID[id]
	if far == nil {
		far = &node{line: x.l.line, kind: adapter, id: id, name: x.name, guid: x.guid, portGUID: x.guid}
		if err := p.enter(far); err != nil {
			return err
		}
	}
	x.l.peerPort, far.ports = port, max(far.ports, port)
	if err := x.n.add(x.l); err != nil {
		return err
	}
	return far.add(link{line: x.l.line, port: port, portGUID: x.guid, lid: x.l.peerLID, peer: x.n.id, peerPort: x.l.port, peerLID: x.n.lid, rate: x.l.rate})
}
