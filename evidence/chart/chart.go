// Package chart answers: how are series of numbers drawn that belong to no run, each beside what others state?
package chart

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"evbench/internal/lists"
	"evbench/view/figure"
)

// A Chart is one drawing of series of numbers, for figures that do not belong to a run.
type Chart struct {
	Title      string
	X, Y       string // what the axes are
	LogX, LogY bool
	// Boxes draws the values of each point as a box plot, side by side at each X;
	// otherwise they are a line through the medians, with bars from least to greatest.
	Boxes  bool
	Series []Series
	Labels map[float64]string // of X, where numbers say nothing; needed for Boxes
}

// A Series is one line, or one set of marks, in a chart.
type Series struct {
	Name   string
	Points []Point
	Curve  bool // a line without marks, for many points
	Dots   bool // marks without a line
	Order  bool // the line joins the points as they come, not by X
	pen    pen
}

// A Point is the values at X, rising, and the numbers that others state.
type Point struct {
	X      float64
	Values []float64
	Stated []float64
}

// The size of a chart and of its margins.
const (
	chartWidth  = vg.Length(400)
	chartHeight = vg.Length(240)
	titleGap    = vg.Length(20)
	gap         = vg.Length(14)
	textSize    = vg.Length(9.5)
	smallSize   = vg.Length(8.5)
)

// stated is the legend of numbers by others.
const stated = "stated in the text"

// Write draws charts as one SVG document, two beside each other. Series of one name
// look the same in all of them.
func Write(w io.Writer, title string, charts []Chart) error {
	if len(charts) == 0 {
		return fmt.Errorf("%s: %w", title, figure.ErrNothing)
	}
	charts = penned(charts)
	across, wide := 2, chartWidth
	if len(charts) == 1 {
		across, wide = 1, 1.6*chartWidth
	}
	if slices.ContainsFunc(charts, Chart.crowded) {
		across, wide = 1, 2*chartWidth+gap
	}
	rows := slices.Collect(slices.Chunk(charts, across))
	heights := make([]vg.Length, len(rows))
	height := titleGap + 2*gap
	for i, row := range rows {
		for _, c := range row {
			heights[i] = max(heights[i], titleGap+chartHeight+legendHeight(c.entries(), wide)+gap)
		}
		height += heights[i]
	}
	return figure.WriteDrawing(w, vg.Length(across)*(wide+gap)+gap, height, "", func(c draw.Canvas) {
		c.FillPolygon(figure.Paper, box(c.Min, c.Max))
		heading(c, title, vg.Point{X: c.Min.X + gap, Y: c.Max.Y - titleGap}, textSize+2)
		top := c.Max.Y - titleGap - gap
		for i, row := range rows {
			for k, chart := range row {
				left := c.Min.X + gap + vg.Length(k)*(wide+gap)
				chart.draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
					Min: vg.Point{X: left, Y: top - heights[i] + gap}, Max: vg.Point{X: left + wide, Y: top},
				}})
			}
			top -= heights[i]
		}
	})
}

// penned gives each series a pen. Series of one name have the same pen in all charts.
func penned(charts []Chart) []Chart {
	var names []string
	out := slices.Clone(charts)
	for i, c := range out {
		out[i].Series = slices.Clone(c.Series)
		for k, s := range c.Series {
			n := slices.Index(names, s.Name)
			if n < 0 {
				n = len(names)
				names = append(names, s.Name)
			}
			out[i].Series[k].pen = penOf(n)
		}
	}
	return out
}

func (c Chart) crowded() bool { return c.Boxes && len(c.places()) > 5 }

// places are all X, rising.
func (c Chart) places() []float64 {
	var out []float64
	for _, s := range c.Series {
		out = append(out, lists.Map(s.Points, func(p Point) float64 { return p.X })...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (c Chart) draw(canvas draw.Canvas) {
	heading(canvas, c.Title, vg.Point{X: canvas.Min.X, Y: canvas.Max.Y - titleGap + 6}, textSize)
	p := figure.NewPlot()
	p.X.Label.Text, p.Y.Label.Text = c.X, c.Y
	if c.LogX {
		c.Series = positive(c.Series)
	}
	places := c.places()
	x := c.axis(&p.X, places)
	c.valueAxis(&p.Y)
	p.Add(gridlines(!c.Boxes, true), brush(func(on draw.Canvas, p *plot.Plot) {
		for i, s := range c.Series {
			if c.Boxes {
				s.boxes(on, p, x, i, len(c.Series))
			} else {
				s.line(on, p)
			}
		}
	}))
	bottom := canvas.Max.Y - titleGap - chartHeight
	p.Draw(draw.Canvas{Canvas: canvas.Canvas, Rectangle: vg.Rectangle{
		Min: vg.Point{X: canvas.Min.X, Y: bottom}, Max: vg.Point{X: canvas.Max.X, Y: canvas.Max.Y - titleGap},
	}})
	drawLegend(canvas, c.entries(), bottom-4)
}

func (c Chart) axis(a *plot.Axis, places []float64) func(float64) float64 {
	if c.Boxes {
		ticks := lists.Tabulate(len(places), func(i int) plot.Tick { return plot.Tick{Value: float64(i), Label: c.Labels[places[i]]} })
		a.Tick.Marker, a.Tick.Length = plot.ConstantTicks(ticks), 0
		a.Min, a.Max = -0.5, float64(len(places))-0.5
		return func(x float64) float64 { return float64(slices.Index(places, x)) }
	}
	a.Min, a.Max = places[0], places[len(places)-1]
	if c.LogX {
		a.Scale, a.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
		a.Min = math.Pow(10, math.Floor(math.Log10(max(a.Min, 1e-6))))
		a.Max = math.Pow(10, math.Ceil(math.Log10(a.Max)))
	} else {
		a.Tick.Marker = plot.TickerFunc(wholeTicks)
		a.Min, a.Max = a.Min-0.02*(a.Max-a.Min), a.Max+0.02*(a.Max-a.Min)
		if a.Min == a.Max {
			a.Min, a.Max = a.Min-1, a.Max+1
		}
	}
	return func(x float64) float64 { return x }
}

// valueAxis prepares the Y axis: from 0, or in decades.
func (c Chart) valueAxis(a *plot.Axis) {
	low, high := math.Inf(1), 0.0
	for _, s := range c.Series {
		for _, p := range s.Points {
			all := slices.Concat(p.Stated, p.Values)
			low, high = min(low, slices.Min(all)), max(high, slices.Max(all))
		}
	}
	high = cmp.Or(high, 1)
	a.Min, a.Max = 0, 1.05*high
	if c.LogY && low > 0 {
		a.Scale, a.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
		a.Min, a.Max = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
	}
}

func positive(all []Series) []Series {
	out := slices.Clone(all)
	for i, s := range out {
		out[i].Points = slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool { return p.X <= 0 })
	}
	return out
}

// sorted returns the points in the order of the line.
func (s Series) sorted() []Point {
	if s.Order {
		return s.Points
	}
	return slices.SortedFunc(slices.Values(s.Points), func(a, b Point) int { return cmp.Compare(a.X, b.X) })
}

func wholeTicks(low, high float64) (out []plot.Tick) {
	for _, t := range figure.NewPlot().X.Tick.Marker.Ticks(low, high) {
		if t.Value == math.Trunc(t.Value) {
			out = append(out, plot.Tick{Value: t.Value, Label: strconv.Itoa(int(t.Value))})
		}
	}
	return out
}
