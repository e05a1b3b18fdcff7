// Package lft holds linear forwarding tables: for each switch of a network.Network and each LID the
// next port. It computes the effect of these tables on routes and cables (reach, loops, deadlock,
// loads), and reads and writes their text forms. Engines, in packages beside it, fill the tables.
//
// Routes begin at hosts: a packet leaves its host for the leaf switch and follows the entries of
// its destination LID, of a host or of one of the network's others, such as an aggregation node. The package decides nothing, opens no file and reads no clock. Its counts do
// not depend on the number of workers.
package lft

import (
	"bytes"
	"slices"

	"evbench/site/network"
)

// NoPort is the entry of a LID that a switch cannot route.
const NoPort = 255

// MaxLanes is the number of data virtual lanes that a port can have.
const MaxLanes = 15

// Tables are the forwarding tables of all switches of a network: one byte an
// entry, S switches × (MaxLID+1) LIDs.
type Tables struct {
	Net    *network.Network
	Engine string
	LIDs   int            // entries of a switch: MaxLID + 1
	Roots  []network.Node // top switches that the engine found or was given; nil where it asks for none
	Note   string         // what the engine says of them
	Bits   []uint8        // what hosts add to the first LID of a destination (network.PathBits); nil: nothing
	// Of tables that are read: a dump has no lanes, and may lack the tables of switches with cables; Said is the first
	// error of the tool in it.
	NoLanes bool
	Missing []network.Node
	Said    string
	ports   []uint8
	sl      *levels // in the place of vl
	vl      []uint8 // by source switch, then destination LID; nil where all is on lane 0
}

// New returns tables without routes.
func New(engine string, n *network.Network) *Tables {
	t := &Tables{Net: n, Engine: engine, LIDs: n.MaxLID() + 1}
	t.ports = bytes.Repeat([]byte{NoPort}, n.Switches()*t.LIDs)
	return t
}

// Clone returns tables of n with the entries of t, without lanes. n has the nodes of t.Net, with
// any cables.
func (t *Tables) Clone(engine string, n *network.Network) *Tables {
	return &Tables{Net: n, Engine: engine, LIDs: t.LIDs, ports: slices.Clone(t.ports)}
}

// LID is the LID by which a host sends to another: the first, and the path bits of the sender; 0 where it has none.
func (t *Tables) LID(src, dst network.Node) int {
	lid := int(t.Net.Info(dst).LID)
	if t.Bits != nil && lid > 0 {
		lid += int(t.Bits[src]) & (t.Net.LIDs(dst) - 1)
	}
	return lid
}

// Row returns the entries of the i-th switch, by LID. Engines write to it.
func (t *Tables) Row(i int) []uint8 { return t.ports[i*t.LIDs : (i+1)*t.LIDs] }

// Port returns the port of a switch towards a LID, or NoPort; 0 is the switch
// itself.
func (t *Tables) Port(s network.Node, lid int) uint8 { return t.Row(t.Net.Index(s))[lid] }

// LaneRow returns the lanes of routes that begin at the hosts of the i-th switch,
// by LID. Engines write to it; the first call gives all routes lane 0. A lane is
// 0..MaxLanes-1.
func (t *Tables) LaneRow(i int) []uint8 {
	if t.vl == nil {
		t.vl = make([]uint8, len(t.ports))
	}
	return t.vl[i*t.LIDs : (i+1)*t.LIDs]
}

// Lane returns the virtual lane of the routes from the hosts of a switch to a
// LID.
func (t *Tables) Lane(s network.Node, lid int) int { return t.lane(t.Net.Index(s), lid) }

func (t *Tables) lane(i, lid int) int {
	if t.vl == nil {
		return 0
	}
	return int(t.vl[i*t.LIDs+lid])
}

// Lanes returns the number of lanes, one more than the highest in use.
func (t *Tables) Lanes() int {
	if t.sl != nil {
		return t.sl.most() + 1
	}
	most := uint8(0)
	for _, l := range t.vl {
		most = max(most, l)
	}
	return int(most) + 1
}

// owners returns the node of each LID, or NoNode.
func owners(n *network.Network) []network.Node {
	own := slices.Repeat([]network.Node{network.NoNode}, n.MaxLID()+1)
	for v := range network.Node(n.Nodes() + n.Others()) {
		for k := range n.LIDs(v) {
			own[int(n.Info(v).LID)+k] = v
		}
	}
	return own
}
