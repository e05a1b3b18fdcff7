package routing

import "evbench/topology"

// New returns tables without routes, for engines of other packages to fill.
func New(engine string, t *topology.Tree) *Tables { return newTables(engine, t) }
