package judge

import (
	"testing"

	"evbench/internal/expect"
	"evbench/routing"
	"evbench/topology/network"
)

// The repairs of 326 servers with nine dead links are ranked within two seconds.
func BenchmarkRepairs326(b *testing.B) {
	whole, err := network.Parse("FT(2;20,18)", 0)
	expect.Must(b, err)
	dead, err := whole.Random(9, 1)
	expect.Must(b, err)
	hosts := network.AllHosts(whole)
	hosts.Nodes = hosts.Nodes[:326]
	f, err := newFabric(whole, whole.Without(dead, nil), hosts)
	expect.Must(b, err)
	for b.Loop() {
		if len(f.order(f.faults())) != 9 {
			b.Fatal("repairs are missing")
		}
	}
}

// The tables of 11,664 hosts are judged within twenty seconds.
func BenchmarkTables11664(b *testing.B) {
	n, err := network.Parse("FT(3;18,18,36)", 0)
	expect.Must(b, err)
	t, err := routing.Compute("dmodc", n, routing.Options{})
	expect.Must(b, err)
	f := &fabric{whole: n, net: n, hosts: network.AllHosts(n)}
	for b.Loop() {
		if _, err := f.tables(t); err != nil {
			b.Fatal(err)
		}
	}
}
