package network

import (
	"fmt"
	"strconv"
	"strings"

	"evbench/topology"
)

// An Index finds nodes and cables by what people call them.
type Index struct {
	n      *Network
	byName map[string][]Node
	byGUID map[uint64][]Node
	two    bool           // levels, so that "leaf0" and "spine3" are clear
	three  *topology.Tree // of three levels, with its names of switches and links; nil: another network
}

// Names returns the index of a network.
func Names(n *Network) *Index {
	x := &Index{n: n, byName: map[string][]Node{}, byGUID: map[uint64][]Node{}}
	for v, i := range n.info {
		x.byName[i.Name] = append(x.byName[i.Name], Node(v))
		x.byGUID[i.GUID] = append(x.byGUID[i.GUID], Node(v))
		if i.Port != i.GUID {
			x.byGUID[i.Port] = append(x.byGUID[i.Port], Node(v))
		}
	}
	x.two = len(x.byName["s2_0"]) == 1 && len(x.byName["s3_0"]) == 0
	if x.three = x.threeLevels(); x.three != nil {
		for sw := range x.three.Switches() {
			if name := x.three.SwitchName(sw); len(x.byName[name]) == 0 {
				x.byName[name] = []Node{x.switchOf(sw)}
			}
		}
	}
	return x
}

func (x *Index) threeLevels() *topology.Tree {
	var count [4]int
	level := map[Node]int{}
	for l := 1; l < len(count); l++ {
		for ; len(x.byName[built(l, count[l])]) == 1; count[l]++ {
			level[x.byName[built(l, count[l])][0]] = l
		}
	}
	if count[3] == 0 || len(level) != x.n.Switches() {
		return nil
	}
	planes, leaves := 1, 1 // of a pod
	for v, l := range level {
		beside := map[Node]bool{}
		for _, e := range x.n.Ends(v) {
			beside[e.Node] = level[e.Node] == 3-l // 2 of 1, 1 of 2
		}
		most := 0
		for _, ok := range beside {
			if ok {
				most++
			}
		}
		switch l {
		case 1:
			planes = max(planes, most)
		case 2:
			leaves = max(leaves, most)
		}
	}
	o := topology.Options{Ports: topology.MaxPorts, Leaves: count[1], Spines: planes, Pods: count[1] / leaves, Tops: count[3] / planes}
	t, err := topology.New(o)
	if err != nil || t.Middles() != count[2] || t.Paths() != count[3] {
		return nil
	}
	return t
}

func (x *Index) switchOf(sw int) Node {
	t, level := x.three, 1
	for _, n := range []int{t.Leaves(), t.Middles()} {
		if sw < n {
			break
		}
		sw, level = sw-n, level+1
	}
	return x.byName[built(level, sw)][0]
}

func built(level, i int) string { return "s" + strconv.Itoa(level) + "_" + strconv.Itoa(i) }

// plain are the names that topologies of two levels use.
var plain = []struct{ word, here string }{{"leaf", "s1_"}, {"spine", "s2_"}, {"server", "h"}}

// find returns the nodes of a name, of which there is one in a tidy network.
func (x *Index) find(name string) []Node {
	if found := x.byName[name]; len(found) > 0 {
		return found
	}
	if hex, ok := strings.CutPrefix(name, "0x"); ok {
		if guid, err := strconv.ParseUint(hex, 16, 64); err == nil {
			return x.byGUID[guid]
		}
	}
	for _, p := range plain {
		if digits, ok := strings.CutPrefix(name, p.word); ok && (x.two || x.three != nil && p.word == "server") {
			return x.byName[p.here+digits]
		}
	}
	return nil
}

// Count returns how many nodes Node could mean.
func (x *Index) Count(name string) int { return len(x.find(name)) }

// Node finds a node by its name or, written 0x…, its GUID or that of
// its port. In networks of two
// levels named as Build does, leaf0, spine0 and server0 are s1_0, s2_0 and h0; of three, switches
// have the names of topology.Tree too, such as pod1-spine2 and spine2-top3.
func (x *Index) Node(name string) (Node, error) {
	switch found := x.find(name); len(found) {
	case 0:
		return NoNode, fmt.Errorf("no node %s%s", brief(name), x.such())
	case 1:
		return found[0], nil
	default:
		a := x.n.info[found[0]]
		return NoNode, fmt.Errorf("%d nodes are called %s; write the GUID, 0x%016x for the first", len(found), brief(name), a.GUID)
	}
}

// End finds a port by its name, NODE/PORT. A host may be written without.
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

// Down finds what a name says is dead: the cable at a port (s1_0/5), all cables
// between two nodes (s1_0-s2_3, leaf0-spine3), or all of a node (s2_3); of three levels also a
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
	if !ok {
		c, ok = x.links(name)
	}
	if ok && len(c) == 0 {
		return nil, fmt.Errorf("%s: no cable joins them", brief(name))
	}
	if ok {
		return c, nil
	}
	if !strings.Contains(name, "/") {
		return nil, fmt.Errorf("no node, port or cable %s%s", brief(name), x.such())
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
		a, b := x.find(name[:i]), x.find(name[i+1:])
		if len(a) == 1 && len(b) == 1 {
			return x.n.cablesOf(a[0], b[0]), true
		}
	}
	return nil, false
}

func (x *Index) links(name string) (out []Cable, ok bool) {
	if x.three == nil {
		return nil, false
	}
	links, err := x.three.Links(name)
	for _, l := range links {
		low, high := x.three.Ends(l)
		out = append(out, x.n.cablesOf(x.switchOf(low.Switch), x.switchOf(high.Switch))...)
	}
	return out, err == nil
}

// cablesOf returns the cables from a node to another, or to any.
func (n *Network) cablesOf(v, to Node) []Cable {
	var out []Cable
	for i, e := range n.Ends(v) {
		if e.Node != NoNode && (to == NoNode || e.Node == to) {
			out = append(out, Cable{End{v, uint8(i + 1)}, e})
		}
	}
	return out
}

func (x *Index) such() string {
	n := x.n
	if n.Switches() == 0 {
		return ""
	}
	first := n.info[n.hosts].Name
	last := n.info[len(n.info)-1].Name
	if first == last {
		return fmt.Sprintf("; there is %q, with ports such as %q", first, first+"/1")
	}
	return fmt.Sprintf("; there are %q to %q, ports such as %q and pairs %q", first, last, first+"/1", first+"-"+last)
}

// Degrade returns the network without what these names say is dead; see
// Index.Down.
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
