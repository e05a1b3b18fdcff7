package figure

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"evbench/internal/show"
	"evbench/results"
	"evbench/topology"
	"evbench/view/parts"
)

// tree shows the load of each link over the whole case. Its data also has the load of each phase.
func tree(s Source, f *Figure) {
	f.Caption = "The cables between leaves (below) and spines (above). The half at the leaf is what the leaf sends to the spine, the half at the spine what comes back; " +
		"darker and wider is more, by messages of one exchange where a plan is known, else by the rate carried; each of the two has one scale in all drawings. " +
		"Below a leaf stands how many servers it has. Dead links are dashed and crossed out."
	f.Data.Columns = []string{"case", "repeat", "phase", "link", "direction", "messages", "bytes", "planned_bytes"}
	cases, trees := s.Run.Summary.Cases, parts.Trees(s.Run, s.Plans)
	most := map[bool]float64{} // by whether the plan is known
	for i, x := range trees {
		if x.Known() {
			planned := x.Loads != nil
			most[planned] = max(most[planned], slices.Max(x.Totals())*scaleOf(x, cases[i]), 1e-9)
		}
	}
	for i, x := range trees {
		if x.Known() {
			addTo(&f.Data, x, cases[i])
			f.addOf(i, results.Label(cases[i], cases), treePanel(x, scaleOf(x, cases[i]), most[x.Loads != nil]))
		}
	}
	if f.Panels == nil {
		f.Missing = "No plan of two levels describes the network as a tree, or nothing is known about its links; links.csv has what each carried."
	}
}

// addTo writes the loads of each phase, without zeros, and then the counters, with no phase.
func addTo(t *Table, x *parts.CaseTree, c results.Case) {
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

// scaleOf makes messages of one exchange of messages, and bit/s of bytes.
func scaleOf(x *parts.CaseTree, c results.Case) float64 {
	if x.Loads != nil {
		return 1
	}
	return 8 / cmp.Or(c.MeasuredSec, 8)
}

func treePanel(x *parts.CaseTree, scale, most float64) Panel {
	d := x.Cables()
	busiest := slices.MaxFunc(d.Cables, func(a, b parts.Cable) int { return cmp.Compare(max(a.Up, a.Down), max(b.Up, b.Down)) })
	d.Most = most / scale
	darkest := show.Amount(most, "bit/s")
	if x.Loads != nil {
		darkest = fmt.Sprintf("%.0f messages", most)
	}
	p := NewPlot()
	p.HideAxes()
	p.Add(brush(func(c draw.Canvas, _ *plot.Plot) {
		paint(d, c)
		c.FillText(textStyle(smallSize-1, Ink), c.Min, "the darkest is "+darkest+" on a cable")
	}))
	return Panel{Says: "Most is carried by " + busiest.Title + ". " + d.Words, plot: p, width: 420, height: 230}
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

// node draws a switch with its name, or only its number if it has many neighbours.
func node(c draw.Canvas, m vg.Point, name string, number, count int) {
	half, size := min(22, vg.Length(0.42*float64(c.Max.X-c.Min.X)/float64(count))), smallSize
	if half < 18 {
		name, half = strconv.Itoa(number), min(9, half)
		size = min(smallSize, half*1.1)
	}
	b := box(vg.Point{X: m.X - half, Y: m.Y - 7}, vg.Point{X: m.X + half, Y: m.Y + 7})
	c.FillPolygon(Paper, b)
	outline(c, line(Ink, 0.75), b)
	style := textStyle(size, Ink)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	c.FillText(style, m, name)
}

// paint draws cables on a canvas, with a number below a switch in place of dots for hosts.
func paint(d *parts.Cables, c draw.Canvas) {
	place := func(of parts.Place, beside int) vg.Point {
		x, y := d.At(of)
		return vg.Point{X: c.X(x) + vg.Length(3*beside), Y: c.Y(0.12 + 0.78*y)}
	}
	between := func(a, b vg.Point, share vg.Length) vg.Point {
		return vg.Point{X: a.X + share*(b.X-a.X), Y: a.Y + share*(b.Y-a.Y)}
	}
	beside := d.Beside()
	for i, k := range d.Cables {
		a, b := place(k.Low, beside[i]), place(k.High, beside[i])
		m := between(a, b, 0.5)
		if k.Dead {
			deadLink(c, a, b)
			say(c, m, "%s", k.Title)
			continue
		}
		half(c, a, m, k.Up/d.Most)
		half(c, m, b, k.Down/d.Most)
		for _, x := range []struct {
			named    int
			from, to vg.Point
		}{{k.NamedUp, a, m}, {k.NamedDown, m, b}} {
			if x.named > 0 {
				c.StrokeLine2(line(vermilion, 2*vg.Length(x.named)-1), x.from.X, x.from.Y, x.to.X, x.to.Y)
			}
		}
		say(c, between(a, b, 0.2), "%s", k.Title)
	}
	style := textStyle(smallSize-1, Ink)
	style.XAlign, style.YAlign = draw.XCenter, draw.YTop
	for level, list := range d.Levels {
		for i, s := range list {
			m := place(parts.Place{Level: level, Index: i}, 0)
			node(c, m, s.Name, i, len(list))
			if s.Hosts > 0 {
				c.FillText(style, vg.Point{X: m.X, Y: m.Y - 10}, strconv.Itoa(s.Hosts))
			}
		}
	}
}
