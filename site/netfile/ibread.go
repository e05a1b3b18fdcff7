package netfile

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"evbench/site/network"
)

const (
	maxLine  = 1 << 16
	maxPorts = 254
	maxLMC   = 7
	maxLID   = 0xBFFF // the last unicast LID
	maxNodes = maxLID
)

type kind int

const (
	aSwitch kind = iota
	adapter
	router
)

var kinds = map[string]kind{"Switch": aSwitch, "Ca": adapter, "Hca": adapter, "Rt": router}

// guidLines set the GUID of the next node of a kind.
var guidLines = map[string]kind{"switchguid": aSwitch, "caguid": adapter, "hcaguids": adapter, "rtguid": router}

type node struct {
	line           int
	kind           kind
	id, name       string
	guid, portGUID uint64
	lid, lmc       int // of a switch
	ports          int
	links          []link
}

type link struct {
	line, port int
	portGUID   uint64 // 0 if not given
	lid, lmc   int    // of an adapter's port
	peer       string
	peerPort   int
	peerGUID   uint64
	peerLID    int
	rate       float64 // bit/s, 0 if not given
}

type reader struct {
	line     int
	nodes    []*node
	byID     map[string]*node
	next     [3]uint64 // GUID of the next node of a kind
	nextPort [3]uint64 // GUID of its port, 0 if not given
	report   bool      // of ports
	known    bool      // a line was one of ibnetdiscover's
	now      *node     // whose ports follow
	grouped  bool      // by chassis, so that switches are printed twice
	again    bool      // now is printed a second time
	warnings []string
	left     []string // notes of ports that are left out
}

// each has take read the lines of a text, without blanks at their ends. An error names the line.
func (p *reader) each(r io.Reader, take func(line string) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		p.line++
		if err := take(strings.TrimSpace(s.Text())); err != nil {
			return fmt.Errorf("line %d: %w", p.line, err)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("line %d: %w", p.line+1, err)
	}
	return nil
}

// A warning is a line of ibnetdiscover's standard error.
var warning = regexp.MustCompile(`^(?:(?:ibwarn|ibpanic|iberror|ibnetdiscover): |[\w./-]+\.c:\d+[;:])`)

// ReadIB reads a network in the text form of ibnetdiscover, or in the shorter form that people
// write for ibsim. Every cable appears at both of its ends, so a lost line is detected. A host is a
// port of a channel adapter that has a cable; an adapter with two such ports is two hosts, called
// NAME:1 and NAME:2.
//
// Nodes without a GUID are numbered as ibsim does it. If all hosts have LIDs they are numbered in
// the order of LIDs, else as written; so are the switches. Cables have the rates of their lines
// ("4xHDR"). A text whose first line is one of a report of ports (ibnetdiscover -p) is read as
// such. Of a text by chassis (ibnetdiscover -g), which has switches twice, both must be the same. Lines
// of warnings are skipped, with a note. Errors name the line. Checked against ibnetdiscover of infiniband-diags 44, with -f, too.
func ReadIB(r io.Reader) (*network.Network, error) {
	p, err := readIB(r)
	if err != nil {
		return nil, err
	}
	return p.network()
}

func readIB(r io.Reader) (*reader, error) {
	p := &reader{byID: map[string]*node{}, next: [3]uint64{aSwitch: 0x200000, adapter: 0x100000, router: 0x300000}}
	begun := false
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	ended := false // with the last line complete
	s.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		n, line, err := bufio.ScanLines(data, atEOF)
		ended = n == 0 || data[n-1] == '\n'
		return n, line, err
	})
	for s.Scan() {
		p.line++
		if text := strings.TrimSpace(s.Text()); !begun && text != "" && text[0] != '#' && !warning.MatchString(text) {
			begun, p.report = true, portLine().MatchString(text)
		}
		if err := p.read(s.Text()); err != nil {
			if !p.known && len(p.nodes) == 0 {
				return nil, &unreadError{fmt.Errorf("line %d: %w", p.line, err)}
			}
			cut := ""
			if !ended {
				cut = "; the text ends within this line"
			}
			return nil, fmt.Errorf("line %d: %w%s", p.line, err, cut)
		}
	}
	if err := s.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d: longer than %d characters", p.line+1, maxLine)
	} else if err != nil {
		return nil, err
	}
	return p, nil
}

// passed reports whether a line says nothing of the network: an empty one, a comment, or a warning, which is kept.
func (p *reader) passed(s string) bool {
	if s == "" || s[0] == '#' {
		return true
	}
	if warning.MatchString(s) {
		p.warnings = append(p.warnings, s)
		return true
	}
	return false
}

func (p *reader) read(s string) error {
	s = strings.TrimSpace(s)
	switch {
	case p.passed(s):
		return nil
	case strings.HasPrefix(s, "Chassis "), s == "Non-Chassis Nodes":
		p.grouped = true
		return nil
	case p.report:
		return p.reported(s)
	case s[0] == '[':
		return p.port(s)
	}
	if name, value, ok := strings.Cut(s, "="); ok && !strings.ContainsAny(name, " \t\"") {
		k, ok := guidLines[name]
		p.known = p.known || ok || name == "vendid" || name == "devid" || name == "sysimgguid"
		if ok {
			return p.guid(k, value)
		}
		return nil // vendid, devid, sysimgguid, …
	}
	return p.node(s)
}

func (p *reader) guid(k kind, value string) error {
	c := cursor{value}
	guid, ok := c.hex()
	if !ok {
		return fmt.Errorf("%s is not a GUID", brief(value))
	}
	p.next[k], p.nextPort[k] = guid, 0
	if c.skip("(") {
		if p.nextPort[k], ok = c.hex(); !ok || !c.skip(")") {
			return fmt.Errorf("%s: no GUID of a port in brackets", brief(value))
		}
	}
	if !c.end() {
		return fmt.Errorf("%s follows a GUID", brief(c.rest))
	}
	return nil
}

// node reads a line such as
//
//	Switch	8 "S-0002c90401000007"		# "s1_7" base port 0 lid 139 lmc 0
func (p *reader) node(s string) error {
	c := cursor{s}
	word := c.word()
	ports, isNumber := c.number()
	id, isQuoted := c.quoted()
	k, known := kinds[word]
	switch {
	case !known && isNumber:
		return fmt.Errorf("unknown kind of node %s: there are Switch, Ca and Rt", brief(word))
	case !known || !isNumber || !isQuoted || id == "" || !c.end():
		return fmt.Errorf("cannot read %s: not a node, a port or a GUID of ibnetdiscover", brief(s))
	case ports < 1 || ports > maxPorts:
		return fmt.Errorf("%d ports: must be 1..%d", ports, maxPorts)
	}
	first := p.byID[id]
	if first != nil && !p.grouped {
		return fmt.Errorf("node %s is given twice; first on line %d", brief(id), first.line)
	}
	n := &node{line: p.line, kind: k, id: id, name: id, ports: ports, guid: p.next[k], portGUID: p.nextPort[k]}
	note := c.comment()
	if note.named {
		n.name = note.name
	}
	if k == aSwitch {
		n.lid, n.lmc = max(note.before, note.after), max(note.lmc, 0)
		n.portGUID = cmp.Or(n.portGUID, n.guid)
		p.next[k]++
	} else {
		p.next[k] += uint64(ports) + 1
	}
	p.nextPort[k] = 0
	if p.again = first != nil; p.again {
		p.now = first
		return first.same(n)
	}
	return p.enter(n)
}

// same returns an error unless a node that is printed twice is the same both times.
func (n *node) same(o *node) error {
	if n.kind != o.kind || n.name != o.name || n.guid != o.guid || n.ports != o.ports || n.lid != o.lid {
		return fmt.Errorf("node %s differs from the same on line %d", brief(n.id), n.line)
	}
	return nil
}

// port reads a line such as
//
//	[1]	"H-0002c903000001c0"[1](2c903000001c1) 		# "h28" lid 116 4xSDR
//	[1](2c90300000041) 	"S-0002c90401000001"[1]		# lid 20 lmc 2 "s1_1" lid 133 4xSDR
func (p *reader) port(s string) error {
	if len(p.nodes) == 0 {
		return fmt.Errorf("%s before the first node", brief(s))
	}
	n := p.now
	c := cursor{s}
	l := link{line: p.line, peerPort: 1}
	var ok bool
	if l.port, ok = c.bracket(); !ok {
		return fmt.Errorf("cannot read %s: no number in brackets", brief(s))
	}
	if l.port < 1 || l.port > n.ports {
		return fmt.Errorf("port %d: %s has ports 1..%d", l.port, brief(n.name), n.ports)
	}
	if l.portGUID, ok = c.parenthesis(); !ok {
		return fmt.Errorf("cannot read %s: no GUID in brackets", brief(s))
	}
	if l.peer, ok = c.quoted(); !ok {
		return fmt.Errorf("port %d of %s: no name of a node in quotes follows", l.port, brief(n.name))
	}
	if c.at('[') {
		if l.peerPort, ok = c.bracket(); !ok {
			return fmt.Errorf("port %d of %s: no number in brackets after %s", l.port, brief(n.name), brief(l.peer))
		}
	}
	if l.peerGUID, ok = c.parenthesis(); !ok {
		return fmt.Errorf("port %d of %s: no GUID in brackets after %s", l.port, brief(n.name), brief(l.peer))
	}
	c.options()
	if !c.end() {
		return fmt.Errorf("port %d of %s: %s is left over", l.port, brief(n.name), brief(c.rest))
	}
	return p.link(n, l, c.comment())
}

func (p *reader) link(n *node, l link, note note) error {
	l.peerLID, l.rate = note.after, note.rate
	if n.kind == aSwitch {
		l.peerLID = max(note.before, note.after)
	} else if l.lid = note.before; l.lid > 0 {
		if l.lmc = note.lmc; l.lmc < 0 {
			return fmt.Errorf("port %d of %s: lid %d without lmc", l.port, brief(n.name), l.lid)
		}
	}
	if p.again {
		if i := slices.IndexFunc(n.links, func(o link) bool { return o.port == l.port && o.peer == l.peer && o.peerPort == l.peerPort }); i < 0 {
			return fmt.Errorf("port %d of %s differs from what follows line %d", l.port, brief(n.name), n.line)
		}
		return nil
	}
	return n.add(l)
}

// enter adds a node, which may be followed by its ports.
func (p *reader) enter(n *node) error {
	if first := p.byID[n.id]; first != nil {
		return fmt.Errorf("node %s is given twice; first on line %d", n.id, first.line)
	}
	if len(p.nodes) >= maxNodes {
		return fmt.Errorf("more than %d nodes", maxNodes)
	}
	p.now, p.nodes, p.byID[n.id] = n, append(p.nodes, n), n
	return nil
}

// add adds a link, unless its port already has one.
func (n *node) add(l link) error {
	for _, o := range n.links {
		if o.port == l.port {
			return fmt.Errorf("port %d of %s is given twice; first on line %d", l.port, brief(n.name), o.line)
		}
	}
	n.links = append(n.links, l)
	return nil
}
