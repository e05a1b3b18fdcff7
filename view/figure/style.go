package figure

import (
	"image/color"
	"math"
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
	green     = color.RGBA{0x00, 0x9e, 0x73, 0xff}
	purple    = color.RGBA{0xcc, 0x79, 0xa7, 0xff}
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

// NewPlot is an empty plot in the fonts and colours of all drawings.
func NewPlot() *plot.Plot {
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

// decades are the ticks of a logarithmic axis.
func decades(low, high float64) (out []plot.Tick) {
	for e := math.Round(math.Log10(low)); e <= math.Log10(high)+1e-9; e++ {
		v := math.Pow(10, e)
		out = append(out, plot.Tick{Value: v, Label: number(v, v)})
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
