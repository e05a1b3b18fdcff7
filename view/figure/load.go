package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"evbench/builder/load"
	"evbench/internal/lists"
	"evbench/results"
)

// HasLoads reports whether a clock offered events to a case.
func (s Source) HasLoads() bool {
	return slices.ContainsFunc(s.Run.Summary.Cases, func(c results.Case) bool { return c.Offered != nil })
}

// offered draws what becomes of events over the rate at which a clock offers them: dead time, and p99.9 of the latency,
// a curve for each set of cases that differ in nothing else.
func offered(s Source, f *Figure) {
	f.Caption = "Cases that differ only in the rate at which a clock offers events are one curve. Up to the highest rate that the network takes no event is refused; " +
		"there the latency bends up, as events wait in the buffers of the sources. Beyond it the buffers are full: the latency is what they hold, and dead time is what the network does not carry."
	f.Data.Columns = []string{"case", "repeat", "curve", "rate_per_s", "share", "dead", "latency_p50_s", "latency_p99_s", "latency_p999_s", "latency_max_s"}
	cases := lists.Filter(s.Run.Summary.Cases, func(c results.Case) bool { return c.Offered != nil && c.Offered.Offered > 0 })
	if len(cases) == 0 {
		f.Missing = "No clock offered events (load)."
		return
	}
	shares := !slices.ContainsFunc(cases, func(c results.Case) bool { return c.Offered.Share == 0 })
	for _, c := range cases {
		o := c.Offered
		f.Data.add(c.Name, whole(c.Repeat), curveOf(c), decimals(o.RatePerSec), decimals(o.Share), decimals(o.Dead()),
			decimals(o.Latency.P50), decimals(o.Latency.P99), decimals(o.Latency.P999), decimals(o.Latency.Max))
	}
	x := "offered events/s"
	if shares {
		x = "offered, % of what the healthy network carries"
	}
	says := sentences(lists.Map(cases, offeredText))
	f.Panels = []Panel{
		curvesPanel(x, "dead time, %", says, curves(cases, shares, func(o *results.Offered) float64 { return 100 * o.Dead() })),
		curvesPanel(x, "p99.9 of the latency, ms", says, curves(cases, shares, func(o *results.Offered) float64 { return 1e3 * o.Latency.P999 })),
	}
}

// A curve is values over loads.
type curve struct {
	name   string
	points plotter.XYs
}

// curveOf names the curve of a case: all that its points share.
func curveOf(c results.Case) string {
	name := strings.Join(slices.DeleteFunc([]string{c.Mode.Short(), c.Schedule, c.Routing}, func(s string) bool { return s == "" }), " ")
	if n := len(c.Failures); n > 0 {
		name += fmt.Sprintf(", %d dead", n)
	}
	if c.Sizes != "" {
		name += ", " + c.Sizes
	}
	if _, arrival, ok := strings.Cut(c.Offered.Load, ", "); ok {
		name += ", " + arrival
	}
	return name
}

func curves(cases []results.Case, shares bool, of func(*results.Offered) float64) []curve {
	return lists.Map(lists.Groups(cases, curveOf), func(own []results.Case) curve {
		out := curve{name: curveOf(own[0])}
		for _, c := range own {
			p := plotter.XY{X: c.Offered.RatePerSec, Y: of(c.Offered)}
			if shares {
				p.X = 100 * c.Offered.Share
			}
			out.points = append(out.points, p)
		}
		return out
	})
}

func offeredText(c results.Case) string {
	o := c.Offered
	return fmt.Sprintf("%s, %s: dead time %.2g %%, p99.9 %.3g ms", curveOf(c), load.RateText(o.RatePerSec), 100*o.Dead(), 1e3*o.Latency.P999)
}

func curvesPanel(x, y, says string, all []curve) Panel {
	p := NewPlot()
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.X.Tick.Marker = plot.TickerFunc(wholeTicks)
	low, high, most := math.Inf(1), math.Inf(-1), 0.0
	for _, s := range all {
		for _, at := range s.points {
			low, high, most = min(low, at.X), max(high, at.X), max(most, at.Y)
		}
	}
	room := cmp.Or(0.02*(high-low), 1)
	p.X.Min, p.X.Max = low-room, high+room
	p.Y.Min, p.Y.Max = 0, 1.05*cmp.Or(most, 1)
	p.Add(gridlines(true, true), brush(func(on draw.Canvas, p *plot.Plot) {
		for i, s := range all {
			pen := penOf(i)
			rising := slices.SortedFunc(slices.Values(s.points), func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
			way := lists.Map(rising, func(x plotter.XY) vg.Point { return at(on, p, x.X, x.Y) })
			on.StrokeLines(pen.stroke(), way)
			for _, m := range way {
				on.DrawGlyph(pen.glyph(3.2), m)
			}
			for _, x := range s.points {
				say(on, at(on, p, x.X, x.Y), "%s: %.3g at %.4g", s.name, x.Y, x.X)
			}
			on.FillText(textStyle(smallSize, pen.hue), vg.Point{X: on.Min.X + 4, Y: on.Max.Y - legendRow*vg.Length(i+1)}, s.name)
		}
	}))
	return Panel{Case: -1, Says: says, plot: p, width: 400, height: 240, Slim: panelWidth}
}
