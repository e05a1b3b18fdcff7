package order

import (
	"fmt"
	"testing"
	"time"

	"evbench/site/engines"
	"evbench/site/network"
)

func TestScratch(t *testing.T) {
	for _, c := range []struct {
		net, engine string
		dead        int
	}{
		{"FT(2;20,18)", "opensm-minhop", 1}, {"FT(2;20,18)", "opensm-minhop", 9}, {"FT(2;20,18)", "opensm-minhop", 36},
		{"FT(2;8,8)", "opensm-minhop", 0}, {"FT(2;8,8)", "opensm-minhop", 3}, {"FT(2;8,8)", "opensm-minhop", 8},
		{"Jellyfish(40;6;6;1)", "sssp", 0}, {"Jellyfish(60;7;5;1)", "sssp", 0}, {"Jellyfish(60;7;5;2)", "opensm-minhop", 0},
		{"Dragonfly(4;8;1;9)", "sssp", 0}, {"Dragonfly(4;8;1;9)", "opensm-minhop", 0},
		{"Dragonfly(1;4;2;9)", "sssp", 0}, {"Dragonfly(2;4;2;9)", "sssp", 0},
		{"HyperX(6,6;8)", "sssp", 0}, {"HyperX(6,6;4)", "sssp", 0}, {"HyperX(6,6;3)", "sssp", 0}, {"HyperX(4,4;2)", "sssp", 0},
		{"HyperX(6,6;4)", "opensm-minhop", 0}, {"HyperX(4,4,4;4)", "sssp", 0},
		{"FT(2;6,5)", "opensm-minhop", 1}, {"FT(2;6,5)", "opensm-minhop", 2}, {"FT(2;20,18)", "opensm-minhop", 0}, {"FT(3;4,4,4)", "opensm-minhop", 5},
		{"Dragonfly(8;16;8;8)", "sssp", 0},
	} {
		n, err := network.Parse(c.net, 0)
		if err != nil {
			t.Fatal(err)
		}
		if c.dead > 0 {
			dead, _ := n.Random(c.dead, 1)
			n = n.Without(dead, nil)
		}
		tab, err := engines.Compute(c.engine, n, engines.Options{})
		if err != nil {
			t.Fatal(c, err)
		}
		t0 := time.Now()
		p, err := NewProblem(tab, Options{Nodes: network.AllHosts(n).Nodes})
		if err != nil {
			t.Fatal(c, err)
		}
		t1 := time.Now()
		b := p.Bound()
		lin := p.Time(p.LinearShift())
		t2 := time.Now()
		g := p.greedy()
		t3 := time.Now()
		s := Best(p, 0)
		fmt.Printf("%-22s %-14s %2d dead hosts %4d bound %5d linear %6.0f greedy %5d plan %5d %.4f %-10s  problem %v greedy %v plan %v\n", c.net, c.engine, c.dead, p.Hosts, b.Phases, lin, g.Phases, s.Phases, float64(s.Phases)/float64(b.Phases), s.Made, t1.Sub(t0).Round(time.Millisecond), t3.Sub(t2).Round(time.Millisecond), time.Since(t3).Round(time.Millisecond))
		if tt := p.Time(s); tt != float64(s.Phases) {
			t.Error("time", tt)
		}
	}
}
