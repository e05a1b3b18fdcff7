package figure

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"evbench/plan"
	"evbench/results"
	"evbench/scheduler"
	"evbench/topology"
)

// A grid has a value for each ordered pair of servers; NaN where there is none.
type grid struct {
	positions []int     // rising
	cells     []float64 // [src·n + dst]
	measured  bool      // bit/s, else the share of a link that the plan leaves the pair
}

func newGrid(positions []int) *grid {
	g := &grid{positions: positions, cells: make([]float64, len(positions)*len(positions))}
	for i := range g.cells {
		g.cells[i] = math.NaN()
	}
	return g
}

// pairs shows what each server receives of each other: as measured where the run
// counted by pair, else as its plan has it.
func pairs(s Source, f *Figure) {
	f.Caption = "Each square is one pair of servers: row sends, column receives. "
	f.Data.Columns = []string{"case", "repeat", "src", "dst", "goodput_bit_per_s", "planned_share_of_link"}
	cases := s.Run.Summary.Cases
	counted := map[key][]results.PairCount{}
	for _, p := range s.Run.Pairs {
		k := key{p.Case, p.Repeat}
		counted[k] = append(counted[k], p)
	}
	var planned, measured bool
	for i, c := range cases {
		var g *grid
		if list := counted[keyOf(c)]; list != nil {
			g, measured = measuredPairs(list), true
		} else if p := s.Plans[c.Name]; p != nil && c.Repeat == 0 {
			if g = plannedPairs(p); g != nil {
				planned = true
			}
		}
		if g != nil {
			g.addTo(&f.Data, c)
			f.Panels = append(f.Panels, g.panel(results.Label(c, cases), i))
		}
	}
	if measured {
		f.Caption += "Colour is the goodput of the pair while the receiver waited for it: in the phase of its fragment; without phases, " +
			"with a request open; free-running, where nobody can tell, in the whole measured part. "
	}
	if planned {
		f.Caption += "Not measured but planned: colour is the share of a link that the plan leaves the message of a pair, " +
			"one over the most messages that it shares a wire with in its phase."
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
	loads := LoadsOf(p)
	if loads == nil {
		return nil
	}
	t := p.Tree
	positions := make([]int, t.Servers())
	for rank := range positions {
		positions[rank] = t.Position(rank)
	}
	g := newGrid(positions)
	for m := range p.Schedule.All() {
		most := 1
		if spine := p.Spine(m.Src, m.Dst); spine != scheduler.None {
			for _, w := range [2]topology.Wire{t.Up(t.Leaf(m.Src), spine), t.Down(t.Leaf(m.Dst), spine)} {
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

// ramp is a scale from little, dark, to much, light, whose lightness rises all
// along; 0 is for what is not there.
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

// steps are the colours of the ramp.
const steps = 64

// picture paints the grid, the first sender at the top, with so many pixels to a
// square that no viewer blurs them much.
func (g *grid) picture(most float64) *image.Paletted {
	n := len(g.positions)
	side := max(1, (500+n-1)/n)
	img := image.NewPaletted(image.Rect(0, 0, n*side, n*side), ramp)
	for y := range n * side {
		row := img.Pix[y*img.Stride : y*img.Stride+n*side]
		for x := range row {
			if v := g.cells[y/side*n+x/side]; !math.IsNaN(v) {
				row[x] = 1 + uint8(math.Round(min(1, v/most)*(steps-1)))
			}
		}
	}
	return img
}

func (g *grid) panel(title string, index int) Panel {
	n := float64(len(g.positions))
	u, most := unit{"share of a link", 1}, 1.0
	if g.measured {
		most = 0
		for _, v := range g.cells {
			if v > most {
				most = v
			}
		}
		u = rateUnit(most)
		if most == 0 {
			most = 1
		}
	}
	p := newPlot()
	p.X.Label.Text, p.Y.Label.Text = "receiver", "sender"
	p.X.Min, p.X.Max = -0.5, n*1.22
	p.Y.Min, p.Y.Max = -0.5, n-0.5
	p.X.LineStyle.Width, p.Y.LineStyle.Width = 0, 0
	p.X.Tick.Marker = plot.ConstantTicks(g.ticks(false))
	p.Y.Tick.Marker = plot.ConstantTicks(g.ticks(true))
	p.Add(plotter.NewImage(g.picture(most), -0.5, -0.5, n-0.5, n-0.5), brush(func(c draw.Canvas, p *plot.Plot) {
		outline(c, line(Faint, 0.75), box(at(c, p, -0.5, -0.5), at(c, p, n-0.5, n-0.5)))
		drawScale(c, p, n, most, u)
	}))
	if !g.measured {
		title += " (planned)"
	}
	return Panel{Title: title, Case: index, plot: p, width: panelWidth, height: panelWidth * 0.86}
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

// scaleLabel is a number of two digits or more, never with an exponent: rates are
// in a unit that leaves at most four before the point.
func scaleLabel(v float64) string {
	if v >= 10 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// drawScale draws the scale of colours to the right of the grid.
func drawScale(c draw.Canvas, p *plot.Plot, n, most float64, u unit) {
	left, right := n*1.04, n*1.08
	y := func(share float64) float64 { return n*share - 0.5 }
	for i := range steps { // each up to the top, so that no seam shows between two
		c.FillPolygon(ramp[1+i], box(at(c, p, left, y(float64(i)/steps)), at(c, p, right, y(1))))
	}
	outline(c, line(Faint, 0.75), box(at(c, p, left, y(0)), at(c, p, right, y(1))))
	style := textStyle(smallSize-0.5, Ink)
	style.YAlign = draw.YCenter
	for _, share := range []float64{0, 0.5, 1} {
		pt := at(c, p, right, y(share))
		pt.X += 3
		label := scaleLabel(most * share / u.size)
		if share == 1 {
			pt.Y -= 4
		}
		c.FillText(style, pt, label)
	}
	style.Rotation = math.Pi / 2
	style.XAlign, style.YAlign = draw.XCenter, draw.YTop
	pt := at(c, p, right, y(0.25))
	c.FillText(style, vg.Point{X: pt.X + 4, Y: pt.Y}, u.name)
}
