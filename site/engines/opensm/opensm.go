// Package opensm computes forwarding tables as the subnet manager OpenSM 3.3.23 does, entry by
// entry: its engines minhop, updn, dnup, ftree, sssp and dfsssp; and sar, sssp that considers the
// running jobs (Jobs). Each is written anew from the behaviour of the original: its tables, its
// memo on scalable routing (Zahavi and Kalka, "OpenSM Unicast Routing Enhancements for
// Scalability", 2005) and its source files, which the functions name. Engines of shortest paths
// follow Hoefler, Schneider and Lumsdaine ("Optimized Routing for Large-Scale InfiniBand Networks",
// 2009), Domke, Hoefler and Nagel ("Deadlock-Free Oblivious Routing for Arbitrary Topologies",
// 2011), and Domke and Hoefler ("Scheduling-Aware Routing for Supercomputers").
//
// An engine sees what a subnet manager sees: the largest connected part of a network, counted in
// hosts. Switches and hosts outside it have no entries. OpenSM's order of switches and ports
// matters where loads are counted. It is the order of GUIDs with their bytes reversed, an accident
// of a map keyed by numbers in network order on little-endian machines.
//
// OpenSM also knows the GUID of the system a node is in. A network.Network does not; a
// node is a system of its own here, as on ibsim.
package opensm

import (
	"cmp"
	"math/bits"
	"slices"

	"evbench/internal/lists"
	"evbench/internal/parallel"
	"evbench/site/network"
)

// A view is a network in OpenSM's order. Switches have their index as name. A slot is a port of a
// switch; ports of one switch lie together.
type view struct {
	net   *network.Network
	lmc   uint8   // OpenSM's option: the largest of a host
	order []int32 // of the switches seen, as OpenSM's maps are
	seen  []bool  // by switch

	first []int32 // slots of switch s are first[s]..first[s+1]-1, from port 1
	peer  []int32 // switch that the cable of a slot leads to, or none
	back  []uint8 // port there

	loaded []int32          // switches seen that have hosts: most hosts first, then in order
	hosts  [][]network.Node // of each switch, by port
}

const none = -1

func newView(n *network.Network) *view {
	v := &view{net: n, seen: make([]bool, n.Switches()), first: make([]int32, n.Switches()+1)}
	for i := range n.Switches() {
		v.first[i+1] = v.first[i] + int32(len(n.Ends(n.Switch(i))))
	}
	for h := range n.Hosts() {
		v.lmc = max(v.lmc, n.Info(network.Node(h)).LMC)
	}
	v.cables()
	v.look()
	for _, s := range v.order {
		if len(v.hosts[s]) > 0 {
			v.loaded = append(v.loaded, s)
		}
	}
	slices.SortStableFunc(v.loaded, func(a, b int32) int { return cmp.Compare(len(v.hosts[b]), len(v.hosts[a])) })
	return v
}

// cables fills peer, back and hosts.
func (v *view) cables() {
	n := v.net
	v.peer = make([]int32, v.first[n.Switches()])
	v.back = make([]uint8, len(v.peer))
	v.hosts = make([][]network.Node, n.Switches())
	for i := range n.Switches() {
		s := n.Switch(i)
		for p, e := range n.Ends(s) {
			slot := v.first[i] + int32(p)
			v.peer[slot] = none
			switch {
			case e.Node == network.NoNode || e.Node == s:
			case n.IsHost(e.Node):
				if n.Info(e.Node).LID != 0 {
					v.hosts[i] = append(v.hosts[i], e.Node)
				}
			default:
				v.peer[slot], v.back[slot] = int32(n.Index(e.Node)), e.Port
			}
		}
	}
}

// attached is the number of hosts that are seen.
func (v *view) attached() int {
	return lists.Sum(v.loaded, func(s int32) int { return len(v.hosts[s]) })
}

// look finds the largest part and orders its switches. A part without hosts has no subnet manager
// and is not seen.
func (v *view) look() {
	most := 0
	for _, part := range v.net.SwitchParts() {
		hosts := 0
		for _, s := range part {
			hosts += len(v.hosts[s])
		}
		if hosts <= most {
			continue
		}
		v.order, most = v.order[:0], hosts
		for _, s := range part {
			v.order = append(v.order, int32(s))
		}
	}
	for _, s := range v.order {
		v.seen[s] = true
	}
	slices.SortFunc(v.order, func(a, b int32) int { return cmp.Compare(v.key(a), v.key(b)) })
}

func (v *view) peers(s int32) []int32 { return v.peer[v.first[s]:v.first[s+1]] }

// key is the sort key of OpenSM's map of switches.
func (v *view) key(s int32) uint64 { return bits.ReverseBytes64(v.guid(s)) }

func (v *view) guid(s int32) uint64 { return v.net.Info(v.net.Switch(int(s))).GUID }

func (v *view) lid(s int32) int { return int(v.net.Info(v.net.Switch(int(s))).LID) }

func (v *view) lids(h network.Node) (base, count int) {
	i := v.net.Info(h)
	return int(i.LID), 1 << i.LMC
}

// rows calls do for each switch seen, on all processors. do must change only the switch's own data.
func (v *view) rows(do func(s int32)) {
	parallel.Each(0, len(v.order), func(_, i int) { do(v.order[i]) })
}
