package network

import (
	"fmt"
	"strconv"
	"strings"

	"evbench/internal/lists"
	"evbench/topology"
)

// A PGFT is a parallel generalised fat tree PGFT(h; m1..mh; w1..wh; p1..ph)
// (Zahavi; IEEE Micro 2020 §1): a node of level l-1 has w_l parents and a node of
// level l has m_l children, joined by p_l cables each. Level 0 are the hosts.
type PGFT struct{ M, W, P []int }

// TreeShape returns the shape of a tree.
func TreeShape(t *topology.Shape) PGFT {
	if t.Levels() == 2 {
		return PGFT{M: []int{t.Ports(), t.Leaves()}, W: []int{1, t.Spines()}, P: []int{1, t.Cables()}}
	}
	return PGFT{M: []int{t.Ports(), t.PodLeaves(), t.Pods()}, W: []int{1, t.Spines(), t.Tops()}, P: []int{1, 1, 1}}
}

// Limits on networks: a port is one byte, a LID two bytes.
const (
	maxPorts  = 254
	maxLevels = 32
	maxLMC    = 7
	maxLID    = 0xBFFF // the last unicast LID
	maxNodes  = maxLID
)

func (g PGFT) check() error {
	if len(g.M) < 1 || len(g.W) != len(g.M) || len(g.P) != len(g.M) {
		return fmt.Errorf("%d, %d and %d numbers in m, w and p: must be one for each level", len(g.M), len(g.W), len(g.P))
	}
	if len(g.M) > maxLevels {
		return fmt.Errorf("%d levels, more than %d", len(g.M), maxLevels)
	}
	if g.W[0] != 1 || g.P[0] != 1 {
		return fmt.Errorf("w1 = %d and p1 = %d: a host has one cable, so both must be 1", g.W[0], g.P[0])
	}
	for i := range g.M {
		if g.M[i] < 1 || g.W[i] < 1 || g.P[i] < 1 {
			return fmt.Errorf("level %d: m = %d, w = %d, p = %d: must be at least 1", i+1, g.M[i], g.W[i], g.P[i])
		}
		if most := max(g.M[i], g.W[i], g.P[i]); most > maxPorts {
			return fmt.Errorf("level %d: m = %d, w = %d, p = %d: a switch has at most %d ports", i+1, g.M[i], g.W[i], g.P[i], maxPorts)
		}
	}
	nodes := 0
	for l := range len(g.M) + 1 {
		nodes += g.Count(l)
		if ports := g.downPorts(l) + g.upPorts(l); ports > maxPorts {
			return fmt.Errorf("level %d: %d ports at a switch, more than %d", l, ports, maxPorts)
		}
		if nodes > maxNodes {
			return fmt.Errorf("level %d: more than %d nodes in all", l, maxNodes)
		}
	}
	return nil
}

// Count returns the number of nodes of a level, 0 for the hosts: Π_{i≤l} w · Π_{i>l} m. It stops
// growing once it is too large.
func (g PGFT) Count(level int) int {
	n := 1
	for i := range g.M {
		if i < level {
			n *= g.W[i]
		} else {
			n *= g.M[i]
		}
		if n > maxNodes {
			return maxNodes + 1
		}
	}
	return n
}

// parents returns Π_{i≤l} w: how many nodes of level l share a subtree.
func (g PGFT) parents(level int) int {
	n := 1
	for _, w := range g.W[:level] {
		n *= w
	}
	return n
}

func (g PGFT) downPorts(level int) int {
	if level == 0 {
		return 0
	}
	return g.M[level-1] * g.P[level-1]
}

func (g PGFT) upPorts(level int) int {
	if level == len(g.M) {
		return 0
	}
	return g.W[level] * g.P[level]
}

// Build returns the network. Node i of level l is number B + W·A of its level, W
// being Π_{i≤l} w, where the digits of A name its subtree and those of B its
// place among the W nodes of that subtree. Ports 1..m·p lead down, child by
// child, then w·p up, parent by parent. Hosts are h0, h1, …; switches s<level>_<i>,
// leaves being level 1. LIDs are given in that order from 1, 2^lmc to a host.
func (g PGFT) Build(lmc int) (*Network, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	return g.build(g.String(), lmc, g.cable)
}

// build makes the nodes of all levels and calls cable to join each level with the one above.
func (g PGFT) build(notation string, lmc int, cable func(b *Builder, l int, levels []Node) error) (*Network, error) {
	levels := make([]Node, len(g.M)+1) // first node of each level
	for l := range g.M {
		levels[l+1] = levels[l] + Node(g.Count(l))
	}
	hosts := g.Count(0)
	b, err := begin(notation, hosts, int(levels[len(g.M)])+g.Count(len(g.M))-hosts, lmc)
	if err != nil {
		return nil, err
	}
	lid := (hosts + 1) << lmc
	for l := 1; l <= len(g.M); l++ {
		name := "s" + strconv.Itoa(l) + "_"
		for i := range g.Count(l) {
			guid := switchGUID(l, i)
			b.Switch(Info{Name: name + strconv.Itoa(i), GUID: guid, Port: guid, LID: uint16(lid)}, g.downPorts(l)+g.upPorts(l))
			lid++
		}
	}
	for l := range g.M {
		if err := cable(b, l, levels); err != nil {
			return nil, err
		}
	}
	return b.Build(), nil
}

// begin adds the hosts of a regular network, which has so many switches.
func begin(notation string, hosts, switches, lmc int) (*Builder, error) {
	if lmc < 0 || lmc > maxLMC {
		return nil, fmt.Errorf("LMC %d: must be 0..%d", lmc, maxLMC)
	}
	if last := hosts<<lmc + 1<<lmc - 1 + switches; last > maxLID {
		return nil, fmt.Errorf("%s with LMC %d needs LIDs to %d, more than %d", notation, lmc, last, maxLID)
	}
	var b Builder
	b.n.Notation = notation
	for i := range hosts {
		b.Host(Info{Name: "h" + strconv.Itoa(i), GUID: hostGUID(i), Port: hostGUID(i) + 1, LID: uint16((i + 1) << lmc), LMC: uint8(lmc)})
	}
	return &b, nil
}

func (g PGFT) cable(b *Builder, l int, levels []Node) error {
	w := g.parents(l)
	for i := range g.Count(l) {
		place, subtree := i%w, i/w
		child, above := subtree%g.M[l], subtree/g.M[l]
		for parent := range g.W[l] {
			up := levels[l+1] + Node(place+w*parent+w*g.W[l]*above)
			for k := range g.P[l] {
				low := End{levels[l] + Node(i), uint8(g.downPorts(l) + 1 + parent*g.P[l] + k)}
				high := End{up, uint8(1 + child*g.P[l] + k)}
				if err := b.Cable(low, high); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// String returns the notation PGFT(h;m;w;p).
func (g PGFT) String() string {
	return fmt.Sprintf("PGFT(%d;%s;%s;%s)", len(g.M), list(g.M), list(g.W), list(g.P))
}

func list(v []int) string { return strings.Join(lists.Map(v, strconv.Itoa), ",") }

func hostGUID(i int) uint64 { return 0x0002c90300000000 + 0x10*uint64(i) }

func switchGUID(level, i int) uint64 { return 0x0002c90400000000 + uint64(level)<<24 + uint64(i) }
