package credit_test

import (
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/routing/lft"
	"evbench/sim/credit"
	"evbench/topology/network"
)

// star returns two hosts at a switch with a free port, and their tables.
func star(t *testing.T) *lft.Tables {
	t.Helper()
	var b network.Builder
	x, y := b.Host(network.Info{Name: "x", LID: 1}), b.Host(network.Info{Name: "y", LID: 2})
	sw := b.Switch(network.Info{Name: "s"}, 3)
	for port, h := range []network.Node{x, y} {
		expect.Must(t, b.Cable(network.End{Node: h, Port: 1}, network.End{Node: sw, Port: uint8(port + 1)}))
	}
	l := lft.New("by hand", b.Build())
	l.Row(0)[1], l.Row(0)[2] = 1, 2
	return l
}

// Messages to both hosts of a switch arrive at the rate of the link.
func TestRoutesOf(t *testing.T) {
	l := star(t)
	w := credit.NewWires(l.Net, 1000, 0)
	r := expect.Value(credit.RoutesOf(l, w))(t)
	p := credit.Params{Packet: 4, Lanes: 1, Buffer: 16, Delay: 2000, CutThrough: true}
	traffic := &credit.Traffic{Pattern: credit.Others(2), Flits: 40, Count: 10}
	traffic.Start(2, 1)
	e := expect.Value(credit.New(p, w, r, traffic, 1))(t)
	expect.Must(t, e.Run(1e9))
	if got := e.Meter.Total(); got != 2*400 || e.Meter.Worst() != 400 {
		t.Errorf("%d flits in all, %d at one host; want 800 and 400", got, e.Meter.Worst())
	}
}

// Tables that cannot be routes are refused, those with a gap are not.
func TestRoutesOfRefuses(t *testing.T) {
	l := star(t)
	w := credit.NewWires(l.Net, 1000, 0)
	l.Row(0)[2] = lft.NoPort
	expect.OK(t, expect.Err(credit.RoutesOf(l, w)))
	for _, port := range []uint8{0, 3, 9} {
		l.Row(0)[2] = port
		if _, err := credit.RoutesOf(l, w); err == nil || !strings.Contains(err.Error(), "has no cable") {
			t.Errorf("port %d: %v", port, err)
		}
	}
	var b network.Builder
	b.Host(network.Info{LID: 1})
	expect.True(t, expect.Err(credit.RoutesOf(star(t), credit.NewWires(b.Build(), 1000, 0))) != nil, "wires of another network are taken")
}

// Lanes of tables are those of the pairs.
func TestRoutesOfLanes(t *testing.T) {
	l := star(t)
	l.LaneRow(0)[1] = 1
	r := expect.Value(credit.RoutesOf(l, credit.NewWires(l.Net, 1000, 0)))(t)
	expect.True(t, len(r.Lane) == 4 && r.Lane[2] == 1 && r.Lane[1] == 0, "lanes %v", r.Lane)
}
