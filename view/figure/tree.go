package figure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/results"
	"evbench/results/attribution"
	"evbench/scheduler"
	"evbench/topology"
)

// tree shows the load of each link over the whole case. Its data also has the load of each phase.
func tree(s Source, f *Figure) {
	f.Caption = "The cables between leaves (below) and spines (above). The half at the leaf is what the leaf sends to the spine, the half at the spine what comes back; " +
		"darker and wider is more, by messages of one exchange where a plan is known, else by the rate carried; each of the two has one scale in all drawings. " +
		"Below a leaf stands how many servers it has. Dead links are dashed and crossed out."
	f.Data.Columns = []string{"case", "repeat", "phase", "link", "direction", "messages", "bytes", "planned_bytes"}
	cases, trees := s.Run.Summary.Cases, s.Trees()
	most := map[bool]float64{} // by whether the plan is known
	for i, x := range trees {
		if x.Known() {
			planned := x.Loads != nil
			most[planned] = max(most[planned], slices.Max(x.Totals())*x.scale(cases[i]), 1e-9)
		}
	}
	for i, x := range trees {
		if x.Known() {
			x.addTo(&f.Data, cases[i])
			f.addOf(i, results.Label(cases[i], cases), x.panel(x.scale(cases[i]), most[x.Loads != nil]))
		}
	}
	if f.Panels == nil {
		f.Missing = "No plan of two levels describes the network as a tree, or nothing is known about its links; links.csv has what each carried."
	}
}

// addTo writes the loads of each phase, without zeros, and then the counters, with no phase.
func (x *CaseTree) addTo(t *Table, c results.Case) {
	repeat := whole(c.Repeat)
	if l := x.Loads; l != nil {
		for phase := range l.Phases {
			for w, n := range l.Phase(phase) {
				if n > 0 {
					link, direction := x.Tree.WireName(topology.Wire(w))
					t.add(c.Name, repeat, whole(phase), link, direction, whole(int(n)), "", "")
				}
			}
		}
	}
	for w, bytes := range x.Carried {
		link, direction := x.Tree.WireName(topology.Wire(w))
		planned := ""
		if x.Planned != nil {
			planned = bits(x.Planned[w])
		}
		t.add(c.Name, repeat, "", link, direction, "", bits(bytes), planned)
	}
}

// scale makes messages of one exchange of messages, and bit/s of bytes.
func (x *CaseTree) scale(c results.Case) float64 {
	if x.Loads != nil {
		return 1
	}
	return 8 / cmp.Or(c.MeasuredSec, 8)
}

func (x *CaseTree) panel(scale, most float64) Panel {
	d := x.Cables()
	busiest := slices.MaxFunc(d.Cables, func(a, b Cable) int { return cmp.Compare(max(a.Up, a.Down), max(b.Up, b.Down)) })
	d.Most = most / scale
	darkest := show.Amount(most, "bit/s")
	if x.Loads != nil {
		darkest = fmt.Sprintf("%.0f messages", most)
	}
	p := newPlot()
	p.HideAxes()
	p.Add(brush(func(c draw.Canvas, _ *plot.Plot) {
		d.paint(c)
		c.FillText(textStyle(smallSize-1, Ink), c.Min, "the darkest is "+darkest+" on a cable")
	}))
	return Panel{Says: "Most is carried by " + busiest.Title + ". " + d.Words, plot: p, width: 420, height: 230}
}

func half(c draw.Canvas, a, b vg.Point, share float64) {
	if share == 0 {
		c.StrokeLine2(line(Faint, 0.4), a.X, a.Y, b.X, b.Y)
		return
	}
	color := ramp[1+int((1-share)*(steps-1)*0.8)]
	c.StrokeLine2(line(color, vg.Length(0.4+2.6*share)), a.X, a.Y, b.X, b.Y)
}

func deadLink(c draw.Canvas, a, b vg.Point) {
	c.StrokeLine2(dashed(vermilion, 1), a.X, a.Y, b.X, b.Y)
	m := vg.Point{X: (a.X + b.X) / 2, Y: (a.Y + b.Y) / 2}
	for _, way := range []vg.Length{-4, 4} {
		c.StrokeLine2(line(vermilion, 2), m.X-4, m.Y-way, m.X+4, m.Y+way)
	}
}

// node draws a switch with its name, or only its number if it has many neighbours.
func node(c draw.Canvas, m vg.Point, name string, number, count int) {
	half, size := min(22, vg.Length(0.42*float64(c.Max.X-c.Min.X)/float64(count))), smallSize
	if half < 18 {
		name, half = strconv.Itoa(number), min(9, half)
		size = min(smallSize, half*1.1)
	}
	b := box(vg.Point{X: m.X - half, Y: m.Y - 7}, vg.Point{X: m.X + half, Y: m.Y + 7})
	c.FillPolygon(Paper, b)
	outline(c, line(Ink, 0.75), b)
	style := textStyle(size, Ink)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	c.FillText(style, m, name)
}

// Loads count the messages that a plan puts on each wire between leaves and
// spines, phase by phase.
type Loads struct {
	tree   *topology.Tree
	Phases int
	Most   int // on one wire in one phase
	wires  int
	cells  []uint16 // [phase·wires + wire]
}

// Draws reports whether figures show the links of a plan: those of two levels.
func Draws(p *plan.Plan) bool { return p.Tree.Levels() == 2 }

// LoadsOf counts the loads of a plan, nil where they are not known: without a schedule, without
// static paths, and on three levels. O(S² + phases · wires).
func LoadsOf(p *plan.Plan) *Loads {
	if p.Schedule == nil || !Draws(p) {
		return nil
	}
	if _, static := p.Loads(plan.Equal); !static {
		return nil
	}
	t := p.Tree
	l := &Loads{tree: t, Phases: p.Phases(), wires: 2 * t.LowerLinks()}
	l.cells = make([]uint16, l.Phases*l.wires)
	leaf := lists.Tabulate(t.Servers(), t.Leaf)
	var path []topology.Wire
	for m := range p.Schedule.All() {
		k := p.Path(m.Src, m.Dst)
		if k == scheduler.None {
			continue
		}
		path = t.Between(path[:0], leaf[m.Src], leaf[m.Dst], k)
		for _, w := range path {
			cell := &l.cells[m.Phase*l.wires+int(w)]
			*cell++
			l.Most = max(l.Most, int(*cell))
		}
	}
	return l
}

// At returns the messages on a wire in a phase.
func (l *Loads) At(phase int, w topology.Wire) int { return int(l.cells[phase*l.wires+int(w)]) }

// Phase returns the messages on all wires between leaves and spines in a phase.
func (l *Loads) Phase(phase int) []uint16 { return l.cells[phase*l.wires : (phase+1)*l.wires] }

// Totals returns the messages on each wire in one exchange.
func (l *Loads) Totals() []float64 {
	out := make([]float64, l.wires)
	for i, n := range l.cells {
		out[i%l.wires] += float64(n)
	}
	return out
}

// A CaseTree is the known state of the links of one case.
type CaseTree struct {
	Tree  *topology.Tree
	Loads *Loads // nil: the case has no plan with known paths
	// Carried and Planned are bytes by wire as in links.csv, nil without.
	Carried, Planned []float64
	Timed            map[topology.Link]string // links that die while events are built, in words
	Causes           []attribution.Cause      // who is slow
}

// Trees returns the links of every case, nil where their tree is not known: the run needs at least
// one plan, of two levels.
func (s Source) Trees() []*CaseTree {
	out := make([]*CaseTree, len(s.Run.Summary.Cases))
	shape := s.shape()
	if shape == nil {
		return out
	}
	byCase := lists.By(s.Run.Links, func(l results.LinkCount) results.SliceID { return results.SliceID{Case: l.Case, Repeat: l.Repeat} })
	loads := map[string]*Loads{} // repeats share theirs
	for i, c := range s.Run.Summary.Cases {
		x := &CaseTree{Timed: map[topology.Link]string{}, Causes: c.Causes}
		x.Tree = failed(shape, c.Failures, x.Timed)
		if p := s.Plans[c.Name]; p != nil {
			if loads[c.Name] == nil {
				loads[c.Name] = LoadsOf(p)
			}
			x.Tree, x.Loads = p.Tree, loads[c.Name]
		}
		x.count(byCase[keyOf(c)])
		out[i] = x
	}
	return out
}

func (s Source) shape() *topology.Tree {
	for _, name := range slices.Sorted(maps.Keys(s.Plans)) {
		if p := s.Plans[name]; Draws(p) {
			return p.Tree.Healthy()
		}
	}
	return nil
}

// failed removes the dead links of a case from a tree, and lists the timed ones. It skips texts
// that name no link of the tree.
func failed(t *topology.Tree, failures []string, timed map[topology.Link]string) *topology.Tree {
	var dead []topology.Link
	for _, words := range failures {
		name, when, isTimed := strings.Cut(words, " ")
		links, err := t.Links(name)
		if err != nil {
			continue
		}
		if !isTimed {
			dead = append(dead, links...)
			continue
		}
		for _, l := range links {
			timed[l] = when
		}
	}
	if view, err := t.Without(dead...); err == nil {
		return view
	}
	return t
}

func (x *CaseTree) count(all []results.LinkCount) {
	for _, l := range all {
		links, err := x.Tree.Links(l.Link)
		if err != nil || len(links) != 1 {
			continue
		}
		if x.Carried == nil {
			x.Carried = make([]float64, 2*x.Tree.LowerLinks())
		}
		w := x.Tree.UpWire(links[0])
		if l.Direction == "down" {
			w++ // the two wires of a cable are neighbours
		}
		x.Carried[w] += float64(l.Bytes)
		if l.Planned {
			if x.Planned == nil {
				x.Planned = make([]float64, len(x.Carried))
			}
			x.Planned[w] += float64(l.PlannedBytes)
		}
	}
}

// Known reports whether anything is known of the loads.
func (x *CaseTree) Known() bool { return x != nil && (x.Loads != nil || x.Carried != nil) }

// Totals returns the load of each wire over the whole case: messages of one
// exchange by the plan, else bytes carried.
func (x *CaseTree) Totals() []float64 {
	if x.Loads != nil {
		return x.Loads.Totals()
	}
	return x.Carried
}
