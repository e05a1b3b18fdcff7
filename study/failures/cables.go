package failures

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/osmlog"
	"evbench/topology"
	"evbench/topology/network"
)

// Cables says which ports a cable joins. Both ends of a cable report its
// failures, and only this map can tell that they are one: they are never joined
// by being close in time.
type Cables struct {
	links []Link
	ends  map[portKey]endRef
	nodes map[uint64][]int  // GUID of a node or of a host's port to its links
	names map[string]uint64 // of switches
}

type endRef struct {
	link int
	end  uint8
}

// A portKey is a port by the GUID of its switch or, if that is not known, by name.
type portKey struct {
	guid uint64
	name string
	port int
}

func newCables() *Cables {
	return &Cables{ends: map[portKey]endRef{}, nodes: map[uint64][]int{}, names: map[string]uint64{}}
}

func (c *Cables) fabric() int {
	n := 0
	for _, l := range c.links {
		if l.class == Fabric {
			n++
		}
	}
	return n
}

// TreeCables returns the cables of a two-level tree, by the names and GUIDs that evbench gives
// its switches, as if all were alive and each leaf had a server on every port.
func TreeCables(t *topology.Tree) (*Cables, error) {
	n, err := network.PGFT{M: []int{t.Ports(), t.Leaves()}, W: []int{1, t.Spines()}, P: []int{1, 1}}.Build(0)
	if err != nil {
		return nil, err
	}
	return FromNetwork(n), nil
}

// FromNetwork returns the cables of a network. Links of a two-level tree are
// called leaf0-spine3, as in scenarios.
func FromNetwork(n *network.Network) *Cables {
	c := newCables()
	for i := range n.Switches() {
		v := n.Switch(i)
		for p, far := range n.Ends(v) {
			if far.Node == network.NoNode || !n.IsHost(far.Node) && (far.Node < v || far.Node == v && int(far.Port) < p+1) {
				continue
			}
			a, b := n.Info(v), n.Info(far.Node)
			l := Link{class: Fabric, ends: [2]port{{a.GUID, a.Name, p + 1}, {b.GUID, b.Name, int(far.Port)}}}
			if n.IsHost(far.Node) {
				l.class = Server
			}
			l.Name = linkName(l)
			at := c.add(l)
			c.node(a.GUID, a.Port, at)
			c.node(b.GUID, b.Port, at)
		}
	}
	return c
}

func (c *Cables) node(guid, port uint64, link int) {
	for _, g := range slices.Compact([]uint64{guid, port}) {
		if g != 0 {
			c.nodes[g] = append(c.nodes[g], link)
		}
	}
}

func (c *Cables) add(l Link) int {
	c.links = append(c.links, l)
	at := len(c.links) - 1
	for e, p := range l.ends {
		if p.guid != 0 && p.isSwitch != "" {
			c.names[p.isSwitch] = p.guid
		}
		if p.port != 0 {
			c.ends[keyOf(p)] = endRef{at, uint8(e)}
		}
	}
	return at
}

func keyOf(p port) portKey {
	if p.guid != 0 {
		return portKey{guid: p.guid, port: p.port}
	}
	return portKey{name: p.isSwitch, port: p.port}
}

// linkName names s1_3/5 to s2_0/4 leaf3-spine0, and others by both ends.
func linkName(l Link) string {
	leaf, ok1 := strings.CutPrefix(l.ends[0].isSwitch, "s1_")
	spine, ok2 := strings.CutPrefix(l.ends[1].isSwitch, "s2_")
	switch {
	case ok1 && ok2 && l.class == Fabric:
		return "leaf" + leaf + "-spine" + spine
	case ok1 && l.class == Server:
		return "leaf" + leaf + "-" + l.ends[1].isSwitch
	case l.class == Server:
		return l.ends[0].String() + "-" + l.ends[1].isSwitch
	}
	return l.ends[0].String() + "-" + l.ends[1].String()
}

// ReadCables reads a map, one cable a line:
//
//	s1_0/5 s2_0/1 leaf0-spine0
//	0x0002c90401000000/1 server h0
//
// A switch is a name without spaces or a GUID. The third word names the link;
// it may be left out. Empty lines and what follows a # at the start of a word
// are skipped.
func ReadCables(r io.Reader) (*Cables, error) {
	c, s := newCables(), bufio.NewScanner(r)
	named := map[string]bool{}
	for line := 1; s.Scan(); line++ {
		words := withoutComment(strings.Fields(s.Text()))
		if len(words) == 0 {
			continue
		}
		l, err := readCable(words)
		for _, p := range l.ends {
			if _, taken := c.ends[keyOf(p)]; err == nil && taken && p.port != 0 {
				err = fmt.Errorf("port %.60s has a cable already", p)
			}
		}
		if err == nil && named[l.Name] {
			err = fmt.Errorf("another link is called %.60s too", l.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		named[l.Name] = true
		at := c.add(l)
		for _, p := range l.ends {
			c.node(p.guid, p.guid, at)
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if len(c.links) == 0 {
		return nil, fmt.Errorf("no cable in it; write lines such as: s1_0/5 s2_0/1 leaf0-spine0")
	}
	return c, nil
}

func withoutComment(words []string) []string {
	if i := slices.IndexFunc(words, func(w string) bool { return w[0] == '#' }); i >= 0 {
		return words[:i]
	}
	return words
}

func readCable(words []string) (Link, error) {
	if len(words) < 2 || len(words) > 3 {
		return Link{}, fmt.Errorf("%d words: write SWITCH/PORT SWITCH/PORT [NAME] or SWITCH/PORT server [NAME]", len(words))
	}
	a, err := readPort(words[0])
	if err != nil {
		return Link{}, err
	}
	l := Link{class: Fabric, ends: [2]port{a}}
	if words[1] == "server" {
		l.class, l.Name = Server, a.String()
	} else if l.ends[1], err = readPort(words[1]); err != nil {
		return Link{}, err
	} else if l.ends[1] == a {
		return Link{}, fmt.Errorf("port %.60s is joined to itself", a)
	} else {
		l.Name = linkName(l)
	}
	if len(words) == 3 {
		l.Name = words[2]
	}
	return l, nil
}

func readPort(s string) (port, error) {
	i := strings.LastIndexByte(s, '/')
	if i < 1 {
		return port{}, fmt.Errorf("%.60q: write SWITCH/PORT, such as s1_0/5", s)
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil || n < 1 || n > 254 {
		return port{}, fmt.Errorf("%.60q: port %.60q must be 1..254", s, s[i+1:])
	}
	if guid, ok := osmlog.GUID(strings.ToLower(s[:i])); ok {
		return port{guid: guid, port: n}, nil
	}
	return port{isSwitch: s[:i], port: n}, nil
}

func comparePorts(a, b port) int {
	return cmp.Or(cmp.Compare(a.guid, b.guid), cmp.Compare(a.isSwitch, b.isSwitch), cmp.Compare(a.port, b.port))
}
