package judge

import (
	"testing"

	"evbench/routing"
	"evbench/topology"
	"evbench/topology/network"
)

// The repairs of 326 servers with nine dead links are ranked within two seconds.
func BenchmarkRepairs326(b *testing.B) {
	fill := make([]int, 18)
	for i := range fill {
		fill[i] = 18
	}
	fill[0], fill[1] = 19, 19
	healthy, err := topology.New(topology.Options{Ports: 20, Leaves: 18, Fill: fill})
	if err != nil {
		b.Fatal(err)
	}
	dead, err := healthy.Random(9, 1)
	if err != nil {
		b.Fatal(err)
	}
	t, err := healthy.Without(dead...)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if len(order(t)) != 9 {
			b.Fatal("repairs are missing")
		}
	}
}

// The tables of 11,664 hosts are judged within twenty seconds.
func BenchmarkTables11664(b *testing.B) {
	n, err := network.Parse("FT(3;18,18,36)", 0)
	if err != nil {
		b.Fatal(err)
	}
	t, err := routing.Compute("dmodc", n, routing.Options{})
	if err != nil {
		b.Fatal(err)
	}
	f := &fabric{whole: n, net: n, hosts: AllHosts(n)}
	for b.Loop() {
		if _, err := f.tables(t); err != nil {
			b.Fatal(err)
		}
	}
}
