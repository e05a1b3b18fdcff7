package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evbench/internal/show"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// Routings returns the names that a plan's routing may have: the
// engines for trees, routing.Pinned and NoRouting.
func Routings(x routing.Engines) []string { return append(x.Names(), routing.Pinned, NoRouting) }

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
func Tables(x routing.Engines, t *topology.Tree, name string) (*routing.Tables, error) {
	if !slices.Contains(x.Names(), name) {
		return nil, fmt.Errorf("routing %q: no such engine; %s", name, show.Choices(name, Routings(x)))
	}
	cut := t.Unreachable()
	tables, err := x.Tables(t, name, len(cut) > 0)
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

// holdPaths puts the pinned paths into the tables. Each switch must have one port to each server.
// O(S²).
func (p *Plan) holdPaths() error {
	h := holder{p, p.Tree.LeafOfRanks(), make([]int, p.Tree.Leaves()*p.Tree.Servers()), make([]bool, p.Tree.Switches()*p.Tree.Servers())}
	for m := range p.Schedule.All() {
		if at := h.hold(m); at >= 0 {
			advice := fmt.Sprintf("write schedule: %s, objective: %s", schedules.FORS, schedules.FewestPaths)
			if p.Objective == schedules.FewestPaths {
				advice = "none was found that needs one; take routing: minhop, or a transport that chooses paths"
			}
			return fmt.Errorf("the plan needs several paths from %s to %s, but tables hold one; %s", p.Tree.SwitchName(at), p.Tree.ServerName(m.Dst), advice)
		}
	}
	return nil
}

type holder struct {
	*Plan
	leaf []int
	path []int  // by leaf and destination, plus 1: all of it is held; 0: none yet
	set  []bool // by switch and destination
}

// hold puts the path of a message into the tables. It returns the switch that would need a second
// port, or -1.
func (h *holder) hold(m scheduler.Message) int {
	a, b, t := h.leaf[m.Src], h.leaf[m.Dst], h.Tree
	path := t.PathOf(m.Spine, m.Top)
	if a == b || h.path[a*t.Servers()+m.Dst] == path+1 {
		return -1
	}
	links := t.PathLinks(a, b, path)
	for i, l := range links {
		from, high := t.Ends(l)
		if i >= len(links)/2 {
			from = high // on the way down
		}
		at, port := from.Switch*t.Servers()+m.Dst, routing.Port(from.Port)
		if h.set[at] && !slices.Equal(h.Tables.Ports(routing.Switch(from.Switch), m.Dst), []routing.Port{port}) {
			return from.Switch
		}
		h.set[at] = true
		h.Tables.Set(routing.Switch(from.Switch), m.Dst, port)
	}
	h.path[a*t.Servers()+m.Dst] = path + 1
	return -1
}

// reach compares the tables with the pairs of leaves that cannot be joined. The servers of a leaf
// share its entries, so it checks one of them.
func reach(tables *routing.Tables, name string, cut [][2]int) error {
	t := tables.Tree
	e := &NoRouteError{routing: name, tree: t}
	apart := pairSet(cut)
	leaf := t.LeafOfRanks()
	for l := range t.Leaves() {
		if t.ServersOn(l) == 0 {
			continue
		}
		for dst := range t.Servers() {
			if leaf[dst] == l || apart(l, leaf[dst]) {
				continue
			}
			if err := tables.Walk(t.First(l), dst); err != nil {
				e.pairs += t.ServersOn(l)
				e.first = cmp.Or(e.first, err)
			}
		}
	}
	if e.first == nil {
		return nil
	}
	return e
}
