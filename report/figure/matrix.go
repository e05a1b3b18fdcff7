package figure

import (
	"math"

	"evbench/results"
)

// Matrix is a figure of one map: the rate from each to each other, cells[src·n + dst] in
// bit/s, NaN where there is none.
func Matrix(title string, cells []float64) *Figure {
	n := int(math.Round(math.Sqrt(float64(len(cells)))))
	positions := make([]int, n)
	for i := range positions {
		positions[i] = i
	}
	g := &grid{positions: positions, cells: cells, measured: true}
	f := &Figure{Name: "matrix", Title: title, Caption: "Each square is one pair: row sends, column receives."}
	f.Panels = append(f.Panels, g.panel("", 0, Source{Run: &results.Run{}}.scalesOf([]*grid{g})))
	return f
}
