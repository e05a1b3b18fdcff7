package figure

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"evbench/internal/lists"
	"evbench/plan"
	"evbench/results"
	"evbench/scheduler"
	"evbench/topology"
	"evbench/view/parts"
)

// A grid has a value for each ordered pair of servers; NaN for none.
type grid struct {
	positions []int     // rising
	cells     []float64 // [src·n + dst]
	measured  bool      // bit/s, else the share of a link that the plan leaves the pair
}

func newGrid(positions []int) *grid {
	return &grid{positions: positions, cells: slices.Repeat([]float64{math.NaN()}, len(positions)*len(positions))}
}

// pairs shows what each server receives from each other: as measured if the run counted by pair,
// else as planned.
func pairs(s Source, f *Figure) {
	f.Caption = "Each square is one pair of servers: row sends, column receives. "
	f.Data.Columns = []string{"case", "repeat", "src", "dst", "goodput_bit_per_s", "planned_share_of_link"}
	cases := s.Run.Summary.Cases
	counted := lists.By(s.Run.Pairs, func(p results.PairCount) results.SliceID { return results.SliceID{Case: p.Case, Repeat: p.Repeat} })
	var planned, measured bool
	grids := make([]*grid, len(cases))
	for i, c := range cases {
		var g *grid
		if pairs := counted[keyOf(c)]; pairs != nil {
			g, measured = measuredPairs(pairs), true
		} else if p := s.Plans[c.Name]; p != nil && c.Repeat == 0 {
			if g = plannedPairs(p); g != nil {
				planned = true
			}
		}
		if g != nil {
			g.addTo(&f.Data, c)
			grids[i] = g
		}
	}
	scales := s.scalesOf(grids)
	for i, g := range grids {
		if g != nil {
			f.Panels = append(f.Panels, g.panel(results.Label(cases[i], cases), i, scales))
		}
	}
	if len(f.Panels) > 1 || s.PairsMost > 0 {
		f.Caption += "All maps have one scale. "
	}
	if measured {
		f.Caption += "Colour is the goodput of the pair while the receiver waited for it: in the phase of its fragment; without phases, " +
			"with a request open; free-running, where nobody can tell, in all that counts. "
		if limit := s.linkLimit(); limit > 0 && mostOf(grids) > limit*1.001 {
			f.Caption += fmt.Sprintf("Some are above the %s that a link leaves for messages: a fragment that came early waits in a buffer, and is read faster than a link carries. ",
				rateText(limit, results.RateUnitOf(limit)))
		}
	}
	if planned {
		f.Caption += "In a panel marked planned nothing was counted: colour is the share of a link that the plan leaves the message of a pair, " +
			"one over the most messages that it shares a wire with in its phase"
		if s.linkLimit() > 0 {
			f.Caption += ", times what a link leaves for messages"
		}
		f.Caption += "."
	}
	if !measured && !planned {
		f.Missing = "There is no pairs.csv, and no case has a plan with known paths."
	}
}

func measuredPairs(list []results.PairCount) *grid {
	var positions []int
	for _, p := range list {
		positions = append(positions, p.Src, p.Dst)
	}
	slices.Sort(positions)
	g := newGrid(slices.Compact(positions))
	g.measured = true
	for _, p := range list {
		src, _ := slices.BinarySearch(g.positions, p.Src)
		dst, _ := slices.BinarySearch(g.positions, p.Dst)
		if p.Sec > 0 {
			g.cells[src*len(g.positions)+dst] = float64(p.Bytes) * 8 / p.Sec
		}
	}
	return g
}

// plannedPairs returns the share of a link for each message of a plan, nil where
// its paths are not known.
func plannedPairs(p *plan.Plan) *grid {
	loads := parts.LoadsOf(p)
	if loads == nil {
		return nil
	}
	t := p.Tree
	positions := t.Positions()
	g, path := newGrid(positions), []topology.Wire(nil)
	for m := range p.Schedule.All() {
		most := 1
		if k := p.Path(m.Src, m.Dst); k != scheduler.None {
			path = t.Between(path[:0], t.Leaf(m.Src), t.Leaf(m.Dst), k)
			for _, w := range path {
				most = max(most, loads.At(m.Phase, w))
			}
		}
		g.cells[m.Src*len(positions)+m.Dst] = 1 / float64(most)
	}
	return g
}

func (g *grid) addTo(t *Table, c results.Case) {
	n := len(g.positions)
	for i, v := range g.cells {
		if math.IsNaN(v) {
			continue
		}
		rate, share := "", ""
		if g.measured {
			rate = bits(v)
		} else {
			share = decimals(v)
		}
		t.add(c.Name, whole(c.Repeat), whole(g.positions[i/n]), whole(g.positions[i%n]), rate, share)
	}
}

// ramp is a scale from little, dark, to much, light, whose lightness rises all along; 0 is for
// missing squares.
var ramp = func() color.Palette {
	stops := [][3]float64{{26, 11, 51}, {94, 26, 110}, {160, 40, 95}, {214, 92, 50}, {244, 180, 96}, {253, 240, 214}}
	p := color.Palette{color.RGBA{}}
	for i := range steps {
		x := float64(i) / float64(steps-1) * float64(len(stops)-1)
		low := min(int(x), len(stops)-2)
		var rgb [3]uint8
		for n := range rgb {
			rgb[n] = uint8(stops[low][n] + (x-float64(low))*(stops[low+1][n]-stops[low][n]))
		}
		p = append(p, color.RGBA{rgb[0], rgb[1], rgb[2], 0xff})
	}
	return p
}()

const steps = 64

// squares is a plot of squares in the colours of a palette, the first row at the top, with room for
// their scale. Squares have enough pixels to stay sharp in any viewer.
func squares(rows, columns int, palette color.Palette, colour func(row, column int) uint8) *plot.Plot {
	side := max(1, (499+max(rows, columns))/max(rows, columns, 1))
	img := image.NewPaletted(image.Rect(0, 0, columns*side, rows*side), palette)
	for y := range rows * side {
		for x := range columns * side {
			img.Pix[y*img.Stride+x] = colour(y/side, x/side)
		}
	}
	p := NewPlot()
	p.X.Min, p.X.Max = -0.5, float64(columns)*1.22
	p.Y.Min, p.Y.Max = -0.5, float64(rows)-0.5
	p.X.LineStyle.Width, p.Y.LineStyle.Width = 0, 0
	p.Add(plotter.NewImage(img, -0.5, -0.5, float64(columns)-0.5, float64(rows)-0.5))
	return p
}

// A mapScale is the meaning of the colours of a map: cells times by, from 0 to most, in a unit.
type mapScale struct {
	by, most float64
	u        results.RateUnit
}

func mostOf(grids []*grid) (most float64) {
	for _, g := range grids {
		if g == nil || !g.measured {
			continue
		}
		for _, v := range g.cells {
			if v > most {
				most = v
			}
		}
	}
	return most
}

// scalesOf returns the scales of counted and of planned maps: the same where the rate of links is
// known.
func (s Source) scalesOf(grids []*grid) map[bool]mapScale {
	limit, most := s.linkLimit(), max(mostOf(grids), s.PairsMost)
	if slices.ContainsFunc(grids, func(g *grid) bool { return g != nil && !g.measured }) {
		most = max(most, limit)
	}
	most = cmp.Or(most, 1)
	counted := mapScale{1, most, results.RateUnitOf(most)}
	if limit == 0 {
		return map[bool]mapScale{true: counted, false: {1, 1, results.RateUnit{Name: "share of a link", Size: 1}}}
	}
	return map[bool]mapScale{true: counted, false: {limit, most, results.RateUnitOf(most)}}
}

// MostOfPairs is the least end of the scale for the maps of a run, in bit/s: see PairsMost.
func (s Source) MostOfPairs() float64 {
	most, counted := 0.0, map[string]bool{}
	for _, p := range s.Run.Pairs {
		if counted[p.Case] = true; p.Sec > 0 {
			most = max(most, float64(p.Bytes)*8/p.Sec)
		}
	}
	for _, c := range s.Run.Summary.Cases {
		if p := s.Plans[c.Name]; p != nil && !counted[c.Name] {
			most = max(most, s.linkLimit())
		}
	}
	return most
}

// Cells are the squares of a map, for a script that shows the one under the pointer.
type Cells struct {
	Positions []int
	Values    []float64 // [sender·n + receiver], NaN: none
	Most      float64
	Unit      string
}

// mostSquares is the number of servers up to which each square has its own text.
const mostSquares = 20

// mostPlanned is the number of servers up to which a script shows the squares of a planned map.
const mostPlanned = 128

func (g *grid) panel(title string, index int, scales map[bool]mapScale) Panel {
	n := float64(len(g.positions))
	scale := scales[g.measured]
	most, u := scale.most, scale.u
	g = &grid{g.positions, lists.Map(g.cells, func(v float64) float64 { return v * scale.by }), g.measured}
	says, plain := g.extent(u)
	p := squares(len(g.positions), len(g.positions), ramp, func(src, dst int) uint8 {
		v := g.cells[src*len(g.positions)+dst]
		if math.IsNaN(v) {
			return 0
		}
		return 1 + uint8(math.Round(min(1, v/most)*(steps-1)))
	})
	p.X.Label.Text, p.Y.Label.Text = "receiver", "sender"
	p.X.Tick.Marker = plot.ConstantTicks(g.ticks(false))
	p.Y.Tick.Marker = plot.ConstantTicks(g.ticks(true))
	p.Add(brush(func(c draw.Canvas, p *plot.Plot) {
		outline(c, line(Faint, 0.75), box(at(c, p, -0.5, -0.5), at(c, p, n-0.5, n-0.5)))
		drawScale(c, p, colourScale{n, n, ramp[1:], most / u.Size, u.Name})
		g.say(c, p, u, says)
	}))
	if !g.measured {
		title += " (planned)"
	}
	out := Panel{Title: title, Says: says, Plain: plain, Case: index, plot: p, width: panelWidth, height: panelWidth * 0.86}
	if len(g.positions) > mostSquares && (g.measured || len(g.positions) <= mostPlanned) {
		out.Cells = &Cells{g.positions, lists.Map(g.cells, func(v float64) float64 { return v / u.Size }), most / u.Size, u.Name}
	}
	return out
}

// extent says from where to where the squares go, and whether all are equal.
func (g *grid) extent(u results.RateUnit) (says string, plain bool) {
	order := lists.Filter(lists.Range[int](len(g.cells)), func(i int) bool { return !math.IsNaN(g.cells[i]) })
	if order == nil {
		return "No pair is known.", true
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.cells[a], g.cells[b]) })
	least, middle, most := order[0], order[len(order)/2], order[len(order)-1]
	if g.cells[least] == g.cells[most] {
		return fmt.Sprintf("All pairs have %s.", rateText(g.cells[most], u)), true
	}
	return fmt.Sprintf("From %s (%s) to %s (%s), median %s.", figuresOf(g.cells[least]/u.Size), g.pair(least),
		figuresOf(g.cells[most]/u.Size), g.pair(most), rateText(g.cells[middle], u)), false
}

func (g *grid) pair(i int) string {
	n := len(g.positions)
	return fmt.Sprintf("%d to %d", g.positions[i/n], g.positions[i%n])
}

// say gives each square its text or, where there are many, gives the map its data.
func (g *grid) say(c draw.Canvas, p *plot.Plot, u results.RateUnit, says string) {
	n := len(g.positions)
	if n > mostSquares {
		sayClass(c, at(c, p, -0.5, -0.5), at(c, p, float64(n)-0.5, float64(n)-0.5), "cells", says)
		return
	}
	for i, v := range g.cells {
		if !math.IsNaN(v) {
			x, y := float64(i%n), rowAt(i/n, n)
			sayBox(c, at(c, p, x-0.5, y-0.5), at(c, p, x+0.5, y+0.5), fmt.Sprintf("server %s: %s", g.pair(i), rateText(v, u)))
		}
	}
}

// ticks are the positions of some servers, round numbers; on the Y axis the first is
// at the top.
func (g *grid) ticks(fromTop bool) []plot.Tick {
	n := len(g.positions)
	last := g.positions[n-1]
	step := max(1, int(stepOf(float64(last), 6)))
	var out []plot.Tick
	for position := 0; position <= last; position += step {
		i, found := slices.BinarySearch(g.positions, position)
		if !found {
			continue
		}
		at := float64(i)
		if fromTop {
			at = float64(n - 1 - i)
		}
		out = append(out, plot.Tick{Value: at, Label: whole(position)})
	}
	return out
}

// scaleLabel is a number of two digits or more, never with an exponent: the unit of rates leaves at
// most four digits before the point.
func scaleLabel(v float64) string {
	if v >= 10 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// A colourScale stands to the right of squares: colours for numbers from 0 to most.
type colourScale struct {
	columns, rows float64
	colours       color.Palette
	most          float64
	unit          string
}

func drawScale(c draw.Canvas, p *plot.Plot, s colourScale) {
	left, right := s.columns*1.04, s.columns*1.08
	y := func(share float64) float64 { return s.rows*share - 0.5 }
	for i, colour := range s.colours { // each up to the top, so that no seam shows between two
		c.FillPolygon(colour, box(at(c, p, left, y(float64(i)/float64(len(s.colours)))), at(c, p, right, y(1))))
	}
	outline(c, line(Faint, 0.75), box(at(c, p, left, y(0)), at(c, p, right, y(1))))
	style := textStyle(smallSize-0.5, Ink)
	style.YAlign = draw.YCenter
	for _, share := range []float64{0, 0.5, 1} {
		pt := at(c, p, right, y(share))
		if pt.X += 3; share == 1 {
			pt.Y -= 4
		}
		c.FillText(style, pt, scaleLabel(s.most*share))
	}
	style.Rotation = math.Pi / 2
	style.XAlign, style.YAlign = draw.XCenter, draw.YTop
	pt := at(c, p, right, y(0.25))
	c.FillText(style, vg.Point{X: pt.X + 4, Y: pt.Y}, s.unit)
}

// Matrix is a figure of one map: the rate from each server to each other, cells[src·n + dst] in
// bit/s, NaN for none.
func Matrix(title string, cells []float64) *Figure {
	n := int(math.Round(math.Sqrt(float64(len(cells)))))
	g := &grid{positions: lists.Range[int](n), cells: cells, measured: true}
	f := &Figure{Name: "matrix", Title: title, Caption: "Each square is one pair: row sends, column receives."}
	f.Panels = append(f.Panels, g.panel("", 0, Source{Run: &results.Run{}}.scalesOf([]*grid{g})))
	return f
}
