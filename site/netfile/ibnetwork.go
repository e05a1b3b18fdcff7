package netfile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/show"
	"evbench/site/network"
)

// A host is a port of an adapter that has a cable.
type host struct {
	of   *node
	link *link
	info network.Info
}

func (p *reader) network() (*network.Network, error) {
	if len(p.nodes) == 0 {
		return nil, errors.New("no node in this text")
	}
	if err := p.checkGUIDs(); err != nil {
		return nil, err
	}
	p.unplug()
	if err := p.joinPlanes(); err != nil {
		return nil, err
	}
	for _, n := range p.nodes {
		for i := range n.links {
			if err := p.checkLink(n, &n.links[i]); err != nil {
				return nil, err
			}
		}
	}
	hosts, others, switches := p.hosts(false), p.hosts(true), p.switches()
	if len(hosts) == 0 {
		return nil, errors.New("no adapter has a cable")
	}
	if total := len(hosts) + len(switches); total > maxNodes {
		return nil, fmt.Errorf("%d hosts and switches, more than %d", total, maxNodes)
	}
	if all := slices.Concat(hosts, others); checkLIDs(all, switches) != nil {
		return nil, p.subnets(all, switches, checkLIDs(all, switches))
	}
	n, err := build(hosts, others, switches)
	if err == nil {
		n.Notes = p.notes()
	}
	return n, err
}

// unplug leaves out ports whose plug leads back to them.
func (p *reader) unplug() {
	for _, n := range p.nodes {
		n.links = slices.DeleteFunc(n.links, func(l link) bool {
			back := l.peer == n.id && l.port == l.peerPort
			if back {
				p.left = append(p.left, fmt.Sprintf("a plug leads port %d of %s back to itself: left out", l.port, n.name))
			}
			return back
		})
	}
}

// notes say what is skipped in the text, and which cables are for tests.
func (p *reader) notes() (notes []string) {
	if w := p.warnings; w != nil {
		notes = append(notes, fmt.Sprintf("%s of ibnetdiscover in the text (2>&1) skipped, the first %s", show.Plural(len(w), "warning", "warnings"), brief(w[0])))
	}
	for _, n := range p.nodes {
		for _, l := range n.links {
			if l.peer == n.id && l.port < l.peerPort {
				notes = append(notes, fmt.Sprintf("a plug joins ports %d and %d of %s: left out", l.port, l.peerPort, n.name))
			}
		}
	}
	return append(notes, p.left...)
}

// other reports whether a node has LIDs and is no host: a router, or the adapter for reductions
// behind a port within a switch.
func (n *node) other() bool {
	return n.kind == router || n.kind == adapter && strings.HasSuffix(strings.ToLower(n.name), "aggregation node")
}

func (p *reader) checkGUIDs() error {
	nodes, ports := map[uint64]int{}, map[uint64]int{} // to lines
	for _, n := range p.nodes {
		if first, ok := nodes[n.guid]; ok {
			return fmt.Errorf("line %d: %s has the GUID 0x%016x of the node on line %d", n.line, brief(n.name), n.guid, first)
		}
		nodes[n.guid] = n.line
		for i := range n.links {
			l := &n.links[i]
			if n.kind == aSwitch {
				continue
			}
			if l.portGUID == 0 {
				l.portGUID = n.guid + uint64(l.port) // as ibsim does
			}
			if first, ok := ports[l.portGUID]; ok {
				return fmt.Errorf("line %d: port %d of %s has the GUID 0x%016x of the port on line %d", l.line, l.port, brief(n.name), l.portGUID, first)
			}
			ports[l.portGUID] = l.line
		}
	}
	return nil
}

func (p *reader) checkLink(n *node, l *link) error {
	peer := p.byID[l.peer]
	fail := func(format string, args ...any) error {
		return fmt.Errorf("line %d: port %d of %s leads to %w", l.line, l.port, brief(n.name), fmt.Errorf(format, args...))
	}
	if peer == nil {
		return fail("%s, which is not in this text: is its end missing?", brief(l.peer))
	}
	if l.peerPort < 1 || l.peerPort > peer.ports {
		return fail("port %d of %s, which has ports 1..%d", l.peerPort, brief(peer.name), peer.ports)
	}
	if n.kind != aSwitch && peer.kind != aSwitch {
		return fail("%s: there is no switch between two hosts", brief(peer.name))
	}
	i := slices.IndexFunc(peer.links, func(o link) bool { return o.port == l.peerPort })
	if i < 0 {
		return fail("port %d of %s (line %d), which has no line of its own", l.peerPort, brief(peer.name), peer.line)
	}
	back := &peer.links[i]
	if back.peer != n.id || back.peerPort != l.port {
		return fail("port %d of %s, which leads to port %d of %s on line %d",
			l.peerPort, brief(peer.name), back.peerPort, brief(back.peer), back.line)
	}
	lid, line := back.lid, back.line
	if peer.kind == aSwitch {
		lid, line = peer.lid, peer.line
	}
	if l.peerLID > 0 && lid != l.peerLID {
		return fail("LID %d, but %s has LID %d on line %d", l.peerLID, brief(peer.name), lid, line)
	}
	if l.peerGUID > 0 && peer.kind != aSwitch && back.portGUID != l.peerGUID {
		return fail("port GUID 0x%016x, but that of %s is 0x%016x on line %d", l.peerGUID, brief(peer.name), back.portGUID, back.line)
	}
	return nil
}

func (p *reader) switches() []*node {
	var out []*node
	numbered := true
	for _, n := range p.nodes {
		if n.kind == aSwitch {
			out = append(out, n)
			numbered = numbered && n.lid > 0
		}
	}
	if numbered {
		slices.SortStableFunc(out, func(a, b *node) int { return a.lid - b.lid })
	}
	return out
}

// hosts returns the hosts, or the others.
func (p *reader) hosts(others bool) []host {
	var out []host
	named := map[string]int{} // a report of ports has a node for each port of an adapter
	for _, n := range p.nodes {
		if n.kind != aSwitch && len(n.links) > 0 && n.other() == others {
			named[n.name]++
		}
	}
	numbered := true
	for _, n := range p.nodes {
		if n.kind == aSwitch || n.other() != others {
			continue
		}
		for i := range n.links {
			l := &n.links[i]
			name := n.name
			if len(n.links) > 1 || p.report && named[n.name] > 1 {
				name += ":" + strconv.Itoa(l.port)
			}
			out = append(out, host{n, l, network.Info{Name: name, GUID: n.guid, Port: l.portGUID}})
			numbered = numbered && l.lid > 0
		}
	}
	if numbered {
		slices.SortStableFunc(out, func(a, b host) int { return a.link.lid - b.link.lid })
	}
	return out
}

// lids are the LIDs used so far, with their lines.
type lids map[int]int

// claim notes 2^lmc LIDs from lid on.
func (given lids) claim(line int, name string, lid, lmc int) error {
	switch last := lid + 1<<min(lmc, maxLMC) - 1; {
	case lid == 0:
		return nil
	case lmc > maxLMC:
		return fmt.Errorf("line %d: %s: LMC %d: must be 0..%d", line, brief(name), lmc, maxLMC)
	case last > maxLID:
		return fmt.Errorf("line %d: %s: LID %d with LMC %d reaches to %d, beyond the last one, %d", line, brief(name), lid, lmc, last, maxLID)
	case lid%(1<<lmc) != 0:
		return fmt.Errorf("line %d: %s: LID %d is not a multiple of %d, as LMC %d wants", line, brief(name), lid, 1<<lmc, lmc)
	default:
		for x := lid; x <= last; x++ {
			if first, ok := given[x]; ok {
				return fmt.Errorf("line %d: %s has LID %d, as the node on line %d", line, brief(name), x, first)
			}
			given[x] = line
		}
	}
	return nil
}

func checkLIDs(hosts []host, switches []*node) error {
	given := lids{}
	for _, h := range hosts {
		if err := given.claim(h.link.line, h.info.Name, h.link.lid, h.link.lmc); err != nil {
			return err
		}
	}
	for _, n := range switches {
		if err := given.claim(n.line, n.name, n.lid, n.lmc); err != nil {
			return err
		}
	}
	return nil
}

func build(hosts, others []host, switches []*node) (*network.Network, error) {
	type port struct {
		id   string
		port int
	}
	var b network.Builder
	at, rates := map[port]network.End{}, map[network.End]float64{}
	for _, h := range hosts {
		h.info.LID, h.info.LMC = uint16(h.link.lid), uint8(h.link.lmc)
		v := b.Host(h.info)
		at[port{h.of.id, h.link.port}], rates[network.End{Node: v, Port: 1}] = network.End{Node: v, Port: 1}, h.link.rate
	}
	for _, n := range switches {
		v := b.Switch(network.Info{Name: n.name, GUID: n.guid, Port: n.portGUID, LID: uint16(n.lid)}, n.ports)
		for _, l := range n.links {
			at[port{n.id, l.port}] = network.End{Node: v, Port: uint8(l.port)}
		}
	}
	for _, o := range others {
		o.info.LID, o.info.LMC = uint16(o.link.lid), uint8(o.link.lmc)
		if err := b.Other(o.info, at[port{o.link.peer, o.link.peerPort}], o.of.kind == router); err != nil {
			return nil, fmt.Errorf("line %d: %w", o.link.line, err)
		}
	}
	for _, n := range switches {
		for _, l := range n.links {
			x, y := at[port{n.id, l.port}], at[port{l.peer, l.peerPort}]
			if y.Port == 0 {
				continue // one of the others
			}
			rates[x] = l.rate
			if y.Node > x.Node || y.Node == x.Node && y.Port < x.Port {
				continue // the other end's turn
			}
			if err := b.Cable(x, y); err != nil {
				return nil, fmt.Errorf("line %d: %w", l.line, err)
			}
		}
	}
	return b.Build().WithRates(rates), nil
}
