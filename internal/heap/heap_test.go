package heap_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/internal/heap"
	"evbench/testing/expect"
)

type number int

func (a number) Before(b number) bool { return a < b }

// Elements come out in their order, whenever they go in.
func TestHeap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var h heap.Heap[number]
	var left []number
	for range 10_000 {
		if len(left) == 0 || rng.IntN(5) < 3 {
			x := number(rng.IntN(100))
			h.Push(x)
			left = append(left, x)
			continue
		}
		first := slices.Min(left)
		expect.MustTrue(t, h.Pop() == first, "not the first of %d", len(left))
		left = slices.Delete(left, slices.Index(left, first), slices.Index(left, first)+1)
	}
}
