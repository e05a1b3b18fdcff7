package figure

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Two more hues of Okabe and Ito, for charts of many series.
var (
	green  = color.RGBA{0x00, 0x9e, 0x73, 0xff}
	purple = color.RGBA{0xcc, 0x79, 0xa7, 0xff}
)

// A pen is what tells a series from others: its mark and its dashes, besides its hue.
type pen struct {
	hue    color.Color
	mark   draw.GlyphDrawer
	dashes []vg.Length
}

var pens = []pen{
	{blue, draw.CircleGlyph{}, nil},
	{orange, draw.BoxGlyph{}, []vg.Length{6, 3}},
	{Ink, draw.PyramidGlyph{}, []vg.Length{2, 2}},
	{green, draw.RingGlyph{}, []vg.Length{8, 2, 2, 2}},
	{purple, draw.SquareGlyph{}, []vg.Length{4, 4}},
	{Ink, draw.CrossGlyph{}, nil},
	{blue, draw.TriangleGlyph{}, []vg.Length{2, 4}},
	{orange, draw.PlusGlyph{}, nil},
	{green, draw.CircleGlyph{}, []vg.Length{10, 3}},
	{purple, draw.BoxGlyph{}, nil},
}

func (k pen) glyph(radius vg.Length) draw.GlyphStyle {
	return draw.GlyphStyle{Color: k.hue, Radius: radius, Shape: k.mark}
}

func (k pen) stroke() draw.LineStyle {
	return draw.LineStyle{Color: k.hue, Width: 1.4, Dashes: k.dashes}
}

func (s Series) line(c draw.Canvas, p *plot.Plot) {
	k := s.pen
	points := s.sorted()
	way := make([]vg.Point, len(points))
	for i, x := range points {
		way[i] = at(c, p, x.X, quartiles(x.Values)[2])
	}
	if !s.Dots {
		c.StrokeLines(k.stroke(), way)
	}
	for i, x := range points {
		n := len(x.Values)
		low, high := at(c, p, x.X, x.Values[0]), at(c, p, x.X, x.Values[n-1])
		if high.Y-low.Y > 1 {
			c.StrokeLine2(line(k.hue, 0.8), low.X, low.Y, high.X, high.Y)
		}
		if !s.Curve {
			c.DrawGlyph(k.glyph(3.2), way[i])
		}
		for _, v := range x.Stated {
			mark := at(c, p, x.X, v)
			c.StrokeLine2(dashed(vermilion, 0.7), way[i].X, way[i].Y, mark.X, mark.Y)
			statedMark(c, mark)
		}
	}
}

func (s Series) boxes(c draw.Canvas, p *plot.Plot, place func(float64) float64, i, n int) {
	k := s.pen
	wide := 0.8 / float64(n)
	for _, x := range s.Points {
		middle := place(x.X) + (float64(i)-float64(n-1)/2)*wide
		half := min(0.36*wide, 0.12)
		q := quartiles(x.Values)
		corner := func(dx, v float64) vg.Point { return at(c, p, middle+dx*half, v) }
		stroke := func(a, b vg.Point, width vg.Length) { c.StrokeLine2(line(Ink, width), a.X, a.Y, b.X, b.Y) }
		stroke(corner(0, q[0]), corner(0, q[1]), 1)
		stroke(corner(0, q[3]), corner(0, q[4]), 1)
		stroke(corner(-0.5, q[0]), corner(0.5, q[0]), 1)
		stroke(corner(-0.5, q[4]), corner(0.5, q[4]), 1)
		middleBox := box(corner(-1, q[1]), corner(1, q[3]))
		c.FillPolygon(Paper, middleBox)
		outline(c, line(k.hue, 1.4), middleBox)
		stroke(corner(-1, q[2]), corner(1, q[2]), 1.6)
		c.DrawGlyph(k.glyph(3), corner(0, q[2]))
		for _, v := range x.Stated {
			statedMark(c, corner(0, v))
		}
	}
}

func statedMark(c draw.Canvas, m vg.Point) {
	const r = 4.5
	pts := []vg.Point{{X: m.X - r, Y: m.Y}, {X: m.X, Y: m.Y + r}, {X: m.X + r, Y: m.Y}, {X: m.X, Y: m.Y - r}}
	outline(c, line(vermilion, 1.5), pts)
}

type entry struct {
	name  string
	wide  vg.Length
	thumb func(c draw.Canvas, at vg.Point) // at is the middle of the sample
}

func (c Chart) entries() []entry {
	var out []entry
	others := false
	for _, s := range c.Series {
		k := s.pen
		for _, p := range s.Points {
			others = others || len(p.Stated) > 0
		}
		if slices.ContainsFunc(out, func(e entry) bool { return e.name == s.Name }) {
			continue
		}
		out = append(out, entry{s.Name, 0, func(on draw.Canvas, m vg.Point) {
			if !c.Boxes && !s.Dots {
				on.StrokeLine2(k.stroke(), m.X-10, m.Y, m.X+10, m.Y)
			}
			if !s.Curve {
				on.DrawGlyph(k.glyph(3.2), m)
			}
		}})
	}
	if others {
		out = append(out, entry{stated, 0, statedMark})
	}
	return measured(out)
}

func measured(list []entry) []entry {
	face := font.DefaultCache.Lookup(sans(smallSize), smallSize)
	for i := range list {
		list[i].wide = sampleWidth + face.Width(list[i].name) + 14
	}
	return list
}

func legendHeight(list []entry, width vg.Length) vg.Length {
	rows, used := vg.Length(1), vg.Length(0)
	for _, e := range list {
		if used > 0 && used+e.wide > width {
			rows, used = rows+1, 0
		}
		used += e.wide
	}
	return rows*legendRow + 6
}

func drawLegend(c draw.Canvas, list []entry, top vg.Length) {
	m := vg.Point{X: c.Min.X, Y: top - legendRow/2}
	for _, e := range list {
		if m.X > c.Min.X && m.X+e.wide > c.Max.X {
			m = vg.Point{X: c.Min.X, Y: m.Y - legendRow}
		}
		e.thumb(c, vg.Point{X: m.X + sampleWidth/2, Y: m.Y})
		heading(c, e.name, vg.Point{X: m.X + sampleWidth + 2, Y: m.Y - smallSize/2}, smallSize)
		m.X += e.wide
	}
}
