package figure

import (
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"evbench/internal/lists"
)

// The colours of drawings. The hues of Okabe and Ito differ for every kind of colour vision; no
// meaning depends on a hue alone. A dark page replaces Ink, Faint and Paper by its own colours.
var (
	Ink   = color.RGBA{0x1f, 0x23, 0x28, 0xff}
	Faint = color.RGBA{0xc9, 0xce, 0xd6, 0xff}
	Paper = color.RGBA{0xff, 0xff, 0xff, 0xff}

	blue      = color.RGBA{0x3b, 0x8e, 0xc8, 0xff}
	orange    = color.RGBA{0xe6, 0x9f, 0x00, 0xff}
	vermilion = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
)

const (
	textSize  = vg.Length(9.5)
	smallSize = vg.Length(8.5)
)

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

func line(c color.Color, width vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width}
}

func dashed(c color.Color, width vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width, Dashes: []vg.Length{4, 3}}
}

func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = Paper
	style := func(s *text.Style, size vg.Length) {
		s.Font = sans(size)
		s.Color = Ink
	}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		style(&a.Label.TextStyle, textSize)
		style(&a.Tick.Label, smallSize)
		a.LineStyle = line(Faint, 1)
		a.Tick.LineStyle = line(Faint, 1)
		a.Tick.Length = 4
		a.Tick.Marker = plot.TickerFunc(fewTicks)
		a.Padding = 4
	}
	style(&p.Title.TextStyle, textSize)
	style(&p.Legend.TextStyle, smallSize)
	p.Title.Padding = 4
	return p
}

// nominal puts one name for each row on the Y axis, the first row at the top.
func nominal(p *plot.Plot, names []string) {
	ticks := lists.Tabulate(len(names), func(i int) plot.Tick { return plot.Tick{Value: rowAt(i, len(names)), Label: names[i]} })
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.Length = 0
	p.Y.LineStyle.Width = 0
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))-0.4
}

func rowAt(i, n int) float64 { return float64(n - 1 - i) }

func rowsHeight(n int) vg.Length { return 58 + 24*vg.Length(n) }

func fewTicks(low, high float64) (out []plot.Tick) {
	step := stepOf(high-low, 6)
	for n := math.Ceil(low/step - 1e-9); n*step <= high+step*1e-9; n++ {
		out = append(out, plot.Tick{Value: n * step, Label: number(n*step, step)})
	}
	return out
}

// stepOf is 1, 2 or 5 times a power of ten that divides a range into at most n.
func stepOf(length float64, n int) float64 {
	if !(length > 0) {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(length/float64(n))))
	for _, m := range []float64{1, 2, 5} {
		if length/(m*base) <= float64(n)+1e-9 {
			return m * base
		}
	}
	return 10 * base
}

// number prints x as exactly as the step between neighbours needs.
func number(x, step float64) string {
	digits := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	s := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Trim(s, "-0.") == "" {
		return "0"
	}
	return s
}

func wholeTicks(low, high float64) (out []plot.Tick) {
	for _, t := range fewTicks(low, high) {
		if t.Value == math.Trunc(t.Value) {
			out = append(out, plot.Tick{Value: t.Value, Label: strconv.Itoa(int(t.Value))})
		}
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
				c.StrokeLine2(line(Faint, 0.5), c.Min.X, at, c.Max.X, at)
			}
		}
		for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
			if at := at(c, p, t.Value, p.Y.Min).X; x && t.Label != "" {
				c.StrokeLine2(line(Faint, 0.5), at, c.Min.Y, at, c.Max.Y)
			}
		}
	}
}

func ring(c draw.Canvas, s draw.LineStyle, m vg.Point, r vg.Length) {
	var p vg.Path
	p.Move(vg.Point{X: m.X + r, Y: m.Y})
	p.Arc(m, r, 0, 2*math.Pi)
	p.Close()
	c.SetLineStyle(s)
	c.Stroke(p)
}

func box(a, b vg.Point) []vg.Point {
	return []vg.Point{a, {X: b.X, Y: a.Y}, b, {X: a.X, Y: b.Y}}
}

func outline(c draw.Canvas, s draw.LineStyle, pts []vg.Point) {
	c.StrokeLines(s, append(pts[:len(pts):len(pts)], pts[0]))
}

func textStyle(size vg.Length, c color.Color) draw.TextStyle {
	return draw.TextStyle{
		Color: c, Font: sans(size), Handler: plot.DefaultTextHandler,
	}
}

// Two more hues of Okabe and Ito, for charts of many series.
var (
	green  = color.RGBA{0x00, 0x9e, 0x73, 0xff}
	purple = color.RGBA{0xcc, 0x79, 0xa7, 0xff}
)

// A pen distinguishes a series from others: its mark and its dashes, besides its hue.
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
	outline(c, line(vermilion, 1.5), corners(m, 4.5))
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

func measured(all []entry) []entry {
	face := font.DefaultCache.Lookup(sans(smallSize), smallSize)
	for i := range all {
		all[i].wide = sampleWidth + face.Width(all[i].name) + 14
	}
	return all
}

func legendHeight(all []entry, width vg.Length) vg.Length {
	rows, used := vg.Length(1), vg.Length(0)
	for _, e := range all {
		if used > 0 && used+e.wide > width {
			rows, used = rows+1, 0
		}
		used += e.wide
	}
	return rows*legendRow + 6
}

func drawLegend(c draw.Canvas, all []entry, top vg.Length) {
	m := vg.Point{X: c.Min.X, Y: top - legendRow/2}
	for _, e := range all {
		if m.X > c.Min.X && m.X+e.wide > c.Max.X {
			m = vg.Point{X: c.Min.X, Y: m.Y - legendRow}
		}
		e.thumb(c, vg.Point{X: m.X + sampleWidth/2, Y: m.Y})
		heading(c, e.name, vg.Point{X: m.X + sampleWidth + 2, Y: m.Y - smallSize/2}, smallSize)
		m.X += e.wide
	}
}
