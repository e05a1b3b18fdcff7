package open

import (
	"net/netip"
	"testing"

	"evbench/site/host"
	"evbench/testing/expect"
)

// A worker of an adapter runs on the processors beside it, where its host says which they are.
func TestAdapters(t *testing.T) {
	r := &SSH{
		servers: []host.Server{{Host: "a", Address: "10.0.0.1"}, {Host: "a", Nth: 1, Address: "10.1.0.1"}, {Host: "b"}},
		facts: map[string]host.Facts{"a": {Interfaces: []host.Interface{
			{Name: "ib0", CPUs: "0-15", Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/16")}},
			{Name: "ib1", Addrs: []netip.Prefix{netip.MustParsePrefix("10.1.0.1/16")}},
		}}},
	}
	expect.Equal(t, r.beside(r.servers[0])+" "+r.beside(r.servers[1])+r.beside(r.servers[2]), "0-15 ", "processors")
	expect.True(t, len(r.adapters("a")) == 2 && r.adapters("a")[1] == "10.1.0.1" && r.adapters("b") == nil, "%v", r.adapters("a"))
}
