package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"evbench/results"
)

// A trial is one slice of a case beside the control of its round.
type trial struct {
	round, repeat int
	ratio         float64
	leftOut       string // why it does not count; "": it does
}

func rounds(s Source, f *Figure) {
	f.Caption = "Each dot is one slice: what it came to, over what the control of the same round came to. Hollow dots do not count: something on the machine disturbed them, or the control of their round. " +
		"The line is the median of those that count, the band its 95 % interval, the dashed line what was predicted; the thin line at 1 is the control. Dots outside the axis stand at its edge."
	f.Data.Columns = []string{"case", "repeat", "round", "ratio_to_control", "ratio_low", "ratio_high", "left_out"}
	if len(s.Run.Summary.Slices) == 0 {
		f.Missing = "There are no rounds: the run was simulated, or is older than they are."
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

// controlsOf returns the control of each round: that which counts, else the last.
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

// addTrials adds the slices of a case, then, without a round, what they come to.
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

// ratioOf is the estimate of a case where it is of its ratio to the control, else nil.
func ratioOf(c results.Case) *results.Estimate {
	if c.Control || c.Estimate == nil || c.Estimate.Of != results.OfRatio {
		return nil
	}
	return c.Estimate
}

// ratioRange is what all that counts lies in, and 1, with some room.
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
	p := newPlot()
	p.X.Label.Text, p.Y.Label.Text = "round", "ratio to control"
	p.X.Tick.Marker = wholeTicks{}
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
			say(on, m, "round %d: %.3f%s", x.round, x.ratio, because(x.leftOut))
			if x.leftOut != "" {
				ring(on, line(Ink, 1), m, radius)
			} else {
				on.DrawGlyphNoClip(draw.GlyphStyle{Color: blue, Radius: radius, Shape: draw.CircleGlyph{}}, m)
			}
		}
	}))
	return Panel{Says: roundsText(c, list), plot: p, width: panelWidth, height: panelHeight}
}

func because(leftOut string) string {
	if leftOut == "" {
		return ""
	}
	return ", does not count: " + leftOut
}

func roundsText(c results.Case, list []trial) string {
	counting := 0
	for _, x := range list {
		if x.leftOut == "" {
			counting++
		}
	}
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
