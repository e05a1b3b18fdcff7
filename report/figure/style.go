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
)

// The colours of drawings. The hues are those of Okabe and Ito, which differ for
// every kind of colour vision; no meaning rests on a hue alone. Ink, Faint and
// Paper are what a page with a dark face puts its own colours in place of.
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
		a.Tick.Marker = fewTicks{}
		a.Padding = 4
	}
	style(&p.Title.TextStyle, textSize)
	style(&p.Legend.TextStyle, smallSize)
	p.Title.Padding = 4
	return p
}

// nominal puts one name for each row on the Y axis, the first row at the top.
func nominal(p *plot.Plot, names []string) {
	ticks := make([]plot.Tick, len(names))
	for i, n := range names {
		ticks[i] = plot.Tick{Value: rowAt(i, len(names)), Label: n}
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.Length = 0
	p.Y.LineStyle.Width = 0
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))-0.4
}

func rowAt(i, n int) float64 { return float64(n - 1 - i) }

func rowsHeight(n int) vg.Length { return 58 + 24*vg.Length(n) }

type fewTicks struct{}

// Ticks returns the ticks of a range.
func (fewTicks) Ticks(low, high float64) []plot.Tick {
	step := stepOf(high-low, 6)
	var out []plot.Tick
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

type wholeTicks struct{}

// Ticks returns the ticks of a range.
func (wholeTicks) Ticks(low, high float64) []plot.Tick {
	var out []plot.Tick
	for _, t := range (fewTicks{}).Ticks(low, high) {
		if t.Value == math.Trunc(t.Value) {
			out = append(out, plot.Tick{Value: t.Value, Label: strconv.Itoa(int(t.Value))})
		}
	}
	return out
}

type brush func(c draw.Canvas, p *plot.Plot)

// Plot calls the brush.
func (b brush) Plot(c draw.Canvas, p *plot.Plot) { b(c, p) }

func at(c draw.Canvas, p *plot.Plot, x, y float64) vg.Point {
	tx, ty := p.Transforms(&c)
	return vg.Point{X: tx(x), Y: ty(y)}
}

// gridlines draws a faint line at each tick of the axes that are asked for. It never asks where 0 is,
// which a logarithmic axis does not know.
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
