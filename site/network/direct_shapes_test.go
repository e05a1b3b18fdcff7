package network_test

import (
	"testing"

	"evbench/site/network"
	"evbench/testing/expect"
)

// TestDirectShapes counts cables by their definition: switches of a dragonfly's group are joined to each
// other and to as many others as they have global ports, those of a HyperX to all that differ in one
// coordinate, and of a Jellyfish to as many as its degree.
func TestDirectShapes(t *testing.T) {
	for _, tt := range []struct {
		notation                string
		hosts, switches, cables int
		most                    int // distance between two switches
	}{
		{"Dragonfly(4;8;1;9)", 288, 72, 9*28 + 36, 3},
		{"Dragonfly(1;4;2;9)", 36, 36, 9*6 + 36, 3},
		{"Dragonfly(2;4;2;5)", 40, 20, 5*6 + 2*10, 3},
		{"Dragonfly(2;4;2;4)", 32, 16, 4*6 + 2*6, 3}, // two ports of each group are left
		{"Dragonfly(3;5;1;1)", 15, 5, 10, 1},
		{"HyperX(6,6;4)", 144, 36, 2 * 6 * 15, 2},
		{"HyperX(4,3,2;1)", 24, 24, 6*6 + 8*3 + 12, 3},
		{"HyperX(5;2)", 10, 5, 10, 1},
		{"Jellyfish(20;4;3;7)", 60, 20, 40, 5},
		{"Jellyfish(7;3;1;1)", 7, 7, 10, 4}, // a port is left, as 7·3 is odd
	} {
		n := expect.Value(network.Parse(tt.notation, 0))(t)
		cables := n.SwitchCables()
		expect.True(t, n.Hosts() == tt.hosts && n.Switches() == tt.switches && len(cables) == tt.cables,
			"%s: %d hosts, %d switches, %d cables", tt.notation, n.Hosts(), n.Switches(), len(cables))
		expect.True(t, n.Notation == tt.notation && len(n.Parts()) == 1, "%s: called %s, in %d parts", tt.notation, n.Notation, len(n.Parts()))
		most := 0
		for i := range n.Switches() {
			for _, d := range n.Distances(n.Switch(i)) {
				most = max(most, d)
			}
		}
		expect.True(t, most <= tt.most, "%s: a way of %d cables", tt.notation, most)
		twice := map[[2]network.Node]bool{}
		for _, c := range cables {
			key := [2]network.Node{c.A.Node, c.B.Node}
			expect.True(t, !twice[key] && c.A.Node != c.B.Node || tt.notation == "Dragonfly(2;4;2;5)", "%s: two cables join %s and %s", tt.notation, n.Name(c.A.Node), n.Name(c.B.Node))
			twice[key] = true
		}
	}
	a, b := expect.Value(network.Parse("Jellyfish(20;4;3;7)", 0))(t), expect.Value(network.Parse("jellyfish( 20; 4;3;8 )", 0))(t)
	expect.True(t, len(a.Cables()) == len(b.Cables()) && a.Notation != b.Notation, "%s and %s", a.Notation, b.Notation)
}

func TestDirectShapesRefused(t *testing.T) {
	for notation, want := range map[string]string{
		"Dragonfly(1;2;1;9)":       "a group has 2 global cables, and 8 other groups",
		"Dragonfly(1,2;2;1;3)":     "groups of numbers; write",
		"Dragonfly(1;2;3)":         "3 groups of numbers",
		"Dragonfly(200;60;1;2)":    "a switch would have 260 ports, more than 254",
		"Dragonfly(0;2;1;3)":       "numbers must be at least 1",
		"HyperX(4,0;1)":            "numbers must be at least 1",
		"HyperX(4,4;1,1)":          "2 numbers in group 2",
		"HyperX(99,99,99,99,99;9)": "ports, more than 254",
		"HyperX(60,60,60;9)":       "more than",
		"Jellyfish(4;4;1;1)":       "a switch has cables to 1..3 others",
		"Jellyfish(4;0;1;1)":       "a switch has cables to 1..3 others",
	} {
		expect.Error(t, expect.Err(network.Parse(notation, 0)), want)
	}
}
