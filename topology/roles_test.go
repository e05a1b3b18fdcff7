package topology_test

import (
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

func TestWithRoles(t *testing.T) {
	tree := topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 3, Fill: []int{4, 2, 4}})
	for _, tt := range []struct {
		readers, builders    string
		lists                string // as RoleLists gives them
		nReaders, nBuilders  int
		messages, most, onL1 int
	}{
		{"", "", "server0-5,server8-11 server0-5,server8-11", 10, 10, 90, 9, 2},
		{"leaf0-1", "leaf2", "server0-5 server8-11", 6, 4, 24, 6, 2},
		{"server0-1, server4", "server1", "server0-1,server4 server1", 3, 1, 2, 2, 1},
		{"server11", "", "server11 server0-5,server8-11", 1, 10, 9, 9, 0},
	} {
		v := expect.Value(tree.WithRoles(tt.readers, tt.builders))(t)
		readers, builders := v.RoleLists()
		expect.True(t, readers+" "+builders == tt.lists && v.Readers() == tt.nReaders && v.Builders() == tt.nBuilders && v.ReadersOn(1) == tt.onL1,
			"%q, %q: %s, %s; %d and %d, %d on leaf1", tt.readers, tt.builders, readers, builders, v.Readers(), v.Builders(), v.ReadersOn(1))
		messages, sent, received := 0, make([]int, 10), make([]int, 10)
		for src := range 10 {
			for dst := range 10 {
				if v.Meets(src, dst) {
					messages++
					sent[src]++
					received[dst]++
				}
			}
		}
		most := 0
		for i := range sent {
			most = max(most, sent[i], received[i])
		}
		expect.True(t, messages == tt.messages && messages == v.Messages() && most == tt.most && most == v.MostMessages(),
			"%q, %q: %d messages, most %d; says %d, %d", tt.readers, tt.builders, messages, most, v.Messages(), v.MostMessages())
		again := expect.Value(tree.WithRoles(readers, builders))(t)
		expect.Equal(t, again, v, "the same roles")
		dead := expect.Value(v.Without(topology.Link{}))(t)
		expect.True(t, dead.Divided() == v.Divided() && v.Divided() == (tt.readers != "") && (v.AllBoth("x") == nil) != v.Divided(), "%q: roles of a view", tt.readers)
	}
}

// TestRolesOfHosts: the names of a network's hosts and leaves count, also as Slurm writes them.
func TestRolesOfHosts(t *testing.T) {
	tree := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3, Spines: 1}).Named(&topology.Names{
		Switches: []string{"edge1", "edge2", "edge3", "core"}, Hosts: []string{"node001", "node002.hall", "node003", "node003", "node004", "server1"}})
	for list, want := range map[string]string{
		"node[001-002]": "server0-1", "node001,node003": "server0,server2-3", "edge3": "server4-5", "edge[1-2],server5": "server0-3,server5",
		"server1": "server1", "node004.hall": "server4", "node002.hall": "server1", "leaf1": "server2-3",
	} {
		v, err := tree.WithRoles(list, "")
		if err != nil {
			t.Error(err)
			continue
		}
		readers, _ := v.RoleLists()
		expect.Equal(t, readers, want, "%s", list)
	}
	expect.Error(t, expect.Err(tree.WithRoles("", "node[001-005]")), `builders "node005": no server is on a host of this name, and no leaf has it; write the network's names, such as node001,edge1, or server0-11,leaf3`)
	expect.Error(t, expect.Err(tree.WithRoles("node[001-", "")), "readers: host list")
}

func TestWithRolesRefuses(t *testing.T) {
	tree := topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 3, Fill: []int{4, 0, 4}})
	for _, tt := range []struct{ readers, builders, want string }{
		{"server12", "", `readers "server12": FT(2;4,3) has server0..server11`},
		{"", "leaf1-3", `builders "leaf1-3": FT(2;4,3) has leaf0..leaf2`},
		{"server5", "", `readers "server5": there is no server5: leaf1 has 0 servers`},
		{"leaf1", "", `readers "leaf1": no server is on these leaves`},
		{"leaf0,", "", `readers "": write servers and leaves`},
		{"spine0", "", `readers "spine0": write servers and leaves`},
		{"server3-2", "", `readers "server3-2": the first is above the last`},
		{"server1", "server1", "the only reader is the only builder"},
	} {
		_, err := tree.WithRoles(tt.readers, tt.builders)
		expect.True(t, err != nil && strings.Contains(err.Error(), tt.want), "%q, %q: %v, want %q", tt.readers, tt.builders, err, tt.want)
	}
}
