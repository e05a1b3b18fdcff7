package routing

import (
	"slices"

	"evbench/internal/splitmix"
	"evbench/topology"
)

// A Switch is a switch number of topology.Tree: leaf l is l, spine k is Leaves + k.
type Switch int

// A Port is a port number of topology.Tree (SwitchPorts).
type Port uint16

// Tables hold the next hops of every switch towards every server. An entry is a set of ports,
// rising: one for single-path engines, several for ecmp and spray, none without a route. Sets are
// interned, so an entry costs four bytes.
type Tables struct {
	Engine string
	Tree   *topology.Tree

	entries []uint32 // [switch·S + destination rank] -> sets
	sets    [][]Port
	index   map[string]uint32
	single  []uint32 // by port, the set of that port alone; 0: not there yet
}

// NewTables returns tables without routes, for engines of other packages to fill.
func NewTables(engine string, t *topology.Tree) *Tables {
	n := t.Switches() * t.Servers()
	return &Tables{Engine: engine, Tree: t, entries: make([]uint32, n), sets: [][]Port{nil}, index: map[string]uint32{"": 0}}
}

// Ports returns the ports towards a destination rank. The caller must not change the slice.
func (t *Tables) Ports(sw Switch, dst int) []Port {
	return t.sets[t.entries[int(sw)*t.Tree.Servers()+dst]]
}

// Set replaces an entry. Engines use it, and tests that break tables.
func (t *Tables) Set(sw Switch, dst int, ports ...Port) {
	at := int(sw)*t.Tree.Servers() + dst
	if len(ports) == 1 && int(ports[0]) < len(t.single) && t.single[ports[0]] != 0 {
		t.entries[at] = t.single[ports[0]]
		return
	}
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
	t.entries[at] = id
	if len(ports) == 1 {
		if n := int(ports[0]) + 1; n > len(t.single) {
			t.single = append(t.single, make([]uint32, n-len(t.single))...)
		}
		t.single[ports[0]] = id
	}
}

// Hashed returns the path that the hash of ecmp gives to all messages from src, on leaf, to dst:
// one of the next hops, with equal probability, like the kernel's hash for the one connection
// between two servers; -1 where they share the leaf or there is no route. It is a function of seed
// and pair, the same in predictions, simulation and emulation. On three levels the switch of the
// pod draws for itself.
func (t *Tables) Hashed(seed uint64, leaf, src, dst int) int {
	pair := uint64(src)*uint64(t.Tree.Servers()) + uint64(dst)
	way := drawn(t.Ports(Switch(leaf), dst), t.Tree.Ports(), Mix(seed, pair))
	if way < 0 {
		return none
	}
	ports, first, more := t.above(leaf, t.Tree.Leaf(dst), dst, way)
	if !more {
		return way
	}
	return t.path(way, drawn(ports, first, Mix(Mix(seed, pair), 1)))
}

// above returns the ports towards dst, on leaf b, of the switch to which a way up from leaf a leads,
// and the port from which it counts its own choices: top switches, or cables down. There are no more
// choices where a way is a path.
func (t *Tables) above(a, b, dst, way int) (ports []Port, first int, more bool) {
	if p := t.Tree.Cables(); p > 1 {
		_, high := t.Tree.Ends(t.Tree.Cable(b, way/p, 0))
		return t.Ports(Switch(high.Switch), dst), high.Port, true
	}
	if !t.Tree.AcrossPods(a, b) {
		return nil, 0, false
	}
	return t.Ports(Switch(t.Tree.Above(a, way)), dst), t.Tree.PodLeaves(), true
}

// path returns the path of a way up and the next choice, or none.
func (t *Tables) path(way, next int) int {
	p := t.Tree.Cables()
	switch {
	case next < 0 || p > 1 && next >= p:
		return none
	case p > 1:
		return t.Tree.PathOf(way/p, t.Tree.Lane(way%p, next))
	}
	return t.Tree.PathOf(way, next)
}

// drawn returns one of the ways up, which are counted from port first.
func drawn(ports []Port, first int, x uint64) int {
	if len(ports) == 0 {
		return none
	}
	return max(none, int(ports[x%uint64(len(ports))])-first)
}

// Mix returns random bits that depend on nothing but its arguments (SplitMix64).
func Mix(seed, index uint64) uint64 {
	return splitmix.Mix(seed*0xd1342543de82ef95 + (index+1)*splitmix.Step)
}

// CountPaths counts the paths of the messages of a plan. path returns the path of the message from one rank to
// another, on another leaf, negative for none.
func CountPaths(t *topology.Tree, path func(src, dst int) int) topology.Paths {
	return t.CountPaths(func(from, to int, count func(leaf, dst, path int)) {
		for leaf := from; leaf < to; leaf++ {
			for src := t.First(leaf); src < t.First(leaf+1); src++ {
				for dst := range t.To(src) {
					if dst >= t.First(leaf) && dst < t.First(leaf+1) {
						continue
					}
					if k := path(src, dst); k >= 0 {
						count(leaf, dst, k)
					}
				}
			}
		}
	})
}
