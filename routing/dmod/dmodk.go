// Package dmod routes parallel generalised fat trees by the closed form d-mod-k:
// Dmodk on whole networks, Dmodc on degraded ones and on what is like a fat tree.
//
// Both give every destination a path that depends on it alone, up to a nearest
// common ancestor and down. Tables are the same for any number of workers.
package dmod

import (
	"fmt"

	"evbench/internal/parallel"
	"evbench/routing/dmod/updown"
	"evbench/routing/lft"
	"evbench/topology/network"
)

// Dmodk returns the routes of a whole PGFT (Zahavi; IEEE Micro 2020 §2): a switch
// of level l sends host d, if not below it, through its up port
//
//	q = ⌊d / (w1·…·wl)⌋ mod (w_{l+1}·p_{l+1})
//
// whose parent is q mod w and whose cable to it is ⌊q/w⌋; and down to the child
// above d through cable ⌊d / (w1·…·wl)⌋ mod p_l (HOTI 2014, equation 16). The x-th
// further LID of a host goes up and down as host d+x would. Switches' own LIDs get
// some shortest up*/down* path where there is one. With as many cables up as down
// at each level no cable has two paths of a shift permutation.
//
// It refuses a network that is not as built. O(switches · hosts) bytes are written,
// mostly by copying.
func Dmodk(g network.PGFT, n *network.Network) (*lft.Tables, error) {
	p, err := newPlaces(g, n)
	if err != nil {
		return nil, err
	}
	if err := p.whole(); err != nil {
		return nil, err
	}
	number, rank := make([]int, n.Hosts()), make([]int, n.Nodes())
	for d := range number {
		number[d] = d
	}
	for s := range n.Switches() {
		rank[n.Switch(s)] = p.level(s)
	}
	t := lft.New("dmodk", n)
	hosts := updown.NewHosts(n, number)
	scratch := updown.Scratch(0, n.Hosts())
	parallel.Each(0, n.Switches(), func(worker, s int) {
		hosts.Row(t.Row(s), scratch[worker], func(dst []uint8, x int) { p.row(dst, s, x) })
	})
	updown.New(n, rank, 0).ToSwitches(t, 0)
	return t, nil
}

// places knows where the nodes of a PGFT are. Index l-1 is level l.
type places struct {
	g     network.PGFT
	n     *network.Network
	first []int // index of the first switch of a level, and the end
	width []int // w1·…·wl: how many switches of a level share a subtree
	below []int // m1·…·ml: hosts below a switch of level l
}

func newPlaces(g network.PGFT, n *network.Network) (*places, error) {
	h := len(g.M)
	if h < 1 || len(g.W) != h || len(g.P) != h {
		return nil, fmt.Errorf("dmodk: %d, %d and %d numbers in m, w and p: must be one for each level", len(g.M), len(g.W), len(g.P))
	}
	p := &places{g: g, n: n, first: make([]int, h+1), width: make([]int, h), below: make([]int, h)}
	hosts, width, below := 1, 1, 1
	for i := range h {
		if g.M[i] < 1 || g.W[i] < 1 || g.P[i] < 1 {
			return nil, fmt.Errorf("dmodk: level %d: m = %d, w = %d, p = %d: must be at least 1", i+1, g.M[i], g.W[i], g.P[i])
		}
		hosts *= g.M[i]
		if hosts > 1<<16 {
			break // more than any network has
		}
	}
	for i := range h {
		width, below = width*g.W[i], below*g.M[i]
		p.width[i], p.below[i] = width, below
		p.first[i+1] = p.first[i] + width*(hosts/below)
	}
	if n.Hosts() != hosts || n.Switches() != p.first[h] {
		return nil, fmt.Errorf("dmodk: the network has %d hosts and %d switches: %s has others", n.Hosts(), n.Switches(), g)
	}
	return p, nil
}

func (p *places) level(s int) int {
	l := 1
	for s >= p.first[l] {
		l++
	}
	return l
}

// up returns the first port up of level l, and how many.
func (p *places) up(l int) (first, count int) {
	first = 1 + p.g.M[l-1]*p.g.P[l-1]
	if l == len(p.g.M) {
		return first, 0
	}
	return first, p.g.W[l] * p.g.P[l]
}

// whole reports the first cable up, or of a host, that is not as built.
func (p *places) whole() error {
	for h := range p.n.Hosts() {
		want := network.End{Node: p.n.Switch(h / p.g.M[0]), Port: uint8(1 + h%p.g.M[0])}
		if err := p.expect(network.Node(h), 1, want); err != nil {
			return err
		}
	}
	for l := 1; l <= len(p.g.M); l++ {
		for s := p.first[l-1]; s < p.first[l]; s++ {
			if err := p.wholeUp(l, s); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *places) wholeUp(l, s int) error {
	first, count := p.up(l)
	if have := len(p.n.Ends(p.n.Switch(s))); have != first-1+count {
		return fmt.Errorf("dmodk: %s has %d ports, not the %d of %s", p.n.Info(p.n.Switch(s)).Name, have, first-1+count, p.g)
	}
	if count == 0 {
		return nil
	}
	w, m, cables := p.width[l-1], p.g.M[l], p.g.P[l]
	place, subtree := (s-p.first[l-1])%w, (s-p.first[l-1])/w
	for q := range count {
		parent := p.first[l] + place + w*(q/cables) + w*p.g.W[l]*(subtree/m)
		want := network.End{Node: p.n.Switch(parent), Port: uint8(1 + subtree%m*cables + q%cables)}
		if err := p.expect(p.n.Switch(s), first+q, want); err != nil {
			return err
		}
	}
	return nil
}

func (p *places) expect(v network.Node, port int, want network.End) error {
	have := p.n.At(v, port)
	if have == want {
		return nil
	}
	leads := "has no cable"
	if have.Node != network.NoNode {
		leads = fmt.Sprintf("leads to port %d of %s", have.Port, p.n.Info(have.Node).Name)
	}
	return fmt.Errorf("dmodk: port %d of %s %s: in a whole %s it leads to port %d of %s (dmodc routes degraded networks)",
		port, p.n.Info(v).Name, leads, p.g, want.Port, p.n.Info(want.Node).Name)
}

// row fills the ports of a switch by host: up, down child by child, up.
func (p *places) row(dst []uint8, s, x int) {
	l := p.level(s)
	width, below := p.width[l-1], p.below[l-1]
	lo := (s - p.first[l-1]) / width * below
	hi := lo + below
	first, count := p.up(l)
	if count > 0 {
		w, cables := p.g.W[l], p.g.P[l]
		up := func(k int) uint8 { return uint8(first + k%w*cables + k%count/w) }
		updown.Fill(dst[:lo], x, width, count, up)
		updown.Fill(dst[hi:], hi+x, width, count, up)
	}
	cables, child := p.g.P[l-1], below/p.g.M[l-1]
	for c := range p.g.M[l-1] {
		at := lo + c*child
		updown.Fill(dst[at:at+child], at+x, width, cables, func(k int) uint8 { return uint8(1 + c*cables + k%cables) })
	}
}
