package figure

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"evbench/results"
	"evbench/topology"
)

// tree shows the load of each link over the whole case, and in its data that of
// each phase.
func tree(s Source, f *Figure) {
	f.Caption = "The cables between leaves (below) and spines (above). The half at the leaf is what the leaf sends to the spine, the half at the spine what comes back; " +
		"darker and wider is more, by messages of one exchange where a plan is known, else by the rate carried; each of the two has one scale in all drawings. " +
		"Below a leaf stands how many servers it has. Dead links are dashed and crossed out."
	f.Data.Columns = []string{"case", "repeat", "phase", "link", "direction", "messages", "bytes", "planned_bytes"}
	cases, trees := s.Run.Summary.Cases, s.Trees()
	most := map[bool]float64{} // by whether the plan is known
	for i, x := range trees {
		if x.Known() {
			planned := x.Loads != nil
			most[planned] = max(most[planned], slices.Max(x.shown(cases[i])), 1e-9)
		}
	}
	for i, x := range trees {
		if x.Known() {
			x.addTo(&f.Data, cases[i])
			f.addOf(i, results.Label(cases[i], cases), x.panel(cases[i], most[x.Loads != nil]))
		}
	}
	if f.Panels == nil {
		f.Missing = "No plan of two levels says what the tree looks like, or nothing is known of its links."
	}
}

// addTo writes the loads of each phase, those that are not 0, and then what
// counters say, with no phase.
func (x *CaseTree) addTo(t *Table, c results.Case) {
	repeat := whole(c.Repeat)
	if l := x.Loads; l != nil {
		for phase := range l.Phases {
			for w, n := range l.Phase(phase) {
				if n > 0 {
					link, direction := x.Tree.WireName(topology.Wire(w))
					t.add(c.Name, repeat, whole(phase), link, direction, whole(int(n)), "", "")
				}
			}
		}
	}
	for w, bytes := range x.Carried {
		link, direction := x.Tree.WireName(topology.Wire(w))
		planned := ""
		if x.Planned != nil {
			planned = bits(x.Planned[w])
		}
		t.add(c.Name, repeat, "", link, direction, "", bits(bytes), planned)
	}
}

// shown returns what is drawn of each wire: messages of one exchange by the plan, else bit/s carried.
func (x *CaseTree) shown(c results.Case) []float64 {
	totals := slices.Clone(x.Totals())
	for w := range totals {
		if x.Loads == nil && c.MeasuredSec > 0 {
			totals[w] *= 8 / c.MeasuredSec
		}
	}
	return totals
}

func (x *CaseTree) panel(of results.Case, most float64) Panel {
	p := newPlot()
	p.HideAxes()
	leaves, spines := x.Tree.Leaves(), x.Tree.Spines()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	totals := x.shown(of)
	p.Add(brush(func(c draw.Canvas, p *plot.Plot) {
		down := func(leaf int) vg.Point { return at(c, p, (float64(leaf)+0.5)/float64(leaves), 0.12) }
		up := func(spine int) vg.Point { return at(c, p, (float64(spine)+0.5)/float64(spines), 0.9) }
		for id := range x.Tree.LowerLinks() {
			l := x.Tree.LinkOf(id)
			beside := vg.Length(3 * max(l.Cable-1, 0)) // parallel cables next to each other
			a, b := down(l.Leaf), up(l.Spine)
			a.X, b.X = a.X+beside, b.X+beside
			m := vg.Point{X: (a.X + b.X) / 2, Y: (a.Y + b.Y) / 2}
			if !x.Tree.LinkAlive(l) {
				deadLink(c, a, b)
				say(c, m, "%s: dead", l)
				continue
			}
			upward, downward := totals[x.Tree.UpWire(l)], totals[x.Tree.UpWire(l)+1]
			half(c, a, m, upward/most)
			half(c, m, b, downward/most)
			near := vg.Point{X: a.X + 0.2*(b.X-a.X), Y: a.Y + 0.2*(b.Y-a.Y)}
			say(c, near, "%s: up %s, down %s", l, x.amount(upward), x.amount(downward))
		}
		for leaf := range leaves {
			node(c, down(leaf), "leaf", leaf, leaves)
			text := fmt.Sprintf("%d", x.Tree.On(leaf))
			style := textStyle(smallSize-1, Ink)
			style.XAlign, style.YAlign = draw.XCenter, draw.YTop
			pt := down(leaf)
			c.FillText(style, vg.Point{X: pt.X, Y: pt.Y - 10}, text)
		}
		for spine := range spines {
			node(c, up(spine), "spine", spine, spines)
		}
		style := textStyle(smallSize-1, Ink)
		c.FillText(style, vg.Point{X: c.Min.X, Y: c.Min.Y}, "the darkest is "+x.amount(most)+" on a cable")
	}))
	return Panel{Says: x.says(totals), plot: p, width: 420, height: 230}
}

func (x *CaseTree) says(totals []float64) string {
	busiest := 0
	for w := range totals {
		if totals[w] > totals[busiest] {
			busiest = w
		}
	}
	link, direction := x.Tree.WireName(topology.Wire(busiest))
	parts := []string{fmt.Sprintf("%s %s carries most, %s", link, direction, x.amount(totals[busiest]))}
	if dead := x.Tree.DownNames(); len(dead) > 0 {
		parts = append(parts, "dead: "+strings.Join(dead, ", "))
	}
	return sentences(parts)
}

func (x *CaseTree) amount(load float64) string {
	if x.Loads != nil {
		return fmt.Sprintf("%.0f messages", load)
	}
	return rateText(load, results.RateUnitOf(load))
}

func half(c draw.Canvas, a, b vg.Point, share float64) {
	if share == 0 {
		c.StrokeLine2(line(Faint, 0.4), a.X, a.Y, b.X, b.Y)
		return
	}
	color := ramp[1+int((1-share)*(steps-1)*0.8)]
	c.StrokeLine2(line(color, vg.Length(0.4+2.6*share)), a.X, a.Y, b.X, b.Y)
}

func deadLink(c draw.Canvas, a, b vg.Point) {
	c.StrokeLine2(dashed(vermilion, 1), a.X, a.Y, b.X, b.Y)
	m := vg.Point{X: (a.X + b.X) / 2, Y: (a.Y + b.Y) / 2}
	for _, way := range []vg.Length{-4, 4} {
		c.StrokeLine2(line(vermilion, 2), m.X-4, m.Y-way, m.X+4, m.Y+way)
	}
}

// node draws a switch with its name, or its number alone where there are many beside it.
func node(c draw.Canvas, m vg.Point, kind string, number, count int) {
	half := min(22, vg.Length(0.42*float64(c.Max.X-c.Min.X)/float64(count)))
	name, size := fmt.Sprint(kind, number), smallSize
	if half < 18 {
		name, half = fmt.Sprint(number), min(9, half)
		size = min(smallSize, half*1.1)
	}
	b := box(vg.Point{X: m.X - half, Y: m.Y - 7}, vg.Point{X: m.X + half, Y: m.Y + 7})
	c.FillPolygon(Paper, b)
	outline(c, line(Ink, 0.75), b)
	style := textStyle(size, Ink)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	c.FillText(style, m, name)
}
