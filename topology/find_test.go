package topology_test

import (
	"slices"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// The names of a notation's network find the links of its tree; other names are refused as Links refuses them.
func TestFind(t *testing.T) {
	for _, tt := range []struct {
		notation, name string
		want           []string
	}{
		{"FT(2;4,4)", "leaf1-spine2", []string{"leaf1-spine2"}},
		{"FT(2;4,4)", "s1_1/7", []string{"leaf1-spine2"}},
		{"FT(2;4,4)", "leaf1/7", []string{"leaf1-spine2"}},
		{"FT(2;4,4)", "s2_2/2", []string{"leaf1-spine2"}},
		{"FT(2;4,4)", "s2_2-s1_1", []string{"leaf1-spine2"}},
		{"FT(2;4,4)", "s1_1/7-s2_2/2", []string{"leaf1-spine2"}},
		{"FT(2;4,2)", "s1_1", []string{"leaf1-spine0", "leaf1-spine1", "leaf1-spine2", "leaf1-spine3"}},
		{"FT(2;2,3)", "s2_1", []string{"leaf0-spine1", "leaf1-spine1", "leaf2-spine1"}},
		{"PGFT(2;2,2;1,2;1,2)", "s1_1/4", []string{"leaf1-spine0/1"}},
		{"PGFT(2;2,2;1,2;1,2)", "s1_1-spine0", []string{"leaf1-spine0/0", "leaf1-spine0/1"}},
		{"FT(3;2,2,4)", "pod1-spine0/3", []string{"pod1-spine0-top0"}},
		{"FT(3;2,2,4)", "s2_2-s3_0", []string{"pod1-spine0-top0"}},
		{"FT(2;4,4)", "s1_1/1", nil},        // a server's
		{"FT(2;4,4)", "s1_1/7-s2_2/3", nil}, // ports of two cables
		{"FT(2;4,4)", "s1_1/0", nil},
		{"FT(2;4,4)", "s1_1/9", nil},
		{"FT(2;4,4)", "s1_1-s1_1", nil},
		{"FT(2;4,4)", "s1_4", nil},
		{"FT(2;4,4)", "h0", nil},
		{"FT(2;4,4)", "-", nil},
	} {
		tree := topologytest.Tree(t, expect.Value(topology.Parse(tt.notation))(t), "spine0")
		links, err := tree.Find(tt.name)
		if tt.want == nil {
			expect.True(t, err != nil && err.Error() == expect.Err(tree.Links(tt.name)).Error(), "%s: %v, %v", tt.name, links, err)
			continue
		}
		expect.True(t, err == nil && slices.Equal(tree.LinkNames(links), tt.want), "%s: %v, %v", tt.name, links, err)
	}
	named := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2}).Named(&topology.Names{Switches: []string{"a", "b", "c", "d"}})
	expect.True(t, expect.Err(named.Find("s1_0/3")) != nil, "a name of the notation in a tree with other names")
}
