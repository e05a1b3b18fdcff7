package chart

import (
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"evbench/internal/lists"
	"evbench/results"
	"evbench/view/figure"
)

// The hues of pens, and that of what others state.
var (
	blue      = color.RGBA{0x3b, 0x8e, 0xc8, 0xff}
	orange    = color.RGBA{0xe6, 0x9f, 0x00, 0xff}
	green     = color.RGBA{0x00, 0x9e, 0x73, 0xff}
	purple    = color.RGBA{0xcc, 0x79, 0xa7, 0xff}
	vermilion = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
)

// A pen distinguishes a series from others: its mark and its dashes, besides its hue.
type pen struct {
	hue    color.Color
	mark   draw.GlyphDrawer
	dashes []vg.Length
}

// penOf is that of the n-th series.
func penOf(n int) pen { return pens[n%len(pens)] }

var pens = []pen{
	{blue, draw.CircleGlyph{}, nil},
	{orange, draw.BoxGlyph{}, []vg.Length{6, 3}},
	{figure.Ink, draw.PyramidGlyph{}, []vg.Length{2, 2}},
	{green, draw.RingGlyph{}, []vg.Length{8, 2, 2, 2}},
	{purple, draw.SquareGlyph{}, []vg.Length{4, 4}},
	{figure.Ink, draw.CrossGlyph{}, nil},
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
	way := lists.Map(points, func(x Point) vg.Point { return at(c, p, x.X, quartiles(x.Values)[2]) })
	if !s.Dots {
		c.StrokeLines(k.stroke(), way)
	}
	for i, x := range points {
		low, high := at(c, p, x.X, x.Values[0]), at(c, p, x.X, x.Values[len(x.Values)-1])
		if high.Y-low.Y > 1 {
			c.StrokeLine2(line(k.hue, 0.8), low.X, low.Y, high.X, high.Y)
		}
		if !s.Curve {
			c.DrawGlyph(k.glyph(3.2), way[i])
		}
		for _, v := range x.Stated {
			mark := at(c, p, x.X, v)
			c.StrokeLine2(draw.LineStyle{Color: vermilion, Width: 0.7, Dashes: []vg.Length{4, 3}}, way[i].X, way[i].Y, mark.X, mark.Y)
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
		stroke := func(a, b vg.Point, width vg.Length) { c.StrokeLine2(line(figure.Ink, width), a.X, a.Y, b.X, b.Y) }
		stroke(corner(0, q[0]), corner(0, q[1]), 1)
		stroke(corner(0, q[3]), corner(0, q[4]), 1)
		stroke(corner(-0.5, q[0]), corner(0.5, q[0]), 1)
		stroke(corner(-0.5, q[4]), corner(0.5, q[4]), 1)
		middleBox := box(corner(-1, q[1]), corner(1, q[3]))
		c.FillPolygon(figure.Paper, middleBox)
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
	outline(c, line(vermilion, 1.5), []vg.Point{{X: m.X - r, Y: m.Y}, {X: m.X, Y: m.Y + r}, {X: m.X + r, Y: m.Y}, {X: m.X, Y: m.Y - r}})
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
		out = append(out, entry{s.Name, func(on draw.Canvas, m vg.Point) {
			if !c.Boxes && !s.Dots {
				on.StrokeLine2(k.stroke(), m.X-10, m.Y, m.X+10, m.Y)
			}
			if !s.Curve {
				on.DrawGlyph(k.glyph(3.2), m)
			}
		}})
	}
	if others {
		out = append(out, entry{stated, statedMark})
	}
	return out
}

// legendRow is the height of a row of a legend, sampleWidth what the mark before a name takes.
const (
	legendRow   = vg.Length(14)
	sampleWidth = vg.Length(26)
)

// An entry is one of a legend: thumb draws its mark in the middle of a place.
type entry struct {
	name  string
	thumb func(c draw.Canvas, middle vg.Point)
}

// Width is what the entry takes in a row of the legend.
func (e entry) width() vg.Length {
	face := font.DefaultCache.Lookup(sans(smallSize), smallSize)
	return sampleWidth + face.Width(e.name) + 14
}

func drawLegend(c draw.Canvas, all []entry, top vg.Length) {
	m := vg.Point{X: c.Min.X, Y: top - legendRow/2}
	for _, e := range all {
		if m.X > c.Min.X && m.X+e.width() > c.Max.X {
			m = vg.Point{X: c.Min.X, Y: m.Y - legendRow}
		}
		e.thumb(c, vg.Point{X: m.X + sampleWidth/2, Y: m.Y})
		heading(c, e.name, vg.Point{X: m.X + sampleWidth + 2, Y: m.Y - smallSize/2}, smallSize)
		m.X += e.width()
	}
}

func legendHeight(all []entry, width vg.Length) vg.Length {
	rows, used := vg.Length(1), vg.Length(0)
	for _, e := range all {
		if used > 0 && used+e.width() > width {
			rows, used = rows+1, 0
		}
		used += e.width()
	}
	return rows*legendRow + 6
}

// quartiles returns the least, the three quartiles and the greatest of values, which it sorts.
func quartiles(values []float64) (q [5]float64) {
	slices.Sort(values)
	for i := range q {
		q[i] = results.Quantile(values, float64(i)/4)
	}
	return q
}

// What follows shortens calls of gonum/plot.

// decades are the ticks of a logarithmic axis.
func decades(low, high float64) (out []plot.Tick) {
	for e := math.Round(math.Log10(low)); e <= math.Log10(high)+1e-9; e++ {
		v := math.Pow(10, e)
		out = append(out, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', -1, 64)})
	}
	return out
}

type brush func(c draw.Canvas, p *plot.Plot)

func (b brush) Plot(c draw.Canvas, p *plot.Plot) { b(c, p) }

func at(c draw.Canvas, p *plot.Plot, x, y float64) vg.Point {
	tx, ty := p.Transforms(&c)
	return vg.Point{X: tx(x), Y: ty(y)}
}

// gridlines draws a faint line at each tick of the requested axes. It never needs the place of 0,
// which a logarithmic axis does not have.
func gridlines(x, y bool) brush {
	return func(c draw.Canvas, p *plot.Plot) {
		for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
			if at := at(c, p, p.X.Min, t.Value).Y; y {
				c.StrokeLine2(line(figure.Faint, 0.5), c.Min.X, at, c.Max.X, at)
			}
		}
		for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
			if at := at(c, p, t.Value, p.Y.Min).X; x && t.Label != "" {
				c.StrokeLine2(line(figure.Faint, 0.5), at, c.Min.Y, at, c.Max.Y)
			}
		}
	}
}

func heading(c draw.Canvas, s string, at vg.Point, size vg.Length) {
	style := draw.TextStyle{Color: figure.Ink, Font: sans(size), Handler: plot.DefaultTextHandler, XAlign: draw.XLeft, YAlign: text.YBottom}
	c.FillText(style, at, s)
}

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

func line(c color.Color, width vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width}
}

func box(a, b vg.Point) []vg.Point {
	return []vg.Point{a, {X: b.X, Y: a.Y}, b, {X: a.X, Y: b.Y}}
}

func outline(c draw.Canvas, s draw.LineStyle, pts []vg.Point) {
	c.StrokeLines(s, append(pts[:len(pts):len(pts)], pts[0]))
}
