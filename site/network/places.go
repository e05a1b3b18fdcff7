package network

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"evbench/internal/lists"
	"evbench/topology"
)

// Places map the servers and switches of a tree to the nodes of a network.
type Places struct {
	Tree *topology.Tree
	Host []Node // by rank

	net   *Network
	rate  float64 // of a message, in bit/s; 0: not known
	lanes bool    // a cable as fast as several messages is as many links
	usual int     // links of most of these cables

	nodes  []Node    // by number of a switch
	cables [][]Cable // by link ID, A being the lower end; none where there is no cable

	real   *Network // of Spineless, nil where net is the network itself
	joints []Cable  // its cables that count as spines
	stack  *stack   // of Spineless, nil where the tree has the network's switches
}

// TreeOf finds a network's tree of two levels or three. Its hosts are the servers, and links
// without a cable are dead. On two levels the number of parallel cables is the most between two
// switches, where a cable as fast as several hosts counts as that many. If the network is no tree
// the error says where it deviates. A leaf has as many ports for servers as the notation says or,
// without one, as the leaf with the most hosts has hosts.
func TreeOf(n *Network) (*Places, error) {
	return treeAt(n, n.MessageRate(n.allHosts()))
}

// treeAt is TreeOf with the rate of a message.
func treeAt(n *Network, rate float64) (*Places, error) {
	p, err := treeOf(n, rate)
	if err == nil {
		err = cmp.Or(p.single(), p.all())
	}
	if err != nil {
		return nil, err
	}
	p.Tree = p.Tree.Named(p.names(names(n)))
	return p, nil
}

// names are the network's names, nil if Build gave them. A switch that shares its name with another
// node has its GUID as name.
func (p *Places) names(x *Index) *topology.Names {
	out, own := &topology.Names{Ports: make([][2]uint8, len(p.cables)), Guess: p.net.Guess}, p.stack == nil
	times := map[Node]int{}
	for sw, v := range p.nodes {
		if v == NoNode {
			out.Switches = append(out.Switches, "absent-"+p.Tree.LevelName(sw))
			continue
		}
		name := p.net.info[v].Name
		own = own && p.net.Notation != "" && name == p.Tree.LevelName(sw)
		if len(x.byName[name]) > 1 || name == "" {
			name = fmt.Sprintf("0x%016x", p.net.info[v].GUID)
		}
		if times[v]++; times[v] > 1 {
			name += fmt.Sprintf("~%d", times[v])
		}
		out.Switches = append(out.Switches, name)
	}
	if own {
		return nil
	}
	out.Hosts, out.Links = p.hostNames(), p.usual
	if p.stack != nil {
		p.twins(out)
	}
	for id, cables := range p.cables {
		if len(cables) > 0 {
			out.Ports[id] = cables[0].ports()
		}
	}
	return out
}

func (p *Places) hostNames() (out []string) {
	return lists.Map(p.Host, func(v Node) string { return p.net.HostName(v) })
}

// treeOf is TreeOf with any number of cables for a link of three levels, and the rate of a message.
func treeOf(n *Network, rate float64) (*Places, error) {
	o, err := outlined(n)
	if err != nil {
		return nil, err
	}
	p := &Places{net: n, nodes: o.nodes, rate: rate, lanes: o.Pods == 0, usual: 1}
	o.Ports = 1
	if s, err := n.Shape(); err == nil {
		if g, ok := s.(PGFT); ok {
			o.Ports = g.M[0]
		}
	}
	for _, leaf := range p.nodes[:o.Leaves] {
		own := n.HostsOn(leaf)
		o.Fill, o.Ports = append(o.Fill, len(own)), max(o.Ports, len(own))
		p.Host = append(p.Host, own...)
	}
	whole := n.built()
	if o.Pods == 0 {
		o.Cables = p.parallel(whole, o.Leaves)
		if o.Cables > topology.MaxCables || o.Cables*o.Spines > topology.MaxPorts {
			p.lanes = false
			o.Cables = p.parallel(whole, o.Leaves)
		}
	}
	if p.Tree, err = topology.New(o.Options); err != nil {
		return nil, err
	}
	p.join(whole)
	absent := p.never()
	for id, own := range p.cables {
		p.cables[id] = slices.DeleteFunc(own, func(c Cable) bool { return !n.has(c) })
	}
	if p.Tree, err = p.Tree.WithoutAbsent(absent...); err == nil {
		p.Tree, err = p.Tree.Without(p.missing(n)...)
	}
	return p, err
}

// join finds the cables of the links in a network. A parallel cable is that of the ports by which
// the tree names it. Others count from the lowest port of the lower end; if some are missing, the
// live links get the others.
func (p *Places) join(n *Network) {
	t, links, cables := p.Tree, map[[2]Node][]int{}, map[[2]Node][]Cable{}
	p.cables = make([][]Cable, t.AllLinks())
	for id := range t.AllLinks() {
		low, high := t.Ends(t.LinkOf(id))
		pair := [2]Node{p.nodes[low.Switch], p.nodes[high.Switch]}
		links[pair] = append(links[pair], id)
	}
	for _, s := range p.nodes {
		for i, e := range n.Ends(s) {
			if pair := [2]Node{s, e.Node}; links[pair] != nil {
				for range p.at(n, End{s, uint8(i + 1)}) {
					cables[pair] = append(cables[pair], Cable{End{s, uint8(i + 1)}, e})
				}
			}
		}
	}
	for pair, own := range cables {
		ids, own := p.known(links[pair], own)
		if len(own) < len(ids) {
			live := func(id int) bool { return t.LinkAlive(t.LinkOf(id)) }
			ids = slices.Concat(slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return !live(id) }), slices.DeleteFunc(ids, live))
		}
		for i, c := range own {
			id := ids[min(i, len(ids)-1)]
			p.cables[id] = append(p.cables[id], c)
		}
	}
}

// known joins the parallel links whose ports the tree knows, and returns the other links and cables.
// It joins none if there are more cables than links.
func (p *Places) known(ids []int, own []Cable) ([]int, []Cable) {
	names := p.Tree.Names()
	if names == nil || names.Ports == nil || len(ids) == 1 || len(own) > len(ids) {
		return ids, own
	}
	at := func(id int) int {
		return slices.IndexFunc(own, func(c Cable) bool { return c.ports() == names.Ports[id] })
	}
	free := slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return at(id) >= 0 })
	rest := slices.Clone(own)
	for _, id := range ids {
		if i := at(id); i >= 0 {
			p.cables[id] = []Cable{own[i]}
			rest = slices.DeleteFunc(rest, func(c Cable) bool { return c == own[i] })
		}
	}
	return free, rest
}

// single returns an error for more cables than the links have.
func (p *Places) single() error {
	for _, c := range p.cables {
		if n := p.Tree.Cables(); len(c) > 1 && n > 1 {
			return fmt.Errorf("%s and %s are joined by %d cables, more than %d", p.name(c[0].A), p.name(c[0].B), n-1+len(c), n)
		} else if len(c) > 1 {
			return fmt.Errorf("%s and %s are joined by %d cables; plans allow one", p.name(c[0].A), p.name(c[0].B), len(c))
		}
	}
	return nil
}

// all returns an error for cables outside all links.
func (p *Places) all() error {
	of := map[Cable]bool{}
	for _, c := range slices.Concat(p.cables...) {
		of[c], of[Cable{c.B, c.A}] = true, true
	}
	for _, c := range p.net.SwitchCables() {
		if !of[c] && c.A.Node != c.B.Node { // a plug for tests joins two ports of a switch
			return fmt.Errorf("%s and %s are joined by a cable, which a tree of %s does not have", p.name(c.A), p.name(c.B), size(p.Tree.Options()))
		}
	}
	return nil
}

// Network returns the network of the nodes.
func (p *Places) Network() *Network { return cmp.Or(p.real, p.net) }

func (p *Places) name(e End) string { return p.net.Name(e.Node) }

// Find returns the links for a name that Index.Down takes, such as a port by the GUID of its switch.
func (p *Places) Find(name string) (links []topology.Link, err error) {
	cables, err := Names(p.Network()).Down(name)
	for id, own := range p.cables {
		for _, c := range own {
			if p.real != nil {
				if c = p.joints[int(c.B.Node)-p.real.Nodes()]; p.cables[id][0].A.Node != c.A.Node {
					continue
				}
			}
			if slices.Contains(cables, c) || slices.Contains(cables, Cable{c.B, c.A}) {
				links = append(links, p.Tree.LinkOf(id))
			}
		}
	}
	if err == nil && links == nil {
		err = fmt.Errorf("no link between switches is %s", brief(name))
	}
	return links, err
}

// missing returns the links without a cable in a network.
func (p *Places) missing(n *Network) (dead []topology.Link) {
	for id, cables := range p.cables {
		if !slices.ContainsFunc(cables, func(c Cable) bool { return p.has(n, c) }) {
			dead = append(dead, p.Tree.LinkOf(id))
		}
	}
	return dead
}

// ErrNoLeaf says that a host is on a switch above the leaves, or on none.
var ErrNoLeaf = errors.New("has no cable to a leaf")

// For returns the tree whose servers are the given hosts, on each leaf in their order. Links are
// dead if network n, the same with fewer cables, has no cable for them.
func (p *Places) For(n *Network, hosts []Node) (*Places, error) {
	if rate := n.MessageRate(hosts); rate != p.rate && rate > 0 {
		again := treeAt
		if p.stack != nil {
			again = spineless
		}
		q, err := again(p.net, rate)
		if err != nil {
			return nil, err
		}
		q.real, q.joints = p.real, p.joints
		p = q
	}
	o := p.Tree.Options()
	on, at, seen := make([][]Node, o.Leaves), map[Node]int{}, make([]bool, n.Hosts())
	for leaf, v := range p.nodes[:o.Leaves] {
		if v != NoNode {
			at[v] = leaf
		}
	}
	for _, h := range hosts {
		leaf, ok := at[n.Leaf(h).Node]
		switch {
		case !ok:
			return nil, fmt.Errorf("host %s %w", n.info[h].Name, ErrNoLeaf)
		case seen[h]:
			return nil, fmt.Errorf("host %s is in the job twice", n.info[h].Name)
		}
		on[leaf], seen[h] = append(on[leaf], h), true
	}
	o.Fill = make([]int, o.Leaves)
	for i, own := range on {
		o.Fill[i] = len(own)
	}
	t, err := topology.New(o)
	if err != nil {
		return nil, err
	}
	q := *p
	q.Host = slices.Concat(on...)
	names := p.Tree.Names()
	if names != nil {
		job := *names
		job.Hosts = q.hostNames()
		names = &job
	}
	if q.Tree, err = t.Named(names).WithoutAbsent(p.never()...); err == nil {
		q.Tree, err = q.Tree.Without(p.missing(n)...)
	}
	return &q, err
}

// Match finds the nodes of a plan's tree in a network. If the network has a node with each switch's
// name (leaf0 or s1_0, spine3 or s2_3; on three levels pod1-spine2 or s2_6, spine2-top3 or s3_14),
// names count, for servers too where one is called so: their names give positions (server17 or h17). Otherwise
// the order counts, as in TreeOf, and the hosts of a leaf, by port, are its servers.
func Match(t *topology.Tree, n *Network) (*Places, error) {
	p := &Places{Tree: t, net: n, usual: 1}
	err := p.match()
	if err == nil {
		err = p.different()
	}
	if err == nil {
		p.rate, p.lanes = n.MessageRate(p.Host), true
		p.lanes = t.Levels() == 2 && p.parallel(n, t.Leaves()) <= t.Cables() // else of 0.1.0, or of other hosts
		p.join(n)
		err = p.single()
	}
	if err != nil {
		return nil, fmt.Errorf("the network is not the plan's %s: %w", t.Notation(), err)
	}
	return p, nil
}

func (p *Places) match() error {
	t, n := p.Tree, p.net
	switch {
	case n.Switches() == t.Switches():
	case t.Levels() == 3:
		return fmt.Errorf("%d switches instead of %d", n.Switches(), t.Switches())
	default:
		return fmt.Errorf("%d switches instead of %d leaves and %d spines", n.Switches(), t.Leaves(), t.Spines())
	}
	x := names(n)
	switch {
	case !p.named(x):
	case t.Names() == nil && p.callsHosts(x):
		return p.hostsByName(x)
	default:
		return p.hostsByOrder()
	}
	o, err := outlined(n)
	if err != nil {
		return err
	}
	if p.nodes = o.nodes; o.Leaves != t.Leaves() || o.Spines != t.Spines() || o.Tops != t.Tops() {
		return fmt.Errorf("%s is wanted, and its cables are those of %s; or name all switches %s…, %s…",
			size(t.Options()), size(o.Options), t.SwitchName(0), t.SwitchName(t.Leaves()))
	}
	return p.hostsByOrder()
}

// size says how many switches a tree has.
func size(o topology.Options) string {
	if o.Pods == 0 {
		return fmt.Sprintf("%d leaves and %d spines", o.Leaves, o.Spines)
	}
	return fmt.Sprintf("%d pods of %d leaves, %d planes and %d top switches of each", o.Pods, o.Leaves/o.Pods, o.Spines, o.Tops)
}

func (p *Places) named(x *Index) bool {
	t := p.Tree
	for sw := range t.Switches() {
		v, err := x.Node(t.SwitchName(sw))
		if err != nil {
			v, err = x.Node(t.LevelName(sw))
		}
		if err != nil {
			return false
		}
		p.nodes = append(p.nodes, v)
	}
	return true
}

// callsHosts reports whether some host has the name of a server: switches are called leaf0 or spine1 in many
// networks.
func (p *Places) callsHosts(x *Index) bool {
	for r := range p.Tree.Servers() {
		for _, name := range []string{p.Tree.ServerName(r), fmt.Sprintf("h%d", p.Tree.Position(r))} {
			if _, err := x.Node(name); err == nil {
				return true
			}
		}
	}
	return p.Tree.Servers() == 0
}

func (p *Places) hostsByName(x *Index) error {
	t, n := p.Tree, p.net
	for r := range t.Servers() {
		v, err := x.Node(t.ServerName(r))
		if err != nil {
			v, err = x.Node(fmt.Sprintf("h%d", t.Position(r)))
		}
		if err != nil {
			return fmt.Errorf("no host is called %s, or h%d as in networks of notations", t.ServerName(r), t.Position(r))
		}
		if want := p.nodes[t.Leaf(r)]; !n.IsHost(v) || n.Leaf(v).Node != want {
			return fmt.Errorf("%s has no cable to %s, its leaf", n.info[v].Name, n.info[want].Name)
		}
		p.Host = append(p.Host, v)
	}
	return nil
}

func (p *Places) hostsByOrder() error {
	t, n := p.Tree, p.net
	for l, s := range p.nodes[:t.Leaves()] {
		if s == NoNode {
			continue
		}
		own := n.HostsOn(s)
		if len(own) < t.ServersOn(l) {
			return fmt.Errorf("%s has %d hosts, leaf%d of the plan has %d servers", n.info[s].Name, len(own), l, t.ServersOn(l))
		}
		p.Host = append(p.Host, own[:t.ServersOn(l)]...)
	}
	return nil
}

// different checks that no node is used twice, and that switches are switches.
func (p *Places) different() error {
	seen := map[Node]bool{}
	for i, list := range [][]Node{p.Host, p.nodes} {
		for _, v := range list {
			if seen[v] || p.net.IsHost(v) != (i == 0) {
				return fmt.Errorf("%s has two parts in it, or the wrong one", p.net.info[v].Name)
			}
			seen[v] = true
		}
	}
	return nil
}

// Name returns the tree's name for a switch.
func (p *Places) Name(v Node) string {
	if sw := slices.Index(p.nodes, v); sw >= 0 {
		return p.Tree.SwitchName(sw)
	}
	return p.net.info[v].Name
}

// LinkName is that of the tree or, for parallel cables whose ports the tree does not know, the
// network's.
func (p *Places) LinkName(l topology.Link) string {
	if n := p.Tree.Names(); l.Cable == 0 || n != nil && n.Ports != nil {
		return p.Tree.LinkName(l)
	}
	return p.Tree.Named(p.names(names(p.net))).LinkName(l)
}

// Node returns the node of a switch, by its number.
func (p *Places) Node(sw int) Node { return p.nodes[sw] }

// Now returns the tree, by the names of the network. Links without a cable in network n, the same
// with fewer cables, are dead, too.
func (p *Places) Now(n *Network) *topology.Tree {
	t, err := p.Tree.Named(p.names(names(p.net))).Without(p.missing(n)...)
	if err != nil {
		panic("network: a link that the tree has is not in it: " + err.Error())
	}
	return t
}

// Take returns the places with other hosts for the servers, each on the leaf of its server.
func (p *Places) Take(hosts []Node) (*Places, error) {
	if len(hosts) != len(p.Host) {
		return nil, fmt.Errorf("%d hosts for %d servers", len(hosts), len(p.Host))
	}
	for rank, h := range hosts {
		if p.net.Leaf(h).Node != p.nodes[p.Tree.Leaf(rank)] {
			return nil, fmt.Errorf("host %s is not on the leaf of its server", p.net.info[h].Name)
		}
	}
	q := *p
	q.Host = hosts
	return &q, q.different()
}

// Port returns the network's port for a port of a switch of the tree, counted from 0; 0 without a
// cable.
func (p *Places) Port(sw, port int) uint8 {
	l, upper, ok := p.Tree.LinkAt(sw, port)
	switch {
	case ok && upper:
		return p.Down(l)
	case ok:
		return p.Up(l)
	case sw < p.Tree.Leaves() && port < p.Tree.ServersOn(sw):
		return p.net.Leaf(p.Host[p.Tree.First(sw)+port]).Port
	}
	return 0
}

// Cable returns the cable of a link, A being the lower end, and whether there is one.
func (p *Places) Cable(l topology.Link) (Cable, bool) {
	if c := p.cables[p.Tree.LinkID(l)]; len(c) > 0 {
		return c[0], true
	}
	return Cable{}, false
}

// Cables returns the existing cables of links.
func (p *Places) Cables(links []topology.Link) (out []Cable) {
	for _, l := range links {
		out = append(out, p.cables[p.Tree.LinkID(l)]...)
	}
	return out
}

// Up returns the port at the lower end of a link, 0 without a cable.
func (p *Places) Up(l topology.Link) uint8 {
	c, _ := p.Cable(l)
	return c.A.Port
}

// Down returns the port at the upper end of a link, 0 without a cable.
func (p *Places) Down(l topology.Link) uint8 {
	c, _ := p.Cable(l)
	return c.B.Port
}
