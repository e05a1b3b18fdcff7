package survey

import (
	"context"
	"fmt"
	"slices"
	"time"

	"evbench/routing/lft"
	"evbench/topology/network"
)

// RoutesOptions say how to measure the routing engines.
type RoutesOptions struct {
	// Clock returns the time since some moment, by a monotonic clock.
	Clock func() time.Duration
	// Allocated returns how many bytes the process has allocated since it
	// started, freed ones included.
	Allocated func() uint64
	// Quick leaves out the networks of more than 11,664 hosts, and runs less often.
	Quick bool
	// Most is how many hosts a network has at most. 0 means any number.
	Most int
	// Progress, when set, is told what is being measured.
	Progress func(work string)
}

// A RouteFigure is what was measured for one engine on one network.
type RouteFigure struct {
	Work, Network string
	// Published is what the papers say of the same or the nearest work, Reach what
	// we mean to keep below; "" where there is nothing.
	Published, Reach string
	Runs             int
	Median, Max      time.Duration
	// Allocated is the median of what one run allocated, in bytes, freed or not: no
	// less than what it held at any moment.
	Allocated uint64
	// Pairs of a host and another are Reached, by the last run's tables.
	Pairs, Reached int64
	Note           string
}

// A routeWork is one figure to be measured.
type routeWork struct {
	name, notation, published, reach string
	hosts                            int
	cables                           func(*network.Network) ([]network.Cable, error) // that are dead
	prepare                          func(*routeMeter, *network.Network) (func() (*lft.Tables, error), error)
}

// A routeMeter measures.
type routeMeter struct {
	RoutesOptions
	ctx      context.Context
	notation string
	whole    *network.Network // of the notation; the last is kept
	took     map[string]time.Duration
}

// Routes measures routing engines on fixed networks, one table at a time with all
// CPUs, and hands each figure to give as it is ready. When ctx ends it stops
// between two runs and returns the context's error.
func Routes(ctx context.Context, o RoutesOptions, give func(RouteFigure) error) error {
	m := &routeMeter{RoutesOptions: o, ctx: ctx, took: map[string]time.Duration{}}
	for _, w := range routeWorks {
		f := RouteFigure{Work: w.name, Network: w.notation, Published: w.published, Reach: w.reach}
		asked, err := m.measure(w, &f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			f.Note = "no figure: " + err.Error()
		}
		if !asked {
			continue
		}
		if err := give(f); err != nil {
			return err
		}
	}
	return nil
}

// measure returns false where the network is larger than asked for.
func (m *routeMeter) measure(w routeWork, f *RouteFigure) (bool, error) {
	if most := m.most(); most > 0 && w.hosts > most {
		return false, nil
	}
	if m.Progress != nil {
		m.Progress(w.name + " on " + w.notation)
	}
	n, err := m.network(w)
	if err != nil {
		return true, err
	}
	do, err := w.prepare(m, n)
	if err != nil {
		return true, err
	}
	return true, m.time(w, do, f)
}

func (m *routeMeter) most() int {
	if m.Quick && m.Most == 0 {
		return 11664
	}
	return m.Most
}

func (m *routeMeter) network(w routeWork) (n *network.Network, err error) {
	if m.notation != w.notation {
		m.whole, m.notation = nil, ""
		if m.whole, err = network.Parse(w.notation, 0); err != nil {
			return nil, err
		}
		m.notation = w.notation
	}
	if w.cables == nil {
		return m.whole, nil
	}
	dead, err := w.cables(m.whole)
	if err != nil {
		return nil, err
	}
	return m.whole.Without(dead, nil), nil
}

// time runs a work once to warm up and then a few times, and checks what came out.
func (m *routeMeter) time(w routeWork, do func() (*lft.Tables, error), f *RouteFigure) error {
	runs := 5
	if m.Quick {
		runs = 3
	} else if w.hosts < 5000 {
		runs = 21 // they are short
	}
	var times []time.Duration
	var bytes []uint64
	var tables *lft.Tables
	for i := range runs + 1 {
		if m.ctx.Err() != nil {
			return m.ctx.Err()
		}
		before, start := m.Allocated(), m.Clock()
		made, err := do()
		took, after := m.Clock()-start, m.Allocated()
		if err != nil {
			return err
		}
		if tables = made; i > 0 {
			times, bytes = append(times, took), append(bytes, after-before)
		}
	}
	f.Runs, f.Median, f.Max, f.Allocated = runs, median(times), slices.Max(times), median(bytes)
	m.took[w.name] = f.Median
	r := lft.Check(tables, lft.Options{})
	f.Pairs, f.Reached = r.Pairs, r.Reached
	if whole, ok := fullOf[w.name]; ok && f.Median > 0 {
		f.Note = fmt.Sprintf("%s takes %.0f times as long", whole, float64(m.took[whole])/float64(f.Median))
	}
	return nil
}

// RoutesTable is a set of figures for printing.
func RoutesTable(figures []RouteFigure) *Table {
	out := &Table{name: "routing", Notes: []string{
		"time in the process of full tables of all switches, to hosts and switches; one table at a time, all CPUs; the network is there already",
		"memory: median of all bytes that one run allocated, freed or not: an upper bound on what it held at any moment",
		"reach: what we mean to stay below; pairs: of ordered pairs of hosts, those that the tables join, followed to the end",
		"published: dmodc, C with threads (IEEE Micro 2020); qft (HOTI 2014); OpenSM: time of routing alone in its log",
	}, columns: []Column{
		{"work", "work", 0}, {"network", "network", 0}, {"published", "published", 0}, {"reach", "reach", 0}, {"runs", "runs", 0},
		{"median ms", "median_ms", 2}, {"max ms", "max_ms", 2}, {"MB", "allocated_mb", 0}, {"pairs", "pairs", 0}, {"note", "note", 0},
	}}
	for _, f := range figures {
		row := []any{f.Work, f.Network, f.Published, f.Reach, f.Runs, nil, nil, nil, nil, f.Note}
		if f.Runs > 0 {
			row[5], row[6], row[7] = milliseconds(f.Median), milliseconds(f.Max), float64(f.Allocated)/1e6
			row[8] = "all"
			if f.Reached != f.Pairs {
				row[8] = fmt.Sprintf("%d of %d", f.Reached, f.Pairs)
			}
		}
		out.rows = append(out.rows, row)
	}
	return out
}
