package judge

import (
	"cmp"
	"slices"

	"evbench/scheduler"
	"evbench/topology"
	"evbench/topology/network"
)

// A Drawing is a network by levels, the lowest first, with the cables between its switches,
// the dead ones, too.
type Drawing struct {
	Levels [][]DrawnSwitch
	Cables []DrawnCable
	Routes bool // tables say how many routes pass each cable
}

// A DrawnSwitch is a switch with the hosts of the job below it.
type DrawnSwitch struct {
	Name  string
	Hosts int
}

// A DrawnCable joins Low with High, a switch of a higher level; each is a level and a place
// on it. Up and Down are the routes that leave the lower and the higher one.
type DrawnCable struct {
	Low, High      [2]int
	Name           string
	Up, Down       int64
	Dead, Deciding bool
	Slow           float64 // what is left of the usual rate, 0 of others
}

// drawing returns the network as it is drawn, and an error where it has no levels.
func (f *fabric) drawing(v *Verdict, roots []network.Node, b *scheduler.Bound) (*Drawing, error) {
	levels, err := network.Ranks(f.whole, roots)
	if err != nil {
		return nil, err
	}
	d := &Drawing{Routes: v.Tables != nil}
	at := make([][2]int, f.whole.Nodes())
	for i := range f.whole.Switches() {
		s := f.whole.Switch(i)
		level := max(0, levels[s]-1)
		for len(d.Levels) <= level {
			d.Levels = append(d.Levels, nil)
		}
		at[s] = [2]int{level, len(d.Levels[level])}
		d.Levels[level] = append(d.Levels[level], DrawnSwitch{Name: f.name(s)})
	}
	for _, h := range f.hosts.Nodes {
		p := at[f.net.Leaf(h).Node]
		d.Levels[p[0]][p[1]].Hosts++
	}
	routes, deciding := map[network.End]int64{}, f.deciding(v, b)
	if v.Tables != nil {
		for _, l := range v.Tables.loads {
			routes[l.End] = l.Routes
		}
	}
	for _, c := range f.allCables() {
		if levels[c.A.Node] > levels[c.B.Node] {
			c.A, c.B = c.B, c.A
		}
		d.Cables = append(d.Cables, DrawnCable{
			Low: at[c.A.Node], High: at[c.B.Node], Name: f.name(c.A.Node) + "-" + f.name(c.B.Node),
			Up: routes[c.A], Down: routes[c.B], Dead: c.A.Port == 0 || f.net.At(c.A.Node, int(c.A.Port)) != c.B,
			Deciding: deciding[c.A] || deciding[c.B], Slow: f.slow[c.A],
		})
	}
	slices.SortStableFunc(d.Cables, func(a, b DrawnCable) int {
		return cmp.Or(slices.Compare(a.Low[:], b.Low[:]), slices.Compare(a.High[:], b.High[:]))
	})
	return d, nil
}

// allCables are the cables between switches, and those that a tree of two levels lacks, which
// have port 0.
func (f *fabric) allCables() []network.Cable {
	cables := f.whole.SwitchCables()
	if f.tree == nil || f.tree.Pods() != nil {
		return cables
	}
	there := map[[2]network.Node]bool{}
	for _, c := range cables {
		there[[2]network.Node{c.A.Node, c.B.Node}], there[[2]network.Node{c.B.Node, c.A.Node}] = true, true
	}
	for _, l := range f.tree.Dead() {
		low, high := f.tree.Ends(l)
		if a, b := f.node[low.Switch], f.node[high.Switch]; !there[[2]network.Node{a, b}] {
			cables = append(cables, network.Cable{A: network.End{Node: a}, B: network.End{Node: b}})
		}
	}
	return cables
}

// deciding are the ports of the links that decide: those that slow pairs have in common; the
// fullest ones of the tables, where these exceed the link of a host; else those that prove the bound.
func (f *fabric) deciding(v *Verdict, b *scheduler.Bound) map[network.End]bool {
	out := map[network.End]bool{}
	if v.Pairs != nil {
		for _, c := range v.Pairs.Common {
			out[c.end] = true
		}
		if len(out) > 0 {
			return out
		}
	}
	if t := v.Tables; t != nil {
		longest := float64(v.Hosts-1) / t.Unphased
		for _, l := range t.loads {
			if t.Decides && float64(l.Routes)/f.capacity(l.End) > longest*(1-1e-9) {
				out[l.End] = true
			}
		}
		return out
	}
	if b == nil || f.tree.Pods() != nil {
		return out
	}
	mark := func(leaf, spine int) {
		if f.tree.Alive(leaf, spine) {
			out[f.port(topology.Link{Leaf: leaf, Spine: spine})] = true
		}
	}
	for spine := range f.tree.Spines() {
		switch b.Kind {
		case scheduler.KindLeaf, scheduler.KindHall:
			mark(b.Leaf, spine)
		case scheduler.KindLP:
			for leaf := range f.tree.Leaves() {
				if w := int(f.tree.Up(leaf, spine)); w < len(b.Weights) && b.Weights[w] > 0 {
					mark(leaf, spine)
				}
			}
		}
	}
	return out
}
