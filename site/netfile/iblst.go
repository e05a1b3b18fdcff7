package netfile

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"evbench/site/network"
)

// lstLine begins a line of OpenSM's opensm-subnet.lst and of ibdiagnet2.lst.
var lstLine = regexp.MustCompile(`^\{ (?:CA|SW|R[Tt]|\*\*)(?:-SM)? Ports:`)

// lstEnds are the two ends of a cable and its width, state and speed of a lane in Gbit/s.
var lstEnds = sync.OnceValue(func() *regexp.Regexp {
	const end = `\{ (\S+) Ports:([0-9A-Fa-f]+) SystemGUID:\S+ NodeGUID:([0-9A-Fa-f]+) PortGUID:([0-9A-Fa-f]+) VenID:\S+ DevID:\S+ Rev:\S+ \{(.*?)\} LID:([0-9A-Fa-f]+) PN:([0-9A-Fa-f]+) \} `
	return regexp.MustCompile(`^` + end + end + `PHY=(\S+) LOG=(\S+) SPD=(\S+)$`)
})

// lstSpeeds are those of these files that speeds does not have.
var lstSpeeds = map[string]string{"5": "DDR", "10": "QDR", "14": "FDR", "25": "EDR", "50": "HDR", "100": "NDR", "200": "XDR"}

// lstRate is the rate of a cable, of its width as 4x and its speed in these files; 0 if unknown.
func lstRate(width, speed string) float64 {
	wide, _ := strconv.ParseFloat(strings.TrimSuffix(width, "x"), 64)
	return wide * lanes[cmp.Or(lstSpeeds[speed], speeds[speed])]
}

// ReadLST reads a network from OpenSM's opensm-subnet.lst or ibdiagnet2.lst, where each line is a cable,
// from one end or from both. Numbers are hexadecimal, and LMC is missing. Hosts and errors are as in
// ReadIB. A cable that is not up is left out. Checked against OpenSM 3.3.23 (osm_dump.c).
func ReadLST(r io.Reader) (*network.Network, error) {
	p := &lstReader{reader: reader{byID: map[string]*node{}}, ports: map[uint64]string{}}
	if err := p.each(r, p.lst); err != nil {
		return nil, err
	}
	return p.network()
}

// An lstReader also knows which node has the port of a GUID.
type lstReader struct {
	reader
	ports map[uint64]string
}

func (p *lstReader) lst(s string) error {
	if p.passed(s) {
		return nil
	}
	m := lstEnds().FindStringSubmatch(s)
	if m == nil {
		return fmt.Errorf("cannot read %s: no cable of opensm-subnet.lst", brief(s))
	}
	var ends [2]link
	var nodes [2]*node
	for i := range ends {
		var err error
		if nodes[i], ends[i], err = p.lstEnd(m[1+7*i : 8+7*i]); err != nil {
			return err
		}
	}
	if state := m[16]; state == "DWN" {
		return nil
	}
	rate := lstRate(m[15], m[17])
	for i := range ends {
		far := 1 - i
		l := ends[i]
		l.peer, l.peerPort, l.rate = nodes[far].id, ends[far].port, rate
		if err := nodes[i].once(l); err != nil {
			return err
		}
	}
	return nil
}

// lstEnd reads the fields of one end: kind, ports, GUIDs of node and port, name, LID and port.
func (p *lstReader) lstEnd(m []string) (n *node, l link, err error) {
	k, ok := map[string]kind{"CA": adapter, "SW": aSwitch, "RT": router}[strings.ToUpper(strings.TrimSuffix(m[0], "-SM"))]
	if !ok {
		return nil, l, fmt.Errorf("%s: not one of CA, SW and Rt", brief(m[0]))
	}
	var x [5]uint64 // ports, GUIDs of node and port, LID, port
	for i, at := range []int{1, 2, 3, 5, 6} {
		if x[i], err = strconv.ParseUint(m[at], 16, 64); err != nil {
			return nil, l, fmt.Errorf("%s: not a hexadecimal number of 64 bits", brief(m[at]))
		}
	}
	if x[0] > maxPorts || x[3] > maxLID || x[4] < 1 || x[4] > x[0] {
		return nil, l, fmt.Errorf("port %d of %d, LID %d: there are at most %d ports, and LIDs up to %d", x[4], x[0], x[3], maxPorts, maxLID)
	}
	if x[1] == 0 || x[2] == 0 {
		return nil, l, fmt.Errorf("%s has the GUID 0", brief(m[4]))
	}
	id := fmt.Sprintf("%016x", x[1])
	if other, ok := p.ports[x[2]]; ok && other != id {
		return nil, l, fmt.Errorf("port GUID %s is of two nodes", brief(m[3]))
	}
	p.ports[x[2]] = id
	if n = p.byID[id]; n == nil {
		n = &node{line: p.line, kind: k, id: id, name: m[4], guid: x[1], portGUID: x[2], ports: int(x[0])}
		if k == aSwitch {
			n.lid = int(x[3])
		}
		if err := p.enter(n); err != nil {
			return nil, l, err
		}
	} else if n.kind != k || n.name != m[4] || n.ports != int(x[0]) {
		return nil, l, fmt.Errorf("node %s differs from the same on line %d", brief(id), n.line)
	}
	l = link{line: p.line, port: int(x[4])}
	if k != aSwitch {
		l.portGUID, l.lid = x[2], int(x[3])
	}
	return n, l, nil
}

// once adds a link unless the node has the same, from the line of its other end.
func (n *node) once(l link) error {
	for _, o := range n.links {
		if o.port == l.port && o.peer == l.peer && o.peerPort == l.peerPort {
			return nil
		}
	}
	return n.add(l)
}
