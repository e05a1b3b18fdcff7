package netfile

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"evbench/site/network"
)

// linkHead begins a node in the output of iblinkinfo.
var linkHead = regexp.MustCompile(`^(CA|Switch|Router): (?:(0x[0-9a-f]{16}) )?(.*):$`)

// linkLine is a line of a port: its GUID where it is an adapter's, its LID and number, width and
// speed of a lane, LID and number at the other end.
var linkLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(0x[0-9a-f]{16}) +)?(\d+) +(\d+)\[ *\d* *\] ==\( *(.*?)\)==> +(?:(?:(\d+) +(\d+))?\[ *\d* *\] ".*" \(.*\)|"Port not available")$`)
})

var laneSpeed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d+)X +(?:[0-9.]+ Gbps \()?([0-9.]+|FDR10)[ )]`) })

// speeds are those of iblinkinfo, in Gbit/s on a lane.
var speeds = map[string]string{
	"2.5": "SDR", "5.0": "DDR", "10.0": "QDR", "FDR10": "FDR10", "14.0625": "FDR", "25.78125": "EDR", "53.125": "HDR", "106.25": "NDR", "212.5": "XDR",
}

// ReadLinkInfo reads a network in the text that iblinkinfo prints, of which LIDs say what a cable
// leads to. LMC and the GUIDs of adapters are missing: an adapter has that of its first port. Hosts
// and errors are as in ReadIB. Checked against infiniband-diags 44.
func ReadLinkInfo(r io.Reader) (*network.Network, error) {
	p := &reader{byID: map[string]*node{}}
	if err := p.each(r, p.linkInfo); err != nil {
		return nil, err
	}
	byLID, unnamed := map[int]*node{}, p.withoutLID()
	for _, n := range p.nodes {
		for _, l := range n.links {
			byLID[max(n.lid, l.lid)] = n
		}
	}
	for _, n := range p.nodes {
		for i := range n.links {
			l := &n.links[i]
			peer := byLID[l.peerLID]
			if l.peerLID == 0 {
				peer = unnamed[[3]int{max(n.lid, l.lid), l.port, l.peerPort}]
			}
			if peer == nil && !slices.ContainsFunc(p.nodes, func(n *node) bool { return n.kind == adapter }) {
				return nil, fmt.Errorf("line %d: port %d of %s leads to LID %d, and this text lists only switches: give the output of iblinkinfo without --switches-only", l.line, l.port, brief(n.name), l.peerLID)
			}
			if peer == nil {
				return nil, fmt.Errorf("line %d: port %d of %s leads to LID %d, which no port of this text has", l.line, l.port, brief(n.name), l.peerLID)
			}
			l.peer = peer.id
		}
	}
	return p.network()
}

// withoutLID are the adapters whose ports have no LID, by the LID and the port of the switch that these
// lead to, and their own port.
func (p *reader) withoutLID() map[[3]int]*node {
	out := map[[3]int]*node{}
	for _, n := range p.nodes {
		for _, l := range n.links {
			if n.kind != aSwitch && l.lid == 0 && l.peerLID > 0 {
				out[[3]int{l.peerLID, l.peerPort, l.port}] = n
			}
		}
	}
	return out
}

func (p *reader) linkInfo(s string) error {
	if p.passed(s) {
		return nil
	}
	if m := linkHead.FindStringSubmatch(s); m != nil {
		return p.linkNode(m[1], m[2], m[3])
	}
	m := linkLine().FindStringSubmatch(s)
	if m == nil || p.now == nil {
		return fmt.Errorf("cannot read %s: no node and no port of iblinkinfo", brief(s))
	}
	var x [4]int // LID and port, and those of the other end
	for i, text := range []string{m[2], m[3], m[5], m[6]} {
		x[i], _ = strconv.Atoi(text) // 0 of a port without a cable
		if i%2 == 0 && x[i] > maxLID || i%2 == 1 && x[i] > maxPorts {
			return fmt.Errorf("%s: a LID is up to %d, a port up to %d", text, maxLID, maxPorts)
		}
	}
	n := p.now
	if x[1] < 1 {
		return fmt.Errorf("port %d: must be 1..%d", x[1], maxPorts)
	}
	n.ports = max(n.ports, x[1])
	if n.kind == aSwitch {
		n.lid = x[0]
	}
	if m[5] == "" {
		if strings.HasSuffix(s, `"Port not available"`) {
			p.left = append(p.left, fmt.Sprintf("port %d of %s leads to what iblinkinfo could not ask: left out", x[1], n.name))
		}
		return nil // without a cable
	}
	l := link{line: p.line, port: x[1], peerLID: x[2], peerPort: x[3]}
	if w := laneSpeed().FindStringSubmatch(m[4]); w != nil {
		width, _ := strconv.ParseFloat(w[1], 64)
		l.rate = width * lanes[speeds[w[2]]]
	}
	if n.kind != aSwitch {
		guid, err := strconv.ParseUint(m[1], 0, 64)
		if err != nil {
			return fmt.Errorf("port %d of %s has no GUID", x[1], brief(n.name))
		}
		l.portGUID, l.lid = guid, x[0]
		if len(n.links) == 0 {
			n.guid, n.portGUID = guid, guid
		}
	}
	return n.add(l)
}

func (p *reader) linkNode(word, guid, name string) error {
	k := map[string]kind{"CA": adapter, "Switch": aSwitch, "Router": router}[word]
	n := &node{line: p.line, kind: k, id: word + strconv.Itoa(p.line), name: strings.TrimSpace(name)}
	if k == aSwitch {
		x, err := strconv.ParseUint(guid, 0, 64)
		if err != nil {
			return fmt.Errorf("%s has no GUID", brief(name))
		}
		n.guid, n.portGUID, n.id = x, x, guid
	}
	return p.enter(n)
}
