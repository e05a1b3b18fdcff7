package routing

import (
	"fmt"
	"slices"

	"evbench/internal/show"
	"evbench/topology"
)

// An engine makes the tables of a tree. Where partial, servers whose leaves share no live spine get
// no route to each other; else an engine that joins them through a third leaf is an error.
type engine = func(t *topology.Tree, partial bool) (*Tables, error)

// registered are the engines of others, in order.
var registered []struct {
	name string
	do   engine
}

// Register makes an engine known by its name, as an init function of its package does. Of the names
// of TreeEngines only Ftree may be registered, for trees without closed form.
func Register(name string, do func(t *topology.Tree, partial bool) (*Tables, error)) {
	registered = append(registered, struct {
		name string
		do   engine
	}{name, do})
}

// TreeNames returns the names that ForTree accepts: TreeEngines, and those registered.
func TreeNames() []string {
	names := TreeEngines()
	for _, e := range registered {
		if !slices.Contains(names, e.name) {
			names = append(names, e.name)
		}
	}
	return names
}

// ForTree returns the tables of an engine for a tree, by its name: of TreeTables, or registered. Of ftree it takes the
// closed form where there is one, which also serves trees too large for InfiniBand.
func ForTree(name string, t *topology.Tree, partial bool) (*Tables, error) {
	if (name != Ftree || Closed(t, name)) && slices.Contains(TreeEngines(), name) {
		return TreeTables(t, name)
	}
	for _, e := range registered {
		if e.name == name {
			return e.do(t, partial)
		}
	}
	if name == Ftree {
		return nil, fmt.Errorf("routing %s: no engine of this name is registered (package site/engines)", name)
	}
	return nil, fmt.Errorf("routing %q: no such engine; %s", name, show.Choices(name, TreeNames()))
}
