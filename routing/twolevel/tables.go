package twolevel

import (
	"slices"

	"evbench/topology"
)

// A Switch is a dense switch ID: leaf l is l, spine k is Leaves + k.
type Switch int

// A Port is a port of a switch. On a leaf, ports 0..M0-1 lead to the servers by
// slot and port M0+k to spine k; on a spine, port l leads to leaf l.
type Port uint16

// Tables hold the next hops of every switch towards every server. An entry is
// a set of ports, rising: one for single-path engines, several for ecmp, none
// where there is no route. Sets are interned, so an entry costs four bytes.
type Tables struct {
	Engine string
	Tree   *topology.Tree

	entries []uint32 // [switch·S + destination rank] -> sets
	sets    [][]Port
	index   map[string]uint32
}

// New returns tables without routes, for engines of other packages to fill.
func New(engine string, t *topology.Tree) *Tables {
	n := (t.Leaves() + t.Spines()) * t.Servers()
	return &Tables{Engine: engine, Tree: t, entries: make([]uint32, n), sets: [][]Port{nil}, index: map[string]uint32{"": 0}}
}

// Leaf returns the switch ID of a leaf.
func Leaf(l int) Switch { return Switch(l) }

// Spine returns the switch ID of a spine.
func Spine(t *topology.Tree, k int) Switch { return Switch(t.Leaves() + k) }

// Switches returns the number of switches, leaves first.
func (t *Tables) Switches() int { return t.Tree.Leaves() + t.Tree.Spines() }

// Ports returns the ports towards a destination rank. The caller must not
// change the slice.
func (t *Tables) Ports(sw Switch, dst int) []Port {
	return t.sets[t.entries[int(sw)*t.Tree.Servers()+dst]]
}

// Set replaces an entry. Engines use it, and tests that break tables.
func (t *Tables) Set(sw Switch, dst int, ports ...Port) {
	key := make([]byte, 0, 2*len(ports))
	for _, p := range ports {
		key = append(key, byte(p>>8), byte(p))
	}
	id, ok := t.index[string(key)]
	if !ok {
		id = uint32(len(t.sets))
		t.sets = append(t.sets, slices.Clone(ports))
		t.index[string(key)] = id
	}
	t.entries[int(sw)*t.Tree.Servers()+dst] = id
}
