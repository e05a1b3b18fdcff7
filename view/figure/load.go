package figure

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"
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
	f.Title = "Dead time and latency over offered load"
	f.Caption = "Cases that differ only in the rate at which a clock offers events are one curve. Up to the highest rate that the network takes no event is refused; " +
		"there the latency bends up, as events wait in the buffers of the sources. Beyond it the buffers are full: the latency is what they hold, and dead time is what the network does not carry."
	f.Data.Columns = []string{"case", "repeat", "curve", "rate_per_s", "share", "dead", "latency_p50_s", "latency_p99_s", "latency_p999_s", "latency_max_s"}
	cases := lists.Filter(s.Run.Summary.Cases, func(c results.Case) bool { return c.Offered != nil && c.Offered.Offered > 0 })
	if len(cases) == 0 {
		f.Missing = "No clock offered events (load)."
		return
	}
	shares := !slices.ContainsFunc(cases, func(c results.Case) bool { return c.Offered.Share == 0 })
	var dead, late Chart
	dead.Series = curves(cases, shares, func(o *results.Offered) float64 { return 100 * o.Dead() })
	late.Series = curves(cases, shares, func(o *results.Offered) float64 { return 1e3 * o.Latency.P999 })
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
	dead.X, dead.Y, late.X, late.Y = x, "dead time, %", x, "p99.9 of the latency, ms"
	for _, c := range penned([]Chart{dead, late}) {
		f.Panels = append(f.Panels, c.panel(says))
	}
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

func curves(cases []results.Case, shares bool, of func(*results.Offered) float64) (out []Series) {
	for _, c := range cases {
		at := slices.IndexFunc(out, func(s Series) bool { return s.Name == curveOf(c) })
		if at < 0 {
			at, out = len(out), append(out, Series{Name: curveOf(c)})
		}
		p := Point{X: c.Offered.RatePerSec, Values: []float64{of(c.Offered)}}
		if shares {
			p.X = 100 * c.Offered.Share
		}
		out[at].Points = append(out[at].Points, p)
	}
	return out
}

func offeredText(c results.Case) string {
	o := c.Offered
	return fmt.Sprintf("%s, %s: dead time %.2g %%, p99.9 %.3g ms", curveOf(c), load.RateText(o.RatePerSec), 100*o.Dead(), 1e3*o.Latency.P999)
}

// panel is the chart as a panel of a figure, with its legend.
func (c Chart) panel(says string) Panel {
	p := newPlot()
	p.X.Label.Text, p.Y.Label.Text = c.X, c.Y
	c.axis(&p.X, c.places())
	c.valueAxis(&p.Y)
	p.Add(gridlines(true, true), brush(func(on draw.Canvas, p *plot.Plot) {
		for i, s := range c.Series {
			s.line(on, p)
			for _, x := range s.Points {
				say(on, at(on, p, x.X, x.Values[0]), "%s: %.3g at %.4g", s.Name, x.Values[0], x.X)
			}
			on.FillText(textStyle(smallSize, s.pen.hue), vg.Point{X: on.Min.X + 4, Y: on.Max.Y - legendRow*vg.Length(i+1)}, s.Name)
		}
	}))
	return Panel{Case: -1, Says: says, plot: p, width: chartWidth, height: chartHeight, Slim: panelWidth}
}
