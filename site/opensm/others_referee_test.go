package opensm

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"evbench/companion"
	"evbench/plan"
	"evbench/scheduler/schedules"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/ibtest"
	"evbench/topology"
)

// withOthers returns a network with an aggregation node within each switch, and a router at the
// first.
func withOthers(t testing.TB, n *network.Network, lmc int) *network.Network {
	t.Helper()
	var b network.Builder
	for h := range network.Node(n.Hosts()) {
		b.Host(n.Info(h))
	}
	for i := range n.Switches() {
		b.Switch(n.Info(n.Switch(i)), len(n.Ends(n.Switch(i)))+2)
	}
	for i := range n.Switches() {
		s := n.Switch(i)
		info := network.Info{Name: "Mellanox Technologies Aggregation Node", GUID: 0x0002c90900000000 + uint64(i)<<8}
		info.Port = info.GUID + 1
		expect.Must(t, b.Other(info, network.End{Node: s, Port: uint8(len(n.Ends(s)) + 2)}, false))
	}
	gate := network.End{Node: n.Switch(0), Port: uint8(len(n.Ends(n.Switch(0))) + 1)}
	expect.Must(t, b.Other(network.Info{Name: "gate", GUID: 0x0002c90800000000, Port: 0x0002c90800000001}, gate, true))
	for _, c := range n.Cables() {
		expect.Must(t, b.Cable(c.A, c.B))
	}
	out := expect.Value(b.Build().Numbered(lmc))(t)
	return out
}

// reaches has ibtracert follow the tables from hosts of two leaves to every LID of all others, and
// wants an entry for each of them in every switch.
func (f *referee) reaches(t *testing.T, n *network.Network, entries int) {
	t.Helper()
	for i := range n.Others() {
		v := n.Other(i)
		for lid := int(n.Info(v).LID); lid < int(n.Info(v).LID)+n.LIDs(v); lid++ {
			for _, from := range []network.Node{0, network.Node(n.Hosts() - 1)} {
				way := f.trace(t, n, from, lid)
				expect.True(t, len(way) > 0 && way[len(way)-1] == n.Leaf(v).Node, "to %d by ibtracert: %v", lid, way)
			}
		}
	}
	held := expect.Value(f.live.Tables())(t)
	got := 0
	for i := range n.Others() {
		lid := int(n.Info(n.Other(i)).LID)
		for s := range n.Switches() {
			if held.Row(s)[lid] != lft.NoPort {
				got++
			}
		}
	}
	expect.Equal(t, got, entries, "entries for others")
}

// TestOpenSMKeepsOthers: what has LIDs and is no host, such as aggregation nodes, is reached before,
// with the tables of plans, of another plan for a dead link, and after the way back.
//
//gate:weekly13
func TestOpenSMKeepsOthers(t *testing.T) {
	ibtest.Need(t)
	for _, c := range []struct {
		on, down string
		lmc      int
	}{{"FT(2;2,3)", "leaf0-spine0", 0}, {"FT(2;2,3)", "leaf0-spine0", 1}, {"FT(3;2,2,2)", "leaf1-spine0", 0}} {
		t.Run(fmt.Sprintf("%s, LMC %d", c.on, c.lmc), func(t *testing.T) {
			t.Parallel()
			tree := treeOf(t, c.on)
			n := withOthers(t, networkOf(t, tree.Wires, c.lmc), c.lmc)
			all := n.Others() * n.Switches()
			before := compute(t, build(t, tree, plan.Options{Schedule: "linear-shift", Routing: "ftree"}), n, c.lmc)
			f := judge(t, before, n)
			f.reaches(t, n, all)

			// The network as ibnetdiscover prints it has them, too.
			text, err := f.live.Program(t.Context(), "ibnetdiscover").Output()
			expect.Must(t, err)
			seen := expect.Value(netfile.ReadIB(bytes.NewReader(text)))(t)
			expect.Equal(t, seen.Others(), n.Others(), "others that are discovered")
			expect.Equal(t, seen.Hosts(), n.Hosts(), "hosts that are discovered")

			r := compute(t, build(t, tree, plan.Options{Schedule: "fors", Objective: schedules.FewestPaths}), seen, c.lmc)
			expect.True(t, r.kept, "LIDs are kept")
			f.install(t, r)
			f.holds(t, r)
			f.reaches(t, n, all)

			// follow: a link dies, and the tables of the plan around it are installed.
			s := expect.Value(NewSubnet(seen, tree, SubnetOptions{
				Manager: &f.o, Options: Options{LMC: c.lmc},
				Discover: func(ctx context.Context, _ int) ([]byte, error) { return f.live.Program(ctx, "ibnetdiscover").Output() },
			}))(t)
			dead := expect.Value(tree.Links(c.down))(t)[0]
			expect.Must(t, f.live.Unlink(network.End{Node: r.places.Node(dead.Leaf), Port: r.places.Up(topology.Link{Leaf: dead.Leaf, Spine: dead.Spine})}))
			now := expect.Value(s.Now(t.Context()))(t)
			expect.Equal(t, strings.Join(now.DownNames(), ","), c.down, "dead")
			expect.Value(s.Install(t.Context(), build(t, now, plan.Options{Schedule: "fors", Objective: schedules.FewestPaths})))(t)
			f.reaches(t, n, all)

			// undo
			expect.Must(t, f.o.Close())
			_, _, err = companion.Undo(t.Context(), f.o.Dir, func(x companion.Former) (companion.Switches, companion.Tables, error) {
				tables, err := Former(x.Files)
				m := f.o
				return &m, tables, err
			})
			expect.Must(t, err)
			f.holds(t, before)
		})
	}
}

// TestOpenSMLoadsUnequalPods: OpenSM loads the plan for a network in which a pod has a leaf less and another a switch
// less, and messages take its paths.
//
//gate:weekly13
func TestOpenSMLoadsUnequalPods(t *testing.T) {
	ibtest.Need(t)
	t.Parallel()
	whole := networkOf(t, treeOf(t, "FT(3;3,3,3)").Wires, 0)
	gone := map[string]bool{"s1_8": true, "s2_4": true}
	left := expect.Value(ibtest.Lose(whole, func(v network.Node) bool {
		return gone[whole.Info(v).Name] || whole.IsHost(v) && gone[whole.Info(whole.Leaf(v).Node).Name]
	}))(t)
	n := expect.Value(ibtest.Renamed(left).Numbered(0))(t)
	p := expect.Value(network.Spineless(n))(t)
	expect.MustTrue(t, p.AsBuilt() != "" && p.Tree.Servers() == 24, "%s, %d servers", p.AsBuilt(), p.Tree.Servers())
	r := compute(t, build(t, p.Tree, plan.Options{Schedule: "fors", Objective: schedules.FewestPaths, Routing: "pinned"}), n, 0)
	f := judge(t, r, r.Net)
	f.holds(t, r)
	f.traces(t, r)
}
