package figure

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"evbench/results"
)

// The size of a drawing of one case, of which three stand side by side.
const (
	panelWidth  = vg.Length(280)
	panelHeight = vg.Length(170)
)

// timeline shows the goodput of each case over time, and when links died.
func timeline(s Source, f *Figure) {
	f.Caption = "Goodput of one server in each interval: the line is the mean over servers, the band reaches from the slowest to the fastest. " +
		"Triangles on the dashed lines are links that died (▼) or came back (▲) while events were built."
	f.Data.Columns = []string{
		"case", "repeat", "t_s", "servers", "goodput_min_bit_per_s", "goodput_mean_bit_per_s", "goodput_max_bit_per_s", "link_event",
	}
	if len(s.Run.Summary.Slices) > 0 {
		f.Caption += " The slices of a case that count follow one after the other, without what was between them."
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
	u := rateUnit(most)
	for i, c := range cases {
		if len(all[i]) > 0 {
			f.Panels = append(f.Panels, timePanel(results.Label(c, cases), i, c.LinkEvents, all[i], u, most))
		}
	}
}

func upDown(up bool) string {
	if up {
		return "up"
	}
	return "down"
}

func timePanel(title string, index int, events []results.LinkEvent, list []moment, u unit, most float64) Panel {
	p := newPlot()
	p.X.Label.Text, p.Y.Label.Text = "s", u.name
	p.Y.Min, p.Y.Max = 0, most/u.size*1.05
	p.X.Min, p.X.Max = 0, list[len(list)-1].t*1.03
	p.Add(horizontals(p), brush(func(c draw.Canvas, p *plot.Plot) {
		var mean, band, back []vg.Point
		for _, m := range list {
			mean = append(mean, at(c, p, m.t, m.goodput.Mean/u.size))
			band = append(band, at(c, p, m.t, m.goodput.Max/u.size))
			back = append(back, at(c, p, m.t, m.goodput.Min/u.size))
		}
		for i := range back {
			band = append(band, back[len(back)-1-i])
		}
		c.FillPolygon(Faint, band)
		c.StrokeLines(line(blue, 2), mean)
		if len(mean) <= 60 {
			for _, pt := range mean {
				c.DrawGlyphNoClip(draw.GlyphStyle{Color: blue, Radius: 2.2, Shape: draw.CircleGlyph{}}, pt)
			}
		}
		for _, e := range events {
			if e.TSec <= p.X.Max {
				failureMark(c, at(c, p, e.TSec, 0).X, e.Up)
			}
		}
	}))
	return Panel{Title: title, Case: index, plot: p, width: panelWidth, height: panelHeight}
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

// servers shows what each server received in each case.
func servers(s Source, f *Figure) {
	f.Caption = "Mean goodput of each server over the measured part. Lines part the leaves, where the plan says which server sits where; the dashed line is the mean."
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
	u := rateUnit(most)
	ports := s.ports()
	for i, c := range cases {
		if len(all[i]) > 0 {
			f.Panels = append(f.Panels, serverPanel(results.Label(c, cases), i, all[i], ports, u, most))
		}
	}
}

// ports is how many positions a leaf has, 0 where no plan says.
func (s Source) ports() int {
	for _, p := range s.Plans {
		return p.Tree.Ports()
	}
	return 0
}

func serverPanel(title string, index int, list []served, ports int, u unit, most float64) Panel {
	p := newPlot()
	p.X.Label.Text, p.Y.Label.Text = "server", u.name
	p.X.Tick.Marker = wholeTicks{}
	p.Y.Min, p.Y.Max = 0, most/u.size*1.05
	last := float64(list[len(list)-1].server)
	p.X.Min, p.X.Max = -0.5, last+0.5
	mean := 0.0
	for _, x := range list {
		mean += x.goodput / u.size / float64(len(list))
	}
	p.Add(horizontals(p), brush(func(c draw.Canvas, p *plot.Plot) {
		for n := ports; ports > 0 && float64(n) <= last; n += ports {
			x := at(c, p, float64(n)-0.5, 0).X
			c.StrokeLine2(line(Faint, 0.75), x, c.Min.Y, x, c.Max.Y)
		}
		m := at(c, p, 0, mean)
		c.StrokeLine2(dashed(Ink, 0.75), c.Min.X, m.Y, c.Max.X, m.Y)
		radius := vg.Length(2.4)
		if len(list) > 100 {
			radius = 1.3
		}
		for _, x := range list {
			c.DrawGlyph(draw.GlyphStyle{Color: blue, Radius: radius, Shape: draw.CircleGlyph{}}, at(c, p, float64(x.server), x.goodput/u.size))
		}
	}))
	return Panel{Title: title, Case: index, plot: p, width: panelWidth, height: panelHeight}
}
