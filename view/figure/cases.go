package figure

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"evbench/internal/lists"
	"evbench/results"
	"evbench/view/parts"
)

// wide is the width of a drawing that has all cases.
const wide = vg.Length(840)

type caseRows struct {
	cases   []results.Case
	label   string   // of the X axis, from 0
	most    float64  // on it
	texts   []string // of the rows, "" where nothing is said
	limit   float64  // drawn across all rows, 0: none
	drawRow func(c draw.Canvas, p *plot.Plot, i int, row float64)
}

func (r caseRows) panel() []Panel {
	p := NewPlot()
	p.X.Label.Text = r.label
	p.X.Min, p.X.Max = 0, r.most
	nominal(p, lists.Map(r.cases, func(c results.Case) string { return shorten(results.Label(c, r.cases)) }))
	p.Add(gridlines(true, false), brush(func(c draw.Canvas, p *plot.Plot) {
		if r.limit > 0 {
			x := at(c, p, r.limit, 0).X
			c.StrokeLine2(dashed(vermilion, 1), x, c.Min.Y, x, c.Max.Y)
		}
		for i := range r.cases {
			row := rowAt(i, len(r.cases))
			r.drawRow(c, p, i, row)
			sayRow(c, p, row, r.texts[i])
		}
	}))
	return []Panel{{Case: -1, Says: sentences(r.texts), plot: p, width: wide, height: rowsHeight(len(r.cases)), Slim: panelWidth}}
}

func efficiency(s Source, f *Figure) {
	how := parts.How(s.Run)
	f.Title = "Predicted and " + how + " efficiency"
	f.Caption = "Efficiency is ideal time / time: 1 is a network in which every server receives at the rate of its link all the time. " +
		"Circles are predictions, made before the run; filled squares are " + how + "."
	f.Data.Columns = []string{
		"case", "repeat", "predicted_efficiency", "measured_efficiency", "ratio_to_control", "efficiency_low", "efficiency_high",
	}
	most := 1.0
	known, spread := false, false
	cases := s.Run.Summary.Cases
	spans := make([][]float64, len(cases))
	control := controlEfficiency(s.Run.Summary.Slices)
	for i, c := range cases {
		spans[i] = span(c, control)
		low, high := "", ""
		if spans[i] != nil {
			low, high, spread = decimals(spans[i][0]), decimals(spans[i][1]), true
			most = max(most, spans[i][1])
		}
		f.Data.add(c.Name, whole(c.Repeat), decimals(c.PredictedEfficiency), decimals(c.MeasuredEfficiency), decimals(c.RatioToControl), low, high)
		most = max(most, c.PredictedEfficiency, c.MeasuredEfficiency)
		known = known || c.MeasuredEfficiency > 0
	}
	if !known {
		f.Missing = "No efficiency is known: the rate of the links was not stated, or nothing was " + how + " to the end."
		return
	}
	if most > 1.0005 {
		f.Caption += " A value above 1 does not mean that a link exceeded its rate: bursts, and data already on the way at the start, count too much."
	}
	if spread {
		f.Caption += " Bars are the 95 % intervals of the ratios to the control, times the efficiency of the control."
	}
	if groups := byDeadLinks(cases); groups != nil && !spread {
		f.Caption = strings.Replace(f.Caption, "filled squares are "+how, "bars are "+how+", those with the same dead links side by side; cases of one schedule have one colour", 1)
		f.Panels = grouped(groups, most, func(c results.Case) string { return efficiencyText(results.Label(c, cases), c, nil, how) })
		return
	}
	texts := lists.Tabulate(len(cases), func(i int) string { return efficiencyText(results.Label(cases[i], cases), cases[i], spans[i], how) })
	f.Panels = caseRows{cases: cases, label: "efficiency", most: most * 1.02, texts: texts, drawRow: func(c draw.Canvas, p *plot.Plot, i int, row float64) {
		drawEfficiency(c, p, cases[i], spans[i], row)
	}}.panel()
}

func efficiencyText(name string, x results.Case, span []float64, how string) string {
	var parts []string
	if x.PredictedEfficiency > 0 {
		parts = append(parts, fmt.Sprintf("predicted %.3f", x.PredictedEfficiency))
	}
	if x.MeasuredEfficiency > 0 {
		parts = append(parts, fmt.Sprintf("%s %.3f", how, x.MeasuredEfficiency))
	}
	if span != nil {
		parts = append(parts, fmt.Sprintf("interval %.3f to %.3f", span[0], span[1]))
	}
	if parts == nil {
		return ""
	}
	return name + ": " + strings.Join(parts, ", ")
}

func sayRow(c draw.Canvas, p *plot.Plot, row float64, text string) {
	if text != "" {
		sayBox(c, vg.Point{X: c.Min.X, Y: at(c, p, p.X.Min, row-0.45).Y}, vg.Point{X: c.Max.X, Y: at(c, p, p.X.Min, row+0.45).Y}, text)
	}
}

// controlEfficiency is the efficiency of the controls of all slices that count, 0 without any.
func controlEfficiency(slices []results.Slice) float64 {
	var ideal, all float64
	for _, x := range slices {
		if x.Control && x.Counts() {
			ideal, all = ideal+x.Efficiency*x.MeasuredSec, all+x.MeasuredSec
		}
	}
	if all == 0 {
		return 0
	}
	return ideal / all
}

// span is the interval of a case as efficiencies, nil where it has none.
func span(c results.Case, control float64) []float64 {
	e := ratioOf(c)
	if e == nil || !e.Known() || control == 0 {
		return nil
	}
	return []float64{*e.Lo * control, *e.Hi * control}
}

func drawEfficiency(c draw.Canvas, p *plot.Plot, x results.Case, span []float64, row float64) {
	a, b := at(c, p, x.PredictedEfficiency, row), at(c, p, x.MeasuredEfficiency, row)
	if x.PredictedEfficiency > 0 && x.MeasuredEfficiency > 0 {
		c.StrokeLine2(line(Ink, 0.75), a.X, a.Y, b.X, b.Y)
	}
	if span != nil {
		whisker(c, at(c, p, span[0], row), at(c, p, span[1], row))
	}
	if x.MeasuredEfficiency > 0 {
		c.DrawGlyph(draw.GlyphStyle{Color: blue, Radius: 4, Shape: draw.BoxGlyph{}}, b)
	}
	if x.PredictedEfficiency > 0 {
		ring(c, line(Ink, 1.2), a, 5)
	}
}

func whisker(c draw.Canvas, a, b vg.Point) {
	const tall = 7
	c.StrokeLine2(line(blue, 2), a.X, a.Y, b.X, b.Y)
	for _, m := range []vg.Point{a, b} {
		c.StrokeLine2(line(blue, 1.5), m.X, m.Y-tall, m.X, m.Y+tall)
	}
}

// throughput shows the samples of each case as a box, after Fig. 6.5 of the thesis.
func throughput(s Source, f *Figure) {
	f.Caption = "Payload received by one server in one interval: the box holds the middle half of these samples, the thick line is their median, " +
		"the diamond their mean; whiskers reach to the least and the greatest. Intervals shorter than half the usual one are left out."
	f.Data.Columns = []string{
		"case", "repeat", "samples", "goodput_min_bit_per_s", "goodput_q1_bit_per_s", "goodput_median_bit_per_s",
		"goodput_q3_bit_per_s", "goodput_max_bit_per_s", "goodput_mean_bit_per_s",
	}
	cases := s.Run.Summary.Cases
	samples := samplesByCase(s.Run)
	boxes := make([][6]float64, len(cases)) // the quartiles, and the mean
	most := 0.0
	for i, c := range cases {
		rates := lists.Map(wholeIntervals(samples[keyOf(c)]), func(x results.Sample) float64 { return x.GoodputBitPerSec })
		mean := 0.0
		for _, x := range rates {
			mean += x
		}
		mean /= float64(max(1, len(rates)))
		q := quartiles(rates)
		f.Data.add(c.Name, whole(c.Repeat), whole(len(rates)), bits(q[0]), bits(q[1]), bits(q[2]), bits(q[3]), bits(q[4]), bits(mean))
		copy(boxes[i][:], append(q[:], mean))
		most = max(most, q[4])
	}
	if most == 0 {
		f.Missing = "There are no samples."
		return
	}
	u := results.RateUnitOf(most)
	limit := s.linkLimit() / u.Size
	texts := make([]string, len(cases))
	for i, b := range boxes {
		if b[4] > 0 {
			texts[i] = fmt.Sprintf("%s: median %s, middle half %s to %s, %s to %s in all, mean %s", results.Label(cases[i], cases),
				figuresOf(b[2]/u.Size), figuresOf(b[1]/u.Size), figuresOf(b[3]/u.Size), figuresOf(b[0]/u.Size), figuresOf(b[4]/u.Size), rateText(b[5], u))
		}
	}
	rows := caseRows{cases: cases, label: "goodput of one server, " + u.Name, most: max(most/u.Size, limit) * 1.03, texts: texts, limit: limit}
	rows.drawRow = func(c draw.Canvas, p *plot.Plot, i int, row float64) {
		b := boxes[i]
		for n := range b {
			b[n] /= u.Size
		}
		drawBox(c, p, b, row)
	}
	f.Panels = rows.panel()
	if limit > 0 {
		f.Caption += " The dashed line is what a link leaves for messages." + s.beyond(most)
	}
}

// linkLimit is the rate of a link for messages, 0 where its rate is not known.
func (s Source) linkLimit() float64 {
	return float64(s.Run.Manifest.Fabric.RateBitPerSec) * s.Run.Manifest.Fabric.Factor
}

func drawBox(c draw.Canvas, p *plot.Plot, b [6]float64, row float64) {
	const half = 0.3
	for _, w := range [][2]float64{{b[0], b[1]}, {b[3], b[4]}} {
		from, to := at(c, p, w[0], row), at(c, p, w[1], row)
		c.StrokeLine2(line(Ink, 1), from.X, from.Y, to.X, to.Y)
	}
	for _, x := range []float64{b[0], b[4]} {
		low, high := at(c, p, x, row-half/2), at(c, p, x, row+half/2)
		c.StrokeLine2(line(Ink, 1), low.X, low.Y, high.X, high.Y)
	}
	middle := box(at(c, p, b[1], row-half), at(c, p, b[3], row+half))
	c.FillPolygon(blue, middle)
	outline(c, line(Ink, 1), middle)
	low, high := at(c, p, b[2], row-half), at(c, p, b[2], row+half)
	c.StrokeLine2(line(Ink, 2.5), low.X, low.Y, high.X, high.Y)
	diamond(c, at(c, p, b[5], row), 4)
}

func diamond(c draw.Canvas, m vg.Point, r vg.Length) {
	c.FillPolygon(orange, corners(m, r))
	outline(c, line(Ink, 0.75), corners(m, r))
}

// corners are those of a square that stands on one of them.
func corners(m vg.Point, r vg.Length) []vg.Point {
	return []vg.Point{{X: m.X - r, Y: m.Y}, {X: m.X, Y: m.Y + r}, {X: m.X + r, Y: m.Y}, {X: m.X, Y: m.Y - r}}
}

func waits(s Source, f *Figure) {
	f.Caption = "Share of the time that a server spent waiting in barriers (hatched, right) and not (plain, left: sending, receiving, and waiting for data); means over servers. " +
		"Cases without a barrier have no hatched part."
	f.Data.Columns = []string{"case", "repeat", "measured_s", "barrier_wait_s", "transfer_s"}
	cases := s.Run.Summary.Cases
	samples := samplesByCase(s.Run)
	share := make([]float64, len(cases)) // of time waited; -1: not known
	known := false
	for i, c := range cases {
		var total, waited float64
		all := byServer(samples[keyOf(c)])
		for _, x := range all {
			total += x.sampled / float64(len(all))
			waited += x.waited / float64(len(all))
		}
		f.Data.add(c.Name, whole(c.Repeat), decimals(total), decimals(waited), decimals(total-waited))
		share[i] = -1
		if total > 0 {
			share[i], known = min(1, waited/total), true
		}
	}
	if !known {
		f.Missing = "There are no samples."
		return
	}
	texts := make([]string, len(cases))
	for i, w := range share {
		if w >= 0 {
			texts[i] = fmt.Sprintf("%s: %.1f %% in barriers", results.Label(cases[i], cases), 100*w)
		}
	}
	f.Panels = caseRows{cases: cases, label: "share of the time", most: 1.02, texts: texts, drawRow: func(c draw.Canvas, p *plot.Plot, i int, row float64) {
		if w := share[i]; w >= 0 {
			c.FillPolygon(blue, box(at(c, p, 0, row-0.3), at(c, p, 1-w, row+0.3)))
			hatch(c, at(c, p, 1-w, row-0.3), at(c, p, 1, row+0.3))
			outline(c, line(Ink, 0.75), box(at(c, p, 0, row-0.3), at(c, p, 1, row+0.3)))
		}
	}}.panel()
}

// hatch fills a rectangle with orange and slanted lines, from its lower left to its
// upper right corner.
func hatch(c draw.Canvas, low, high vg.Point) {
	c.FillPolygon(orange, box(low, high))
	tall := high.Y - low.Y
	for x := low.X - tall; x < high.X; x += 6 {
		a, b := vg.Point{X: x, Y: low.Y}, vg.Point{X: x + tall, Y: high.Y}
		if a.X < low.X {
			a = vg.Point{X: low.X, Y: low.Y + low.X - x}
		}
		if b.X > high.X {
			b = vg.Point{X: high.X, Y: high.Y - (b.X - high.X)}
		}
		c.StrokeLine2(line(Ink, 0.75), a.X, a.Y, b.X, b.Y)
	}
}
