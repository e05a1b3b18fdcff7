package culprit

import (
	"evbench/internal/lists"
	"evbench/plan"
	"evbench/results/attribution"
	"evbench/topology"
)

// Planned are the ways of a plan.
type Planned struct{ *plan.Plan }

// Way implements attribution.Ways.
func (p Planned) Way(src, dst int) (wires []attribution.Wire, known bool) {
	if p.Over != nil {
		for _, w := range p.Over.Way(nil, src, dst) {
			cable, direction := p.Over.WireName(int(w))
			wires = append(wires, attribution.Wire{From: cable, To: direction, Cable: cable})
		}
		return wires, len(wires) > 0
	}
	return p.Through(src, dst, p.Path(src, dst))
}

// Through returns the way of a message over a path, and whether that is one.
func (p Planned) Through(src, dst, path int) (wires []attribution.Wire, known bool) {
	t := p.Tree
	if known = path >= 0 && path < t.Paths() || t.Leaf(src) == t.Leaf(dst); !known {
		return []attribution.Wire{p.atServer(src, true), p.atServer(dst, false)}, false
	}
	for _, w := range t.Path(nil, src, dst, path) {
		switch w {
		case t.FromServer(src):
			wires = append(wires, p.atServer(src, true))
		case t.ToServer(dst):
			wires = append(wires, p.atServer(dst, false))
		default:
			wires = append(wires, p.between(w))
		}
	}
	return wires, true
}

func (p Planned) atServer(rank int, up bool) attribution.Wire {
	host, leaf := p.Tree.HostName(rank), p.Tree.SwitchName(p.Tree.Leaf(rank))
	if up {
		return attribution.Wire{From: host, To: leaf, Cable: host + "-" + leaf}
	}
	return attribution.Wire{From: leaf, To: host, Cable: host + "-" + leaf}
}

func (p Planned) between(w topology.Wire) attribution.Wire {
	t, id := p.Tree, int(w)/2
	if id >= t.LowerLinks()+t.Servers() {
		id -= t.Servers()
	}
	l := t.LinkOf(id)
	low, high := t.Ends(l)
	x := attribution.Wire{From: t.SwitchName(low.Switch), To: t.SwitchName(high.Switch), Cable: t.LinkName(l)}
	if w%2 == 1 {
		x.From, x.To = x.To, x.From
	}
	return x
}

// Loads returns by how many messages the busiest link on the way of each message is shared in its phase, [src·n + dst];
// nil without phases. 0: there is no message, or its way is not known.
func (p Planned) Loads() []float64 {
	n := p.Tree.Servers()
	if p.Schedule == nil {
		return nil
	}
	out := make([]float64, n*n)
	rows := lists.Tabulate(n, p.Row)
	for phase := range p.Phases() {
		load := map[topology.Wire]int{}
		ways := make([][]topology.Wire, n)
		for r, row := range rows {
			if to := row[phase].To; to >= 0 {
				if p.Over != nil {
					ways[r] = lists.Map(p.Over.Way(nil, r, to), func(w int32) topology.Wire { return topology.Wire(w) })
				} else if path := p.Path(r, to); path >= 0 || p.Tree.Leaf(r) == p.Tree.Leaf(to) {
					ways[r] = p.Tree.Path(nil, r, to, path)
				}
			}
			for _, w := range ways[r] {
				load[w]++
			}
		}
		for r, row := range rows {
			for _, w := range ways[r] {
				at := &out[r*n+row[phase].To]
				*at = max(*at, float64(load[w]))
			}
		}
	}
	return out
}
