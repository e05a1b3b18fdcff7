package judge

import (
	"testing"

	"evbench/internal/expect"
	"evbench/routing"
	"evbench/topology/network"
)

// The repairs of 326 servers with nine dead links are ranked within two seconds.
func BenchmarkRepairs326(b *testing.B) {
	whole := expect.Value(network.Parse("FT(2;20,18)", 0))(b)
	dead := expect.Value(whole.Random(9, 1))(b)
	hosts := network.AllHosts(whole)
	hosts.Nodes = hosts.Nodes[:326]
	f := expect.Value(newFabric(whole, whole.Without(dead, nil), hosts))(b)
	for b.Loop() {
		expect.MustTrue(b, len(f.order(f.faults())) == 9, "repairs are missing")
	}
}

// The tables of 11,664 hosts are judged within twenty seconds.
func BenchmarkTables11664(b *testing.B) {
	n := expect.Value(network.Parse("FT(3;18,18,36)", 0))(b)
	t := expect.Value(routing.Compute("dmodc", n, routing.Options{}))(b)
	f := &fabric{whole: n, net: n, hosts: network.AllHosts(n)}
	for b.Loop() {
		expect.Must(b, expect.Err(f.tables(t)))
	}
}
