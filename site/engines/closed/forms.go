package closed

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"evbench/internal/lists"
	"evbench/site/lft"
	"evbench/site/network"
)

// Dmodk returns the routes of a whole PGFT (Zahavi; IEEE Micro 2020 §2): a switch
// of level l sends host d, if not below it, through its up port
//
//	q = ⌊d / (w1·…·wl)⌋ mod (w_{l+1}·p_{l+1})
//
// whose parent is q mod w and whose cable to it is ⌊q/w⌋; and down to the child
// above d through cable ⌊d / (w1·…·wl)⌋ mod p_l (HOTI 2014, equation 16). With as many
// cables up as down at each level no cable has two paths of a shift permutation.
//
// It refuses a network that is not built from the notation of a PGFT, or has lost cables.
func Dmodk(n *network.Network) (*lft.Tables, error) {
	shape, err := n.Shape()
	if err != nil {
		return nil, err
	}
	g, ok := shape.(network.PGFT)
	if !ok {
		return nil, fmt.Errorf("%s is not a PGFT", n.Notation)
	}
	whole, err := g.Build(0)
	if err != nil {
		return nil, err
	}
	for v := range network.Node(n.Nodes()) {
		for i, want := range whole.Ends(v) {
			if n.At(v, i+1) != want {
				return nil, fmt.Errorf("dmodk: port %d of %s has no cable: in a whole %s it leads to port %d of %s (dmodc routes degraded networks)",
					i+1, n.Info(v).Name, g, want.Port, n.Info(want.Node).Name)
			}
		}
	}
	return route("dmodk", g, false, n), nil
}

// QFT returns the routes of a quasi fat tree, or of a PGFT, that may have lost cables and
// switches. At most one level of a quasi fat tree may have p > 1.
//
// Without faults the ports follow equations 13 to 18, except at a top level with p > 1, where
// equation 18 gives all destinations of a cable the same port. There QFT goes down through the
// switch that the destination's own subtree goes up through, as §IV.C requires. With as many cables
// up as down at each level, and w_{l+2} a multiple of p_l, no cable has two paths of a shift
// permutation. A PGFT has equation 16 and the up-ports of d-mod-k (§V.A).
//
// With faults it completes Algorithm 1, which removes a port from a choice for faults one level up
// and down from it. Here a port is also removed when all cables farther on are missing. So a host
// reaches another exactly if some path up and then down joins them, with the fewest steps up. The
// remaining ports take turns, without a random draw.
//
// O(cables · leaves / 64) and O(switches · hosts) bytes, mostly copied.
func QFT(n *network.Network) (*lft.Tables, error) {
	shape, err := n.Shape()
	if err != nil {
		return nil, err
	}
	switch g := shape.(type) {
	case network.QFT:
		return quasi(g, n)
	case network.PGFT:
		return route("qft", g, false, n), nil
	}
	return nil, errors.New(n.Notation + " is neither a QFT nor a PGFT")
}

func quasi(g network.QFT, n *network.Network) (*lft.Tables, error) {
	crossed := lists.CountIf(g.P, func(p int) bool { return p > 1 })
	if crossed > 1 {
		return nil, fmt.Errorf("qft: %d levels with p > 1: the closed form is for one", crossed)
	}
	return route("qft", network.PGFT(g), true, n), nil
}

func route(engine string, g network.PGFT, quasi bool, n *network.Network) *lft.Tables {
	f := &forms{tree: newTree(g, quasi)}
	rank := make([]int, n.Nodes())
	for s := range n.Switches() {
		rank[n.Switch(s)] = f.tree.level(s)
	}
	f.graph = newGraph(n, rank)
	f.hosts = newHosts(n, lists.Range[int](n.Hosts()))
	f.layers = f.graph.reach(f.hosts.leafAt, len(f.hosts.leaves))
	return f.graph.tables(engine, f.hosts, func() form { return &formRow{forms: f, digits: make([]int, len(g.M))} })
}

type forms struct {
	tree   *tree
	graph  *graph
	hosts  *hosts
	layers []sets
}

type option struct {
	label int
	port  uint8
}

type formRow struct {
	*forms
	s, level int
	digits   []int // of the peer in hand
	memory   []uint64
	bits     [][]uint64 // by group: the leaves it is for
	options  [][]option // by group
	rule     rule
	byLabel  []uint8  // ports of the set of groups in hand, NoPort where gone
	left     []option // all of them
	lost     bool     // some label has no port
}

func (o *formRow) at(s int) [][]uint64 {
	o.s, o.level = s, o.tree.level(s)
	groups := o.graph.groups[s]
	words := (len(o.hosts.leaves) + 63) / 64
	if need := words * len(groups); len(o.memory) < need {
		o.memory = make([]uint64, need)
	}
	o.bits = o.bits[:0]
	for len(o.options) < len(groups) {
		o.options = append(o.options, nil)
	}
	for i, g := range groups {
		o.bits = append(o.bits, o.memory[i*words:(i+1)*words])
		o.tree.digits(int(g.peer), o.level+int(g.dir), o.digits)
		o.options[i] = o.options[i][:0]
		for _, port := range g.ports {
			o.options[i] = append(o.options[i], option{o.labelOf(g, port), port})
		}
	}
	o.graph.choices(o.layers, s, o.bits)
	return o.bits
}

func (o *formRow) labelOf(g group, port uint8) int {
	if g.dir == upward {
		return o.tree.upLabel(o.digits, o.level+1, port)
	}
	return o.tree.downLabel(o.digits, o.level, port)
}

func (o *formRow) choose(groups []int32) (step, period int) {
	if o.rule = o.tree.down(o.level); o.graph.groups[o.s][groups[0]].dir == upward {
		o.rule = o.tree.up(o.level)
	}
	o.byLabel = o.byLabel[:0]
	for range o.rule.c {
		o.byLabel = append(o.byLabel, lft.NoPort)
	}
	o.left = o.left[:0]
	for _, g := range groups {
		for _, option := range o.options[g] {
			o.byLabel[option.label%o.rule.c] = option.port
			o.left = append(o.left, option)
		}
	}
	slices.SortFunc(o.left, func(a, b option) int { return cmp.Compare(a.label, b.label) })
	if o.lost = slices.Contains(o.byLabel, lft.NoPort); o.lost {
		return o.rule.step, o.rule.period() * len(o.left)
	}
	return o.rule.step, o.rule.period()
}

// port follows the closed form; where its port is gone, the others take turns.
func (o *formRow) port(k int) uint8 {
	if p := o.byLabel[o.rule.label(k)]; p != lft.NoPort {
		return p
	}
	return o.left[k/o.rule.c%len(o.left)].port
}
