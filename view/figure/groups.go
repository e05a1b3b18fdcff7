package figure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"evbench/internal/lists"
	"evbench/results"
)

// fewGroups is the least number of sets of dead links that several cases have, for their bars to be
// grouped.
const fewGroups = 3

// byDeadLinks returns cases in groups that have the same dead links, the fewest first. nil: they are no
// comparison over dead links.
func byDeadLinks(cases []results.Case) [][]results.Case {
	groups := lists.Groups(cases, func(c results.Case) string { return strings.Join(c.Failures, " ") })
	several := lists.CountIf(groups, func(g []results.Case) bool { return len(g) > 1 })
	if several < fewGroups {
		return nil
	}
	slices.SortStableFunc(groups, func(a, b []results.Case) int { return cmp.Compare(len(a[0].Failures), len(b[0].Failures)) })
	return groups
}

// grouped draws a bar for the efficiency of each case, beside those with the same dead links, and a ring
// for its prediction. Cases of one schedule have one colour.
func grouped(groups [][]results.Case, most float64, says func(results.Case) string) []Panel {
	rows := caseRows{label: "efficiency", most: 1.18 * most}
	var schedules, heads []string
	for _, g := range groups {
		for i, c := range g {
			head := ""
			if i == 0 {
				head = fmt.Sprintf("%d dead", len(c.Failures))
			}
			if schedule := cmp.Or(c.Schedule, string(c.Mode)); !slices.Contains(schedules, schedule) {
				schedules = append(schedules, schedule)
			}
			heads, rows.cases, rows.texts = append(heads, head), append(rows.cases, c), append(rows.texts, says(c))
		}
	}
	rows.drawRow = func(on draw.Canvas, p *plot.Plot, i int, row float64) {
		c := rows.cases[i]
		if heads[i] != "" {
			top := at(on, p, 0, row+0.5).Y
			on.StrokeLine2(line(Faint, 0.75), on.Min.X, top, on.Max.X, top)
			style := textStyle(smallSize, Ink)
			style.XAlign, style.YAlign = draw.XRight, text.YCenter
			on.FillText(style, vg.Point{X: on.Max.X - 2, Y: at(on, p, 0, row).Y}, heads[i])
		}
		hue := penOf(slices.Index(schedules, cmp.Or(c.Schedule, string(c.Mode)))).hue
		on.FillPolygon(hue, box(at(on, p, 0, row-0.3), at(on, p, c.MeasuredEfficiency, row+0.3)))
		if c.PredictedEfficiency > 0 {
			ring(on, line(Ink, 1.2), at(on, p, c.PredictedEfficiency, row), 4)
		}
	}
	return rows.panel()
}
