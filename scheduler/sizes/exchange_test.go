package sizes_test

import (
	"testing"

	"evbench/internal/expect"
	"evbench/scheduler/sizes"
	"evbench/topology"
)

func TestExchange(t *testing.T) {
	tree := broken(t, topology.Options{Ports: 2, Leaves: 2}, 0, 1)
	m, err := sizes.Exchange(tree, func(event uint64, source int) int { return 10*int(event) + source }, 3)
	expect.Must(t, err)
	for src := range 4 {
		for dst := range 4 {
			want := int64(10*(3*4+dst) + src)
			if src == dst {
				want = 0
			}
			if got := m.Size(src, dst); got != want {
				t.Errorf("%d to %d: %d bytes, want %d", src, dst, got, want)
			}
		}
	}
	if _, err := sizes.Exchange(tree, func(uint64, int) int { return -1 }, 0); err == nil {
		t.Error("a fragment of -1 bytes is accepted")
	}
}
