package lft_test

import (
	"strings"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

// Pairs to hosts without a LID have no route, and are not left out of what is said of all pairs.
func TestNoLID(t *testing.T) {
	n := expect.Value(network.Parse("FT(2;2,3)", 0))(t)
	var info []network.Info
	for v := range network.Node(n.Nodes()) {
		info = append(info, n.Info(v))
	}
	info[3].LID = 0
	n = n.WithInfo(info)
	tables := lft.New("x", n)
	for s := range n.Switches() {
		for h := range network.Node(n.Hosts()) {
			for port, e := range n.Ends(n.Switch(s)) {
				if up := e.Node != network.NoNode && !n.IsHost(e.Node) && n.Leaf(h).Node != n.Switch(s); n.Info(h).LID > 0 && (e.Node == h || up && (s < 3 || e.Node == n.Leaf(h).Node)) {
					tables.Row(s)[n.Info(h).LID] = uint8(port + 1)
				}
			}
		}
	}
	r := lft.Examine(tables, lft.Extent{ReachOnly: true})
	expect.True(t, r.NoLID == 5 && r.Pairs == 25 && !r.Valid && r.OK(), "%+v", r.Report)
	expect.Equal(t, r.Answer().Sentence, "25 of 30 pairs of hosts reach each other, and 5 have no route: h3 has no LID.", "answer")
	var text strings.Builder
	expect.Must(t, r.WriteText(&text))
	expect.True(t, strings.Contains(text.String(), "\nreach: 25 of 30 pairs; 5 to hosts without a LID\n"), "%s", text.String())
	tables.Row(0)[n.Info(0).LID] = lft.NoPort
	expect.Equal(t, lft.Examine(tables, lft.Extent{ReachOnly: true}).Answer().Sentence, "10 of 30 pairs of hosts do not reach each other.", "with a lost route")
}
