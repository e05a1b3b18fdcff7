package network_test

import (
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/topology/network"
)

func drawn(t *testing.T, n *network.Network) string {
	t.Helper()
	level := expect.Value(network.Ranks(n, nil))(t)
	var out strings.Builder
	expect.Must(t, network.WriteDot(&out, n, level))
	return out.String()
}

func TestWriteDot(t *testing.T) {
	n, err := network.Parse("PGFT(2;3,3;1,2;1,2)", 0)
	expect.Must(t, err)
	if n, err = n.Degrade([]string{"s1_0/4", "s1_1-s2_1"}); err != nil {
		t.Fatal(err)
	}
	if n, err = n.Degrade([]string{"h4", "h6", "h7", "h8"}); err != nil {
		t.Fatal(err)
	}
	const want = `graph network {
  rankdir=BT; ranksep=1.2; splines=false;
  node [shape=box, fontname="sans-serif", fontsize=10];
  label="PGFT(2;3,3;1,2;1,2)";
  { rank=same; node [style=rounded]; hosts9 [label="h0 … h2 (3)"]; hosts10 [label="h3, h5"]; }
  { rank=same; n9 [label="s1_0"]; n10 [label="s1_1"]; n11 [label="s1_2"]; }
  { rank=same; n12 [label="s2_0"]; n13 [label="s2_1"]; }
  hosts9 -- n9;
  hosts10 -- n10;
  n9 -- n12;
  n9 -- n13 [label="×2", penwidth=2];
  n10 -- n12 [label="×2", penwidth=2];
  n11 -- n12 [label="×2", penwidth=2];
  n11 -- n13 [label="×2", penwidth=2];
}
`
	expect.Equal(t, drawn(t, n), want, "got")
}

// TestDotNames: a name cannot end the string it is in.
func TestDotNames(t *testing.T) {
	var b network.Builder
	h := b.Host(network.Info{Name: "a\"\nb"})
	s := b.Switch(network.Info{Name: `c\`}, 1)
	expect.Must(t, b.Cable(network.End{Node: h, Port: 1}, network.End{Node: s, Port: 1}))
	got := drawn(t, b.Build())
	expect.Contains(t, got, `[label="a\" b"]`, `[label="c\\"]`)
}
