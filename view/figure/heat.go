package figure

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"evbench/internal/lists"
	"evbench/results"
)

// A Heat is a map of numbers: an amount in each column of each row.
type Heat struct {
	Title string
	Rows  []string
	Cells [][]float64 // by row; NaN, and what a row is shorter than others, is not there
}

// HeatMap returns a figure of maps, three beside each other, with one scale from 0 to the greatest
// number of all. All maps have these axes; of names the counted quantity.
func HeatMap(title, x, y, of string, maps []Heat) *Figure {
	f := &Figure{Name: "heat", Title: title + " (grey: none; white: not there)", Caption: "Each square is one " + x + ". Darker is more; grey is none.", Missing: "There is no " + x + "."}
	f.Data.Columns = []string{"map", y, "column", of}
	most := 0.0
	for _, m := range maps {
		for i, row := range m.Cells {
			for k, v := range row {
				if !math.IsNaN(v) {
					most = max(most, v)
					f.Data.add(m.Title, m.Rows[i], whole(k), fmt.Sprint(v))
				}
			}
		}
	}
	for i, m := range maps {
		if p := m.panel(i, x, y, of, max(most, 1)); len(f.Data.Rows) > 0 {
			f.Panels = append(f.Panels, p)
		}
	}
	return f
}

// shades are the colours of a map: missing, 0, and the ramp from little, light, to much, dark.
var shades = func() color.Palette {
	p := color.Palette{color.RGBA{}, Faint}
	for i := range steps {
		p = append(p, ramp[steps-i])
	}
	return p
}()

func shade(v, most float64) uint8 {
	switch {
	case math.IsNaN(v):
		return 0
	case v == 0:
		return 1
	}
	return 2 + uint8(math.Round(min(1, v/most)*(steps-1)))
}

func (h Heat) columns() int {
	return lists.MaxOf(h.Cells, func(row []float64) int { return len(row) })
}

func (h Heat) extent() string {
	most, none := 0.0, 0
	for _, row := range h.Cells {
		for _, v := range row {
			if v == 0 {
				none++
			} else if v > most {
				most = v
			}
		}
	}
	return fmt.Sprintf("at most %s, %d without", scaleLabel(most), none)
}

func (h Heat) panel(index int, x, y, of string, most float64) Panel {
	rows, columns := float64(len(h.Cells)), float64(h.columns())
	p := squares(len(h.Cells), h.columns(), shades, func(i, k int) uint8 {
		if k >= len(h.Cells[i]) {
			return 0
		}
		return shade(h.Cells[i][k], most)
	})
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(h.numbers()), plot.ConstantTicks(h.names())
	p.Y.Tick.Length = 0
	p.Add(brush(func(c draw.Canvas, p *plot.Plot) {
		for i := 1.0; i < rows && rows <= 40; i++ {
			a, b := at(c, p, -0.5, i-0.5), at(c, p, columns-0.5, i-0.5)
			c.StrokeLine2(line(Paper, 0.75), a.X, a.Y, b.X, b.Y)
		}
		for i := 1.0; i < columns && columns <= 40; i++ {
			a, b := at(c, p, i-0.5, -0.5), at(c, p, i-0.5, rows-0.5)
			c.StrokeLine2(line(Paper, 0.75), a.X, a.Y, b.X, b.Y)
		}
		drawScale(c, p, colourScale{columns, rows, shades[1:], most, of})
		h.say(c, p, x, of)
	}))
	return Panel{Title: h.Title + ": " + h.extent(), Says: "In each row: " + y + ".", Case: index, plot: p, width: panelWidth, height: min(max(150, 50+vg.Length(12*rows)), 520)}
}

// say gives each square its text, unless a drawing has too many squares.
func (h Heat) say(c draw.Canvas, p *plot.Plot, x, of string) {
	const most = 2000
	if len(h.Cells)*h.columns() > most {
		return
	}
	for i, row := range h.Cells {
		for k, v := range row {
			if at0 := rowAt(i, len(h.Rows)); !math.IsNaN(v) {
				sayBox(c, at(c, p, float64(k)-0.5, at0-0.5), at(c, p, float64(k)+0.5, at0+0.5), fmt.Sprintf("%s, %s %d: %s %s", h.Rows[i], x, k+1, scaleLabel(v), of))
			}
		}
	}
}

func (h Heat) names() (out []plot.Tick) {
	for i := 0; i < len(h.Rows); i += 1 + len(h.Rows)/40 {
		out = append(out, plot.Tick{Value: rowAt(i, len(h.Rows)), Label: h.Rows[i]})
	}
	return out
}

func (h Heat) numbers() (out []plot.Tick) {
	step := max(1, int(stepOf(float64(h.columns()), 6)))
	for i := range h.columns() {
		if i == 0 || (i+1)%step == 0 {
			out = append(out, plot.Tick{Value: float64(i), Label: whole(i + 1)})
		}
	}
	return out
}

// Add puts a number into a column of a row, which is the last row or a new one. Columns rise;
// skipped columns are missing.
func (h *Heat) Add(row, column int, name string, v float64) {
	if row == len(h.Rows) {
		h.Rows, h.Cells = append(h.Rows, name), append(h.Cells, nil)
	}
	for len(h.Cells[row]) < column {
		h.Cells[row] = append(h.Cells[row], math.NaN())
	}
	h.Cells[row] = append(h.Cells[row], v)
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
