package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"evbench/internal/coloring"
	"evbench/internal/parallel"
	"evbench/internal/show"
	"evbench/scheduler/internal/slots"
	"evbench/scheduler/internal/traffic"
	"evbench/scheduler/pods"
	"evbench/topology"
)

// An UnroutableError says that the messages of a phase cannot be given spines such that no two share
// a link, or that no way was found.
type UnroutableError = traffic.UnroutableError

// Pin returns the schedule s with a path for each message between leaves, such that no
// directed link carries two messages in one phase; paths that s may have are forgotten.
//
// A phase is a bipartite graph of source leaves and destination leaves, an edge for each
// message, and spines are colours of which each edge may have those alive at both ends: list
// edge colouring. Phases between the same leaves are coloured once. Three levels: pods.Pin.
//
// If a phase cannot be routed the error is an *UnroutableError, of the first such phase; if s
// has a message between leaves without a live path, it is a *topology.UnreachableError.
func Pin(s *Schedule, t *topology.Tree, o Options) (*Schedule, error) {
	if err := plannable(t); err != nil {
		return nil, fmt.Errorf("schedule %s: %w", s.Name, err)
	}
	if n := t.Servers(); s.Ranks != n {
		return nil, fmt.Errorf("schedule %s has %d servers, %s has %d", s.Name, s.Ranks, t.Notation(), n)
	}
	if f := shiftOf(t, true, tableServers); s.closed != nil && f != nil {
		return f.schedule(s.Name), nil
	}
	table := s.tableOf()
	x := traffic.New(table, t)
	err := x.Reachable()
	if err != nil {
		return nil, err
	}
	out := table.Unpinned()
	if x.F.Tops > 0 {
		err = pods.Pin(x.F, out, s.Name, o)
	} else {
		err = pinSpines(x, out, s.Name, o)
	}
	if err != nil {
		return nil, err
	}
	out.GiveCables(&t.Live)
	return newSchedule(s.Name, out, true), nil
}

func pinSpines(x *traffic.Traffic, out *slots.Table, name string, o Options) error {
	patterns := x.Patterns()
	return parallel.Try(o.Workers, len(patterns), func(i int) error {
		phases := patterns[i]
		g := x.Graph(x.Of(phases[0]))
		c := g.Color(coloring.ListOptions{Seed: o.Seed ^ uint64(phases[0])<<32})
		if c.Outcome != coloring.Colored {
			return unroutable(x, name, phases[0], g, c)
		}
		for _, p := range phases {
			for j, m := range x.Of(p) {
				out.Slots[m] = slots.Make(p, int(c.Color[j]))
			}
		}
		return nil
	})
}

func unroutable(x *traffic.Traffic, name string, phase int, g *coloring.ListGraph, c *coloring.ListColoring) *UnroutableError {
	e := &UnroutableError{Schedule: name, Phase: phase, Proven: c.Outcome == coloring.Impossible}
	switch cert := c.Certificate; {
	case cert == nil:
		e.Reason = fmt.Sprintf("the search ended with %d of its %d messages left over; this does not prove that there is none", c.Uncolored, len(g.Edges))
	case cert.Kind == coloring.Hall:
		e.Reason = crowd(x, g, cert)
	case cert.Kind == coloring.Count:
		e.Reason = fmt.Sprintf("of %s the spines can carry only %s at once", among(x, g, cert), mostOn(x, cert))
	default:
		e.Reason = fmt.Sprintf("a search through all choices of spines for %s found none", among(x, g, cert))
	}
	return e
}

// crowd describes messages of one leaf that have too few spines. Where these are all the live
// spines of the leaf at their other end, that other leaf lacks spines.
func crowd(x *traffic.Traffic, g *coloring.ListGraph, c *coloring.Certificate) string {
	leaf, receives := c.Node, c.Right
	far := make([]bool, x.F.Leaves)
	n := 0
	for _, i := range c.Edges {
		other := g.Edges[i].V
		if c.Right {
			other = g.Edges[i].U
		}
		if !far[other] {
			n++
		}
		far[other] = true
	}
	if other := slices.Index(far, true); n == 1 && x.F.Cables == nil && c.Colors != x.Up[leaf] && c.Colors == x.Up[other] {
		leaf, receives = other, !receives
	}
	verb, toward := "sends", "to"
	if receives {
		verb, toward = "receives", "from"
	}
	what := fmt.Sprintf("leaf%d %s %s", x.F.Leaf[leaf], verb, show.Plural(len(c.Edges), "message", "messages"))
	spines := show.Plural(c.Colors.Len(), "live spine", "live spines")
	if x.F.Cables != nil {
		spines = show.Plural(cablesOf(x, leaf, c.Colors), "live cable", "live cables")
	}
	spines += names(c.Colors)
	if c.Colors == x.Up[leaf] {
		return what + " through " + spines
	}
	return fmt.Sprintf("%s %s %s, with which it shares %s", what, toward, leafNames(x, far), spines)
}

// cablesOf returns how many live cables a leaf has to some spines.
func cablesOf(x *traffic.Traffic, leaf int, spines coloring.ColorSet) (n int) {
	for k := spines.Next(0); k >= 0; k = spines.Next(k + 1) {
		n += x.F.Room(x.F.Link(leaf, k))
	}
	return n
}

func among(x *traffic.Traffic, g *coloring.ListGraph, c *coloring.Certificate) string {
	in := make([]bool, x.F.Leaves)
	for _, i := range c.Edges {
		in[g.Edges[i].U], in[g.Edges[i].V] = true, true
	}
	return fmt.Sprintf("%s among %s", show.Plural(len(c.Edges), "message", "messages"), leafNames(x, in))
}

func mostOn(x *traffic.Traffic, c *coloring.Certificate) string {
	sum, k := 0, -1
	parts := make([]string, len(c.Most))
	for i, n := range c.Most {
		k = c.Colors.Next(k + 1)
		sum += n
		parts[i] = fmt.Sprintf("%d on spine%d", n, k)
	}
	return fmt.Sprintf("%d (%s)", sum, shorten(parts))
}

func leafNames(x *traffic.Traffic, in []bool) string {
	var out []string
	for l, ok := range in {
		if ok {
			out = append(out, fmt.Sprintf("leaf%d", x.F.Leaf[l]))
		}
	}
	return shorten(out)
}

// names lists spines in parentheses, or nothing without spines.
func names(spines coloring.ColorSet) string {
	var out []string
	for k := spines.Next(0); k >= 0; k = spines.Next(k + 1) {
		out = append(out, fmt.Sprintf("spine%d", k))
	}
	if out == nil {
		return ""
	}
	return " (" + shorten(out) + ")"
}

func shorten(words []string) string {
	const most = 8
	if len(words) > most {
		words = append(words[:most-1:most-1], fmt.Sprintf("%d more", len(words)-most+1))
	}
	return strings.Join(words, ", ")
}
