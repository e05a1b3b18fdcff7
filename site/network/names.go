package network

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"evbench/internal/show"
	"evbench/topology"
)

// An Index finds nodes and cables by the names that people use.
type Index struct {
	n      *Network
	byName map[string][]Node
	byGUID map[uint64][]Node
	places func() *Places // nil where the network is no tree
}

// Names returns the index of a network.
func Names(n *Network) *Index {
	x := names(n)
	x.places = sync.OnceValue(func() *Places {
		p, err := treeOf(n, n.MessageRate(n.allHosts()))
		if err != nil {
			return nil
		}
		if p.Tree = p.Tree.Named(p.names(x)); p.Tree.Ambiguous() {
			return nil
		}
		return p
	})
	return x
}

// names is the index without names of trees.
func names(n *Network) *Index {
	x := &Index{n: n, byName: map[string][]Node{}, byGUID: map[uint64][]Node{}, places: func() *Places { return nil }}
	for v, i := range n.info {
		x.byName[i.Name] = append(x.byName[i.Name], Node(v))
		x.byGUID[i.GUID] = append(x.byGUID[i.GUID], Node(v))
		if i.Port != i.GUID {
			x.byGUID[i.Port] = append(x.byGUID[i.Port], Node(v))
		}
	}
	return x
}

func built(level, i int) string { return "s" + strconv.Itoa(level) + "_" + strconv.Itoa(i) }

// find returns the nodes of a name; in a tidy network there is one.
func (x *Index) find(name string) []Node {
	name = show.Line(name) // as Builder has it
	if found := x.byName[name]; len(found) > 0 {
		return found
	}
	if hex, ok := strings.CutPrefix(name, "0x"); ok {
		if guid, err := strconv.ParseUint(hex, 16, 64); err == nil {
			return x.byGUID[guid]
		}
	}
	if digits, ok := strings.CutPrefix(name, "server"); ok {
		return x.byName["h"+digits]
	}
	if p := x.places(); p != nil {
		for own, sw := p.Tree.Named(nil), 0; sw < own.Switches(); sw++ {
			if own.SwitchName(sw) == name {
				return []Node{p.nodes[sw]}
			}
		}
	}
	return nil
}

// Count returns how many nodes Node could mean.
func (x *Index) Count(name string) int { return len(x.find(name)) }

// Node finds a node by its name or, written 0x…, by its GUID or its port's. In trees of two and
// three levels switches also have the names of topology.Tree, such as leaf0, pod1-spine2 and
// spine2-top3, and server0 is h0.
func (x *Index) Node(name string) (Node, error) {
	switch found := x.find(name); len(found) {
	case 0:
		return NoNode, fmt.Errorf("no node %s%s", brief(name), x.such(name))
	case 1:
		return found[0], nil
	default:
		a := x.n.info[found[0]]
		return NoNode, fmt.Errorf("%d nodes are called %s; write the GUID, 0x%016x for the first", len(found), brief(name), a.GUID)
	}
}

// End finds a port by its name, NODE/PORT. A host needs no port.
func (x *Index) End(name string) (End, error) {
	if found := x.find(name); len(found) == 1 && x.n.IsHost(found[0]) {
		return End{found[0], 1}, nil
	}
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return End{}, fmt.Errorf("%s is not a port: write NODE/PORT", brief(name))
	}
	v, err := x.Node(name[:i])
	if err != nil {
		return End{}, err
	}
	ports := len(x.n.Ends(v))
	p, err := strconv.ParseUint(name[i+1:], 10, 8)
	if err != nil || p < 1 || int(p) > ports {
		return End{}, fmt.Errorf("%s: %s has ports 1..%d", brief(name), brief(name[:i]), ports)
	}
	return End{v, uint8(p)}, nil
}

// Down finds the dead cables for a name: the cable at a port (s1_0/5), or at two (s1_0/5-s2_3/1),
// all cables between two nodes (s1_0-s2_3, leaf0-spine3), or all of a node (s2_3); for trees also a
// link or plane of topology.Tree.
func (x *Index) Down(name string) ([]Cable, error) {
	if len(x.find(name)) > 0 {
		v, err := x.Node(name)
		if err != nil {
			return nil, err
		}
		return x.n.cablesOf(v, NoNode), nil
	}
	c, ok := x.between(name)
	var err error
	if !ok {
		c, ok, err = x.links(name)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", brief(name), err)
	case ok && len(c) == 0:
		return nil, fmt.Errorf("%s: no cable joins them", brief(name))
	case ok:
		return c, nil
	}
	if !strings.Contains(name, "/") {
		return nil, fmt.Errorf("no node, port or cable %s%s", brief(name), x.such(name))
	}
	e, err := x.End(name)
	if err != nil {
		return nil, err
	}
	far := x.n.At(e.Node, int(e.Port))
	if far.Node == NoNode {
		return nil, fmt.Errorf("%s: this port has no cable", brief(name))
	}
	return []Cable{{e, far}}, nil
}

func (x *Index) between(name string) ([]Cable, bool) {
	for i := range len(name) {
		if name[i] != '-' {
			continue
		}
		if c, ok := x.cable(name[:i], name[i+1:]); ok {
			return []Cable{c}, true
		}
		a, b := x.find(name[:i]), x.find(name[i+1:])
		if len(a) == 1 && len(b) == 1 {
			return x.n.cablesOf(a[0], b[0]), true
		}
	}
	return nil, false
}

// cable returns the cable with these ports at its ends.
func (x *Index) cable(a, b string) (c Cable, ok bool) {
	if !strings.Contains(a, "/") || !strings.Contains(b, "/") {
		return c, false
	}
	p, err := x.End(a)
	q, other := x.End(b)
	return Cable{p, q}, err == nil && other == nil && x.n.At(p.Node, int(p.Port)) == q
}

func (x *Index) links(name string) (out []Cable, ok bool, err error) {
	p := x.places()
	if p == nil {
		return nil, false, nil
	}
	links, err := p.Tree.Links(name)
	if _, uncounted := errors.AsType[topology.UncountedError](err); uncounted {
		return nil, false, err
	}
	for _, l := range links {
		out = append(out, p.cables[p.Tree.LinkID(l)]...)
	}
	return out, err == nil, nil
}

// cablesOf returns the cables from a node to another, or to any node.
func (n *Network) cablesOf(v, to Node) []Cable {
	var out []Cable
	for i, e := range n.Ends(v) {
		if e.Node != NoNode && (to == NoNode || e.Node == to) {
			out = append(out, Cable{End{v, uint8(i + 1)}, e})
		}
	}
	return out
}

// such proposes an existing name in place of a missing one.
func (x *Index) such(name string) string {
	n := x.n
	if n.Switches() == 0 {
		return ""
	}
	var choices []string
	for v, i := range n.info {
		choices = append(choices, i.Name)
		for _, e := range n.Ends(Node(v)) {
			if e.Node != NoNode {
				choices = append(choices, i.Name+"-"+n.info[e.Node].Name)
			}
		}
	}
	if p := x.places(); p != nil {
		for id := range p.cables {
			choices = append(choices, p.Tree.LinkOf(id).String())
		}
	}
	meant := ""
	if near := show.Nearest(name, choices); near != "" {
		meant = fmt.Sprintf("; did you mean %q?", near)
	}
	first, last := n.info[n.hosts].Name, n.info[len(n.info)-1].Name
	if first == last {
		return fmt.Sprintf("; there is %q, with ports such as %q", first, first+"/1") + meant
	}
	return fmt.Sprintf("; there are %q to %q, ports such as %q and pairs %q", first, last, first+"/1", first+"-"+last) + meant
}

// Degrade returns the network without the dead parts that these names give; see Index.Down.
func (n *Network) Degrade(names []string) (*Network, error) {
	x := Names(n)
	var dead []Cable
	for _, name := range names {
		c, err := x.Down(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		dead = append(dead, c...)
	}
	return n.Without(dead, nil), nil
}
