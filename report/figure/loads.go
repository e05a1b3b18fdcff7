package figure

import (
	"maps"
	"slices"
	"strings"

	"evbench/plan"
	"evbench/results"
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

// LoadsOf counts the loads of a plan, nil where it does not know them: without
// a schedule, without static paths, and in three levels. O(S² + phases · wires).
func LoadsOf(p *plan.Plan) *Loads {
	if p.Schedule == nil || p.Tree.Levels() == 3 {
		return nil
	}
	if _, static := p.Loads(plan.Equal); !static {
		return nil
	}
	t := p.Tree
	l := &Loads{tree: t, Phases: p.Phases(), wires: 2 * t.LowerLinks()}
	l.cells = make([]uint16, l.Phases*l.wires)
	leaf := make([]int, t.Servers())
	for rank := range leaf {
		leaf[rank] = t.Leaf(rank)
	}
	for m := range p.Schedule.All() {
		spine, lane := t.SpineTop(p.Path(m.Src, m.Dst))
		if spine == scheduler.None {
			continue
		}
		up, down := t.Across(leaf[m.Src], leaf[m.Dst], spine, lane)
		for _, w := range [2]topology.Wire{up, down} {
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

// A CaseTree is what is known of the links of one case.
type CaseTree struct {
	Tree  *topology.Tree
	Loads *Loads // nil: the case has no plan with known paths
	// Carried and Planned are bytes by wire as links.csv has them, nil without.
	Carried, Planned []float64
	Timed            map[topology.Link]string // links that die while events are built, in words
}

// Trees returns the links of every case, nil where their tree is not known: one
// plan at least of the run must be there to say it, and be of two levels.
func (s Source) Trees() []*CaseTree {
	out := make([]*CaseTree, len(s.Run.Summary.Cases))
	shape := s.shape()
	if shape == nil {
		return out
	}
	byCase := map[key][]results.LinkCount{}
	for _, l := range s.Run.Links {
		k := key{l.Case, l.Repeat}
		byCase[k] = append(byCase[k], l)
	}
	loads := map[string]*Loads{} // repeats share theirs
	for i, c := range s.Run.Summary.Cases {
		x := &CaseTree{Timed: map[topology.Link]string{}}
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
		if p := s.Plans[name]; p.Tree.Levels() == 2 {
			return p.Tree.Healthy()
		}
	}
	return nil
}

// failed takes the dead links of a case out of a tree, and puts the timed ones
// down. What names no link of the tree is passed over.
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

func (x *CaseTree) count(list []results.LinkCount) {
	for _, l := range list {
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
