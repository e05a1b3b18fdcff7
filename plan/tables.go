package plan

import (
	"fmt"
	"slices"
	"strings"

	"evbench/internal/show"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/topology"
)

// Routings returns the names that a plan's routing may have: the
// engines for trees, routing.Pinned and NoRouting.
func Routings() []string { return append(routing.TreeNames(), routing.Pinned, NoRouting) }

// A NoRouteError says that the tables of an engine leave out servers that share a live path. On
// trees of two levels no engine is known to do so, but no engine for any network promises it.
type NoRouteError struct {
	routing string
	tree    *topology.Tree
	pairs   int   // ordered pairs of servers without a route
	first   error // the first of them, and where its message is lost
}

func (e *NoRouteError) Error() string {
	down := ""
	if names := e.tree.DownNames(); len(names) > 0 {
		down = " without " + strings.Join(names[:min(named, len(names))], ", ")
		if more := len(names) - named; more > 0 {
			down += fmt.Sprintf(" and %d more", more)
		}
	}
	return fmt.Sprintf("routing %s on %s%s leaves %d pairs of servers without a route: %v", e.routing, e.tree.Notation(), down, e.pairs, e.first)
}

func (e *NoRouteError) Unwrap() error { return e.first }

// Tables computes the tables of one of the engines of Routings and checks that they join all
// servers whose leaves share a live path; otherwise it returns a *NoRouteError. The tables depend
// only on the dead links.
func Tables(t *topology.Tree, name string) (*routing.Tables, error) {
	if !slices.Contains(routing.TreeNames(), name) {
		return nil, fmt.Errorf("routing %q: no such engine; %s", name, show.Choices(name, Routings()))
	}
	cut := t.Unreachable()
	tables, err := routing.ForTree(name, t, routing.Options{Partial: len(cut) > 0})
	if err != nil {
		return nil, err
	}
	if name != routing.Ftree && slices.Contains(routing.TreeEngines(), name) {
		return tables, nil // its rule joins them all
	}
	if err := reach(tables, name, cut); err != nil {
		return nil, err
	}
	return tables, nil
}

// holdPaths puts the pinned paths into the tables. Each leaf, and on three levels each pod over a
// plane, must have one path to each server. O(S²).
func (p *Plan) holdPaths() error {
	leaf := p.Tree.LeafOfRanks()
	set := map[[2]int]bool{} // switch and destination
	up := func(l topology.Link, dst int) bool {
		low, _ := p.Tree.Ends(l)
		at, port := [2]int{low.Switch, dst}, []routing.Port{routing.Port(low.Port)}
		if set[at] {
			return slices.Equal(p.Tables.Ports(routing.Switch(low.Switch), dst), port)
		}
		set[at] = true
		p.Tables.Set(routing.Switch(low.Switch), dst, port...)
		return true
	}
	for m := range p.Schedule.All() {
		a, b := leaf[m.Src], leaf[m.Dst]
		if a == b {
			continue
		}
		held := up(topology.Link{Leaf: a, Spine: m.Spine}, m.Dst)
		if m.Top != scheduler.None {
			held = up(topology.Link{Leaf: p.Tree.Pod(a), Spine: m.Spine, Above: true, Top: m.Top}, m.Dst) && held
		}
		if !held {
			return fmt.Errorf("the plan needs several paths from %s to %s, but tables hold one; write schedule: %s, objective: %s",
				p.Tree.SwitchName(a), p.Tree.ServerName(m.Dst), scheduler.NameFORS, scheduler.FewestPaths)
		}
	}
	return nil
}

// reach compares the tables with the pairs of leaves that cannot be joined. The servers of a leaf
// share its entries, so it checks one of them.
func reach(tables *routing.Tables, name string, cut [][2]int) error {
	t := tables.Tree
	e := &NoRouteError{routing: name, tree: t}
	apart := pairSet(cut)
	leaf := t.LeafOfRanks()
	for l := range t.Leaves() {
		if t.On(l) == 0 {
			continue
		}
		for dst := range t.Servers() {
			if leaf[dst] == l || apart(l, leaf[dst]) {
				continue
			}
			if err := tables.Walk(t.First(l), dst); err != nil {
				e.pairs += t.On(l)
				if e.first == nil {
					e.first = err
				}
			}
		}
	}
	if e.first == nil {
		return nil
	}
	return e
}
