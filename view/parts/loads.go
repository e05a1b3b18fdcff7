package parts

import (
	"maps"
	"slices"
	"strings"

	"evbench/internal/lists"
	"evbench/plan"
	"evbench/results"
	"evbench/results/attribution"
	"evbench/scheduler"
	"evbench/topology"
)

// Loads count the messages that a plan puts on each wire between leaves and
// spines, phase by phase.
type Loads struct {
	tree   *topology.Tree
	Phases int
	Most   int // on one wire in one phase
	wires  int
	cells  []uint16 // [phase·wires + wire]
}

// Draws reports whether pages and figures show the links of a plan: those of two levels.
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
	Ports            []results.PortCount      // what rose meanwhile
}

// Trees returns the links of every case, nil where their tree is not known: the run needs at least
// one plan, of two levels. plans are those of the cases that have a schedule, by name of the case.
func Trees(run *results.Run, plans map[string]*plan.Plan) []*CaseTree {
	out := make([]*CaseTree, len(run.Summary.Cases))
	shape := shapeOf(plans)
	if shape == nil {
		return out
	}
	byCase := lists.By(run.Links, func(l results.LinkCount) results.SliceID { return results.SliceID{Case: l.Case, Repeat: l.Repeat} })
	loads := map[string]*Loads{} // repeats share theirs
	for i, c := range run.Summary.Cases {
		x := &CaseTree{Timed: map[topology.Link]string{}, Causes: c.Causes, Ports: c.Ports}
		x.Tree = failed(shape, c.Failures, x.Timed)
		if p := plans[c.Name]; p != nil {
			if loads[c.Name] == nil {
				loads[c.Name] = LoadsOf(p)
			}
			x.Tree, x.Loads = p.Tree, loads[c.Name]
		}
		x.count(byCase[results.SliceID{Case: c.Name, Repeat: c.Repeat}])
		out[i] = x
	}
	return out
}

func shapeOf(plans map[string]*plan.Plan) *topology.Tree {
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		if p := plans[name]; Draws(p) {
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
