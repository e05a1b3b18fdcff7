package routing_test

import (
	"fmt"

	"evbench/routing"
	"evbench/topology"
)

// An engine of one's own is handed in, as scenario.Files and plan.Options take it: here one that leads all that goes to a leaf over the
// first spine that is alive at both ends, and says so where there is none.
func ExampleEngines() {
	mine := routing.Engine{Name: "first-spine", Tables: func(t *topology.Tree, partial bool) (*routing.Tables, error) {
		tables, err := routing.TreeTables(t, routing.MinHop) // the entries down
		if err != nil {
			return nil, err
		}
		for leaf := range t.Leaves() {
			up, ways := t.Upward(leaf)
			for dst := range t.Servers() {
				to, k := t.Leaf(dst), 0
				for k < ways && !(t.Alive(leaf, k) && t.Alive(to, k)) {
					k++
				}
				switch {
				case to == leaf:
				case k < ways:
					tables.Set(routing.Switch(leaf), dst, routing.Port(up+k))
				case !partial:
					return nil, fmt.Errorf("no spine joins leaf%d and leaf%d", leaf, to)
				}
			}
		}
		return tables, nil
	}}
	tree, err := topology.New(topology.Options{Ports: 2, Leaves: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	engines := routing.Engines{mine}
	tables, err := engines.Tables(tree.Healthy(), "first-spine", false)
	if err != nil {
		fmt.Println(err)
		return
	}
	spine, one := tables.PathOf(0, tree.Servers()-1)
	fmt.Println(spine, one, tables.Walk(0, tree.Servers()-1))
	// Output: 0 true <nil>
}
