package network

import (
	"testing"

	"evbench/testing/expect"
)

func TestPGFT(t *testing.T) {
	n := expect.Value(PGFT{[]int{4, 4, 4}, []int{1, 4, 4}, []int{1, 1, 1}}.Build(0))(t)
	expect.False(t, n.Hosts() != 64 || n.Switches() != 48 || n.MaxLID() != 112, "%d hosts, %d switches, LIDs to %d", n.Hosts(), n.Switches(), n.MaxLID())
	s3 := n.Switch(16 + 16 + 7) // s3_7: plane 3, second top
	for port, want := range []string{"s2_3", "s2_7", "s2_11", "s2_15"} {
		if e := n.At(s3, port+1); n.Info(e.Node).Name != want || e.Port != 6 {
			t.Errorf("s3_7 port %d leads to %s port %d, want %s port 6", port+1, n.Info(e.Node).Name, e.Port, want)
		}
	}
	big, err := (PGFT{[]int{18, 3, 18, 36}, []int{1, 3, 18, 18}, []int{1, 6, 1, 1}}).Build(0)
	expect.True(t, err == nil && big.Hosts() == 34992, "%v", err)
}
