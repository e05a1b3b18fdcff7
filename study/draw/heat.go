package draw

import (
	"strings"

	"evbench/report/figure"
	"evbench/study/papers"
)

// heatMap draws the details of a figure: a map for each series, a cell for each cable, in rows
// by the switch that the label begins with.
func heatMap(f *papers.Figure, title string) *figure.Figure {
	var maps []figure.Heat
	for _, r := range f.Rows {
		if !r.Detail {
			continue
		}
		if n := len(maps); n == 0 || maps[n-1].Title != r.Series {
			maps = append(maps, figure.Heat{Title: r.Series})
		}
		h := &maps[len(maps)-1]
		name, _, _ := strings.Cut(r.Label, "-")
		row, column := len(h.Rows), 0
		if row > 0 && h.Rows[row-1] == name {
			row--
			column = len(h.Cells[row])
		}
		h.Add(row, column, name, r.Value(papers.Median))
	}
	return figure.HeatMap(title, "cable up from a switch", "switch", "routes", maps)
}
