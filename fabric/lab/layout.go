package lab

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"evbench/internal/unit"
	"evbench/topology"
)

// singlePath is the second byte of the addresses that leave the choice of path to routing tables.
const singlePath = 200

// Addresses is the address plan of a tree: 10.<path>.<leaf>.<slot+1> for each server and path, so
// that the address chooses the path (the Ethernet form of InfiniBand's LMC; thesis 7.2), and
// 10.200.<leaf>.<slot+1> to let routing tables choose. A path is one of topology.Tree.PathOf: in
// two levels a spine, with parallel cables also a cable, or -1 for routing tables.
type Addresses struct{ Tree *topology.Tree }

func (a Addresses) Server(rank, path int) netip.Addr {
	leaf := a.Tree.Leaf(rank)
	return netip.AddrFrom4([4]byte{10, pathByte(path), byte(leaf), byte(rank - a.Tree.First(leaf) + 1)})
}

// Leaf returns the prefix of all servers of a leaf on a path.
func (a Addresses) Leaf(leaf, path int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, pathByte(path), byte(leaf), 0}), 24)
}

// Path returns the prefix of all servers on a path.
func (a Addresses) Path(path int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, pathByte(path), 0, 0}), 16)
}

// Cable returns the address of the lower or the upper end of a link between switches, from 172.16.0.0/12 upwards.
func (a Addresses) Cable(l topology.Link, upper bool) netip.Addr {
	at := uint32(172<<24|16<<16) + 2*uint32(a.Tree.LinkID(l))
	if upper {
		at++
	}
	return netip.AddrFrom4([4]byte{byte(at >> 24), byte(at >> 16), byte(at >> 8), byte(at)})
}

func pathByte(path int) byte {
	if path < 0 {
		return singlePath
	}
	return byte(path)
}

// gateway is the link-local address for the far end of a port. It is local to a node: a permanent
// neighbour entry gives it the far end's MAC, so there is no ARP.
func gateway(port int) netip.Addr {
	return netip.AddrFrom4([4]byte{169, 254, byte((port + 1) >> 8), byte(port + 1)})
}

type end struct {
	node Node
	port int
	name string // of the interface
	// index of the interface. The two ends of a cable must differ: the kernel reports a carrier
	// change at once only if an interface's index differs from that of its peer, and otherwise up
	// to a second late.
	index int
	mac   net.HardwareAddr
}

// A cable joins a leaf (ends[0]) with a spine or a server, or a switch of a pod
// (ends[0]) with a top switch. Cable c carries the wires 2c and 2c+1.
type cable struct {
	ends  [2]end
	times float64 // how many times the rate it has
}

const (
	lowIndex   = 10000 // of port 0, if a port is ends[0] of its cable
	otherIndex = 2     // of port 0, if it is ends[1]; 1 is lo
)

// A layout is everything about a lab that does not depend on the kernel. It is plain data.
type layout struct {
	tree   *topology.Tree // nil: of a graph
	links  *topology.Tree // whose links are the cables between switches
	low    int            // cables before those of the servers
	at     map[place]side
	below  int      // switches, the nodes before the servers
	paths  int      // addresses of a server beside the one for routing tables
	names  []string // of the nodes
	cables []cable
	ports  [][]Port // [node]
	shape  shape
	mtu    int
}

func newLayout(o Options) *layout {
	t := o.Tree
	y := &layout{tree: t, links: t, at: map[place]side{}, shape: newShape(o.Rate, o.Phase), mtu: o.MTU}
	if o.Packets {
		y.shape.gsoSeg = 1
	}
	if t == nil {
		y.graph(o.Graph)
		return y
	}
	y.below, y.paths = t.Switches(), t.Paths()
	for own, sw := t.Named(nil), 0; sw < t.Switches(); sw++ { // this package names the interfaces
		y.names = append(y.names, own.SwitchName(sw))
		y.ports = append(y.ports, make([]Port, t.SwitchPorts(sw)))
	}
	for r := range t.Servers() {
		y.names = append(y.names, t.ServerName(r))
		y.ports = append(y.ports, make([]Port, 1))
	}
	y.low = t.LowerLinks()
	y.joinLinks(0, y.low)
	for r := range t.Servers() {
		y.join(Node(t.Leaf(r)), t.Slot(r), y.server(r), 0)
	}
	y.joinLinks(y.low, t.AllLinks())
	return y
}

// graph lays out a network of any shape: cables to servers first.
func (y *layout) graph(g *Graph) {
	y.below, y.names, y.links = len(g.Switches), slices.Clone(g.Switches), g.Links
	for _, n := range g.Ports {
		y.ports = append(y.ports, make([]Port, n))
	}
	for r := range g.Servers {
		y.names, y.ports = append(y.names, fmt.Sprintf("server%d", r)), append(y.ports, make([]Port, 1))
	}
	for r, at := range g.Servers {
		y.join(Node(at.Switch), at.Port, y.server(r), 0)
	}
	for i, c := range g.Cables {
		x := y.join(Node(c[0].Switch), c[0].Port, Node(c[1].Switch), c[1].Port)
		if g.Times != nil {
			x.times = g.Times[i]
		}
		for side := range x.ends { // parallel cables need distinct names
			e := &x.ends[side]
			e.name += fmt.Sprintf("-%d", e.port+1)
			y.ports[e.node][e.port].Name = e.name
		}
	}
}

func (y *layout) joinLinks(from, to int) {
	for id := from; id < to; id++ {
		l := y.tree.LinkOf(id)
		low, high := y.tree.Ends(l)
		c := y.join(Node(low.Switch), low.Port, Node(high.Switch), high.Port)
		for i := range c.ends {
			if e := &c.ends[i]; l.Cable > 0 { // parallel cables need distinct names
				e.name += fmt.Sprintf("-%d", l.Cable-1)
				y.ports[e.node][e.port].Name = e.name
			}
		}
	}
}

// A place is an interface of a node, by its index; a side is which end of a cable it is.
type (
	place struct {
		node  Node
		index int
	}
	side struct{ cable, end int }
)

func (y *layout) cable(l topology.Link) int {
	id := y.links.LinkID(l)
	if id >= y.low {
		id += y.servers()
	}
	return id
}

// between are the cables between switches.
func (y *layout) between() int { return len(y.cables) - y.servers() }

// linkAt returns the link between switches at an interface, and whether it is the upper end.
func (y *layout) linkAt(n Node, index int) (l topology.Link, upper, ok bool) {
	at, ok := y.at[place{n, index}]
	switch id := at.cable; {
	case !ok || id >= y.low && id < y.low+y.servers():
		return l, false, false
	case id >= y.low:
		at.cable -= y.servers()
	}
	return y.links.LinkOf(at.cable), at.end == 1, true
}

// cableName names a cable: a link, or the cable of a server.
func (y *layout) cableName(id int) string {
	if l, _, ok := y.linkAt(y.cables[id].ends[0].node, y.cables[id].ends[0].index); ok {
		return y.links.LinkName(l)
	}
	return y.names[y.server(id-y.low)] + "-" + y.names[y.cables[id].ends[0].node]
}

// join appends the cable between a port of a leaf, or of a pod's switch, and a port of another
// node. The order of calls is the order of topology.Wire.
func (y *layout) join(low Node, port int, other Node, otherPort int) *cable {
	id := len(y.cables)
	a := end{low, port, y.names[other], lowIndex + port, mac(id, 0)}
	b := end{other, otherPort, y.names[low], otherIndex + otherPort, mac(id, 1)}
	y.cables = append(y.cables, cable{[2]end{a, b}, 1})
	for i, e := range []end{a, b} {
		y.at[place{e.node, e.index}] = side{id, i}
		y.ports[e.node][e.port] = Port{Name: e.name, Index: e.index, Gateway: gateway(e.port)}
	}
	return &y.cables[id]
}

// mac returns the fixed, locally administered address of one end of a cable.
func mac(cable, side int) net.HardwareAddr {
	return net.HardwareAddr{0x02, 0xeb, byte(side), byte(cable >> 16), byte(cable >> 8), byte(cable)}
}

func (y *layout) server(r int) Node { return Node(y.below + r) }

func (y *layout) switches() int { return y.below }

func (y *layout) servers() int { return len(y.names) - y.below }

// OwnSys is a script of sh that runs its arguments where /sys shows the devices of its network
// namespace, as ip netns exec does: UCX takes them from there. Where the kernel refuses the mount, /sys
// stays as it was. Control groups, which a new sysfs is without, stay in it.
const OwnSys = `{ [ -d /sys/fs/cgroup ] && exec 3</sys/fs/cgroup; mount -t sysfs sysfs /sys && mount -c --rbind /proc/self/fd/3 /sys/fs/cgroup; } 2>/dev/null; exec 3<&- "$@"`

// SockBuf bounds the data in the queues of the lab, as credits would on a lossless fabric, when
// all send to all: even 16 MiB would otherwise overflow. The kernel doubles it. In step few flows
// share a link, and acknowledgements of full windows wait behind data: then the kernel chooses.
const SockBuf = 64 << 10

// Burst is how many bytes may leave a port at once.
func Burst(rate unit.Rate, phase time.Duration) int { return int(newShape(rate, phase).burst) }

type shape struct {
	rate   uint64 // byte/s; 0: no bucket
	burst  uint32 // bytes that may leave at once
	limit  uint32 // bytes that may wait
	gsoMax uint32 // largest packet handed over by the sender's stack
	gsoSeg uint32 // most segments in it; 0: no limit
}

// The bucket must hold a whole super-packet, or the kernel cuts each into segments (efficiency .655
// instead of .998). It must be small against the data of a phase, or its credit shows as speed. The
// queue is deep because a lossless fabric does not drop: 64 KiB cost more than half the throughput.
func newShape(rate unit.Rate, phase time.Duration) shape {
	if rate == 0 {
		return shape{gsoMax: 65536}
	}
	s := shape{rate: uint64(rate) / 8, burst: 81920, limit: 16 << 20, gsoMax: 65536}
	switch {
	case rate <= 50e6:
		s.burst, s.gsoMax = 20480, 18432 // two full frames
	case rate <= 100e6 || phase > 0 && phase < 20*time.Millisecond:
		s.burst, s.gsoMax = 36864, 32768
	}
	return s
}
