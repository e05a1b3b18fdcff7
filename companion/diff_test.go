package companion

import (
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"evbench/routing"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// slowDiff is compare by maps.
func slowDiff(have, want Routes) map[string][2]*Route {
	type place struct {
		n Node
		p netip.Prefix
	}
	all := map[place][2]*Route{}
	for side, routes := range []Routes{have, want} {
		for _, table := range routes {
			for i, r := range table.Routes {
				both := all[place{table.Node, r.Prefix}]
				both[side] = &table.Routes[i]
				all[place{table.Node, r.Prefix}] = both
			}
		}
	}
	out := map[string][2]*Route{}
	for at, both := range all {
		if both[0] == nil || both[1] == nil || !reflect.DeepEqual(*both[0], *both[1]) {
			out[NodeName(&diffTree.Live, at.n)+" "+at.p.String()] = both
		}
	}
	return out
}

var diffTree *topology.Tree

func randomRoutes(rng *rand.Rand) Routes {
	var out Routes
	for n := range Node(8) {
		if rng.IntN(4) == 0 {
			continue
		}
		t := Table{Node: n}
		for i := range 6 {
			if rng.IntN(3) == 0 {
				continue
			}
			p := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i / 2)}), 16+8*(i%2))
			t.Routes = append(t.Routes, Route{Prefix: p, Via: []routing.Port{routing.Port(rng.IntN(2))}})
		}
		out = append(out, t)
	}
	return out
}

func TestDiff(t *testing.T) {
	diffTree = topologytest.Without(t, topology.Options{Ports: 2, Leaves: 2})
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		have, want := randomRoutes(rng), randomRoutes(rng)
		slow, got := slowDiff(have, want), map[string][2]*Route{}
		diff := compare(have, want)
		for _, d := range diff {
			r := d.Have
			if r == nil {
				r = d.Want
			}
			got[NodeName(&diffTree.Live, d.Node)+" "+r.Prefix.String()] = [2]*Route{d.Have, d.Want}
		}
		expect.MustTrue(t, reflect.DeepEqual(got, slow) && len(diff) == len(got), "got %v\nwant %v", got, slow)
		expect.MustTrue(t, len(compare(have, have)) == 0, "a set differs from itself")
	}
}

func TestDescribe(t *testing.T) {
	tree := topologytest.Without(t, topology.Options{Ports: 2, Leaves: 3})
	want := compute(t, newPlan(t, tree, routing.MinHop))
	have := slices.Clone(want)
	have[0].Routes = slices.Clone(want[0].Routes)
	lost := slices.IndexFunc(have[0].Routes, func(r Route) bool { return r.Prefix.String() == "10.1.0.0/16" })
	have[0].Routes = slices.Delete(have[0].Routes, lost, lost+1)
	moved := slices.IndexFunc(have[0].Routes, func(r Route) bool { return r.Prefix.String() == "10.200.1.1/32" })
	have[0].Routes[moved].Via = []routing.Port{3}
	have[5].Routes = append(slices.Clone(want[5].Routes), Route{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Via: []routing.Port{0}})
	var got []string
	for _, d := range compare(have, want) {
		got = append(got, d.Describe(&tree.Live))
	}
	if expect := []string{
		"leaf0: 10.1.0.0/16 via spine1 is missing",
		"leaf0: 10.200.1.1/32 via spine1 should be via spine0",
		"server0: 192.0.2.0/24 via leaf0 should not be there",
	}; !slices.Equal(got, expect) {
		t.Errorf("got %q\nwant %q", got, expect)
	}
}
