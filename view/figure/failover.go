package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"evbench/internal/lists"
	"evbench/results"
)

// A stage of a fail-over: its name, label and mark.
type stage struct {
	name, label string
	at          func(*results.Failover) *float64
	mark        draw.GlyphDrawer
}

var stages = []stage{
	{"aided", "first aid", func(f *results.Failover) *float64 { return f.AidedSec }, draw.PyramidGlyph{}},
	{"planned", "planned", func(f *results.Failover) *float64 { return f.PlannedSec }, draw.RingGlyph{}},
	{"verified", "verified", func(f *results.Failover) *float64 { return f.VerifiedSec }, draw.CircleGlyph{}},
	{"installed", "routes installed", func(f *results.Failover) *float64 { return f.InstalledSec }, draw.SquareGlyph{}},
	{"updated", "all workers have it", func(f *results.Failover) *float64 { return f.UpdatedSec }, draw.BoxGlyph{}},
	{"last_old", "last exchange on the old plan", func(f *results.Failover) *float64 { return f.LastOldSec }, draw.CrossGlyph{}},
	{"first_new", "first on the new one", func(f *results.Failover) *float64 { return f.FirstNewSec }, diamondGlyph{}},
}

// manyFailovers is how many fail-overs of one case have a bar of their own.
const manyFailovers = 12

// failover shows the reactions to links that died, over the time of each case and stage by stage.
func failover(s Source, f *Figure) {
	f.Caption = "First, the throughput that each case lost while it ran, as the time that it would have taken before the link died; the least first. " +
		"Then the goodput of one server in each interval as in throughput over time. Triangles on the dashed lines are links that died (▼) or came back (▲), " +
		"a ring is first aid in place, a diamond the end of the first exchange on the new plan. " +
		"Below, each fail-over from the moment it was seen, on a logarithmic scale; each part of a bar is a stage, and the mark at its end says which. " +
		"Of more than " + whole(manyFailovers) + " in a case, the median and the greatest of each stage."
	f.Data.Columns = []string{"case", "repeat", "id", "down", "up", "stage", "t_s", "ms_after_seen"}
	cases := s.Run.Summary.Cases
	for _, x := range s.Run.Summary.Failovers() {
		f.stages(&x)
	}
	if len(f.Data.Rows) == 0 {
		f.Missing = "No case has a fail-over."
		return
	}
	if p := lostPanel(cases); p != nil {
		f.Panels = append(f.Panels, *p)
	}
	most := s.failoverTimes(f)
	var rows []bar
	for _, c := range cases {
		rows = append(rows, bars(c, policyLabel(c, cases))...)
	}
	f.Panels = append(f.Panels, barPanel(rows))
	f.Caption += s.limitCaption(most)
}

// lostPanel has a bar for each case with a dead link: the throughput that it lost, the least first. nil:
// no case knows it.
func lostPanel(cases []results.Case) *Panel {
	rows := caseRows{label: "throughput lost, s"}
	lost := map[results.SliceID]float64{}
	for _, c := range cases {
		if sec, known := c.LostSec(); known {
			lost[keyOf(c)] = sec
			rows.cases, rows.most = append(rows.cases, c), max(rows.most, 1.15*sec)
		}
	}
	if rows.most == 0 {
		return nil
	}
	slices.SortStableFunc(rows.cases, func(a, b results.Case) int { return cmp.Compare(lost[keyOf(a)], lost[keyOf(b)]) })
	rows.texts = lists.Map(rows.cases, func(c results.Case) string {
		return fmt.Sprintf("%s: %.2f s lost", policyLabel(c, cases), lost[keyOf(c)])
	})
	rows.drawRow = func(c draw.Canvas, p *plot.Plot, i int, row float64) {
		sec := lost[keyOf(rows.cases[i])]
		c.FillPolygon(blue, box(at(c, p, 0, row-0.3), at(c, p, sec, row+0.3)))
		style := textStyle(smallSize, Ink)
		style.YAlign = text.YCenter
		end := at(c, p, sec, row)
		c.FillText(style, vg.Point{X: end.X + 6, Y: end.Y}, fmt.Sprintf("%.2f s", sec))
	}
	return &rows.panel()[0]
}

// HasFailovers reports whether any case has fail-overs.
func (s Source) HasFailovers() bool { return len(s.Run.Summary.Failovers()) > 0 }

func (f *Figure) stages(x *results.Failover) {
	add := func(name string, t *float64) {
		if t == nil {
			return
		}
		after := ""
		if x.SeenSec != nil {
			after = decimals((*t - *x.SeenSec) * 1e3)
		}
		f.Data.add(x.Case, whole(x.Repeat), whole(x.ID), strings.Join(x.Down, " "), strings.Join(x.Up, " "), name, decimals(*t), after)
	}
	add("set", x.SetSec)
	add("seen", x.SeenSec)
	for _, st := range stages {
		add(st.name, st.at(x))
	}
	add("cleaned", x.CleanedSec)
}

func policyLabel(c results.Case, all []results.Case) string {
	name := results.Label(c, all)
	if strings.Contains(name, c.Failover) {
		return name
	}
	return name + ", " + c.Failover
}

// failoverTimes draws throughput over time of each case that has fail-overs. It returns the
// greatest, at least the rate of a link.
func (s Source) failoverTimes(f *Figure) (most float64) {
	cases, samples := s.Run.Summary.Cases, samplesByCase(s.Run)
	all := make([][]moment, len(cases))
	most = s.linkLimit()
	for i, c := range cases {
		if len(c.Failovers) > 0 {
			all[i] = moments(samples[keyOf(c)])
		}
		for _, m := range all[i] {
			most = max(most, m.goodput.Max)
		}
	}
	u := results.RateUnitOf(most)
	for i, c := range cases {
		if len(all[i]) > 0 && most > 0 {
			c.LinkEvents = changes(c)
			p := s.timePanel(c, all[i], u, most)
			p.plot.Y.Max *= 1.25 // room for the marks
			p.plot.Add(reactions(c.Failovers))
			f.addOf(i, policyLabel(c, cases), p)
		}
	}
	return most
}

// changes are the link changes of a case: as evbench made them, or else as they were seen.
func changes(c results.Case) []results.LinkEvent {
	if len(c.LinkEvents) > 0 {
		return c.LinkEvents
	}
	var out []results.LinkEvent
	for _, f := range c.Failovers {
		t := cmp.Or(f.SetSec, f.SeenSec)
		for _, x := range []struct {
			links []string
			up    bool
		}{{f.Down, false}, {f.Up, true}} {
			if t != nil && len(x.links) > 0 {
				out = append(out, results.LinkEvent{Link: x.links[0], Up: x.up, TSec: *t})
			}
		}
	}
	return out
}

func reactions(all []results.Failover) brush {
	return func(c draw.Canvas, p *plot.Plot) {
		for _, f := range all {
			if t := f.AidedSec; t != nil && *t <= p.X.Max {
				ring(c, line(Ink, 1.2), vg.Point{X: at(c, p, *t, 0).X, Y: c.Max.Y - 15}, 3.2)
			}
			if t := f.FirstNewSec; t != nil && *t <= p.X.Max {
				x := at(c, p, *t, 0).X
				c.StrokeLine2(line(Ink, 0.75), x, c.Min.Y, x, c.Max.Y-27)
				diamond(c, vg.Point{X: x, Y: c.Max.Y - 27}, 4)
			}
		}
	}
}

// A bar is one fail-over: when each stage was done, in ms after the change was seen; 0: not done.
type bar struct {
	label, end string
	ms         []float64
}

// bars returns the bars of a case: one each or, for many, their median and greatest.
func bars(c results.Case, label string) []bar {
	var out []bar
	for i := range c.Failovers {
		f := &c.Failovers[i]
		b := bar{label: fmt.Sprintf("%s · %s", shorten(label), whatHappened(f)), ms: make([]float64, len(stages))}
		for k, st := range stages {
			if t := st.at(f); t != nil && f.SeenSec != nil {
				b.ms[k] = max(shortest, (*t-*f.SeenSec)*1e3)
			}
		}
		b.end = b.ending(f)
		out = append(out, b)
	}
	if n := len(out); n > manyFailovers {
		return []bar{
			combined(out, fmt.Sprintf("%s · median of %d", shorten(label), n), 2),
			combined(out, fmt.Sprintf("%s · greatest of %d", shorten(label), n), 4),
		}
	}
	return out
}

// whatHappened says "down at 5.00 s".
func whatHappened(f *results.Failover) string {
	what := "down"
	switch {
	case len(f.Up) > 0 && len(f.Down) > 0:
		what = "down and up"
	case len(f.Up) > 0:
		what = "up"
	case len(f.Down)+len(f.Held) == 0:
		what = "tables changed"
	}
	if f.SeenSec == nil {
		return what
	}
	return fmt.Sprintf("%s at %.2f s", what, *f.SeenSec)
}

// combined takes a quartile of each stage, over the fail-overs that reached it.
func combined(all []bar, label string, quartile int) bar {
	b := bar{label: label, ms: lists.Tabulate(len(stages), func(k int) float64 {
		known := lists.Map(all, func(x bar) float64 { return x.ms[k] })
		return quartiles(slices.DeleteFunc(known, func(ms float64) bool { return ms == 0 }))[quartile]
	})}
	b.end = b.ending(&results.Failover{})
	return b
}

func (b bar) ending(f *results.Failover) string {
	switch last := slices.Max(b.ms); {
	case f.Superseded:
		return "overtaken by the next change"
	case last > 0:
		return milliseconds(last)
	case f.CleanedSec != nil && f.SeenSec != nil:
		return "routes restored after " + milliseconds((*f.CleanedSec-*f.SeenSec)*1e3)
	default:
		return "nothing done"
	}
}

func milliseconds(ms float64) string {
	if ms < 10 {
		return fmt.Sprintf("%.2f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

const shortest = 0.1

func barPanel(rows []bar) Panel {
	least, most := math.Inf(1), 0.0
	for _, b := range rows {
		for _, t := range b.ms {
			if most = max(most, t); t > 0 {
				least = min(least, t)
			}
		}
	}
	if most == 0 {
		least, most = 1, 10
	}
	p := NewPlot()
	p.X.Label.Text = "ms after the change was seen"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
	p.X.Min = math.Pow(10, math.Floor(math.Log10(least)-0.3))
	p.X.Max = math.Pow(10, math.Ceil(math.Log10(most)*2+0.3)/2) // to half a decade
	nominal(p, lists.Map(rows, func(b bar) string { return b.label }))
	p.Y.Max += legendRows
	p.Add(gridlines(true, false), brush(func(c draw.Canvas, p *plot.Plot) {
		for i, b := range rows {
			b.draw(c, p, rowAt(i, len(rows)))
			sayRow(c, p, rowAt(i, len(rows)), b.words())
		}
		low := at(c, p, p.X.Min, p.Y.Max-legendRows).Y
		c.FillPolygon(Paper, box(vg.Point{X: c.Min.X, Y: low}, c.Max))
		drawLegend(c, lists.Map(stages, func(st stage) entry { return entry{st.label, st.draw} }), c.Max.Y)
	}))
	return Panel{Case: -1, Says: sentences(lists.Map(rows, bar.words)), plot: p, width: wide, height: rowsHeight(len(rows)) + 24*legendRows}
}

func (b bar) words() string {
	var parts []string
	for k, t := range b.ms {
		if t > 0 {
			parts = append(parts, stages[k].label+" after "+milliseconds(t))
		}
	}
	if parts == nil {
		return b.label + ": " + b.end
	}
	return b.label + ": " + strings.Join(parts, ", ")
}

const legendRows = 1.2

func (b bar) draw(c draw.Canvas, p *plot.Plot, row float64) {
	const half = 0.24
	from, done := p.X.Min, 0
	for _, t := range b.ms {
		if t <= from {
			continue
		}
		part := box(at(c, p, from, row-half), at(c, p, t, row+half))
		fill := blue
		if done%2 == 1 {
			fill = Faint
		}
		c.FillPolygon(fill, part)
		outline(c, line(Ink, 0.75), part)
		from, done = t, done+1
	}
	for k, t := range b.ms {
		if t > 0 {
			stages[k].draw(c, at(c, p, t, row))
		}
	}
	style := textStyle(smallSize, Ink)
	style.XAlign, style.YAlign = draw.XLeft, text.YCenter
	end := at(c, p, max(slices.Max(b.ms), p.X.Min), row)
	c.FillText(style, vg.Point{X: end.X + 8, Y: end.Y}, b.end)
}

func (st stage) draw(c draw.Canvas, m vg.Point) {
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: Ink, Radius: 3, Shape: st.mark}, m)
}

type diamondGlyph struct{}

func (diamondGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, m vg.Point) {
	diamond(*c, m, s.Radius+1.5)
}
