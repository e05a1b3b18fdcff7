// Package topologytest makes trees for tests.
package topologytest

import (
	"testing"

	"evbench/topology"
)

// Tree returns a tree without the named links and spines.
func Tree(t testing.TB, o topology.Options, down ...string) *topology.Tree {
	t.Helper()
	healthy := Without(t, o)
	var dead []topology.Link
	for _, name := range down {
		links, err := healthy.Links(name)
		if err != nil {
			t.Fatal(err)
		}
		dead = append(dead, links...)
	}
	return Without(t, o, dead...)
}

// Without returns a tree without the given links.
func Without(t testing.TB, o topology.Options, dead ...topology.Link) *topology.Tree {
	t.Helper()
	tree, err := topology.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if tree, err = tree.Without(dead...); err != nil {
		t.Fatal(err)
	}
	return tree
}
