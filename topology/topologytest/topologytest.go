// Package topologytest makes trees for tests.
package topologytest

import (
	"testing"

	"evbench/topology"
)

// Tree returns a tree without the named links and spines.
func Tree(t testing.TB, o topology.Options, down ...string) *topology.Tree {
	t.Helper()
	tree, err := topology.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range down {
		links, err := tree.Links(name)
		if err != nil {
			t.Fatal(err)
		}
		if tree, err = tree.Without(links...); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}
