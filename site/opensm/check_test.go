package opensm

import (
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/plan"
	"evbench/routing"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/topology"
)

// TestCheckFindsEachDamage damages sound tables in one place.
func TestCheckFindsEachDamage(t *testing.T) {
	for _, c := range []struct {
		kind   kind
		damage func(r *Routes, row func(network.Node) []uint8, lid int)
		says   string
	}{
		{deadPort, func(r *Routes, row func(network.Node) []uint8, lid int) {
			row(r.places.Node(0))[lid] = r.places.Up(topology.Link{Leaf: 0, Spine: 0})
		}, "s1_0 to h9, LID 40: port 5 of s1_0 leads nowhere"},
		{deadPort, func(r *Routes, row func(network.Node) []uint8, lid int) { row(r.places.Node(3))[lid] = 77 }, "port 77 of s1_3 leads nowhere"},
		{missingEntry, func(r *Routes, row func(network.Node) []uint8, lid int) { row(r.places.Node(1))[lid] = lft.NoPort }, "s1_1 to h9, LID 40: s1_1 has none"},
		{missingEntry, func(r *Routes, row func(network.Node) []uint8, lid int) {
			for k := range r.Plan.Tree.Spines() {
				s := r.places.Node(r.Plan.Tree.Leaves() + k)
				row(s)[lid] = lft.NoPort
			}
		}, "to h9, LID 40: s2_"},
		{missingSwitch, func(r *Routes, row func(network.Node) []uint8, _ int) {
			for i := range row(r.places.Node(r.Plan.Tree.Leaves() + 2)) {
				row(r.places.Node(r.Plan.Tree.Leaves() + 2))[i] = lft.NoPort
			}
		}, "s2_2 has no entry at all"},
		{looped, func(r *Routes, row func(network.Node) []uint8, lid int) {
			row(r.places.Node(3))[lid] = r.places.Up(topology.Link{Leaf: 3, Spine: 1})
			row(r.places.Node(r.Plan.Tree.Leaves() + 1))[lid] = r.places.Down(topology.Link{Leaf: 3, Spine: 1})
		}, "s1_3 to h9, LID 40: passes"},
		{wrongHost, func(r *Routes, row func(network.Node) []uint8, lid int) { row(r.places.Node(2))[lid] = 1 }, "ends behind port 1 of s1_2"},
		{wrongHost, func(r *Routes, row func(network.Node) []uint8, lid int) { row(r.places.Node(3))[lid] = 0 }, "ends behind port 0 of s1_3"},
		{wrongPath, func(r *Routes, row func(network.Node) []uint8, _ int) {
			src, dst := 12, 9
			k, _ := r.Plan.Tree.SpineTop(r.Plan.Path(src, dst))
			row(r.places.Node(3))[r.dlid(src, dst)] = r.places.Up(topology.Link{Leaf: 3, Spine: (k + 1) % 4})
		}, "h12 to h9"},
		{overCapacity, func(r *Routes, _ func(network.Node) []uint8, _ int) { r.capacity = r.Net.MaxLID() }, "LIDs up to 143 with LMC 2"},
		{noCable, func(r *Routes, _ func(network.Node) []uint8, _ int) {
			r.Net = r.Net.Without([]network.Cable{{A: network.End{Node: 9, Port: 1}, B: r.Net.Leaf(9)}}, nil)
		}, "h9, server9 in the plan"},
	} {
		tree := treeOf(t, "FT(2;4,8)", "leaf0-spine0")
		r := compute(t, build(t, tree, plan.Options{Schedule: "fors"}), networkOf(t, tree.Wires, 2), 2)
		lid := int(r.Net.Info(9).LID)
		c.damage(r, func(s network.Node) []uint8 { return r.Tables.Row(r.Net.Index(s)) }, lid)
		err := r.check()
		e, ok := errors.AsType[*RefusedError](err)
		if !ok {
			t.Errorf("%s: %v", c.kind, err)
			continue
		}
		found := false
		for _, p := range e.first {
			found = found || p.Kind == c.kind && strings.Contains(p.Text, c.says)
		}
		expect.True(t, found, "%s, %q: %v", c.kind, c.says, err)
		expect.True(t, expect.Err(Files{Dir: t.TempDir()}.Put(t.Context(), r)) != nil, "%s: written all the same", c.kind)
	}
}

// TestDeadInTheNetworkOnly is a cable that the plan uses and the network lacks.
func TestDeadInTheNetworkOnly(t *testing.T) {
	tree := treeOf(t, "FT(2;4,8)")
	n := expect.Value(networkOf(t, tree.Wires, 2).Degrade([]string{"leaf3-spine1"}))(t)
	_, err := Compute(build(t, tree, plan.Options{Schedule: "fors"}), n, Options{LMC: 2})
	e, ok := errors.AsType[*RefusedError](err)
	if !ok || e.first[0] != (problem{deadPort, "leaf3-spine1, from s1_3 to s2_1, is alive in the plan and not there in the network"}) || e.Total < firstProblems || len(e.first) != firstProblems || !strings.Contains(err.Error(), "more") {
		t.Errorf("%v", err)
	}
}

func TestComputeRefuses(t *testing.T) {
	tree := treeOf(t, "FT(2;2,3)")
	three := build(t, options(t, topology.Options{Ports: 2, Leaves: 2, Pods: 2}), plan.Options{Routing: routing.Ftree})
	ftree := build(t, tree, plan.Options{Routing: routing.Ftree})
	n := networkOf(t, tree.Wires, 0)
	two := network.PGFT{M: []int{2, 3}, W: []int{1, 2}, P: []int{1, 2}}
	parallel := expect.Value(two.Build(0))(t)
	rename := func(names map[network.Node]string) *network.Network {
		info := make([]network.Info, n.Nodes())
		for v := range info {
			info[v] = n.Info(network.Node(v))
			if s, ok := names[network.Node(v)]; ok {
				info[v].Name = s
			}
		}
		return n.WithInfo(info)
	}
	lost := expect.Value(networkOf(t, treeOf(t, "FT(2;2,3)").Wires, 0).Degrade([]string{"h1"}))(t)
	for _, c := range []struct {
		name string
		p    *plan.Plan
		n    *network.Network
		o    Options
		says string
	}{
		{"three levels", three, n, Options{}, "5 switches instead of 8"},
		{"no routing", build(t, tree, plan.Options{Schedule: "linear-shift", Routing: plan.NoRouting}), n, Options{}, "no routing"},
		{"ecmp", build(t, tree, plan.Options{Routing: routing.ECMP}), n, Options{}, "one port for a LID"},
		{"spray", build(t, tree, plan.Options{Routing: routing.Spray}), n, Options{}, "one port for a LID"},
		{"LMC", ftree, n, Options{LMC: 8}, "must be 0..7"},
		{"another tree", ftree, networkOf(t, treeOf(t, "FT(2;2,4)").Wires, 0), Options{}, "6 switches instead of 3 leaves and 2 spines"},
		{"parallel cables", ftree, parallel, Options{}, "2 cables"},
		{"a server elsewhere", ftree, rename(map[network.Node]string{0: "h2", 2: "h0"}), Options{}, "no cable to s1_0, its leaf"},
		{"a server not there", ftree, rename(map[network.Node]string{0: "x"}), Options{}, "server0"},
		{"a leaf that is a host", ftree, rename(map[network.Node]string{0: "leaf0", 6: "h0"}), Options{}, "h0"},
		{"fewer hosts by order", ftree, withoutNames(lost), Options{}, "has 1 hosts, leaf0 of the plan has 2 servers"},
		{"too many LIDs", build(t, treeOf(t, "FT(2;20,20)"), plan.Options{Routing: routing.Ftree}),
			networkOf(t, treeOf(t, "FT(2;20,20)").Wires, 0), Options{LMC: 7}, "need LIDs"},
	} {
		expect.Error(t, expect.Err(Compute(c.p, c.n, c.o)), c.says)
	}
}

// withoutNames leaves only the order to go by.
func withoutNames(n *network.Network) *network.Network {
	info := make([]network.Info, n.Nodes())
	for v := range info {
		info[v] = n.Info(network.Node(v))
		info[v].Name = "node"
	}
	return n.WithInfo(info)
}

// TestWhatOpenSMTakesInSilence are files that OpenSM 3.3.23 has loaded without a
// word, or answered by routing with minhop.
func TestWhatOpenSMTakesInSilence(t *testing.T) {
	for name, c := range map[string]struct {
		lmc  int
		down []string
		says string
	}{
		"ft2_4_8_deadport": {2, []string{"leaf0-spine0"}, "dead port: s1_1 to h0, LID 7: port 1 of s2_0 leads nowhere"},
		"ft2_4_8_missing":  {2, nil, "missing entry: s1_"},
		"ft2_4_8_badport":  {0, nil, "line 6: LID 5: port"},
		"empty":            {0, nil, "no forwarding table"},
	} {
		tree := treeOf(t, "FT(2;4,8)", c.down...)
		r := compute(t, build(t, tree, plan.Options{Routing: routing.Spread}), networkOf(t, tree.Wires, c.lmc), c.lmc)
		f := expect.Value(os.Open(filepath.Join("testdata", name+".lfts.gz")))(t)
		defer f.Close()
		text := expect.Value(gzip.NewReader(f))(t)
		tables, err := lft.ReadDump(text, r.Net)
		if err == nil {
			r.Tables = tables
			err = r.check()
		}
		expect.Error(t, err, c.says)
	}
}
