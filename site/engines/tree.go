package engines

import (
	"errors"
	"fmt"
	"slices"

	"evbench/routing"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/topology"
)

// FromTree returns a tree as a network, with 2^lmc LIDs to a host. Names, ports, GUIDs and LIDs are
// as in the whole tree, FT(2;M0,M1) or FT(3;M0,M1,M2), where server s is h<s>. Missing servers are
// left out, so host r is rank r, and dead links have no cable.
func FromTree(t *topology.Live, lmc int) (*network.Network, error) {
	whole, err := network.TreeShape(t.Shape).Build(lmc)
	if err != nil {
		return nil, err
	}
	if !t.Full() {
		if whole, err = present(t.Shape, whole); err != nil {
			return nil, err
		}
	}
	var dead []network.Cable
	for _, l := range t.Missing() {
		low, _ := t.Ends(l)
		end := network.End{Node: whole.Switch(low.Switch), Port: uint8(low.Port + 1)}
		dead = append(dead, network.Cable{A: end, B: whole.At(end.Node, int(end.Port))})
	}
	return whole.Without(dead, nil), nil
}

// present returns the whole tree without the servers that a tree does not have.
func present(t *topology.Shape, whole *network.Network) (*network.Network, error) {
	var b network.Builder
	for r := range t.Servers() {
		b.Host(whole.Info(network.Node(t.Position(r))))
	}
	for i := range whole.Switches() {
		b.Switch(whole.Info(whole.Switch(i)), len(whole.Ends(whole.Switch(i))))
	}
	moved := func(e network.End) (network.End, bool) {
		if !whole.IsHost(e.Node) {
			return network.End{Node: network.Node(t.Servers() + whole.Index(e.Node)), Port: e.Port}, true
		}
		r, ok := t.Rank(int(e.Node))
		return network.End{Node: network.Node(r), Port: e.Port}, ok
	}
	for _, c := range whole.Cables() {
		x, here := moved(c.A)
		y, too := moved(c.B)
		if here && too {
			if err := b.Cable(x, y); err != nil {
				return nil, err
			}
		}
	}
	return b.Build(), nil
}

// ToTables returns the entries of a network that FromTree has made as tables of its tree, for
// plans. A plan knows shortest ways only, up and down again through one switch. A longer way is an
// error, which names it.
func ToTables(t *topology.Tree, l *lft.Tables) (*routing.Tables, error) {
	n := l.Net
	if n.Hosts() != t.Servers() || n.Switches() != t.Switches() {
		return nil, fmt.Errorf("tables of %d hosts and %d switches for %s with %d servers", n.Hosts(), n.Switches(), t.Notation(), t.Servers())
	}
	out := routing.NewTables(l.Engine, t)
	var path []network.End
	for dst := range t.Servers() {
		lid := int(n.Info(network.Node(dst)).LID)
		for i := range n.Switches() {
			if p := l.Row(i)[lid]; p != lft.NoPort && p > 0 {
				out.Set(routing.Switch(i), dst, routing.Port(p-1))
			}
		}
		var err error
		if path, err = direct(t.Shape, l, dst, lid, path); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// direct checks that routes to a server pass at most one spine or, between pods, one top switch. path is
// for reuse.
func direct(t *topology.Shape, l *lft.Tables, dst, lid int, path []network.End) ([]network.End, error) {
	for leaf := range t.Leaves() {
		if t.ServersOn(leaf) == 0 {
			continue
		}
		src, most := t.First(leaf), 3 // switches
		if t.AcrossPods(leaf, t.Leaf(dst)) {
			most = 5
		}
		if path, _ = l.AppendRoute(path[:0], network.Node(src), lid); len(path) > most {
			return path, fmt.Errorf("%s routes %s to %s through %d switches: a plan has one spine for a message",
				l.Engine, t.ServerName(src), t.ServerName(dst), len(path))
		}
	}
	return path, nil
}

// Trees returns the engines for plans of trees. File, FtreeWeighted and MinMax are not among them: their input is not the tree
// alone, or their ways may be longer than the shortest.
func Trees() (out routing.Engines) {
	for _, name := range append(Names(), FtreeToOpenSMMinHop) {
		hidden := name != routing.Ftree && slices.Contains(routing.TreeEngines(), name)
		if !hidden && name != File && name != FtreeWeighted && name != MinMax {
			out = append(out, routing.Engine{Name: name, Tables: func(t *topology.Tree, partial bool) (*routing.Tables, error) {
				return ForTree(name, t, Options{Partial: partial})
			}})
		}
	}
	return out
}

// FtreeToOpenSMMinHop is the behaviour of a running OpenSM with "ftree,minhop" and no roots: ftree
// while the network is a pure fat tree, also without whole spines; else minhop, which keeps earlier
// entries that still lead on a shortest path.
const FtreeToOpenSMMinHop = "ftree-to-opensm-minhop"

// ftreeToMinHop returns the engine that FtreeToOpenSMMinHop takes for a tree, and its options. The
// earlier tables are o.Previous, else the tables of the tree without failures.
func ftreeToMinHop(t *topology.Tree, n *network.Network, o Options) (string, Options, error) {
	before := o.Previous
	o.Previous = nil
	if _, err := Compute(routing.Ftree, n, Options{}); err == nil {
		return routing.Ftree, o, nil
	}
	if before == nil {
		healthy, err := FromTree(&t.Healthy().Live, 0)
		if err != nil {
			return "", o, err
		}
		if before, err = Compute("ftree,opensm-minhop", healthy, Options{}); err != nil {
			return "", o, err
		}
	}
	o.Previous = before
	return OpenSMMinHop, o, nil
}

// ForTree returns the tables of an engine, or the first of a list of names that succeeds, for a tree.
// Unless roots are given they are the spines. ftree is OpenSM's with its usual second choice,
// "ftree,opensm-minhop".
//
// With o.Partial, servers whose leaves share no live spine get no route to each other, and each
// connected part of the tree is routed by itself. Otherwise an engine that joins such servers
// through a third leaf is an error.
func ForTree(name string, t *topology.Tree, o Options) (*routing.Tables, error) {
	if name == routing.Ftree {
		name = "ftree,opensm-minhop"
	}
	n, err := FromTree(&t.Live, 0)
	if err != nil {
		return nil, fmt.Errorf("routing %s on %s: %w", name, t.Notation(), err)
	}
	if name == FtreeToOpenSMMinHop {
		if name, o, err = ftreeToMinHop(t, n, o); err != nil {
			return nil, err
		}
	}
	if o.Roots == nil {
		for sw := range t.Switches() {
			if _, ways := t.Upward(sw); ways == 0 {
				o.Roots = append(o.Roots, n.Switch(sw))
			}
		}
	}
	if !o.Partial {
		l, err := Compute(name, n, o)
		if err != nil {
			return nil, err
		}
		return ToTables(t, l)
	}
	l, err := byParts(name, t.Shape, n, o)
	if err != nil {
		return nil, err
	}
	cut(&t.Live, l)
	tables, err := ToTables(t, l)
	if err == nil {
		local(tables)
	}
	return tables, err
}

// cut removes the entries of each leaf for servers of leaves with which it shares no live spine.
func cut(t *topology.Live, l *lft.Tables) {
	for _, c := range t.Unreachable() {
		for _, ends := range [][2]int{c, {c[1], c[0]}} {
			for dst := t.First(ends[1]); dst < t.First(ends[1]+1); dst++ {
				l.Row(ends[0])[l.Net.Info(network.Node(dst)).LID] = lft.NoPort
			}
		}
	}
}

// OfNetwork returns the tables of a network that is a tree as tables of the tree, whose servers are
// all hosts. whole is the network without failures, by which switches and cables count. As for
// ToTables, longer ways than the shortest are an error.
func OfNetwork(l *lft.Tables, whole *network.Network) (*routing.Tables, error) {
	p, err := network.TreeOf(whole)
	if err == nil {
		p, err = p.For(l.Net, p.Host)
	}
	if err != nil {
		return nil, err
	}
	if len(p.Host) != l.Net.Hosts() {
		return nil, errors.New("a server without its cable")
	}
	n, err := FromTree(&p.Tree.Live, 0)
	if err != nil {
		return nil, err
	}
	own := lft.New(l.Engine, n)
	for sw := range p.Tree.Switches() {
		at := map[uint8]uint8{}
		for port := range p.Tree.SwitchPorts(sw) {
			at[p.Port(sw, port)] = uint8(port + 1)
		}
		for r, h := range p.Host {
			port := l.Row(l.Net.Index(p.Node(sw)))[l.Net.Info(h).LID]
			if to, ok := at[port]; ok && port != 0 && port != lft.NoPort {
				own.Row(sw)[n.Info(network.Node(r)).LID] = to
			}
		}
	}
	return ToTables(p.Tree, own)
}

// twoLevels makes an engine for networks from one for two-level trees. LIDs of switches get the
// lowest live spine, or the leaf.
func twoLevels(name string) engine {
	return func(n *network.Network, _ Options) (*lft.Tables, error) {
		p, err := network.TreeOf(n)
		switch {
		case err != nil:
			return nil, err
		case p.Tree.Levels() == 3:
			return nil, errors.New("the network has three levels of switches, and the engine is for two")
		}
		tables, err := routing.TreeTables(p.Tree, name)
		if err != nil {
			return nil, err
		}
		l := lft.New(name, n)
		for i := range n.Switches() {
			row := l.Row(n.Index(p.Node(i)))
			for dst, h := range p.Host {
				if ports := tables.Ports(routing.Switch(i), dst); len(ports) > 0 {
					info := n.Info(h)
					for k := range 1 << info.LMC {
						row[int(info.LID)+k] = p.Port(i, int(ports[0]))
					}
				}
			}
		}
		toSwitches(p, l)
		return l, nil
	}
}

func toSwitches(p *network.Places, l *lft.Tables) {
	t, n := p.Tree, l.Net
	set := func(i, to int, port uint8) {
		lid := int(n.Info(p.Node(to)).LID)
		if row := l.Row(n.Index(p.Node(i))); lid > 0 && row[lid] == lft.NoPort {
			row[lid] = port
		}
	}
	up := func(leaf, spine int) (l topology.Link) { // over the first cable that is alive
		for l = range t.Joining(leaf, spine) {
			if t.LinkAlive(l) {
				break
			}
		}
		return l
	}
	for i := range n.Switches() {
		set(i, i, 0)
	}
	for leaf := range t.Leaves() {
		for _, k := range t.AliveSpines(leaf) {
			set(leaf, t.Leaves()+k, p.Up(up(leaf, k)))
			set(t.Leaves()+k, leaf, p.Down(up(leaf, k)))
		}
	}
	for a := range t.Leaves() {
		for b := range t.Leaves() {
			if common := t.CommonSpines(a, b); a != b && len(common) > 0 {
				set(a, b, p.Up(up(a, common[0])))
			}
		}
	}
}
