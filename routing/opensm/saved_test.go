package opensm

import (
	"bytes"
	"reflect"
	"testing"

	"evbench/topology/network"
)

// TestMemoTable1 goes through the changes of the memo's table 1.
func TestMemoTable1(t *testing.T) {
	g := network.PGFT{M: []int{3, 3}, W: []int{1, 2}, P: []int{1, 2}} // two cables between a leaf and a spine
	whole := build(t, g, 0)
	leaf, spine := whole.Switch(0), whole.Switch(3)
	up := network.End{Node: leaf, Port: 4}
	one := without(t, whole, up)
	both := without(t, whole, up, network.End{Node: leaf, Port: 5})
	unplugged := without(t, whole, network.End{Node: 0, Port: 1})
	renumbered := rebuild(t, whole, func(i network.Info) network.Info {
		if i.Name == "h4" {
			i.LID = 99
		}
		return i
	}, func(network.End) bool { return true })
	all := Effect{Hops: true, Routes: true, Roots: true}
	through := []network.End{up, {Node: spine, Port: 1}}
	for _, c := range []struct {
		name     string
		old, now *network.Network
		want     Effect
	}{
		{"nothing", whole, whole, Effect{}},
		{"new switch", lacking(t, whole, "s2_1", ""), whole, all},
		{"missing switch", whole, lacking(t, whole, "s1_2", ""), all},
		{"new cable", one, whole, Effect{}},
		{"missing cable between switches, another is there", whole, one, Effect{Ports: through}},
		{"missing cable between switches, the last", one, both, Effect{Hops: true, Ports: []network.End{
			{Node: leaf, Port: 5}, {Node: spine, Port: 2}}}},
		{"missing cable to a host", whole, unplugged, Effect{}},
		{"new host", lacking(t, whole, "", "h8"), whole, Effect{}},
		{"missing host", whole, lacking(t, whole, "", "h8"), Effect{}},
		{"changed LID", whole, renumbered, Effect{LIDs: []uint16{99}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Save(c.old).Check(c.now)
			if c.want.Routes {
				got.Ports = nil // those of the switch that is missing
			}
			if c.name == "missing switch" || c.name == "new switch" {
				got.LIDs = nil
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// lacking returns the network without a switch or a host.
func lacking(t *testing.T, n *network.Network, sw, host string) *network.Network {
	t.Helper()
	var b network.Builder
	at := map[network.Node]network.Node{}
	for v := range network.Node(n.Nodes()) {
		switch i := n.Info(v); {
		case i.Name == sw || i.Name == host:
		case n.IsHost(v):
			at[v] = b.Host(i)
		default:
			at[v] = b.Switch(i, len(n.Ends(v)))
		}
	}
	for v := range network.Node(n.Nodes()) {
		for p, e := range n.Ends(v) {
			near, ok := at[v]
			far, ok2 := at[e.Node]
			if !ok || !ok2 || v > e.Node {
				continue
			}
			if err := b.Cable(network.End{Node: near, Port: uint8(p + 1)}, network.End{Node: far, Port: e.Port}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.Build()
}

// TestSavedTables writes tables, reads them back and routes with them.
func TestSavedTables(t *testing.T) {
	for seed := range 10 {
		n := degrade(t, seed, 0).net
		var text bytes.Buffer
		if err := Save(n).Write(&text); err != nil {
			t.Fatal(err)
		}
		s, err := ReadSaved(&text)
		if err != nil {
			t.Fatal(err)
		}
		same(t, s.MinHop(n), MinHop(n))
	}
	g := network.PGFT{M: []int{3, 3}, W: []int{1, 2}, P: []int{1, 2}}
	n := build(t, g, 0)
	less := without(t, n, network.End{Node: n.Switch(0), Port: 4})
	same(t, Save(n).MinHop(less), MinHop(less)) // a parallel cable is left
	if got := Save(less).MinHop(without(t, less, network.End{Node: n.Switch(0), Port: 5})); got != nil {
		t.Error("tables that no longer hold were used")
	}
}

func FuzzReadSaved(f *testing.F) {
	n, err := network.PGFT{M: []int{2, 2}, W: []int{1, 1}, P: []int{1, 1}}.Build(0)
	if err != nil {
		f.Fatal(err)
	}
	var text bytes.Buffer
	if err := Save(n).Write(&text); err != nil {
		f.Fatal(err)
	}
	f.Add(text.String())
	f.Add(`{"switches":[{"guid":1}],"words":1,"sets":"AAAAAAAAAAA="}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadSaved(bytes.NewReader([]byte(text)))
		if err == nil {
			s.Check(n)
			if tables := s.MinHop(n); tables != nil && tables.LIDs != n.MaxLID()+1 {
				t.Error("tables of another network")
			}
		}
	})
}
