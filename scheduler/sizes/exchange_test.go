package sizes_test

import (
	"testing"

	"evbench/internal/expect"
	"evbench/scheduler/sizes"
	"evbench/topology"
)

func TestExchange(t *testing.T) {
	tree := broken(t, topology.Options{Ports: 2, Leaves: 2}, 0, 1)
	m := expect.Value(sizes.Exchange(tree, func(event uint64, source int) int { return 10*int(event) + source }, 3))(t)
	for src := range 4 {
		for dst := range 4 {
			want := int64(10*(3*4+dst) + src)
			if src == dst {
				want = 0
			}
			expect.Equal(t, m.Size(src, dst), want, "%d to %d: bytes", src, dst)
		}
	}
	if _, err := sizes.Exchange(tree, func(uint64, int) int { return -1 }, 0); err == nil {
		t.Error("a fragment of -1 bytes is accepted")
	}
}
