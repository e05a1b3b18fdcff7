package routing

import (
	"fmt"
	"slices"

	"evbench/internal/show"
	"evbench/topology"
)

// An Engine makes the tables of a tree: all entries of all switches (Tables.Set), by which every message arrives over live links and no
// route returns (Tables.Walk); plans and runs check that. The same tree, with its dead links, gets the same tables. Where partial, servers whose leaves share no live spine get
// no route to each other; else an engine that joins them through a third leaf returns an error.
type Engine struct {
	Name   string
	Tables func(t *topology.Tree, partial bool) (*Tables, error)
}

// Engines are those that main hands in beside TreeEngines, which nil has alone. Of their names only
// Ftree may be among them, for trees without closed form.
type Engines []Engine

// Names returns the names that Tables accepts: TreeEngines, and those handed in.
func (x Engines) Names() []string {
	names := TreeEngines()
	for _, e := range x {
		if !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}

// Tables returns the tables of an engine for a tree, by its name: of TreeTables, or one handed in. Of ftree it takes the
// closed form where there is one, which also serves trees too large for InfiniBand.
func (x Engines) Tables(t *topology.Tree, name string, partial bool) (*Tables, error) {
	if (name != Ftree || Closed(&t.Live, name)) && slices.Contains(TreeEngines(), name) {
		return TreeTables(t, name)
	}
	for _, e := range x {
		if e.Name == name {
			return e.Tables(t, partial)
		}
	}
	if name == Ftree {
		return nil, fmt.Errorf("routing %s: no engine of this name is handed in (package site/engines), and the tree has no closed form", name)
	}
	return nil, fmt.Errorf("routing %q: no such engine; %s", name, show.Choices(name, x.Names()))
}
