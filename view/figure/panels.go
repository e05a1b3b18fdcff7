package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"evbench/internal/lists"
	"evbench/results"
)

// The size of a drawing of one case; three are side by side.
const (
	panelWidth  = vg.Length(280)
	panelHeight = vg.Length(170)
)

func timeline(s Source, f *Figure) {
	f.Caption = "Goodput of one server in each interval: the line is the mean over servers, the band reaches from the slowest to the fastest. " +
		"Triangles on the dashed lines are links that died (▼) or came back (▲) while events were built."
	f.Data.Columns = []string{
		"case", "repeat", "t_s", "servers", "goodput_min_bit_per_s", "goodput_mean_bit_per_s", "goodput_max_bit_per_s", "link_event",
	}
	if len(s.Run.Summary.Slices) > 0 {
		f.Caption += " The counted slices of a case follow each other, without the time between them; a thin vertical line separates them."
	}
	cases, samples := s.Run.Summary.Cases, samplesByCase(s.Run)
	all := make([][]moment, len(cases))
	most := s.linkLimit()
	for i, c := range cases {
		all[i] = moments(samples[keyOf(c)])
		for _, m := range all[i] {
			most = max(most, m.goodput.Max)
			f.Data.add(c.Name, whole(c.Repeat), decimals(m.t), whole(m.servers), bits(m.goodput.Min), bits(m.goodput.Mean), bits(m.goodput.Max), "")
		}
		for _, e := range c.LinkEvents {
			f.Data.add(c.Name, whole(c.Repeat), decimals(e.TSec), "", "", "", "", e.Link+" "+upDown(e.Up))
		}
	}
	if len(f.Data.Rows) == 0 || most == 0 {
		f.Missing = "There are no samples."
		return
	}
	u := results.RateUnitOf(most)
	for i, c := range cases {
		if len(all[i]) > 0 {
			f.addOf(i, results.Label(c, cases), s.timePanel(c, all[i], u, most))
		}
	}
	f.Caption += s.limitCaption(most)
}

func (s Source) limitCaption(most float64) string {
	if s.linkLimit() == 0 {
		return ""
	}
	text := " The dashed line across is what a link leaves for messages." + s.beyond(most)
	if 1.05*most > s.axisEnd(most) {
		text += " They end at the edge of the drawing."
	}
	return text
}

func (s Source) drawLimit(c draw.Canvas, p *plot.Plot, u results.RateUnit) {
	if limit := s.linkLimit(); limit > 0 {
		level(c, p, limit/u.Size, dashed(vermilion, 0.75))
	}
}

func upDown(up bool) string {
	if up {
		return "up"
	}
	return "down"
}

func (s Source) timePanel(of results.Case, list []moment, u results.RateUnit, most float64) Panel {
	p := NewPlot()
	p.X.Label.Text, p.Y.Label.Text = "s", u.Name
	p.Y.Min, p.Y.Max = 0, s.axisEnd(most)/u.Size
	p.X.Min, p.X.Max = 0, list[len(list)-1].t*1.03
	p.Add(gridlines(false, true), brush(func(c draw.Canvas, p *plot.Plot) {
		borders := s.borders(of)
		for _, t := range borders {
			x := at(c, p, t, 0).X
			c.StrokeLine2(line(Faint, 0.75), x, c.Min.Y, x, c.Max.Y)
		}
		var mean []vg.Point
		for _, slice := range parted(list, borders) {
			mean = append(mean, drawMoments(c, p, slice, u)...)
		}
		s.drawLimit(c, p, u)
		if len(mean) <= 60 {
			for _, pt := range mean {
				c.DrawGlyphNoClip(draw.GlyphStyle{Color: blue, Radius: 2.2, Shape: draw.CircleGlyph{}}, pt)
			}
		}
		sayMoments(c, mean, list, u)
		for _, e := range of.LinkEvents {
			if e.TSec <= p.X.Max {
				x := at(c, p, e.TSec, 0).X
				failureMark(c, x, e.Up)
				say(c, vg.Point{X: x, Y: c.Max.Y - 4}, "%s %s at %.2f s", e.Link, upDown(e.Up), e.TSec)
			}
		}
	}))
	return Panel{Says: timeText(of.LinkEvents, list, u), Plain: len(of.LinkEvents) == 0 && steady(list), plot: p, width: panelWidth, height: panelHeight}
}

// axisEnd is the end of an axis of rates: a quarter above what a link leaves for messages, so that a
// sample that is far above it squeezes no other; without that limit a little above the greatest.
func (s Source) axisEnd(most float64) float64 {
	if limit := s.linkLimit(); limit > 0 {
		return min(1.05*most, 1.25*limit)
	}
	return 1.05 * most
}

// borders returns when the slices of a case that count begin, except the first.
func (s Source) borders(of results.Case) (out []float64) {
	at := 0.0
	for _, x := range s.Run.Summary.Slices {
		if x.Case == of.Name && x.Counts() {
			if at > 0 {
				out = append(out, at)
			}
			at += x.MeasuredSec
		}
	}
	return out
}

// parted returns the moments of each slice: no line leads from the end of one to the begin of the next.
func parted(list []moment, borders []float64) (out [][]moment) {
	late := list[len(list)-1].t / float64(len(list)) / 4 // the last interval of a slice may end a little after it
	for _, t := range borders {
		n, _ := slices.BinarySearchFunc(list, t+late, func(m moment, t float64) int { return cmp.Compare(m.t, t) })
		out, list = append(out, list[:n]), list[n:]
	}
	return append(out, list)
}

// drawMoments draws the band and the mean of a slice, and returns the points of the mean.
func drawMoments(c draw.Canvas, p *plot.Plot, list []moment, u results.RateUnit) (mean []vg.Point) {
	var band []vg.Point
	on := func(t, rate float64) vg.Point { return at(c, p, t, min(rate/u.Size, p.Y.Max)) }
	for _, m := range list {
		mean = append(mean, on(m.t, m.goodput.Mean))
		band = append(band, on(m.t, m.goodput.Max))
	}
	for _, m := range slices.Backward(list) {
		band = append(band, on(m.t, m.goodput.Min))
	}
	if len(mean) == 1 {
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: blue, Radius: 1, Shape: draw.CircleGlyph{}}, mean[0])
		return mean
	}
	c.FillPolygon(Faint, band)
	c.StrokeLines(line(blue, 2), mean)
	return mean
}

// mostMoments is the most texts along a line: more are too close for a pointer.
const mostMoments = 120

func sayMoments(c draw.Canvas, line []vg.Point, list []moment, u results.RateUnit) {
	stride := 1 + len(list)/mostMoments
	for i := 0; i < len(list); i += stride {
		left, right := c.Min.X, c.Max.X
		if i > 0 {
			left = (line[i-stride].X + line[i].X) / 2
		}
		if i+stride < len(list) {
			right = (line[i].X + line[i+stride].X) / 2
		}
		m := list[i]
		sayBox(c, vg.Point{X: left, Y: c.Min.Y}, vg.Point{X: right, Y: c.Max.Y - 10},
			fmt.Sprintf("at %.2f s: mean %s, servers from %s to %s", m.t, rateText(m.goodput.Mean, u), figuresOf(m.goodput.Min/u.Size), figuresOf(m.goodput.Max/u.Size)))
	}
}

// steady reports whether all servers have about the same at all times.
func steady(list []moment) bool {
	low, high := list[0].goodput.Min, 0.0
	for _, m := range list {
		low, high = min(low, m.goodput.Min), max(high, m.goodput.Max)
	}
	return high-low <= alike*high
}

func timeText(events []results.LinkEvent, list []moment, u results.RateUnit) string {
	var mean float64
	low, high := list[0].goodput.Min, 0.0
	for _, m := range list {
		mean += m.goodput.Mean / float64(len(list))
		low, high = min(low, m.goodput.Min), max(high, m.goodput.Max)
	}
	parts := []string{fmt.Sprintf("Mean %s, servers and intervals from %s to %s", rateText(mean, u), figuresOf(low/u.Size), figuresOf(high/u.Size))}
	said := func(e results.LinkEvent) string { return fmt.Sprintf("%s %s at %.2f s", e.Link, upDown(e.Up), e.TSec) }
	return sentences(append(parts, lists.Map(events, said)...))
}

// failureMark draws a dashed line with a triangle at its top: down for a link
// that dies, up for one that comes back.
func failureMark(c draw.Canvas, x vg.Length, up bool) {
	c.StrokeLine2(dashed(vermilion, 1.25), x, c.Min.Y, x, c.Max.Y)
	base, tip := c.Max.Y, c.Max.Y-8
	if up {
		base, tip = tip, base
	}
	c.FillPolygon(vermilion, []vg.Point{{X: x - 5, Y: base}, {X: x + 5, Y: base}, {X: x, Y: tip}})
}

func servers(s Source, f *Figure) {
	f.Caption = "Mean goodput of each server in the counted part. Lines separate the leaves, if the plan states the place of each server; the thin dashed line is the mean."
	f.Data.Columns = []string{"case", "repeat", "server", "goodput_bit_per_s", "barrier_wait_s"}
	cases, samples := s.Run.Summary.Cases, samplesByCase(s.Run)
	all := make([][]served, len(cases))
	most := s.linkLimit()
	for i, c := range cases {
		all[i] = byServer(samples[keyOf(c)])
		for _, x := range all[i] {
			most = max(most, x.goodput)
			f.Data.add(c.Name, whole(c.Repeat), whole(x.server), bits(x.goodput), decimals(x.waited))
		}
	}
	if len(f.Data.Rows) == 0 || most == 0 {
		f.Missing = "There are no samples."
		return
	}
	u := results.RateUnitOf(most)
	ports := s.ports()
	for i, c := range cases {
		if len(all[i]) > 0 {
			f.addOf(i, results.Label(c, cases), s.serverPanel(all[i], ports, u, most))
		}
	}
	f.Caption += s.limitCaption(most)
}

// ports is how many positions a leaf has, 0 without a plan.
func (s Source) ports() int {
	for _, p := range s.Plans {
		return p.Tree.Ports()
	}
	return 0
}

func (s Source) serverPanel(list []served, ports int, u results.RateUnit, most float64) Panel {
	p := NewPlot()
	p.X.Label.Text, p.Y.Label.Text = "server", u.Name
	p.X.Tick.Marker = plot.TickerFunc(wholeTicks)
	p.Y.Min, p.Y.Max = 0, most/u.Size*1.05
	last := float64(list[len(list)-1].server)
	p.X.Min, p.X.Max = -0.5, last+0.5
	by := func(a, b served) int { return cmp.Compare(a.goodput, b.goodput) }
	mean, least, best := 0.0, slices.MinFunc(list, by), slices.MaxFunc(list, by)
	for _, x := range list {
		mean += x.goodput / u.Size / float64(len(list))
	}
	says := fmt.Sprintf("From %s of server %d to %s of server %d, mean %s.",
		figuresOf(least.goodput/u.Size), least.server, figuresOf(best.goodput/u.Size), best.server, rateText(mean*u.Size, u))
	plain := best.goodput-least.goodput <= alike*mean*u.Size
	if plain {
		says = fmt.Sprintf("All servers have %s, within %.0f %%.", rateText(mean*u.Size, u), 100*alike)
	}
	p.Add(gridlines(false, true), brush(func(c draw.Canvas, p *plot.Plot) {
		for n := ports; ports > 0 && float64(n) <= last; n += ports {
			x := at(c, p, float64(n)-0.5, 0).X
			c.StrokeLine2(line(Faint, 0.75), x, c.Min.Y, x, c.Max.Y)
		}
		s.drawLimit(c, p, u)
		m := at(c, p, 0, mean)
		c.StrokeLine2(dashed(Ink, 0.75), c.Min.X, m.Y, c.Max.X, m.Y)
		radius := vg.Length(2.4)
		if len(list) > 100 {
			radius = 1.3
		}
		for _, x := range list {
			c.DrawGlyph(draw.GlyphStyle{Color: blue, Radius: radius, Shape: draw.CircleGlyph{}}, at(c, p, float64(x.server), x.goodput/u.Size))
			low, high := at(c, p, float64(x.server)-0.5, 0).X, at(c, p, float64(x.server)+0.5, 0).X
			sayBox(c, vg.Point{X: low, Y: c.Min.Y}, vg.Point{X: high, Y: c.Max.Y}, fmt.Sprintf("server %d: %s", x.server, rateText(x.goodput, u)))
		}
	}))
	return Panel{Says: says, Plain: plain, plot: p, width: panelWidth, height: panelHeight}
}

// alike is the share of their mean by which servers differ that have the same.
const alike = 0.02

// A trial is one slice of a case beside the control of its round.
type trial struct {
	round, repeat int
	ratio         float64
	leftOut       string // why it does not count; "": it does
}

func rounds(s Source, f *Figure) {
	f.Caption = "Each dot is one slice: its efficiency divided by that of the control in the same round. Hollow dots do not count: the machine disturbed the slice, or the control of its round. " +
		"The line is the median of the dots that count, the band its 95 % interval, the dashed line the prediction; the thin line at 1 is the control. Dots outside the axis stand at its edge."
	f.Data.Columns = []string{"case", "repeat", "round", "ratio_to_control", "ratio_low", "ratio_high", "left_out"}
	if len(s.Run.Summary.Slices) == 0 {
		f.Missing = "There are no rounds: the run was simulated, or an older version measured it."
		return
	}
	base := controlsOf(s.Run.Summary.Slices)
	cases := s.Run.Summary.Cases
	all := make([][]trial, len(cases))
	last := 0
	for i, c := range cases {
		if c.Control {
			continue
		}
		all[i] = trialsOf(c.Name, s.Run.Summary.Slices, base)
		for _, x := range all[i] {
			last = max(last, x.round)
		}
		f.Data.addTrials(c, all[i])
	}
	low, high := ratioRange(cases, all)
	for i, c := range cases {
		if len(all[i]) > 0 {
			f.addOf(i, results.Label(c, cases), roundsPanel(c, all[i], last, low, high))
		}
	}
	if f.Panels == nil {
		f.Missing = "There is no ratio: no round has a control."
	}
}

// controlsOf returns the control of each round: the one that counts, else the last.
func controlsOf(slices []results.Slice) map[int]results.Slice {
	out := map[int]results.Slice{}
	for _, x := range slices {
		if x.Control && (x.Counts() || !out[x.Round].Counts()) {
			out[x.Round] = x
		}
	}
	return out
}

func trialsOf(name string, slices []results.Slice, base map[int]results.Slice) (out []trial) {
	for _, x := range slices {
		control := base[x.Round]
		if x.Case != name || x.Value() == 0 || control.Value() == 0 {
			continue
		}
		one := trial{x.Round, x.Repeat, x.Value() / control.Value(), x.Rejected}
		if one.leftOut == "" && !control.Counts() {
			one.leftOut = "the control of its round does not count"
		}
		out = append(out, one)
	}
	return out
}

// addTrials adds the slices of a case, then, without a round, their result.
func (t *Table) addTrials(c results.Case, list []trial) {
	for _, x := range list {
		t.add(c.Name, whole(x.repeat), whole(x.round), decimals(x.ratio), "", "", x.leftOut)
	}
	if e := ratioOf(c); e != nil {
		row := []string{c.Name, "", "", decimals(e.Median), "", "", ""}
		if e.Known() {
			row[4], row[5] = decimals(*e.Lo), decimals(*e.Hi)
		}
		t.add(row...)
	}
}

// ratioOf is the estimate of a case if it estimates the ratio to the control, else nil.
func ratioOf(c results.Case) *results.Estimate {
	if c.Control || c.Estimate == nil || c.Estimate.Of != results.OfRatio {
		return nil
	}
	return c.Estimate
}

// ratioRange is the range of all ratios that count, and 1, with some room.
func ratioRange(cases []results.Case, all [][]trial) (low, high float64) {
	low, high = 1, 1
	take := func(x float64) { low, high = min(low, x), max(high, x) }
	for i, c := range cases {
		for _, x := range all[i] {
			if x.leftOut == "" {
				take(x.ratio)
			}
		}
		if e := ratioOf(c); e != nil && e.Known() {
			take(*e.Lo)
			take(*e.Hi)
		}
		if c.PredictedRatio > 0 && len(all[i]) > 0 {
			take(c.PredictedRatio)
		}
	}
	room := max(0.02, 0.06*(high-low))
	return max(0, low-room), high + room
}

func roundsPanel(c results.Case, list []trial, last int, low, high float64) Panel {
	p := NewPlot()
	p.X.Label.Text, p.Y.Label.Text = "round", "ratio to control"
	p.X.Tick.Marker = plot.TickerFunc(wholeTicks)
	p.X.Min, p.X.Max = -0.5, float64(last)+0.5
	p.Y.Min, p.Y.Max = low, high
	radius := vg.Length(3.2)
	if last > 60 {
		radius = 1.8
	}
	p.Add(gridlines(false, true), brush(func(on draw.Canvas, p *plot.Plot) {
		level(on, p, 1, line(Ink, 0.75))
		if e := ratioOf(c); e != nil {
			if e.Known() {
				a, b := at(on, p, p.X.Min, *e.Lo), at(on, p, p.X.Max, *e.Hi)
				on.FillPolygon(Faint, box(a, b))
			}
			level(on, p, e.Median, line(blue, 1.6))
		}
		if c.PredictedRatio > 0 {
			level(on, p, c.PredictedRatio, dashed(vermilion, 1))
		}
		for _, x := range list {
			m := at(on, p, float64(x.round), math.Min(high, math.Max(low, x.ratio)))
			if x.leftOut != "" {
				say(on, m, "round %d: %.3f, does not count: %s", x.round, x.ratio, x.leftOut)
				ring(on, line(Ink, 1), m, radius)
			} else {
				say(on, m, "round %d: %.3f", x.round, x.ratio)
				on.DrawGlyphNoClip(draw.GlyphStyle{Color: blue, Radius: radius, Shape: draw.CircleGlyph{}}, m)
			}
		}
	}))
	return Panel{Says: roundsText(c, list), plot: p, width: panelWidth, height: panelHeight}
}

func roundsText(c results.Case, list []trial) string {
	counting := lists.CountIf(list, func(x trial) bool { return x.leftOut == "" })
	parts := []string{fmt.Sprintf("%d of %d slices count", counting, len(list))}
	if e := ratioOf(c); e != nil {
		text := fmt.Sprintf("Median %.3f", e.Median)
		if e.Known() {
			text += fmt.Sprintf(", interval %.3f to %.3f", *e.Lo, *e.Hi)
		}
		parts = append([]string{text}, parts...)
	}
	if c.PredictedRatio > 0 {
		parts = append(parts, fmt.Sprintf("predicted %.3f", c.PredictedRatio))
	}
	return sentences(parts)
}

func level(c draw.Canvas, p *plot.Plot, y float64, s draw.LineStyle) {
	m := at(c, p, 0, y)
	c.StrokeLine2(s, c.Min.X, m.Y, c.Max.X, m.Y)
}
