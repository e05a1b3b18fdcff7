package network

import (
	"errors"
	"fmt"
	"strings"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/topology"
)

// Spineless is TreeOf, and the tree of networks that are none, for plans and bounds: a stack, and a network
// without spines, one switch or two that cables join. There each cable counts as a spine with a link to
// both switches, and one switch has a spine that no message takes. Tables know no such spines: their nodes
// follow those of the network.
func Spineless(n *Network) (*Places, error) {
	with, joints := n.withJoints()
	if with == nil {
		return spineless(n, n.MessageRate(n.allHosts()))
	}
	p, err := TreeOf(with)
	if err == nil {
		p.real, p.joints = n, joints
	}
	return p, err
}

// ErrShared says that switches of a plan's tree share a switch of the network, or are cables of it.
var ErrShared = errors.New("switches of the plan are cables of the network, or share a switch, so tables cannot hold its paths")

// MatchPlan is Match, or the places of a tree of Spineless that has the plan's switches and cables: with
// ErrShared, and without hosts, where switches of it are cables, or share a switch. Switches that smaller
// pods lack are NoNode.
func MatchPlan(t *topology.Tree, n *Network) (*Places, error) {
	p, err := Match(t, n)
	if err == nil {
		return p, nil
	}
	q, other := Spineless(n)
	if other != nil || q.real == nil && q.stack == nil {
		return nil, err
	}
	a, b := t.Options(), q.Tree.Options()
	if a.Leaves != b.Leaves || a.Spines != b.Spines || a.Pods != b.Pods || a.Tops != b.Tops || a.Cables != b.Cables {
		return nil, err
	}
	for l := range t.Leaves() {
		if t.ServersOn(l) > q.Tree.ServersOn(l) {
			return nil, err
		}
	}
	own := *q
	own.Tree, own.Host = t, nil
	if q.real != nil || q.shared() {
		return &own, ErrShared
	}
	return &own, own.hostsByOrder()
}

// shared reports whether two switches of the tree are one.
func (p *Places) shared() bool {
	seen := map[Node]bool{}
	for _, v := range p.nodes {
		if seen[v] && v != NoNode {
			return true
		}
		seen[v] = true
	}
	return false
}

// spineless is treeAt, or the tree of a stack.
func spineless(n *Network, rate float64) (*Places, error) {
	p, err := treeAt(n, rate)
	if err == nil && !p.Rates().Faster {
		return p, nil
	}
	if q, other := stacked(n, rate); other == nil {
		return q, nil
	}
	return p, err
}

// withJoints returns a network without spines with a switch in each cable, and these cables; nil for
// other networks. The one switch gets one more port, with a switch behind it and no cable.
func (n *Network) withJoints() (*Network, []Cable) {
	if n.Switches() > 2 {
		return nil, nil
	}
	for i := range n.Switches() {
		if n.HostCount(n.Switch(i)) == 0 {
			return nil, nil
		}
	}
	joints := lists.Filter(n.SwitchCables(), func(c Cable) bool { return c.A.Node != c.B.Node })
	more := 0
	if n.Switches() == 1 {
		joints, more = []Cable{{}}, 1
	}
	var b Builder
	for v := range Node(n.Nodes()) {
		if n.IsHost(v) {
			b.Host(n.info[v])
		} else {
			b.Switch(n.info[v], len(n.Ends(v))+more)
		}
	}
	rates := map[End]float64{}
	join := func(x, y End) {
		_ = b.Cable(x, y) // both are free, as in n
		rates[x] = n.Rate(x)
	}
	for h := range Node(n.Hosts()) {
		if at := n.Leaf(h); at.Node != NoNode {
			join(End{h, 1}, at)
		}
	}
	for k, c := range joints {
		name := fmt.Sprintf("cable%d", k+1)
		if more > 0 {
			name, c.A = "none", End{n.Switch(0), uint8(len(n.Ends(n.Switch(0))) + 1)}
		}
		v := b.Switch(Info{Name: name, GUID: ^uint64(k)}, 2)
		join(c.A, End{v, 1})
		if more == 0 {
			join(c.B, End{v, 2})
		}
	}
	if len(joints) == 0 {
		return nil, nil
	}
	out := b.Build().WithRates(rates)
	out.Guess = n.Guess
	return out, joints
}

// has reports whether a network has the cable of a link. Of a cable that counts as a spine it is
// the link to one of its ends that is dead.
func (p *Places) has(n *Network, c Cable) bool {
	if p.real == nil {
		return n.has(c)
	}
	joint := p.joints[int(c.B.Node)-p.real.Nodes()]
	return joint == Cable{} || c.A.Node != joint.A.Node || n.has(joint)
}

// Joints says which cables count as spines; "": none do.
func (p *Places) Joints() string {
	if p.real == nil || p.joints[0] == (Cable{}) {
		return ""
	}
	names := lists.Tabulate(len(p.joints), func(k int) string {
		return fmt.Sprintf("cable%d is %s-%s", k+1, p.real.EndName(p.joints[k].A), p.real.EndName(p.joints[k].B))
	})
	return "there are no spines; each cable between the two switches counts as one: " + strings.TrimSpace(show.Few(names))
}
