package opensm

import (
	"cmp"
	"fmt"

	"evbench/topology"
	"evbench/topology/network"
)

// Places say which node of a network is which server and switch of a plan.
type Places struct {
	Host  []network.Node // by rank
	Leaf  []network.Node
	Spine []network.Node // of three levels, the switches of pods
	top   []network.Node // top switches, by path

	tree *topology.Tree
	up   []uint8 // by link ID: port of the lower end; 0: no cable
	down []uint8 // port of the upper end
}

// Network returns the network of a plan's tree, all cables alive and only the
// servers present, for where no discovered one is at hand: its GUIDs are made up.
func Network(t *topology.Tree, lmc int) (*network.Network, error) {
	full, err := network.TreeShape(t).Build(0)
	if err != nil {
		return nil, err
	}
	var b network.Builder
	at := make([]network.Node, full.Nodes())
	for v := range at {
		at[v] = network.NoNode
	}
	for r := range t.Servers() {
		h := network.Node(t.Position(r))
		at[h] = b.Host(full.Info(h))
	}
	for i := range full.Switches() {
		s := full.Switch(i)
		at[s] = b.Switch(full.Info(s), len(full.Ends(s)))
	}
	for _, c := range full.Cables() {
		if x := at[c.A.Node]; x != network.NoNode {
			if err := b.Cable(network.End{Node: x, Port: c.A.Port}, network.End{Node: at[c.B.Node], Port: c.B.Port}); err != nil {
				return nil, err
			}
		}
	}
	return b.Build().Numbered(lmc)
}

// Match finds the nodes of a plan's tree in a network. Where the network has a
// node of each leaf's and spine's name (leaf0 or s1_0, spine3 or s2_3), names
// count, for servers too: those are named by position (server17 or h17). Else
// the order counts: switches with hosts are the leaves and the others the spines,
// both in the order of the network, and the hosts of a leaf, by port, are its
// servers. Of three levels names count always: leaf0, pod1-spine2 and spine2-top3 or, as in
// networks of notations, s1_0, s2_5 and s3_11.
func Match(t *topology.Tree, n *network.Network) (*Places, error) {
	p := &Places{tree: t}
	err := p.find(t, n)
	if err == nil {
		err = p.different(n)
	}
	if err == nil {
		err = p.cables(n)
	}
	if err != nil {
		return nil, fmt.Errorf("the network is not the plan's %s: %w", t.Notation(), err)
	}
	return p, nil
}

func (p *Places) find(t *topology.Tree, n *network.Network) error {
	x := network.Names(n)
	switch {
	case n.Switches() == t.Switches():
	case t.Levels() == 3:
		return fmt.Errorf("%d switches, %d are wanted", n.Switches(), t.Switches())
	default:
		return fmt.Errorf("%d switches, %d leaves and %d spines are wanted", n.Switches(), t.Leaves(), t.Spines())
	}
	switch err := p.switchesByName(t, x); {
	case err == nil:
		return p.hostsByName(t, n, x)
	case t.Levels() == 3:
		return err
	}
	p.Leaf, p.Spine = nil, nil
	return p.byOrder(t, n)
}

func (p *Places) switchesByName(t *topology.Tree, x *network.Index) error {
	levels := []*[]network.Node{&p.Leaf, &p.Spine, &p.top}
	sw := 0
	for i, count := range []int{t.Leaves(), t.Middles(), t.Switches() - t.Leaves() - t.Middles()} {
		for k := range count {
			v, err := x.Node(t.SwitchName(sw))
			if err != nil {
				v, err = x.Node(fmt.Sprintf("s%d_%d", i+1, k))
			}
			if err != nil {
				return fmt.Errorf("no switch is called %s, or s%d_%d as in networks of notations", t.SwitchName(sw), i+1, k)
			}
			*levels[i] = append(*levels[i], v)
			sw++
		}
	}
	return nil
}

func (p *Places) hostsByName(t *topology.Tree, n *network.Network, x *network.Index) error {
	for r := range t.Servers() {
		v, err := x.Node(t.ServerName(r))
		if err != nil {
			v, err = x.Node(fmt.Sprintf("h%d", t.Position(r)))
		}
		if err != nil {
			return fmt.Errorf("no host is called %s, or h%d as in networks of notations", t.ServerName(r), t.Position(r))
		}
		if err := p.host(t, n, r, v); err != nil {
			return err
		}
	}
	return nil
}

func named(x *network.Index, word string, count int) ([]network.Node, bool) {
	out := make([]network.Node, count)
	for i := range out {
		v, err := x.Node(fmt.Sprint(word, i))
		if err != nil {
			return nil, false
		}
		out[i] = v
	}
	return out, true
}

func (p *Places) host(t *topology.Tree, n *network.Network, rank int, v network.Node) error {
	if want := p.Leaf[t.Leaf(rank)]; !n.IsHost(v) || n.Leaf(v).Node != want {
		return fmt.Errorf("%s has no cable to %s, its leaf", n.Info(v).Name, n.Info(want).Name)
	}
	p.Host = append(p.Host, v)
	return nil
}

func (p *Places) byOrder(t *topology.Tree, n *network.Network) error {
	var hosts [][]network.Node // of each leaf, by port
	for i := range n.Switches() {
		s := n.Switch(i)
		own := hostsOn(n, s)
		if len(own) == 0 {
			p.Spine = append(p.Spine, s)
			continue
		}
		p.Leaf, hosts = append(p.Leaf, s), append(hosts, own)
	}
	if len(p.Leaf) != t.Leaves() || len(p.Spine) != t.Spines() {
		return fmt.Errorf("%d switches with hosts and %d without, %d leaves and %d spines are wanted; or name all switches leaf0…, spine0…",
			len(p.Leaf), len(p.Spine), t.Leaves(), t.Spines())
	}
	for l, own := range hosts {
		if len(own) < t.On(l) {
			return fmt.Errorf("%s has %d hosts, leaf%d of the plan has %d servers", n.Info(p.Leaf[l]).Name, len(own), l, t.On(l))
		}
		p.Host = append(p.Host, own[:t.On(l)]...)
	}
	return nil
}

func (p *Places) take(hosts []network.Node, n *network.Network) error {
	if len(hosts) != len(p.Host) {
		return fmt.Errorf("%d hosts for %d servers", len(hosts), len(p.Host))
	}
	for rank, h := range hosts {
		if n.Leaf(h).Node != p.Leaf[p.tree.Leaf(rank)] {
			return fmt.Errorf("host %s is not on the leaf of its server", n.Info(h).Name)
		}
	}
	p.Host = hosts
	return p.different(n)
}

// different checks that no node stands for two, and that switches are switches.
func (p *Places) different(n *network.Network) error {
	seen := map[network.Node]bool{}
	for i, list := range [][]network.Node{p.Host, p.Leaf, p.Spine, p.top} {
		for _, v := range list {
			if seen[v] || n.IsHost(v) != (i == 0) {
				return fmt.Errorf("%s has two parts in it, or the wrong one", n.Info(v).Name)
			}
			seen[v] = true
		}
	}
	return nil
}

func (p *Places) cables(n *network.Network) error {
	t := p.tree
	p.up, p.down = make([]uint8, t.AllLinks()), make([]uint8, t.AllLinks())
	at := map[[2]network.Node]int{}
	for id := range t.AllLinks() {
		low, high := t.Ends(t.LinkOf(id))
		at[[2]network.Node{p.node(low.Switch), p.node(high.Switch)}] = id
	}
	for sw := range t.Leaves() + t.Middles() {
		s := p.node(sw)
		for i, e := range n.Ends(s) {
			id, ok := at[[2]network.Node{s, e.Node}]
			if !ok {
				continue
			}
			if p.up[id] != 0 {
				return fmt.Errorf("%s and %s are joined by two cables; plans know one", n.Info(s).Name, n.Info(e.Node).Name)
			}
			p.up[id], p.down[id] = uint8(i+1), e.Port
		}
	}
	return nil
}

func (p *Places) node(sw int) network.Node {
	switch k := sw - len(p.Leaf); {
	case k < 0:
		return p.Leaf[sw]
	case k < len(p.Spine):
		return p.Spine[k]
	default:
		return p.top[k-len(p.Spine)]
	}
}

// Up returns the port of a leaf to a spine, 0 where there is no cable.
func (p *Places) Up(leaf, spine int) uint8 {
	return p.up[p.tree.LinkID(topology.Link{Leaf: leaf, Spine: spine})]
}

// Down returns the port of a spine to a leaf, 0 where there is no cable.
func (p *Places) Down(leaf, spine int) uint8 {
	return p.down[p.tree.LinkID(topology.Link{Leaf: leaf, Spine: spine})]
}

// dead returns the cables of the network that the plan does not use since its
// tree says that they are dead.
func (p *Places) dead(t *topology.Tree) []network.Cable {
	var out []network.Cable
	for _, d := range t.Dead() {
		id := t.LinkID(d)
		if low, high := t.Ends(d); p.up[id] != 0 {
			out = append(out, network.Cable{
				A: network.End{Node: p.node(low.Switch), Port: p.up[id]}, B: network.End{Node: p.node(high.Switch), Port: p.down[id]},
			})
		}
	}
	return out
}

// TreeOf returns the two-level tree that a network is, all links alive: switches with
// hosts are leaves, the others spines, and all hosts are servers. Their order is that of
// Match. A leaf has as many ports for servers as the leaf with the most hosts has hosts.
func TreeOf(n *network.Network) (*topology.Tree, error) {
	var leaves []network.Node
	for i := range n.Switches() {
		if s := n.Switch(i); len(hostsOn(n, s)) > 0 {
			leaves = append(leaves, s)
		}
	}
	o := topology.Options{Leaves: len(leaves), Spines: n.Switches() - len(leaves)}
	x := network.Names(n)
	if own, ok := named(x, "leaf", o.Leaves); ok {
		if _, ok := named(x, "spine", o.Spines); ok {
			leaves = own
		}
	}
	for _, s := range leaves {
		o.Fill = append(o.Fill, len(hostsOn(n, s)))
		o.Ports = max(o.Ports, len(hostsOn(n, s)))
	}
	o.Ports = cmp.Or(o.Ports, 1)
	return topology.New(o)
}

func hostsOn(n *network.Network, s network.Node) (hosts []network.Node) {
	for _, e := range n.Ends(s) {
		if e.Node != network.NoNode && n.IsHost(e.Node) {
			hosts = append(hosts, e.Node)
		}
	}
	return hosts
}
