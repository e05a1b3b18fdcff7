package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evbench/report/html"
	"evbench/scheduler"
	"evbench/topology"
	"evbench/topology/network"
)

// drawing returns the network by levels, with the dead cables between its switches, too; an error
// where it has no levels.
func (f *fabric) drawing(v *Verdict, roots []network.Node, b *scheduler.Bound) (*html.Cables, error) {
	levels, err := network.Ranks(f.whole, roots)
	if err != nil {
		return nil, err
	}
	d := &html.Cables{Unit: "routes"}
	at := make([]html.Place, f.whole.Nodes())
	for i := range f.whole.Switches() {
		s := f.whole.Switch(i)
		level := max(0, levels[s]-1)
		for len(d.Levels) <= level {
			d.Levels = append(d.Levels, nil)
		}
		at[s] = html.Place{Level: level, Index: len(d.Levels[level])}
		d.Levels[level] = append(d.Levels[level], html.Switch{Name: f.name(s)})
	}
	for _, h := range f.hosts.Nodes {
		p := at[f.net.Leaf(h).Node]
		d.Levels[p.Level][p.Index].Hosts++
	}
	names := f.cableNames()
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
		k := html.Cable{
			Low: at[c.A.Node], High: at[c.B.Node], Up: float64(routes[c.A]), Down: float64(routes[c.B]), Slow: f.slow[c.A] > 0,
			Dead: c.A.Port == 0 || f.net.At(c.A.Node, int(c.A.Port)) != c.B, Deciding: deciding[c.A] || deciding[c.B],
		}
		var says []string
		switch {
		case k.Dead:
			says = append(says, "dead")
		case v.Tables != nil:
			says = append(says, fmt.Sprintf("%d routes up, %d down", routes[c.A], routes[c.B]))
		}
		if k.Slow {
			says = append(says, slowText(f.slow[c.A]))
		}
		if k.Deciding {
			says = append(says, "decides")
		}
		k.Title = cmp.Or(names[c], f.name(c.A.Node)+"-"+f.name(c.B.Node)) + ": " + cmp.Or(strings.Join(says, "; "), "alive")
		d.Most = max(d.Most, k.Up, k.Down)
		d.Cables = append(d.Cables, k)
	}
	slices.SortStableFunc(d.Cables, func(a, b html.Cable) int { return cmp.Or(a.Low.Compare(b.Low), a.High.Compare(b.High)) })
	d.Words = drawingWords(d.Cables, v.Tables != nil)
	return d, nil
}

// cableNames are the names of the links of the tree, by the lower end of their cable. A link without
// a cable has port 0 of its lower switch, as allCables has it.
func (f *fabric) cableNames() map[network.Cable]string {
	out := map[network.Cable]string{}
	if f.tree == nil {
		return out
	}
	for id := range f.tree.AllLinks() {
		l := f.tree.LinkOf(id)
		out[f.cable(l)] = f.tree.LinkName(l)
	}
	return out
}

// cable returns the cable of a link, or one of ports 0 where the network has none.
func (f *fabric) cable(l topology.Link) network.Cable {
	if c, there := f.places.Cable(l); there {
		return c
	}
	low, high := f.tree.Ends(l)
	return network.Cable{A: network.End{Node: f.places.Node(low.Switch)}, B: network.End{Node: f.places.Node(high.Switch)}}
}

func drawingWords(cables []html.Cable, routes bool) string {
	dead, slow, deciding := 0, 0, 0
	for _, k := range cables {
		if k.Dead {
			dead++
		} else if k.Deciding {
			deciding++
		}
		if k.Slow {
			slow++
		}
	}
	text := fmt.Sprintf("Cables between switches: %d, of which dead (crossed out): %d", len(cables), dead)
	if slow > 0 {
		text += fmt.Sprintf(", slow (circle): %d", slow)
	}
	if deciding > 0 {
		text += fmt.Sprintf(", deciding (triangle): %d", deciding)
	}
	text += "."
	if routes {
		text += " The lower half of a cable shows what goes up, the upper half what comes down; wider is more routes."
	}
	return text + " A dot is a host of the job."
}

// allCables are the cables between switches, and those that a tree of two levels lacks, which
// have port 0.
func (f *fabric) allCables() []network.Cable {
	cables := f.whole.SwitchCables()
	if f.tree == nil || f.tree.Levels() == 3 {
		return cables
	}
	for _, l := range f.tree.Dead() {
		if c := f.cable(l); c.A.Port == 0 {
			cables = append(cables, c)
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
	if b == nil || f.tree.Levels() == 3 {
		return out
	}
	mark := func(leaf, spine int) {
		for cable := range f.tree.Cables() {
			if f.tree.CableAlive(leaf, spine, cable) {
				out[f.port(f.tree.Cable(leaf, spine, cable))] = true
			}
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
