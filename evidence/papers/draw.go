package papers

import (
	"io"
	"slices"
	"strings"
	"time"

	"evbench/evidence/chart"
	"evbench/internal/lists"
)

// A panel is one chart of a figure: its series, and how it is drawn.
type panel struct {
	title string
	x, y  string
	kind  kind
	logX  bool
	logY  bool
	order bool // lines join points in the order of the rows
	name  naming
}

// A naming gives the name of a series in a chart, and whether the chart has it.
type naming func(series string) (name string, ok bool)

type kind int

const (
	lines kind = iota
	curves
	boxes
	byDays // X of the chart is the day of the label, Y the link
)

var panels = map[string][]panel{
	"fig4.1": {{x: "seconds", y: "% of intervals, at most", kind: curves, logX: true, name: all}},
	"fig4.3": {{x: "seconds", y: "% of failures, at most", kind: curves, logX: true, name: all}},
	"fig4.4": {{x: "day of the log", y: "link", kind: byDays}},
	"fig4.5": filled("dead links", lines),
	"fig4.7": {{x: "racks", y: "Tbit/s of all servers", name: besides("gain of synchronisation, full racks")}},
	"fig4.8": filled("dead links", boxes),
	"sec4.4": {{x: "policy", y: "Tb lost", kind: boxes, name: only("lost while links were dead", "lost while re-routing", "lost")}},

	"fig5.7":  slowdowns,
	"fig5.10": slowdowns,
	"fig5.11": slowdowns,
	"fig5.12": slowdowns,
	"fig5.9": {
		{title: "by equation 5.1", x: "reduction", y: "phases over those without failures", name: excluding(", FORS")},
		{title: "FORS", x: "reduction", y: "phases over those without failures", name: with(", FORS")},
	},
	"fig5.13": {{x: "reduction", y: "seconds", kind: boxes, logY: true, name: besides()}},
	"fig6.5":  filled("scenario", boxes),

	"examples": {
		{title: "phases", x: "example", y: "phases", kind: boxes, name: only("equation 5.1", "bound", "FORS", "repair of bandwidth-optimal", "repair of linear-shift")},
		{title: "messages moved", x: "example", y: "messages", kind: boxes, name: starting("moved, ")},
	},
	"dmodc5":      {{x: "hosts", y: "seconds", logX: true, logY: true, name: besides()}},
	"qft-table1":  {{x: "hosts", y: "seconds", logX: true, logY: true, name: besides()}},
	"memo-time":   {{x: "hosts", y: "seconds", kind: boxes, logY: true, name: besides()}},
	"memo-table1": {{x: "change", y: "% kept", kind: boxes, name: besides()}},
	"dmodc-risk": {
		{title: "linear shift: the worst phase", x: "% of cables dead", y: "messages on a cable", name: with(", shifts")},
		{title: "random permutations", x: "% of cables dead", y: "messages on a cable", name: with(", permutations")},
	},
	"dmodc-load": {
		{title: "random permutations, packets", x: "% of cables dead", y: "share of the link", name: with(", permutations, packets")},
		{title: "random permutations, flows", x: "% of cables dead", y: "share of the link", name: with(", permutations, flows")},
		{title: "shifts without barrier, packets", x: "% of cables dead", y: "share of the link", name: with(", shifts, packets")},
		{title: "shifts in phases, flows", x: "% of cables dead", y: "share of the link", name: with(", shifts, flows")},
	},
	"qft2": {
		{title: "hosts within three switches, 36 ports", x: "hosts", y: "hosts", logX: true, logY: true, name: only("PGFT, 36 ports", "QFT, 36 ports")},
		{title: "QFT over PGFT", x: "hosts", y: "ratio", logX: true, name: starting("QFT/PGFT, ")},
	},
	"qft3": {
		{title: "latency of a message", x: "MB/s received by a host", y: "us", logY: true, order: true, name: with(", message")},
		{title: "throughput against load", x: "MB/s offered by a host", y: "MB/s received", name: only("PGFT", "QFT")},
	},
	"qft8": throughputs,
	"qft9": throughputs,

	"jobs-efi": {
		{title: "routes on each cable, up", x: "cable", y: "routes", kind: curves, name: with(", up")},
		{title: "routes on each cable, down", x: "cable", y: "routes", kind: curves, name: with(", down")},
	},
	"jobs-load": {
		{title: "shifts without barrier", x: "placement", y: "share of the link", kind: boxes, name: with(", shifts, mean")},
		{title: "random destinations", x: "placement", y: "share of the link", kind: boxes, name: with(", random, mean")},
		{title: "routes of the fullest cable", x: "placement", y: "routes", kind: boxes, name: with(", fullest cable")},
	},

	"sec6.6.3": {{x: "1 to 180 dead links", y: "seconds", kind: boxes, logY: true, name: besides()}},
	"sec6.7.2": {
		{title: "entries of a switch", x: "reduction", y: "entries", logY: true, name: starting("entries, ")},
		{title: "phases", x: "reduction", y: "phases", name: starting("phases, ")},
	},
}

func filled(x string, k kind) []panel {
	const suffix, gbit = ", 326 servers", "Gbit/s of a server"
	return []panel{
		{title: "360 servers, all ports in use", x: x, y: gbit, kind: k, name: excluding(suffix, ", total")},
		{title: "326 servers", x: x, y: gbit, kind: k, name: with(suffix)},
	}
}

var slowdowns = []panel{
	{title: "slowdown, messages of a leaf over its links", x: "reduction", y: "duration / ideal", name: split(false, false)},
	{title: "speedup, messages of a leaf over its links", x: "reduction", y: "ratio of durations", name: split(true, false)},
	{title: "slowdown, routed", x: "reduction", y: "duration / ideal", name: split(false, true)},
	{title: "speedup, routed", x: "reduction", y: "ratio of durations", name: split(true, true)},
}

// throughputs are charts of curves parameterized by offered load.
var throughputs = []panel{
	{title: "latency of a message", x: "MB/s received by a host", y: "us", logY: true, order: true, name: with(", message")},
	{title: "latency of a packet in the network", x: "MB/s received by a host", y: "us", logY: true, order: true, name: with(", packet")},
	{title: "throughput against load", x: "MB/s offered by a host", y: "MB/s received", name: byLoad},
	{title: "full load, by length of message", x: "KB of a message", y: "MB/s received", logX: true, name: byMessage},
}

// byMessage keeps the sweep on the narrower network, and the paper's own numbers.
func byMessage(s string) (string, bool) {
	engine, rest, _ := strings.Cut(s, ", ")
	if rest == "by message" {
		return engine + ", 504 hosts", true
	}
	hosts, ok := strings.CutPrefix(rest, "most of ")
	return engine + ", " + hosts, ok
}

func byLoad(s string) (string, bool) { return s, !strings.Contains(s, ",") }

func split(ratio, routed bool) naming {
	return func(s string) (string, bool) {
		name, is := strings.CutSuffix(s, ", routed")
		return name, is == routed && strings.Contains(s, "/") == ratio
	}
}

// all keeps the distributions, with one name for their points and the marks on them.
func all(s string) (string, bool) {
	return only("interval", "as logged", "corrected")(strings.TrimSuffix(s, ", all"))
}

func only(names ...string) naming {
	return func(s string) (string, bool) { return s, slices.Contains(names, s) }
}

func besides(names ...string) naming {
	return func(s string) (string, bool) { return s, !slices.Contains(names, s) }
}

func with(suffix string) naming {
	return func(s string) (string, bool) { return strings.CutSuffix(s, suffix) }
}

func excluding(suffixes ...string) naming {
	return func(s string) (string, bool) {
		return s, !slices.ContainsFunc(suffixes, func(x string) bool { return strings.HasSuffix(s, x) })
	}
}

func starting(prefix string) naming {
	return func(s string) (string, bool) { return strings.CutPrefix(s, prefix) }
}

// WriteSVG draws the figure. Numbers stated by others are beside ours, marked as such.
func (f *Figure) WriteSVG(w io.Writer) error {
	title := f.Name + "  " + f.Title + " (" + f.Source() + ")"
	return chart.Write(w, title, f.charts())
}

func (f *Figure) charts() []chart.Chart {
	var out []chart.Chart
	for _, p := range panels[f.Name] {
		c := chart.Chart{
			Title: p.title, X: p.x, Y: p.y, LogX: p.logX, LogY: p.logY, Boxes: p.kind == boxes, Labels: map[float64]string{},
		}
		if p.kind == byDays {
			c.Series = byDay(f)
		} else {
			c.Series = p.series(f, c.Labels)
		}
		if len(c.Series) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// series sorts the rows of a figure into series, in order of appearance.
func (p panel) series(f *Figure, labels map[float64]string) []chart.Series {
	var out []chart.Series
	for i := range f.Rows {
		r := &f.Rows[i]
		name, ok := p.name(r.Series)
		if !ok {
			continue
		}
		labels[r.X] = r.Label
		curve := p.kind == curves && r.Detail
		k := slices.IndexFunc(out, func(s chart.Series) bool { return s.Name == name && s.Curve == curve })
		if k < 0 {
			k = len(out)
			out = append(out, chart.Series{Name: name, Curve: curve, Dots: p.kind == curves && !r.Detail, Order: p.order})
		}
		stated := lists.Map(r.Stated, func(s Stated) float64 { return s.Value })
		out[k].Points = append(out[k].Points, chart.Point{X: r.X, Values: r.Values, Stated: stated})
	}
	return out
}

// byDay puts the failures of a link on a day where day and link meet, in classes by their number.
func byDay(f *Figure) []chart.Series {
	out := []chart.Series{{Name: "1 failure"}, {Name: "2 to 9"}, {Name: "10 or more"}}
	for i := range out {
		out[i].Dots = true
	}
	var first time.Time
	for i := range f.Rows {
		if day, ok := dayOf(&f.Rows[i]); ok && (first.IsZero() || day.Before(first)) {
			first = day
		}
	}
	for i := range f.Rows {
		r := &f.Rows[i]
		day, ok := dayOf(r)
		if !ok {
			continue
		}
		class := 0
		if n := r.Value(Median); n >= 10 {
			class = 2
		} else if n > 1 {
			class = 1
		}
		out[class].Points = append(out[class].Points, chart.Point{X: day.Sub(first).Hours() / 24, Values: []float64{r.X}})
	}
	return slices.DeleteFunc(out, func(s chart.Series) bool { return len(s.Points) == 0 })
}

func dayOf(r *Row) (time.Time, bool) {
	day, err := time.Parse(time.DateOnly, r.Label)
	return day, err == nil && r.Detail
}
