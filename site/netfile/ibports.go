package netfile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// lanes are the rates of a lane by speed, in bit/s of data: 8 bits of 10 up to QDR, 64 of 66
// from FDR10 on.
var lanes = map[string]float64{
	"SDR": 2e9, "DDR": 4e9, "QDR": 8e9, "FDR10": 10e9, "FDR": 14.0625e9 * 64 / 66, "EDR": 25e9, "HDR": 50e9, "NDR": 100e9, "XDR": 200e9,
}

var speed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|\s)(1|2|4|8|12)x ?(SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR)(?:\s|$)`)
})

// lastRate returns the rate of the last width and speed in a text, 0 without one.
func lastRate(s string) float64 {
	all := speed().FindAllStringSubmatch(s, -1)
	if len(all) == 0 {
		return 0
	}
	m := all[len(all)-1]
	width, _ := strconv.ParseFloat(m[1], 64)
	return width * lanes[m[2]]
}

// speedOf returns a width and a speed with a rate, such as 4xHDR, "" where there is none: not
// always those that were read, as 2xHDR is as fast as 4xEDR.
func speedOf(rate float64) string {
	for _, width := range []int{4, 2, 1, 8, 12} {
		for _, name := range []string{"XDR", "NDR", "HDR", "EDR", "FDR", "FDR10", "QDR", "DDR", "SDR"} {
			if rate > 0 && float64(width)*lanes[name] == rate {
				return fmt.Sprintf("%dx%s", width, name)
			}
		}
	}
	return ""
}

// portLine is a line of a report of ports: kind, LID, port, GUID, width and speed of the port,
// then the port at the other end and both names, or the name alone.
var portLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(SW|CA|RT) +(\d+) +(\d+) (0x[0-9a-f]{16}) (\S+) (\S+)(?: - (SW|CA|RT) +(\d+) +(\d+) (0x[0-9a-f]{16}) \( '(.*)' - '(.*)' \)|\s+'(.*)')$`)
})

var reportKinds = map[string]kind{"SW": aSwitch, "CA": adapter, "RT": router}

// reported reads a line of the report of ports that ibnetdiscover -p prints; checked against
// the source of rdma-core 64 (2026), and what infiniband-diags 44 prints:
//
//	SW    41  2 0x0002c90402000000 4x SDR - SW    34  5 0x0002c90401000001 ( 's2_0' - 's1_1' )
//	SW    41  1 0x0002c90402000000 ?? ???                                    's2_0'
//
// The GUID belongs to the switch, or to the port of an adapter. The LMC of an adapter is missing.
func (p *reader) reported(s string) error {
	m := portLine().FindStringSubmatch(s)
	if m == nil {
		return fmt.Errorf("cannot read %s: no line of a report of ports", brief(s))
	}
	lid, err1 := strconv.ParseUint(m[2], 10, 16)
	port, err2 := strconv.ParseUint(m[3], 10, 8)
	guid, err3 := strconv.ParseUint(m[4], 0, 64)
	if err1 != nil || err2 != nil || err3 != nil || port < 1 || port > maxPorts {
		return fmt.Errorf("LID %s, port %s: a port is 1..%d", m[2], m[3], maxPorts)
	}
	name := m[11]
	if m[7] == "" {
		name = m[13]
	}
	n, err := p.reportedNode(m[1], m[4], guid, name)
	if err != nil {
		return err
	}
	n.ports = max(n.ports, int(port))
	if n.kind == aSwitch {
		n.lid = int(lid)
	}
	if m[7] == "" {
		return nil // without a cable
	}
	far, err := strconv.ParseUint(m[9], 10, 8)
	if err != nil || far < 1 {
		return fmt.Errorf("port %s at the other end: must be 1..%d", m[9], maxPorts)
	}
	l := link{line: p.line, port: int(port), peer: m[7] + m[10], peerPort: int(far), rate: lastRate(m[5] + m[6])}
	if n.kind != aSwitch {
		l.lid, l.portGUID = int(lid), guid
	}
	return n.add(l)
}

// reportedNode returns the node of a line, a new one at its first line.
func (p *reader) reportedNode(word, id string, guid uint64, name string) (*node, error) {
	k, id := reportKinds[word], word+id
	if n := p.byID[id]; n != nil {
		return n, nil
	}
	n := &node{line: p.line, kind: k, id: id, name: strings.TrimSpace(name), guid: guid, portGUID: guid}
	return n, p.enter(n)
}
