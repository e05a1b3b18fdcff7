package closed

import (
	"math/rand/v2"
	"testing"

	"evbench/internal/expect"
	"evbench/routing/lft"
	"evbench/topology/network"
)

// All shifts at once give what they give one by one, on good and bad routes.
func TestAllShifts(t *testing.T) {
	g := network.PGFT{M: []int{4, 2, 4}, W: []int{1, 2, 4}, P: []int{1, 2, 1}}
	n, err := g.Build(0)
	expect.Must(t, err)
	worst := 0
	for seed := range uint64(10) {
		net := n
		if seed > 0 {
			net = degrade(n, rand.New(rand.NewPCG(seed, 1)), 0.1)
		}
		tables, err := Dmodc(net, Options{})
		if err != nil {
			continue
		}
		want := 0
		for by := range n.Hosts() {
			most := expect.Value(shiftLoad(tables, by, 0))(t)
			want = max(want, most)
		}
		if got, err := allShifts(tables); err != nil || got != want {
			t.Errorf("seed %d: %d paths, %v; one by one %d", seed, got, err, want)
		}
		worst = max(worst, want)
	}
	expect.True(t, worst >= 2, "no contention anywhere: the test shows nothing")
}

func TestLostIsReported(t *testing.T) {
	n := expect.Value(network.PGFT{M: []int{2, 2}, W: []int{1, 2}, P: []int{1, 1}}.Build(0))(t)
	empty := lft.New("none", n)
	expect.True(t, expect.Err(allShifts(empty)) != nil, "all shifts of empty tables have no error")
	expect.True(t, expect.Err(shiftLoad(empty, 1, 0)) != nil, "a shift of empty tables has no error")
	w := walkAll(empty, make([]int, n.Nodes()))
	expect.True(t, w.Lost == w.Routes && w.Routes == 8, "empty tables: %s", w)
}
