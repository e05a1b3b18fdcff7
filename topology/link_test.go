package topology_test

import (
	"slices"
	"testing"

	"evbench/internal/expect"
	"evbench/topology"
)

func TestLinkLists(t *testing.T) {
	a, b, c := topology.Link{Leaf: 0, Spine: 2}, topology.Link{Leaf: 1, Spine: 0}, topology.Link{Leaf: 1, Spine: 1}
	links := []topology.Link{c, a, b}
	slices.SortFunc(links, topology.Link.Compare)
	if want := []topology.Link{a, b, c}; !slices.Equal(links, want) {
		t.Errorf("sorted %v, want %v", links, want)
	}
	if got, want := topology.LinkNames(links), []string{"leaf0-spine2", "leaf1-spine0", "leaf1-spine1"}; !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	expect.True(t, topology.LinkNames(nil) != nil, "the names of no links are nil")
	expect.Equal(t, topology.Minus(links, []topology.Link{b, {Leaf: 7, Spine: 7}}), []topology.Link{a, c}, "minus")
}
