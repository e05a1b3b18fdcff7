package survey

import (
	"fmt"
	"io"

	"evbench/report/figure"
)

// DrawSpraying writes a chart for each size of buffers and number of lanes, with a line for each way.
func DrawSpraying(w io.Writer, o SprayingOptions, queues string, figures []SprayingFigure) error {
	var charts []figure.Chart
	for _, buffer := range o.Buffers {
		for _, lanes := range o.Lanes {
			chart := figure.Chart{Title: fmt.Sprintf("queues %s, buffers of %d packets, lanes: %d", queues, buffer, lanes), X: "dead links", Y: "share of the link"}
			for _, way := range o.Ways {
				line := figure.Series{Name: way.Name}
				for _, f := range figures {
					if f.Buffer == buffer && f.Lanes == lanes && f.Way == way {
						line.Points = append(line.Points, figure.Point{X: float64(f.Dead), Values: []float64{f.Share.Min, f.Share.Median, f.Share.Max}})
					}
				}
				chart.Series = append(chart.Series, line)
			}
			charts = append(charts, chart)
		}
	}
	return figure.WriteCharts(w, "Share of its link that a server receives", charts)
}
