package opensm

import (
	"testing"

	"evbench/plan"
	"evbench/site/engines"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/topology"
)

func treeOf(t testing.TB, notation string, down ...string) *topology.Tree {
	t.Helper()
	o := expect.Value(topology.Parse(notation))(t)
	return options(t, o, down...)
}

func options(t testing.TB, o topology.Options, down ...string) *topology.Tree {
	t.Helper()
	tree, err := topology.New(o)
	for _, name := range down {
		var dead []topology.Link
		if err == nil {
			dead, err = tree.Links(name)
		}
		if err == nil {
			tree, err = tree.Without(dead...)
		}
	}
	expect.Must(t, err)
	return tree
}

func build(t testing.TB, tree *topology.Tree, o plan.Options) *plan.Plan {
	t.Helper()
	o.Engines = engines.Trees()
	return expect.Value(plan.Build(tree, o))(t)
}

func networkOf(t testing.TB, tree topology.Wires, lmc int) *network.Network {
	t.Helper()
	n := expect.Value(Network(tree.Shape, lmc))(t)
	return n
}

func compute(t testing.TB, p *plan.Plan, n *network.Network, lmc int) *Routes {
	t.Helper()
	r := expect.Value(Compute(p, n, Options{LMC: lmc, Renumber: true}))(t)
	return r
}
